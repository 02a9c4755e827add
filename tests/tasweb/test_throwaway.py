"""The names of throw-away servers in the environment of a test run."""

import pytest

from tasweb.stack import throwaway


@pytest.fixture
def environ(monkeypatch):
    found = {}
    monkeypatch.setattr("os.environ", found)
    return found


def test_every_process_that_reserves_after_a_release_has_servers_of_its_own(environ):
    throwaway.reserve()
    first = dict(environ)
    throwaway.reserve()
    assert environ == first, "a child of a run uses the servers of the run"
    throwaway.release()
    throwaway.reserve()
    for name in ("TAS_THROWAWAY", "DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL"):
        assert environ[name] != first[name]


def test_servers_that_somebody_named_are_never_released(environ):
    named = {"DATABASE_URL": "postgres:///mine", "REDIS_URL": "redis://mine"}
    environ.update(named)
    throwaway.reserve()
    assert "TAS_THROWAWAY" not in environ
    throwaway.release()
    assert environ.items() >= named.items()
