"""docker-compose.yml: its commands and environment run the console, with its hosts replaced by the test's
servers."""

import os
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from tasweb.stack import application
from tasweb.stack.supervisor import Service, Supervisor
from tasweb.stack.throwaway import urls

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
GIVEN = {
    "SECRET_KEY": "of this test",
    "TAS_OWNER_PASSWORD": "owner-password",
    "TAS_APP_PASSWORD": "app-password",
    "ALLOWED_HOSTS": "localhost,127.0.0.1",
}
CONSOLE = ("migrate", "web", "worker", "workbench", "beat")


def interpolate(value, given):
    """As docker compose does for ${NAME}, ${NAME:-default} and ${NAME:?message}."""

    def replace(match):
        name, kind, rest = match["name"], match["kind"], match["rest"]
        if given.get(name):
            return given[name]
        if kind == "?":
            raise KeyError(f"{name}: {rest}")
        return rest or ""

    return re.sub(r"\$\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<rest>[^}]*))?\}", replace, str(value))


def environment(service, given=GIVEN):
    return {
        name: interpolate(value, given) for name, value in COMPOSE["services"][service]["environment"].items()
    }


@pytest.mark.parametrize("missing", sorted(GIVEN))
def test_compose_refuses_to_start_without_each_secret(missing):
    given = {name: value for name, value in GIVEN.items() if name != missing}
    with pytest.raises(KeyError, match=missing):
        for service in COMPOSE["services"]:
            if "environment" in COMPOSE["services"][service]:
                environment(service, given)


def test_the_example_names_every_variable_that_compose_reads():
    read = set(re.findall(r"\$\{(\w+)", (ROOT / "docker-compose.yml").read_text()))
    example = set(re.findall(r"^(\w+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert example == read


def test_only_migrate_knows_the_owner_and_nothing_else_is_reachable_from_outside():
    for name in ("web", "worker", "workbench", "beat"):
        assert "owner-password" not in "".join(environment(name).values())
        assert urlsplit(environment(name)["DATABASE_URL"]).username == "tas_app"
    assert urlsplit(environment("migrate")["DATABASE_OWNER_URL"]).username == "tas_owner"
    published = {
        name: service["ports"] for name, service in COMPOSE["services"].items() if "ports" in service
    }
    assert published == {"web": ["127.0.0.1:8000:8000"]}


def test_every_service_waits_for_what_it_needs_to_be_ready():
    services = COMPOSE["services"]
    assert services["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("web", "worker", "workbench", "beat"):
        assert services[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
        assert services[name]["depends_on"]["redis"] == {"condition": "service_healthy"}
    for name in ("postgres", "redis"):
        assert services[name]["healthcheck"]["test"][0] == "CMD"


def on(stack, service):
    """The environment of the service, its hosts replaced by the sockets of the test's servers."""
    sockets = Path(urlsplit(stack.redis_url).path).parent
    env = environment(service)
    for name in ("DATABASE_URL", "DATABASE_OWNER_URL"):
        if name in env:
            parts = urlsplit(env[name])
            assert (parts.hostname, parts.port) == ("postgres", 5432)
            env[name] = f"postgres://{parts.path}?host={sockets}&user={parts.username}"
    assert urlsplit(env["REDIS_URL"]).hostname == "redis"
    env["REDIS_URL"] = urls(sockets)["REDIS_URL"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**env, "PATH": path, "TAS_NO_BOOTSTRAP": "1", "DJANGO_SETTINGS_MODULE": "tasweb.settings"}


async def test_the_commands_of_compose_migrate_and_then_serve(stack, tmp_path, free_port, monkeypatch):
    if "TAS_THROWAWAY" not in os.environ:
        pytest.skip("needs the throw-away servers, which have both roles; DATABASE_URL names others")
    monkeypatch.chdir(ROOT)
    commands = {name: list(COMPOSE["services"][name]["command"]) for name in CONSOLE}
    commands["web"] = [
        {"--port=8000": f"--port={free_port}", "--host=0.0.0.0": "--host=127.0.0.1"}.get(word, word)
        for word in commands["web"]
    ]
    commands["beat"] = [
        f"--schedule={tmp_path}/beat" if word.startswith("--schedule=") else word for word in commands["beat"]
    ]
    worker, workbench, beat, web = application.services({}, tmp_path, free_port)
    supervisor = Supervisor(tmp_path)
    try:
        await supervisor.run("migrate", commands["migrate"], env=on(stack, "migrate"))
        await supervisor.start(
            *(
                Service(
                    name,
                    commands[name],
                    known.ready,
                    {**(known.env or {}), **on(stack, name), "TAS_PROCESS": name},
                )
                for name, known in (
                    ("worker", worker),
                    ("workbench", workbench),
                    ("beat", beat),
                    ("web", web),
                )
            )
        )
    finally:
        await supervisor.stop()
