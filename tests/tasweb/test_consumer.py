"""A worker outlives a broker that dies while one of its channels waits and another message is under way."""

from types import SimpleNamespace

import pytest
from celery.worker.consumer import Consumer

from tasweb.celery import app
from tasweb.consumer import LastingConsumer


class Broken:
    """A connection whose channels have lost their transport, as chaos found it (kombu 5.7)."""

    connection_errors = channel_errors = (ConnectionError,)
    recoverable_connection_errors = recoverable_channel_errors = (ConnectionError,)

    def collect(self, socket_timeout):
        raise ConnectionError("the broker is gone")

    def close(self):
        return self.client.hostname

    client = None


def consumer(kind):
    made = object.__new__(kind)
    made.connection, made.app, made.pool = Broken(), app, SimpleNamespace()
    return made


def test_the_workers_of_the_console_have_it():
    assert app.conf.worker_consumer == "tasweb.consumer:LastingConsumer"


def test_a_connection_that_cannot_be_closed_is_left_and_the_worker_goes_on():
    lasting = consumer(LastingConsumer)
    lasting.on_connection_error_after_connected(ConnectionError("the broker is gone"))
    assert lasting.connection is None


def test_celerys_own_would_have_ended_by_it():
    """When it does not any more, tasweb/consumer.py is not needed any more."""
    with pytest.raises(AttributeError, match="hostname"):
        consumer(Consumer).on_connection_error_after_connected(ConnectionError("the broker is gone"))
