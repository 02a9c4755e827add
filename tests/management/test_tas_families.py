"""`manage.py tas FAMILY VERB`: the services, and nothing beside them."""

from __future__ import annotations

import getpass
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import OutputWrapper
from django.utils import timezone

from scheduling.ledger import store
from scheduling.management.commands.tas import FAMILIES, REFUSED
from scheduling.models import Cluster, Event
from scheduling.services.cycles import run_cycle
from scheduling.services.state import state_of
from scheduling.services.workloads import MemberTemplate, WorkloadForm, submit
from tests.api.support import GPU, NODES, RACK, dump, gang

pytestmark = pytest.mark.django_db

FITS, WIDE = "team-a/fits", "team-a/wide"


def tas(*words: str) -> str:
    out = StringIO()
    call_command("tas", *words, stdout=OutputWrapper(out))
    return out.getvalue()


def tas_json(*words: str) -> Any:
    return json.loads(tas(*words, "--json"))


def types(answer: Any) -> list[str]:
    return [event["type"] for event in answer["events"]]


def refused(*words: str) -> str:
    with pytest.raises(CommandError) as error:
        tas(*words)
    assert error.value.returncode == REFUSED
    return str(error.value)


@pytest.fixture
def demo(tmp_path: Path) -> Cluster:
    """`fits` runs in one rack, `wide` waits: no rack has three nodes."""
    path = tmp_path / "dump.json"
    path.write_bytes(dump(*NODES, *gang("fits", 2), *gang("wide", 3)))
    tas("import", "demo", str(path), "--mode", "simulated")
    cluster = Cluster.objects.get(name="demo")
    run_cycle(cluster.pk)
    return cluster


def rack_of_fits(demo: Cluster) -> str:
    (rack,) = {
        str(state_of(demo).nodes[pod.node].label(RACK)) for pod in state_of(demo).members(FITS) if pod.node
    }
    return rack


class TestWaits:
    def test_a_deadline_is_set_shown_and_goes_back_to_the_default(self, demo: Cluster) -> None:
        assert types(tas_json("wait", "policy", "demo", "--after-s", "3600", "--action", "propose")) == [
            "WaitPolicyChanged"
        ]
        assert tas_json("wait", "policy", "demo") == {"after_s": 3600, "action": "propose"}
        assert "3600  propose" in tas("wait", "policy", "demo")
        assert types(tas_json("wait", "deadline", "demo", WIDE, "--unlimited")) == ["WaitDeadlineSet"]
        assert tas_json("wait", "show", "demo", WIDE)["unlimited"] is True
        assert "as long as it takes" in tas("wait", "show", "demo", WIDE)
        assert "WaitDeadlineWithdrawn" in tas("wait", "deadline", "demo", WIDE, "--default")
        assert tas("wait", "deadline", "demo", WIDE, "--default") == "Nothing to do: it is so already.\n"
        assert "(default)" in tas("wait", "show", "demo", WIDE)
        tas("wait", "policy", "demo", "--none")
        assert "as long as it takes" in tas("wait", "policy", "demo")
        (event, *_) = Event.objects.filter(stream_id=demo.pk, type="WaitDeadlineSet")
        assert event.actor == f"cli:{getpass.getuser()}"

    def test_a_time_is_in_utc_and_one_that_is_past_is_refused(self, demo: Cluster) -> None:
        year = timezone.now().year + 1
        tas("wait", "deadline", "demo", WIDE, "--at", f"{year}-01-01T09:00:00", "--action", "close")
        assert tas_json("wait", "show", "demo", WIDE)["deadline"]["at"] == f"{year}-01-01T09:00:00Z"
        head = store.head(demo.pk)
        said = refused("wait", "deadline", "demo", WIDE, "--at", "2020-01-01T00:00:00Z")
        assert "PodGroup team-a/wide at: the deadline must be in the future" in said
        assert store.head(demo.pk) == head

    def test_a_generation_is_forecast_opened_once_and_listed(self, demo: Cluster) -> None:
        asked = ("wait", "next", "demo", WIDE, "--generation", "1", "--no-constraint")
        head = store.head(demo.pk)
        assert tas_json(*asked, "--dry-run")["verdict"] == "placed"
        assert "would have a node" in tas(*asked, "--dry-run") and store.head(demo.pk) == head
        assert "PodGroupCreated" in tas(*asked)
        assert "generation 1 is not the open one" in refused(*asked)
        assert [row["generation"] for row in tas_json("wait", "generations", "demo", WIDE)["items"]] == [2, 1]
        assert "superseded" in tas("wait", "generations", "demo", WIDE)

    def test_a_domain_is_given_up_and_taken_back(self, demo: Cluster) -> None:
        assert types(tas_json("wait", "mark-lost", "demo", RACK, "rack-1"))[0] == "DomainMarkedLost"
        assert "node-1-1, node-1-2" in tas("wait", "lost", "demo")
        assert types(tas_json("wait", "take-back", "demo", RACK, "rack-1"))[0] == "DomainMarkTakenBack"
        assert tas_json("wait", "lost", "demo") == {"items": []}


