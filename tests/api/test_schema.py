"""The OpenAPI document: whole in itself, agreeing with docs/, and true of every operation's access."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from scheduling.api.schemas import ErrorOut
from scheduling.api.urls import api
from tests.api.support import PERMISSIONS, Caller

ROOT = Path(__file__).resolve().parents[2]
SCHEMA: dict[str, Any] = dict(api.get_openapi_schema())
OPERATIONS = [
    (method.upper(), path, operation)
    for path, methods in SCHEMA["paths"].items()
    for method, operation in methods.items()
]
EACH = pytest.mark.parametrize(
    ("method", "path", "operation"), OPERATIONS, ids=[f"{method} {path}" for method, path, _ in OPERATIONS]
)


def address(path: str) -> str:
    """A path with every parameter filled in, of things that do not exist."""
    filled = re.sub(r"{seq}", "1", path.removeprefix("/api/v1"))
    return re.sub(r"{\w+}", "nothing", filled)


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "$ref":
                yield item
            else:
                yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def test_there_are_operations() -> None:
    assert len(OPERATIONS) >= 19


def test_every_reference_leads_somewhere() -> None:
    for reference in references(SCHEMA):
        place: Any = SCHEMA
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]


def test_operation_ids_are_unique() -> None:
    ids = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(set(ids)) == len(ids)


@EACH
def test_every_operation_says_what_it_does_and_which_errors_it_has(
    method: str, path: str, operation: dict[str, Any]
) -> None:
    assert operation["summary"] and operation["description"] and operation["tags"]
    assert operation["x-permission"].removeprefix("scheduling.") in PERMISSIONS
    assert [*operation["security"][0]] == ["BearerToken"] and [*operation["security"][1]] == ["Session"]
    answers = {int(status): answer for status, answer in operation["responses"].items()}
    assert {401, 403} <= answers.keys()
    for status, answer in answers.items():
        if status >= 400:
            assert answer["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorOut")
    if "{cluster}" in path and not path.endswith("/import"):
        assert 404 in answers


@EACH
def test_path_parameters_are_declared(method: str, path: str, operation: dict[str, Any]) -> None:
    declared = {entry["name"] for entry in operation["parameters"] if entry["in"] == "path"}
    assert declared == set(re.findall(r"{(\w+)}", path))


@EACH
def test_what_changes_something_takes_an_idempotency_key(
    method: str, path: str, operation: dict[str, Any]
) -> None:
    headers = {entry["name"] for entry in operation["parameters"] if entry["in"] == "header"}
    assert ("Idempotency-Key" in headers) == (method != "GET")


@EACH
@pytest.mark.django_db
def test_without_a_token_it_is_401(method: str, path: str, operation: dict[str, Any]) -> None:
    answer = Client().generic(method, f"/api/v1{address(path)}", "{}", "application/json")
    assert answer.status_code == 401
    assert ErrorOut.model_validate_json(answer.content).code == "unauthenticated"
    assert answer["WWW-Authenticate"] == "Bearer"


@EACH
@pytest.mark.django_db
def test_with_every_permission_but_its_own_it_is_403(
    caller: Callable[..., Caller], method: str, path: str, operation: dict[str, Any]
) -> None:
    needed = operation["x-permission"].removeprefix("scheduling.")
    answer = caller(*(set(PERMISSIONS) - {needed}))(method, address(path), {})
    assert answer.status_code == 403
    assert ErrorOut.model_validate_json(answer.content).code == "forbidden"


@EACH
@pytest.mark.django_db
def test_with_its_permission_alone_it_is_neither(
    caller: Callable[..., Caller], method: str, path: str, operation: dict[str, Any]
) -> None:
    needed = operation["x-permission"].removeprefix("scheduling.")
    assert caller(needed)(method, address(path), {}).status_code not in (401, 403)


def test_the_documentation_lists_every_operation_and_no_other() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    listed = set(re.findall(r"^\| `(GET|POST|PUT|PATCH|DELETE) (/\S*)` \| (\w+) \|", text, re.MULTILINE))
    known = {
        (method, path.removeprefix("/api/v1"), operation["x-permission"].removeprefix("scheduling."))
        for method, path, operation in OPERATIONS
    }
    assert listed == known


def test_the_documentation_lists_every_error() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    codes = ErrorOut.model_json_schema()["properties"]["code"]["enum"]
    assert [code for code in codes if code != "error" and f"| {code} |" not in text] == []


@pytest.mark.django_db
def test_the_document_and_its_page_are_for_users_only(viewer: Caller) -> None:
    assert Client().get("/api/v1/openapi.json").status_code == 401
    assert Client().get("/api/v1/docs").headers["Location"].startswith("/login/?next=")
    assert viewer("GET", "/openapi.json").json()["paths"].keys() == SCHEMA["paths"].keys()


@pytest.mark.django_db
def test_the_page_loads_nothing_from_elsewhere_and_runs_no_inline_script(viewer: Caller) -> None:
    client = Client()
    client.force_login(viewer.user)
    page = client.get("/api/v1/docs").content.decode()
    assert re.findall(r"""(?:src|href)=["'](?:https?:)?//""", page) == []
    scripts = re.findall(r"<script([^>]*)>", page)
    assert scripts and all("src=" in tag or "application/json" in tag for tag in scripts)
    assert "<style" not in page and not re.search(r"\son\w+=", page)
