"""Room held for somebody: chosen by the engine's packing, refused by field, ended by time and by nodes."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.engine.queues import Queue
from scheduling.engine.reservations import Reservation
from scheduling.ledger.events import QueueDefined, ReservationReleased
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.problems import Refused
from scheduling.services.queueing import define_queue_events, remove_queue_events
from scheduling.services.reserving import Wish, release_events, reserve_events
from scheduling.services.submitting import MemberTemplate, submit_events
from scheduling.services.tending import tended
from tests.services.builders import GPU, RACK, form, gang, node, pod, stream, text

MINUTE = 60_000


def wish(**more: Any) -> Wish:
    return Wish(**{"topology_key": RACK, "domain": "r1", "holder_kind": "group", "holder": "ml/big"} | more)


def reserve(made: MemoryStream, **more: Any) -> Reservation:
    made.commit(reserve_events(made.state, wish(**more), made.now_ms))
    return list(made.state.records.of(Reservation).values())[-1]


def refused(made: MemoryStream, **more: Any) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as error:
        reserve_events(made.state, wish(**more), made.now_ms)
    return [(problem.path, problem.message) for problem in error.value.problems]


@pytest.fixture
def rack() -> MemoryStream:
    """Three nodes of 8 GPUs in r1, on one of them a pod with 4."""
    nodes = [node(f"n{number}", gpu=8) for number in range(3)]
    return stream(*nodes, node("m1", "r2", gpu=8), pod("busy", on="n1", gpu=4))


def test_whole_nodes_are_those_with_unused_devices_by_name(rack: MemoryStream) -> None:
    made = reserve(rack, nodes=2)
    assert made.nodes == ("n0", "n2")
    assert dict(made.amounts[0][1]) == {"cpu": 8000, "memory": 64 << 30, GPU: 8, "pods": 110}
    assert refused(rack, nodes=1) == [("nodes", "wholly free nodes in r1 now: 0 of 1")]


def test_room_for_members_is_on_the_tightest_nodes(rack: MemoryStream) -> None:
    made = reserve(rack, members=3, requests={"cpu": "1", GPU: "2"})
    assert [(name, dict(amounts)[GPU]) for name, amounts in made.amounts] == [("n0", 2), ("n1", 4)]
    assert refused(rack, members=8, requests={GPU: "2"}) == [
        ("members", "such members for which r1 has room now: 7 of 8")
    ]


def test_room_like_the_members_of_a_group(rack: MemoryStream) -> None:
    rack.import_data(text(gang("g", 2), *[pod(f"g-{number}", "g", gpu=8) for number in range(2)]))
    assert reserve(rack, members=2, like="default/g").nodes == ("n0", "n2")
    assert refused(rack, members=3, like="default/g")[0][0] == "like"
    assert refused(rack, members=1, like="default/nobody")[0][0] == "like"


def test_what_the_holder_uses_there_already_is_on_top_of_the_room(rack: MemoryStream) -> None:
    reserve(rack, holder_kind="namespace", holder="default", members=1, requests={GPU: "4"})
    assert rack.state.held("n1")[GPU] == 4


def test_a_second_reservation_is_beside_the_first_also_for_the_same_holder(rack: MemoryStream) -> None:
    reserve(rack, nodes=2)
    assert reserve(rack, members=1, requests={GPU: "4"}).nodes == ("n1",)
    assert refused(rack, members=1, requests={GPU: "1"})[0][0] == "members"


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"holder_kind": "user"}, "holder_kind"),
        ({"holder": ""}, "holder"),
        ({"holder": "big"}, "holder"),
        ({"holder_kind": "namespace", "holder": "Not/Good"}, "holder"),
        ({"holder_kind": "queue", "holder": "nobody"}, "holder"),
        ({"topology_key": ""}, "topology_key"),
        ({"domain": "r9"}, "domain"),
        ({"nodes": 0}, "nodes"),
        ({"members": 1, "requests": {"cpu": "1"}}, "nodes"),
        ({"nodes": 0, "members": 1}, "requests"),
        ({"nodes": 0, "members": 1, "requests": {"cpu": "some"}}, "requests"),
        ({"nodes": 0, "members": 10_001, "requests": {"cpu": "1"}}, "members"),
        ({"minutes": 0}, "minutes"),
    ],
)
def test_what_is_wrong_is_told_by_field(rack: MemoryStream, more: dict[str, Any], path: str) -> None:
    assert path in [where for where, _ in refused(rack, **{"nodes": 1} | more)]


def test_a_person_releases_it_once(rack: MemoryStream) -> None:
    made = reserve(rack, nodes=1)
    rack.commit(release_events(rack.state, made.name))
    assert rack.state.held("n0") == {}
    with pytest.raises(Refused):
        release_events(rack.state, made.name)


def test_it_expires_at_its_time_and_not_before(rack: MemoryStream) -> None:
    reserve(rack, nodes=1, minutes=5)
    ends = rack.now_ms + 5 * MINUTE
    assert tended(rack.state, ends - 1) == ([], ends)
    (news,), due = tended(rack.state, ends)
    assert isinstance(news.event, ReservationReleased) and news.event.reason == "expired"
    assert due is None


def test_it_ends_when_none_of_its_nodes_is_in_the_domain(rack: MemoryStream) -> None:
    reserve(rack, nodes=2)
    rack.import_data(text(node("n0", "r2", gpu=8)))
    assert tended(rack.state, rack.now_ms)[0] == []
    rack.import_data(text(node("n2", "r2", gpu=8)))
    ((event, _),) = tended(rack.state, rack.now_ms)[0]
    assert isinstance(event, ReservationReleased) and event.reason == "nodes_gone"


def test_a_queue_is_checked_by_field() -> None:
    made = stream()
    for queue, path in [
        (Queue(""), "name"),
        (Queue("Bad Name"), "name"),
        (Queue("q", 1 << 40), "priority"),
        (Queue("q", 0, -1), "quota"),
        (Queue("q", 0, None, "lottery"), "order"),
        (Queue("q", 0, None, "fair"), "quota"),
    ]:
        with pytest.raises(Refused) as error:
            define_queue_events(made.state, queue)
        assert [problem.path for problem in error.value.problems] == [path]


def test_a_queue_is_defined_once_and_not_removed_while_room_is_held_for_it(rack: MemoryStream) -> None:
    rack.commit(define_queue_events(rack.state, Queue("q", 1, 16)))
    assert define_queue_events(rack.state, Queue("q", 1, 16)) == []
    held = reserve(rack, holder_kind="queue", holder="q", nodes=1)
    with pytest.raises(Refused, match=held.name):
        remove_queue_events(rack.state, "q")
    rack.commit(release_events(rack.state, held.name))
    rack.commit(remove_queue_events(rack.state, "q"))
    with pytest.raises(Refused):
        remove_queue_events(rack.state, "q")


def test_a_submission_to_an_undefined_queue_is_refused_by_field_and_an_import_is_warned(
    rack: MemoryStream,
) -> None:
    wanted = form("g", 1, queue="q", templates=(MemberTemplate("", 1, {GPU: "1"}),))
    with pytest.raises(Refused) as error:
        submit_events(rack.state, wanted, rack.now_ms)
    assert [problem.path for problem in error.value.problems] == ["queue"]
    manifest = gang("g", 1)
    manifest["metadata"]["annotations"] = {"tas-console/queue": "q"}
    plan = rack.import_data(text(manifest, pod("g-0", "g", gpu=1)))
    assert [notice.message for notice in plan.notices if "queue" in notice.path] == [
        "there is no queue q: the group is treated as one without a queue"
    ]
    rack.commit([QueueDefined(Queue("q", 0, 4))])
    rack.commit(submit_events(rack.state, form("h", 1, queue="q"), rack.now_ms))
    assert rack.state.groups["default/h"].queue == "q"