class TestRoom:
    def test_room_is_held_listed_and_released(self, demo: Cluster) -> None:
        (rack,) = {"rack-1", "rack-2"} - {rack_of_fits(demo)}
        made = tas_json("reservation", "make", "demo", RACK, rack, "namespace", "team-b", "--nodes", "1")
        assert types(made) == ["ReservationMade"]
        (item,) = tas_json("reservation", "list", "demo")["items"]
        assert (item["domain"], item["holder"], item["expires_at"]) == (rack, "team-b", None)
        assert "namespace team-b" in tas("reservation", "list", "demo")
        assert "ReservationReleased" in tas("reservation", "release", "demo", item["name"])

    def test_room_for_members_that_is_not_there_is_refused_by_field(self, demo: Cluster) -> None:
        said = refused(
            "reservation", "make", "demo", RACK, "rack-1", "group", WIDE,
            "--members", "9", "--request", f"{GPU}=8", "--minutes", "60",
        )  # fmt: skip
        assert "members: such members for which rack-1 has room now" in said

    def test_a_queue_is_defined_listed_and_removed(self, demo: Cluster) -> None:
        asked = ("queue", "define", "demo", "research", "--priority", "3", "--quota", "8", "--order", "fair")
        assert types(tas_json(*asked)) == ["QueueDefined"] and types(tas_json(*asked)) == []
        (item,) = tas_json("queue", "list", "demo")["items"]
        assert (item["name"], item["priority"], item["quota"], item["order"]) == ("research", 3, 8, "fair")
        listed = tas("queue", "list", "demo")
        assert "research" in listed and WIDE in listed
        assert "quota" in refused("queue", "define", "demo", "bad", "--order", "fair")
        assert types(tas_json("queue", "remove", "demo", "research")) == ["QueueRemoved"]


