"""Fixtures shared by all rooms. Nothing is started before a test asks for it: engine and kube tests need no
servers."""

import os
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import hypothesis
import psycopg
import pytest
from django.utils import translation

from tasweb.stack import chromium, postgres, throwaway

# CI draws the same examples every time: it judges the change, not the luck. A developer's runs explore.
hypothesis.settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("ci")

LONGEST = ("tests/faults/test_chaos.py", "tests/browser/test_pages.py")
"""Files of tests that take minutes."""

ARTEFACTS = Path(__file__).resolve().parents[1] / "artefacts"


def pytest_xdist_setupnodes() -> None:
    """Each process of the run starts servers of its own: it must not inherit the names of ours."""
    throwaway.release()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests last: the cheap tests tell first what is wrong. Before them the files with a live stack.

    Once it runs, its worker and beat look after every cluster of the test database: a test that runs cycles
    of its own would find them done. Where several processes take file after file, the longest of each kind
    goes first, so that none of them ends long after the others.
    """
    live = {item.path for item in items if "live_stack" in _fixtures(item)}
    longest = LONGEST if "PYTEST_XDIST_WORKER" in os.environ else ()

    def place(item: pytest.Item) -> tuple[bool, bool, bool]:
        path = item.path.as_posix()
        return "tests/browser/" in path, item.path in live, not path.endswith(longest)

    items.sort(key=place)


def _fixtures(item: pytest.Item) -> list[str]:
    names: list[str] = getattr(item, "fixturenames", [])
    return names


@dataclass(frozen=True)
class Stack:
    """Addresses of the servers that this run uses."""

    database_url: str
    redis_url: str

    def connect(self, role: str, database: str | None = None) -> "psycopg.Connection[tuple[Any, ...]]":
        """A plain connection to the test database as another role (`tas_app` is the runtime's)."""
        from django.db import connection

        given = connection.settings_dict
        return psycopg.connect(
            host=given["HOST"] or given["OPTIONS"].get("host"),
            port=given["PORT"] or None,
            user=role,
            dbname=database or given["NAME"],
            autocommit=True,
        )


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """PostgreSQL and Valkey: throw-away ones, or those that DATABASE_URL and REDIS_URL name."""
    addresses = Stack(os.environ["DATABASE_URL"], os.environ["REDIS_URL"])
    directory = os.environ.get("TAS_THROWAWAY")
    if directory is None:
        yield addresses
        return
    with throwaway.servers(Path(directory)):
        yield addresses


@pytest.fixture(scope="session")
def django_db_modify_db_settings(stack: Stack, django_db_modify_db_settings_parallel_suffix: None) -> None:
    """pytest-django asks for this before it makes the test database, so the servers run by then."""


@pytest.fixture(scope="session", autouse=True)
def _what_migrating_made_stays() -> Iterator[None]:
    """The flush after a test leaves it (tests/postgresql), so nothing has to be made again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.core.management.commands.flush.emit_post_migrate_signal", lambda *_, **__: None)
        yield


@pytest.fixture(autouse=True)
def _no_language_is_left_behind() -> Iterator[None]:
    """A request that was answered in one language leaves it to the thread, and so to the next test."""
    yield
    translation.deactivate()


@dataclass(frozen=True)
class LiveStack:
    """A served console: `url` of the web server, and the processes `web`, `worker` and `beat`."""

    url: str
    processes: throwaway.Held
    database_url: str


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def free_port() -> int:
    """A TCP port that nobody listens on now."""
    return _free_port()


@pytest.fixture(scope="session")
def _served(stack: Stack, django_db_setup: None) -> Iterator[LiveStack]:
    from django.conf import settings

    from tasweb.stack import node

    node.build()
    name = settings.DATABASES["default"]["NAME"]
    parts = urlsplit(stack.database_url)
    query = {key: values[0] for key, values in parse_qs(parts.query).items()}
    if os.environ.get("TAS_THROWAWAY"):
        query["user"] = postgres.RUNTIME
    url = parts._replace(path=f"/{name}", query="&".join(f"{k}={v}" for k, v in query.items())).geturl()
    port = _free_port()
    env = {**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "tasweb.settings"}
    with throwaway.application(env, port) as processes:
        yield LiveStack(f"http://127.0.0.1:{port}", processes, url)


@pytest.fixture
def live_stack(transactional_db: None, _served: LiveStack) -> LiveStack:
    """ASGI server, Celery worker and beat as real processes on the test database, as the runtime role."""
    return _served


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium by Playwright, one for each module: its event loop must be gone before the next asyncio
    test."""
    from playwright.sync_api import sync_playwright

    binary = chromium.find()
    # Playwright's loop runs in this thread, where Django would then refuse every query.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    try:
        with sync_playwright() as playwright:
            launched = playwright.chromium.launch(executable_path=str(binary), args=list(chromium.ARGUMENTS))
            yield launched
            launched.close()
    finally:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def page(browser: Any, live_stack: LiveStack) -> Iterator[Any]:
    """A page in a fresh browser context whose relative addresses are the live stack's."""
    context = browser.new_context(base_url=live_stack.url, viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()


def screenshot(page: Any, name: str) -> Path:
    """Store a picture of the whole page as ``artefacts/<name>.png`` for people to look at."""
    ARTEFACTS.mkdir(exist_ok=True)
    path = ARTEFACTS / f"{name}.png"
    page.screenshot(path=str(path), full_page=True)
    return path


@pytest.fixture(name="screenshot")
def _screenshot() -> Any:
    return screenshot


NARROW = 10


def narrow_partitions(width: int) -> None:
    """Let the function that opens partitions make them as wide; the owner may. Its caller tells the store."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("select pg_get_functiondef('scheduling_open_partition(bigint, bigint)'::regprocedure)")
        (definition,) = cursor.fetchone()
        cursor.execute(re.sub(r"(width constant bigint := )\d+", rf"\g<1>{width}", definition))


@pytest.fixture
def narrow(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Partitions of ten events, so that a test fills some; gives their width."""
    from scheduling.ledger import store

    wide = store.PARTITION_WIDTH
    monkeypatch.setattr(store, "PARTITION_WIDTH", NARROW)
    narrow_partitions(NARROW)
    yield NARROW
    narrow_partitions(wide)


@pytest.fixture(scope="session")
def real_inputs() -> Path:
    """The folder of inputs that nobody here wrote; the test skips when none is named."""
    folder = os.environ.get("TAS_REAL_INPUTS")
    if not folder:
        pytest.skip("TAS_REAL_INPUTS names no folder of real inputs")
    return Path(folder)
