"""Importing by the page: preview first, everything or nothing, and nothing that was given is lost."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

from scheduling.models import Cluster, Event, NodeRow
from tests.console.support import dump, gang, node, text

GATES = ["GangScheduling", "GenericWorkload", "TopologyAwareWorkloadScheduling"]
NODES = [node("a", "r1"), node("b", "r1")]
BAD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "no-spec", "namespace": "team-a"}, "spec": 3}


def hidden(response: HttpResponse, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', response.content.decode())
    return found[1] if found else ""


def preview(client: Client, *, data: bytes = b"", pasted: str = "", **more: Any) -> HttpResponse:
    fields: dict[str, Any] = {"name": "lab", "action": "preview", "text": pasted, **more}
    if data:
        fields["file"] = SimpleUploadedFile("dump.json", data)
    return client.post("/clusters/import/", fields)


def confirm(client: Client, previewed: HttpResponse, **more: Any) -> HttpResponse:
    """Press "Import" on the page that a preview answered with."""
    names = ("draft", "proposed_for", "command_id")
    kept = {name: hidden(previewed, name) for name in names}
    fields = {"name": "lab", "action": "import", "mode": "observed", "text": "", **kept, **more}
    return client.post("/clusters/import/", fields)


def test_a_preview_counts_what_it_read_and_writes_nothing(operator: Client) -> None:
    ignored = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}

    page = preview(operator, data=dump(*NODES, *gang("train", 2), ignored))

    assert page.status_code == 200
    said = text(page)
    assert "Cluster lab would be new." in said
    assert "Node 2 2 0 0 0" in said
    assert "PodGroup 1 1 0 0 0" in said
    assert "Service 1" in said
    assert not Cluster.objects.exists()
    assert not Event.objects.exists()


def test_the_dump_of_a_large_cluster_may_be_pasted(operator: Client) -> None:
    pasted = dump(*NODES).decode() + " " * (6 << 20)

    assert preview(operator, pasted=pasted).status_code == 200


def test_an_uploaded_file_needs_no_second_upload_to_be_confirmed(operator: Client) -> None:
    page = preview(operator, data=gzip.compress(dump(*NODES)))

    answer = confirm(operator, page, gates=GATES)

    assert answer.status_code == 302
    assert answer["Location"] == "/c/lab/map"
    assert NodeRow.objects.filter(cluster__name="lab").count() == 2


def test_confirming_twice_imports_once(operator: Client) -> None:
    page = preview(operator, pasted=dump(*NODES).decode())
    confirm(operator, page, text=dump(*NODES).decode())
    before = Event.objects.count()

    confirm(operator, page, text=dump(*NODES).decode())

    assert Event.objects.count() == before


def test_pasted_text_stays_when_something_is_wrong_with_it(operator: Client) -> None:
    pasted = "kind: Node\nmetadata: {name: [\n"

    page = preview(operator, pasted=pasted)

    assert "is not readable as YAML" in text(page)
    assert "kind: Node\nmetadata: {name: [" in page.content.decode()

    page = operator.post("/clusters/import/", {"name": "lab", "action": "import", "text": pasted})

    assert page.status_code == 422
    assert "kind: Node\nmetadata: {name: [" in page.content.decode()
    assert not Cluster.objects.exists()


def test_a_refused_object_is_named_with_its_field_and_blocks_the_import(operator: Client) -> None:
    page = preview(operator, data=dump(*NODES, BAD))

    said = text(page)
    assert "1 object is refused." in said
    assert "team-a/ no-spec" in said or "team-a/no-spec" in said
    assert re.search(r'value="import" disabled', page.content.decode())

    answer = confirm(operator, page, gates=GATES)

    assert answer.status_code == 422
    assert "nothing was stored" in text(answer)
    assert not Cluster.objects.exists()


def test_the_rest_is_imported_where_one_asks_for_it(operator: Client) -> None:
    page = preview(operator, data=dump(*NODES, BAD), partial="on")

    answer = confirm(operator, page, gates=GATES, partial="on")

    assert answer.status_code == 302
    assert NodeRow.objects.count() == 2
    assert Event.objects.filter(type="SnapshotImported", body__contains="no-spec").count() == 1


def test_what_a_complete_dump_lacks_is_listed_before_it_goes(operator: Client, cluster: Cluster) -> None:
    page = preview(operator, name="demo", data=dump(node("n11", "r1")), complete=["Node"])

    said = text(page)
    assert "4 Node absent from the dump would go" in said
    assert "n12" in said
    assert NodeRow.objects.filter(cluster=cluster, removed=False).count() == 5


def test_gates_are_proposed_from_the_dump_and_follow_a_change_of_mode(operator: Client) -> None:
    page = preview(operator, data=dump(*NODES))
    ticked = re.findall(r'name="gates" value="(\w+)"[^>]* checked', page.content.decode())
    assert hidden(page, "proposed_for") == "observed"
    assert ticked == []

    again = confirm(operator, page, mode="simulated")

    assert again.status_code == 200
    assert "The mode has changed" in text(again)
    assert not Cluster.objects.exists()
    ticked = re.findall(r'name="gates" value="(\w+)"[^>]* checked', again.content.decode())
    assert sorted(ticked) == GATES

    confirm(operator, again, mode="simulated", gates=ticked)

    assert Cluster.objects.get(name="lab").gates == dict.fromkeys(GATES, True)


def test_a_gate_taken_off_by_hand_stays_off(operator: Client) -> None:
    page = preview(operator, data=dump(*NODES, *gang("train", 2)), mode="simulated")

    confirm(operator, page, mode="simulated", gates=["GenericWorkload"])

    assert Cluster.objects.get(name="lab").gates == {**dict.fromkeys(GATES, False), "GenericWorkload": True}


def test_a_draft_is_nobody_elses(operator: Client, admin: Client) -> None:
    page = preview(operator, data=dump(*NODES))

    answer = confirm(admin, page)

    assert answer.status_code == 422
    assert "choose the file again" in text(answer)


def test_a_forged_draft_is_refused(operator: Client) -> None:
    answer = operator.post(
        "/clusters/import/", {"name": "lab", "action": "import", "draft": "WyJ4IiwxXQ:x:y"}
    )

    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "lab"}, "Choose a file or paste manifests."),
        ({"name": "", "text": "{}"}, "This field is required."),
        ({"name": "not a name", "text": "{}"}, "slug"),
        ({"name": "Upper", "text": dump(*NODES).decode()}, "is no cluster name"),
    ],
)
def test_an_error_is_told_at_the_form(fields: dict[str, str], message: str, operator: Client) -> None:
    page = operator.post("/clusters/import/", {"action": "preview", **fields})

    assert page.status_code == 422
    assert message in text(page)
    assert 'aria-invalid="true"' in page.content.decode()


def test_the_mode_of_a_known_cluster_is_no_business_of_an_import(operator: Client, cluster: Cluster) -> None:
    page = preview(operator, name="demo", data=dump(*NODES), mode="observed")

    assert page.status_code == 422
    assert "switch the mode first" in text(page)