class TestNewNodes:
    def test_from_a_type_to_nodes_that_joined(self, demo: Cluster) -> None:
        assert "no node type is defined" in tas("scale-up", "preview", "demo", WIDE)
        asked = ("node-type", "define", "demo", "big", "--like", "node-1-1", "--grow", RACK, "rack-1", "4")
        assert types(tas_json(*asked, "--provider", "simulated", "--cost", "2.5")) == ["NodeTypeDefined"]
        assert "4/4" in tas("node-type", "list", "demo") and "2.5" in tas("node-type", "list", "demo")
        assert tas_json("scale-up", "preview", "demo", WIDE)["options"]
        assert "that makes team-a/wide fit" in tas("scale-up", "preview", "demo", WIDE)
        tas("scale-up", "plan", "demo", WIDE)
        (plan,) = tas_json("scale-up", "list", "demo")["items"]
        assert plan["status"] == "planned" and plan["name"] in tas("scale-up", "list", "demo")
        assert "- 0: " in tas("scale-up", "show", "demo", plan["name"])
        items = json.loads(tas("scale-up", "export", "demo", plan["name"], "node-pools"))["items"]
        assert {item["kind"] for item in items} == {"NodePool"}
        assert "option: 7 is no option" in refused(
            "scale-up", "approve", "demo", plan["name"], "--option", "7"
        )
        tas("scale-up", "approve", "demo", plan["name"], "--nodes", "0")
        assert "NodeAdded" in tas("scale-up", "join", "demo", plan["name"])
        assert tas_json("scale-up", "show", "demo", plan["name"])["joined"]

    def test_a_plan_is_rejected_and_its_type_removed(self, demo: Cluster) -> None:
        tas("node-type", "define", "demo", "big", "--like", "node-1-1", "--grow", RACK, "rack-1", "4")
        tas("scale-up", "plan", "demo", WIDE)
        (plan,) = tas_json("scale-up", "list", "demo")["items"]
        assert f"the open plan {plan['name']} needs it" in refused("node-type", "remove", "demo", "big")
        tas("scale-up", "reject", "demo", plan["name"], "--why", "too dear")
        assert "too dear" in tas("scale-up", "show", "demo", plan["name"])
        assert types(tas_json("node-type", "remove", "demo", "big")) == ["NodeTypeRemoved"]

    def test_what_is_no_number_is_wrong_usage(self, demo: Cluster) -> None:
        with pytest.raises(CommandError) as error:
            tas("node-type", "define", "demo", "big", "--like", "node-1-1", "--grow", RACK, "rack-1", "four")
        assert error.value.returncode == 2 and "'four' is no whole number" in str(error.value)


class TestPreemption:
    def test_a_proposal_is_made_and_rejected(self, demo: Cluster) -> None:
        assert "preemption is off" in refused("preemption", "propose", "demo", WIDE)
        assert "PreemptionPolicyChanged" in tas("preemption", "policy", "demo", "propose")
        assert tas("preemption", "show", "demo").startswith("policy: propose\n")
        assert refused("preemption", "propose", "demo", WIDE).startswith("Refused; nothing was stored.")

    def test_a_proposal_is_approved(self, demo: Cluster) -> None:
        template = MemberTemplate("", 2, {"cpu": "1", GPU: "8"})
        for name, priority in (("filler", 0), ("urgent", 100)):
            form = WorkloadForm("team-a", name, "gang", 2, RACK, priority, (template,))
            submit(cluster=demo, form=form, actor="test")
            run_cycle(demo.pk)
        tas("preemption", "policy", "demo", "propose")
        assert types(tas_json("preemption", "propose", "demo", "team-a/urgent")) == ["PreemptionPlanned"]
        (proposal,) = tas_json("preemption", "show", "demo")["proposals"]
        assert proposal["id"] in tas("preemption", "show", "demo")
        assert "MemberEvicted" in tas("preemption", "approve", "demo", proposal["id"])
        assert "is approved already" in refused("preemption", "reject", "demo", proposal["id"])


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("wait", "show", "demo", "wide"), 1),
        (("wait", "show", "demo", "team-a/none"), 1),
        (("wait", "show", "none", WIDE), 1),
        (("scale-up", "show", "demo", "none"), 1),
        (("reservation", "release", "demo", "none"), 1),
        (("queue", "define", "demo", "a\0"), 1),
        (("reservation", "make", "demo", RACK, "rack-1", "namespace", "b", "--request", "cpu=\0"), 1),
    ],
)
def test_what_is_not_there_or_no_text_is_told(demo: Cluster, words: tuple[str, ...], code: int) -> None:
    with pytest.raises(CommandError) as error:
        tas(*words)
    assert error.value.returncode == code


def test_every_verb_is_told_in_the_documentation(settings: Any) -> None:
    page = (settings.BASE_DIR / "docs" / "cli.md").read_text()
    missing = [
        f"tas {name} {verb}"
        for name, family in FAMILIES.items()
        for verb in family.verbs
        if f"`tas {name} {verb}" not in page
    ]
    assert not missing
