"""The part of a Celery worker that takes messages, made to outlive every death of its broker."""

import structlog
from celery.worker.consumer import Consumer

log = structlog.get_logger(__name__)


class LastingConsumer(Consumer):
    """A consumer that connects anew when its connection breaks, at whatever moment."""

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """Close what is broken.

        kombu 5.7 closes it twice. A channel that waited for a message and held others unacknowledged fails
        the first time before it is marked as closed; the second time it looks for the transport that is
        forgotten by then, and the worker would end by the AttributeError. The messages that it cannot give
        back come again when their visibility timeout is over.
        """
        try:
            super().on_connection_error_after_connected(exc)
        except AttributeError as error:
            log.warning("broken connection not closed in order", error=str(error), exc_info=True)
