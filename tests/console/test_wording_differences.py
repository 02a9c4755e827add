"""The difference of two moments in sentences, and values of fields as people read them."""

from __future__ import annotations

import pytest
from django.utils.translation import override

from scheduling.ledger import events as e
from scheduling.selectors.differences import Change, Difference, What, compare
from scheduling.selectors.headline import Use
from scheduling.selectors.moments import BadMoment, Fault
from scheduling.selectors.pictures import Field
from scheduling.wording import differences, moments
from tests.selectors.test_differences import PLACED, later, node, waiting

NOTHING = Use(8, 0)


def change(subject: str, name: str, *what: What, fields: tuple[Field, ...] = ()) -> Change:
    return Change(subject, "ml" if subject != "node" else "", name, f"uid-{name}", what, fields)


def said(found: Difference, before: Use = NOTHING, after: Use = NOTHING) -> list[str]:
    return [line.sentence for line in differences.told(found, before, after)]


def test_what_hurts_comes_first_and_each_line_says_what_it_is_about() -> None:
    lost = Field("lostDomain", None, "rack-12")
    found = Difference(
        (Field("gates[GangScheduling]", True, False), Field("nodes", 4, 3)),
        tuple(change("node", f"n{place}", What.CORDONED) for place in range(5)),
        (
            change("podgroup", "train-7", What.SHORT, What.LOST_DOMAIN, fields=(lost,)),
            change("podgroup", "a", What.PLACED),
            change("podgroup", "b", What.PLACED),
        ),
        (change("pod", "a-0", What.BOUND),),
    )

    told = differences.told(found, Use(16, 8), Use(8, 8))

    assert [(line.sentence, line.subject, line.what) for line in told] == [
        ("ml/train-7 lost its domain rack-12.", "podgroup", "lost_domain"),
        ("ml/train-7 no longer has minCount members on nodes.", "podgroup", "short"),
        ("2 PodGroups were placed: ml/a, ml/b.", "podgroup", "placed"),
        ("5 nodes were cordoned: n0, n1, n2 and 2 more.", "node", "cordoned"),
        ("Pod ml/a-0 was bound to a node.", "pod", "bound"),
        ("Feature gate GangScheduling was switched off.", "cluster", ""),
        ("GPUs in use: 8 of 8, before 8 of 16.", "cluster", ""),
    ]


def test_many_lost_domains_are_counted_after_the_first() -> None:
    fields = (Field("lostDomain", None, "r1"),)
    groups = tuple(change("podgroup", f"g{place}", What.LOST_DOMAIN, fields=fields) for place in range(5))

    assert said(Difference((), (), groups, ())) == [
        "ml/g0 lost its domain r1.",
        "ml/g1 lost its domain r1.",
        "ml/g2 lost its domain r1.",
        "2 more PodGroups lost their domains.",
    ]


def test_no_difference_is_said_to_be_none() -> None:
    assert said(Difference((), (), (), ())) == ["Nothing differs between the two moments."]


def test_a_whole_difference_in_japanese() -> None:
    before = waiting()
    after = later(before, PLACED, e.NodeAdded(node("n4")), e.ClusterModeChanged("observed"))

    with override("ja"):
        assert said(compare(before, after), Use(24, 0), Use(32, 8)) == [
            "1 件の PodGroup が配置されました: ml/train。",
            "1 台のノードが加わりました: n4。",
            "2 件の Pod がノードにバインドされました: ml/a, ml/b。",
            "クラスターのモードが「観測」になりました。",
            "使用中の GPU: 32 中 8（前は 24 中 0）。",
        ]


def test_every_change_has_a_word_and_a_sentence() -> None:
    assert set(differences.WHATS) == set(What)
    told = {what for _, what in differences._SENTENCES} | {What.LOST_DOMAIN}
    assert told == set(What)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("allocatable[memory]", 1 << 38, "256 GiB"),
        ("zones[node-0].allocatable[cpu]", 64_000, "64"),
        ("used[nvidia.com/gpu]", 8, "8"),
        ("labels[requests]", "x", "x"),
        ("onNodes", 12_000, "12,000"),
        ("ready", True, "yes"),
        ("unschedulable", False, "no"),
        ("status", "pending", "pending"),
        ("verdict", "proved_infeasible", "proved infeasible"),
        ("reason", "", ""),
        ("domain", None, "–"),
    ],
)
def test_values_of_fields(name: str, value: str | int | bool | None, text: str) -> None:
    assert differences.value(name, value) == text


def test_every_fault_of_a_moment_has_a_sentence() -> None:
    told = {fault: moments.sentence(BadMoment(fault, "1234", 5_000, "demo.ndjson.gz")) for fault in Fault}

    assert told == {
        Fault.UNREADABLE: (
            "“1234” is neither the number of an event nor a time such as 2026-11-29T16:24:07+09:00."
        ),
        Fault.AFTER_HEAD: "1234 lies after the head of the log, event 5,000.",
        Fault.BEFORE_FIRST: "1234 lies before the first event of the log.",
        Fault.BEFORE_TABLE: "1234 lies before the oldest event that is in the table of events.",
        Fault.FUTURE: "1234 lies in the future.",
        Fault.NOT_KEPT: "Event 1234 is not in the table of events.",
        Fault.ARCHIVED: "1234 lies among archived events, which are in the file demo.ndjson.gz.",
    }
