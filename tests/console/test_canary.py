"""Pages of canaries: the form keeps what was typed, the page tells what is measured, and every page says whom
a canary holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from scheduling.engine.canary import Scope
from scheduling.models import Cluster, Event
from scheduling.selectors.event_search import Filters, search
from scheduling.services import canary as services
from scheduling.services.canary import CanaryWish
from scheduling.services.clusters import set_gate, set_mode
from scheduling.services.cycles import run_cycle
from scheduling.services.execute import now_ms

PAGE = "/c/demo/rollout/canary"
TYPED = {
    "stages": "2",
    "s0-namespaces": "team-a",
    "s1-namespaces": "team-a, team-b",
    "s1-groups": "team-c/x",
    "means": "scope",
    "window": "90",
    "window_unit": "seconds",
    "approval": "ask",
    "unit": "tokens",
    "limit_wait_median": "1.5",
    "limit_pending_share": "12.5",
    "limit_throughput": "0.25",
}


@pytest.fixture
def off(cluster: Cluster) -> Cluster:
    """`demo` with a gate off; the group that waits is decided anew."""
    set_gate(cluster=cluster, gate="GangScheduling", enabled=False, actor="ops")
    return Cluster.objects.get(pk=cluster.pk)


@pytest.fixture
def operator(signed_in: Callable[..., Client]) -> Client:
    return signed_in("view_cluster", "switch_gate", "operate_cluster")


def start(cluster: Cluster, **more: Any) -> str:
    values: dict[str, Any] = {"stages": (Scope(("team-a",)),), "limits": {"pending": 0}}
    done = services.start(cluster=cluster, wish=CanaryWish(**values | more), actor="ops")
    return str(done.events[0].name)  # type: ignore[attr-defined]


def text(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def judge(cluster: Cluster) -> None:
    """A cycle an hour later, when the window is over."""
    run_cycle(cluster.pk, clock=lambda: now_ms() + 3_600_000)


def test_the_form_starts_what_was_typed_in_the_units_of_people(operator: Client, off: Cluster) -> None:
    answer = operator.post(PAGE, TYPED)
    assert answer.status_code == 302, answer.content.decode()

    event = Event.objects.filter(stream_id=off.pk, type="CanaryStarted").get()
    assert '"window":90000' in event.body and '"unit":"tokens"' in event.body
    for limit in ('"wait_median","value":1500', '"pending_share","value":125', '"throughput","value":250'):
        assert limit in event.body
    assert '{"groups":["team-c/x"],"namespaces":["team-a","team-b"]}' in event.body


def test_nothing_typed_is_lost_on_an_error_and_problems_stand_at_their_fields(
    operator: Client, off: Cluster
) -> None:
    answer = operator.post(PAGE, TYPED | {"s1-namespaces": "team-b", "limit_wait_control": "110"})
    page = answer.content.decode()

    assert answer.status_code == 422
    assert page.count("errorlist") == 1 and "a stage covers all of the one before it" in page
    for value in ('value="team-b"', 'value="team-c/x"', 'value="12.5"', 'value="110"', 'value="90"'):
        assert value in page
    assert not Event.objects.filter(stream_id=off.pk, type="CanaryStarted").exists()


def test_without_a_limit_it_says_so_and_a_number_that_is_none_is_told_at_its_field(
    operator: Client, off: Cluster
) -> None:
    without = {name: value for name, value in TYPED.items() if not name.startswith("limit_")}
    assert "by nothing else it is judged" in operator.post(PAGE, without).content.decode()
    odd = operator.post(PAGE, TYPED | {"limit_errors": "1.5"})
    assert odd.status_code == 422 and 'aria-describedby="id_limit_errors-errors"' in odd.content.decode()


def test_stages_come_and_go_with_what_stands_in_them(operator: Client, off: Cluster) -> None:
    more = operator.post(PAGE, TYPED | {"action": "add"}).content.decode()
    assert 'name="stages" value="3"' in more and more.count('value="team-a, team-b"') == 2
    less = operator.post(PAGE, TYPED | {"action": "remove:0"}).content.decode()
    assert 'name="stages" value="1"' in less and 'value="team-c/x"' in less
    assert "errorlist" not in less


def test_a_viewer_sees_it_and_may_not_start_one(viewer: Client, off: Cluster) -> None:
    start(off)
    assert "canary-rollback" not in text(viewer, PAGE)
    assert viewer.post(PAGE, TYPED).status_code == 403


def test_the_page_tells_what_is_measured_and_of_which_groups(operator: Client, off: Cluster) -> None:
    name = start(off, limits={"pending": 0, "throughput": 1_000})
    run_cycle(off.pk)
    page = text(operator, PAGE)

    assert name in page and "no data" in page and "1 steps/s or more" in page
    assert '/c/demo/podgroups/team-a/wide"' in page and "canary-approve" not in page
    assert f'href="/c/demo/history?canary={name}"' in page


@pytest.mark.parametrize(
    "address", ["/c/demo/podgroups/team-a/fits", "/c/demo/podgroups/", "/c/demo/pending"]
)
def test_pages_say_for_each_group_whether_a_canary_holds_it(
    address: str, operator: Client, off: Cluster
) -> None:
    assert "constraint not enforced" in text(operator, address).replace("TAS is off: constraint", "")
    name = start(off)
    run_cycle(off.pk)
    page = text(operator, address).replace("TAS is off: constraint", "")

    assert ("constraint not enforced" in page) is False
    assert f"{name} is running: groups of namespace team-a are held to one domain" in page
    if "podgroups" in address:
        assert f"enforced by {name}" in page


def test_one_that_asks_is_loud_on_every_page_and_a_person_decides(operator: Client, off: Cluster) -> None:
    name = start(off, approval="ask", limits={"throughput": 1})
    judge(off)
    for address in ("/c/demo/nodes/", "/c/demo/history", "/c/demo/map"):
        assert f"{name} was judged (not enough data) and waits for a person" in text(operator, address)
    assert operator.get("/c/demo/gates-banner?shown=GangScheduling").status_code == 200

    answer = operator.post(f"{PAGE}/{name}/rollback", follow=True).content.decode()
    assert "It was rolled back." in answer and "Canaries that are over" in answer
    assert operator.get("/c/demo/gates-banner?shown=GangScheduling").status_code == 204
    again = operator.post(f"{PAGE}/{name}/stop", follow=True).content.decode()
    assert "it is over: rolled_back" in again
    assert operator.post(f"{PAGE}/{name}/sing").status_code == 404


def test_the_history_of_a_canary_has_what_followed_from_it(operator: Client, off: Cluster) -> None:
    name = start(off)
    run_cycle(off.pk)
    judge(off)
    run_cycle(off.pk, clock=lambda: now_ms() + 3_700_000)
    told = [event.type for event in reversed(search(off, Filters(canary=name)).items)]

    assert told == [
        "CanaryStarted",
        "CanaryJudged",
        "GateRolledBack",
        "PodGroupPlaced",
    ]
    page = text(operator, f"/c/demo/history?canary={name}")
    assert "was rolled back, because it failed" in page and "groups that wait 1, allowed 0 or less" in page
    placed = search(off, Filters(canary=name, type="PodGroupPlaced")).items[0]
    rolled = search(off, Filters(type="GateRolledBack")).items[0]
    assert placed.cause == rolled.seq


def test_where_there_is_nothing_to_try_the_page_says_why(operator: Client, cluster: Cluster) -> None:
    assert "Every gate is on" in text(operator, PAGE)
    set_gate(cluster=cluster, gate="GangScheduling", enabled=False, actor="ops")
    assert 'id="canary-form"' in text(operator, PAGE)
    set_mode(cluster=cluster, mode="observed", actor="ops")
    assert "its gates are its own" in text(operator, PAGE) and 'id="canary-form"' not in text(operator, PAGE)


def test_the_map_of_the_past_tells_whom_it_held_then(operator: Client, off: Cluster) -> None:
    name = start(off)
    run_cycle(off.pk)
    held = Event.objects.filter(stream_id=off.pk).latest("seq").seq
    services.stop(cluster=off, name=name, actor="ops")

    assert f"enforced by {name}" in text(operator, f"/c/demo/map?at={held}&pg=team-a/wide")
    assert f"enforced by {name}" not in text(operator, "/c/demo/map?pg=team-a/wide")
