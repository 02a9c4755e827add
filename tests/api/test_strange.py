"""What nobody sends by accident, in addresses, parameters and bodies, has an answer in the form of errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from scheduling.models import Cluster, PodRow
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.api.support import NODES, Caller, dump, gang

STRANGE_UIDS = ["x/y?z#\"<b>'&", "a/", "/a", "%2F", "é ü", "x;y=1"]


def in_the_form(answer: Any, status: int, code: str) -> dict[str, Any]:
    """The body of an error, after a look that it is one of the documented form."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"].startswith("application/json")
    body: dict[str, Any] = json.loads(answer.content)
    assert set(body) == {"code", "message", "problems"}
    assert body["code"] == code and body["message"]
    return body


@pytest.mark.parametrize(
    "path",
    [
        "/clusters/no%00such",
        "/clusters/demo/podgroups/a/b%00",
        "/clusters/demo/nodes/n%00",
        "/clusters/a%00/map",
    ],
)
def test_an_address_with_a_nul_leads_nowhere(path: str, viewer: Caller, cluster: Cluster) -> None:
    in_the_form(viewer("GET", path), 404, "not_found")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/clusters/demo/nodes?q=%00", "q"),
        ("/clusters/demo/nodes?label=a%00b%3D1", "label"),
        ("/clusters/demo/events?q=x&q=%00", "q"),
        ("/clusters/demo/events?name=%00", "name"),
        ("/clusters/demo/events?actor=%00", "actor"),
        ("/clusters/demo/podgroups?after=%00", "after"),
        ("/clusters/demo/map?key=%00", "key"),
    ],
)
def test_a_parameter_with_a_nul_is_refused_by_its_name(
    path: str, name: str, viewer: Caller, cluster: Cluster
) -> None:
    body = in_the_form(viewer("GET", path), 422, "refused")

    assert [(found["path"], found["reason"]) for found in body["problems"]] == [(name, "FieldValueInvalid")]


@pytest.mark.parametrize("text", ["a\ud800", "a\udc00b", "a\0"])
@pytest.mark.parametrize("field", ["namespace", "name", "topology_key"])
def test_json_that_holds_no_text_is_refused_at_its_field(
    field: str, text: str, operator: Caller, cluster: Cluster
) -> None:
    form = {"namespace": "a", "name": "b", "min_count": 1, "templates": [{"count": 1}], field: text}

    body = in_the_form(operator("POST", "/clusters/demo/podgroups", form), 422, "refused")

    assert [found["path"] for found in body["problems"]] == [field]


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ({"requests": {"cpu\ud800": "1"}}, "templates.0.requests.cpu\\ud800"),
        ({"node_selector": {"a": "\ud800"}}, "templates.0.node_selector.a"),
        ({"tolerations": [{"key": "\0"}]}, "templates.0.tolerations.0.key"),
    ],
)
def test_text_that_is_none_is_found_however_deep(
    part: dict[str, Any], path: str, operator: Caller, cluster: Cluster
) -> None:
    form = {"namespace": "a", "name": "b", "min_count": 1, "templates": [{"count": 1, **part}]}

    body = in_the_form(operator("POST", "/clusters/demo/podgroups", form), 422, "refused")

    assert [found["path"] for found in body["problems"]] == [path]


@pytest.mark.parametrize("text", ["\\ud800", "\\u0000"])
@pytest.mark.parametrize("path", ["/clusters/demo/podgroups/manifests", "/clusters/demo/import"])
def test_manifests_that_hold_no_text_are_refused(
    path: str, text: str, operator: Caller, cluster: Cluster
) -> None:
    data = dump(*gang("job", 1)).replace(b'"job"', b'"jo' + text.encode() + b'"')

    answer = operator("POST", path, data, content_type="application/json")

    assert answer.status_code in (400, 422)


@pytest.mark.parametrize("path", ["/nothing", "/clusters/demo/nothing", "/clusters/demo/events/-1", "/"])
def test_an_address_of_nothing_is_a_404_in_the_one_form(path: str, viewer: Caller, cluster: Cluster) -> None:
    body = in_the_form(viewer("GET", path), 404, "not_found")

    assert "Resolver" not in body["message"]


@pytest.mark.parametrize(("method", "path"), [("PUT", "/clusters"), ("POST", "/clusters/demo/nodes")])
def test_a_wrong_method_is_a_405_in_the_one_form(
    method: str, path: str, operator: Caller, cluster: Cluster
) -> None:
    answer = operator(method, path, {})

    in_the_form(answer, 405, "not_allowed")
    assert answer["Allow"]


def test_a_failure_is_in_the_one_form_and_tells_nothing(
    viewer: Caller, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("scheduling.api.nodes.selectors.page", fail)
    client = Client(raise_request_exception=False)

    answer = client.get("/api/v1/clusters/demo/nodes", headers={"Authorization": f"Bearer {viewer.token}"})

    assert "secret" not in in_the_form(answer, 500, "error")["message"]


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
@pytest.mark.parametrize(("method", "path"), [("GET", "/clusters/demo/nodes"), ("GET", "/docs")])
def test_while_the_database_is_away_every_answer_is_a_503_in_the_one_form(
    method: str, path: str, error: type[Exception], viewer: Caller, cluster: Cluster
) -> None:
    def refuse(*_: object) -> None:
        raise error("the server went away")

    client = Client(raise_request_exception=False)
    with connection.execute_wrapper(refuse):
        answer = client.generic(method, f"/api/v1{path}", headers={"Authorization": f"Bearer {viewer.token}"})

    body = in_the_form(answer, 503, "unavailable")
    assert body["message"] == (
        "The database does not answer. Whether a change was stored is not known: send the same again, with "
        "the same Idempotency-Key."
    )
    assert answer["Retry-After"] == "5"


@pytest.mark.parametrize("uid", STRANGE_UIDS)
def test_a_member_is_deleted_whatever_its_uid(
    uid: str, operator: Callable[..., Any], cluster: Cluster
) -> None:
    group, pod = gang("odd", 1)
    pod["metadata"]["uid"] = uid
    import_cluster(name="demo", request=ImportRequest(data=dump(*NODES, group, pod)), actor="test")

    answer = operator("DELETE", f"/clusters/demo/pods/{quote(uid, safe='')}")

    assert answer.status_code == 200, answer.content
    assert PodRow.objects.get(cluster=cluster, uid=uid).removed
