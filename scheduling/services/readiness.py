"""Whether a cluster is ready for topology-aware scheduling: rows that are green, red or not known, each with
what it rests on. Pure, but for ``readiness``.

What no dump tells (scheduler profile, autoscaler, served API, rollback plan) is taken from what operators
stated, and said to be stated. Nothing is called green because nobody looked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from scheduling.engine.candidates import Conflict
from scheduling.engine.change_steps import gpus_of
from scheduling.engine.decide import undisputed
from scheduling.engine.eligibility import Bar
from scheduling.engine.model import DEFAULT_SCHEDULER, TAS_GATES, PodGroup, Shape, altered
from scheduling.engine.numa import in_zones
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.packed import labelled
from scheduling.engine.profiles.compare import compare
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.rollout_facts import RolloutFact
from scheduling.engine.roster import Roster, roster
from scheduling.engine.spread import pods_there, spread
from scheduling.engine.state import ClusterState
from scheduling.kube.releases import (
    CLUSTER_AUTOSCALER,
    CLUSTER_AUTOSCALER_KNOWS,
    Release,
    is_older,
    release_of,
)
from scheduling.models import Cluster, Event
from scheduling.services import first_come, stating
from scheduling.services.execute import now_ms
from scheduling.services.problems import First
from scheduling.services.state import state_of

MOST_COMPARED, MOST_NODES = 24, 20_000
"""Mixed groups that are decided both ways for one answer, and nodes that are looked at for them together; a
rehearsal looks at all of them.
"""

MOST_SPREAD = 24
"""Groups with spread constraints that are searched for one answer."""

_PASSING = (Bar.NONE, Bar.NOT_READY, Bar.CORDONED)

LONG_WAIT = 10 * 60 * 1000
"""Milliseconds after which a group that our cycle would place ought to run in an observed cluster."""


class Standing(StrEnum):
    GREEN = "green"
    RED = "red"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Item:
    """Something that a row names. ``kind``: group, node or gate; ``why``: a code, "" where the row says it
    all; ``names``: domains, nodes or other names that belong to it.
    """

    kind: str
    name: str
    why: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """``code``: what is asked; ``about``: the gate or topology key that it is asked of, "" for the cluster.
    ``said``: which of its answers; ``values``: the numbers and names in it. ``items``: all that are named.
    ``read``: what it rests on: ``state`` (counted on the state), ``import`` (told by a dump), ``switch``
    (switched in this console), ``stated`` (by an operator), ``release`` (what is known of the release), ""
    (nothing). ``first``: the event that it was read from. ``fact``: what can be stated to make it known.
    ``sources``: addresses.
    """

    code: str
    standing: Standing
    said: str
    about: str = ""
    values: tuple[tuple[str, str | int], ...] = ()
    items: tuple[Item, ...] = ()
    read: str = "state"
    first: First | None = None
    fact: str = ""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Readiness:
    """``seq``: of the state that was looked at. ``release``: None when it is not followed here."""

    seq: int
    rows: tuple[Row, ...]
    release: Release | None
    stated: tuple[RolloutFact, ...]

    def count(self, standing: Standing) -> int:
        return sum(row.standing is standing for row in self.rows)

    @property
    def ready(self) -> bool:
        return self.count(Standing.GREEN) == len(self.rows)


def readiness(cluster: Cluster) -> Readiness:
    """On the head of the cluster's log, with the events that the rows were read from."""
    state = state_of(cluster)
    facts = state.records.of(RolloutFact)
    found = rows(state, cluster.kubernetes_version, now_ms())
    known = tuple(replace(row, first=_read_from(cluster, row, facts.get(row.fact))) for row in found)
    return Readiness(state.seq, known, release_of(version_of(state, cluster.kubernetes_version)),
                     tuple(facts.values()))  # fmt: skip


def rows(state: ClusterState, measured_version: str, now: int) -> tuple[Row, ...]:
    """``measured_version``: as an import told it, "" when none did; ``now``: in milliseconds. ``state`` is
    not changed.
    """
    release = release_of(version_of(state, measured_version))
    on = state.fork()
    for gate in TAS_GATES:
        on.set_gate(gate, True)
    constrained = [group for _, group in sorted(state.groups.items()) if group.topology_key]
    return (
        _version_row(state, measured_version),
        *_gate_rows(state, release),
        *_cluster_gates_row(state, constrained),
        _served_row(state, release),
        _profile_row(state),
        _autoscaler_row(state),
        *_label_rows(state, constrained),
        _mixed_row(on, constrained, release),
        *_conflict_rows(on, constrained),
        _spread_row(on, constrained),
        _ghost_row(state, now),
        _rollback_row(state, release),
    )


def version_of(state: ClusterState, measured: str) -> str:
    """What is stated goes before what the import that made the cluster told: it is later."""
    fact = state.records.of(RolloutFact).get(stating.VERSION)
    return fact.value if fact is not None else measured


def _version_row(state: ClusterState, measured: str) -> Row:
    version = version_of(state, measured)
    stated = stating.VERSION in state.records.of(RolloutFact)
    release = release_of(version)
    row = Row(
        "version", Standing.UNKNOWN, "untold", values=(("version", version), ("imported", measured)),
        read="stated" if stated else "import" if measured else "", fact=stating.VERSION,
        sources=release.sources if release is not None else (),
    )  # fmt: skip
    if not version:
        return row
    if release is not None:
        return replace(row, standing=Standing.GREEN, said="has_it")
    if is_older(version):
        return replace(row, standing=Standing.RED, said="too_old")
    return replace(row, said="not_followed")


def _gate_rows(state: ClusterState, release: Release | None) -> Iterable[Row]:
    """One for each gate of the console, as the release has it; as 1.36 has it where that is not known."""
    known = {gate.name: gate for gate in release.gates} if release is not None else {}
    for name in TAS_GATES:
        gate = known.get(name)
        on = state.gates.get(name, False)
        needs = gate.needs if gate is not None else ()
        off = tuple(need for need in needs if not state.gates.get(need, False))
        said = "on" if on else "off"
        if on and off:
            said = "needs"
        if gate is not None and gate.merged_into:
            said = f"merged_{said}"
        yield Row(
            "gate",
            Standing.GREEN if on and not off else Standing.RED,
            said,
            about=name,
            values=(
                ("stage", gate.stage if gate else ""),
                ("release", release.version if release else ""),
                ("needs", ", ".join(needs)),
                ("off", ", ".join(off)),
                ("into", gate.merged_into if gate else ""),
                ("components", ", ".join(gate.components if gate else ())),
            ),
            read="switch",
            sources=(gate.source,) if gate else (),
        )


def _cluster_gates_row(state: ClusterState, constrained: Sequence[PodGroup]) -> Iterable[Row]:
    """A simulated cluster is scheduled here: its gates are the switches above. Of an observed one nobody can
    read them from objects.
    """
    if state.mode != "observed":
        return
    fact = state.records.of(RolloutFact).get(stating.GATES)
    row = Row(
        "cluster_gates", Standing.UNKNOWN, "untold", values=(("constrained", len(constrained)),), read="",
        fact=stating.GATES,
    )  # fmt: skip
    if fact is None:
        yield row
    elif fact.value == "on" and not state.tas_enforced:
        yield replace(row, standing=Standing.RED, said="differs", read="stated")
    else:
        on = fact.value == "on"
        yield replace(row, standing=Standing.GREEN if on else Standing.RED, said=fact.value, read="stated")


def _served_row(state: ClusterState, release: Release | None) -> Row:
    fact = state.records.of(RolloutFact).get(stating.SERVED)
    wanted = release.served if release is not None else ()
    row = Row(
        "served", Standing.UNKNOWN, "untold",
        values=(
            ("wanted", " / ".join(wanted)), ("served", fact.value if fact else ""),
            ("groups", len(state.groups)), ("release", release.version if release else ""),
        ),
        read="stated" if fact else "", fact=stating.SERVED,
        sources=release.sources[:1] if release is not None else (),
    )  # fmt: skip
    if fact is None:
        return row
    if fact.value == "none":
        return replace(row, standing=Standing.RED, said="none")
    if not wanted:
        return replace(row, said="no_release")
    right = fact.value in wanted
    return replace(
        row, standing=Standing.GREEN if right else Standing.RED, said="right" if right else "wrong"
    )


def _profile_row(state: ClusterState) -> Row:
    fact = state.records.of(RolloutFact).get(stating.PROFILE)
    others = defaultdict[str, set[str]](set)
    for key in state.group_keys():
        for pod in state.members(key):
            if pod.scheduler_name != DEFAULT_SCHEDULER:
                others[key].add(pod.scheduler_name)
    row = Row(
        "profile", Standing.UNKNOWN, fact.value if fact else "untold", values=(("others", len(others)),),
        items=tuple(Item("group", key, "scheduler", tuple(sorted(names)))
                    for key, names in sorted(others.items())),
        read="stated" if fact else "", fact=stating.PROFILE,
    )  # fmt: skip
    if fact is None:
        return row
    return replace(row, standing=Standing.GREEN if fact.value == "both" else Standing.RED)


def _autoscaler_row(state: ClusterState) -> Row:
    fact = state.records.of(RolloutFact).get(stating.AUTOSCALER)
    row = Row(
        "autoscaler", Standing.UNKNOWN, fact.value if fact else "untold", read="stated" if fact else "",
        fact=stating.AUTOSCALER, sources=(CLUSTER_AUTOSCALER, CLUSTER_AUTOSCALER_KNOWS),
    )  # fmt: skip
    if fact is None:
        return row
    good = fact.value in ("none", "aware")
    return replace(row, standing=Standing.GREEN if good else Standing.RED)


def _label_rows(state: ClusterState, constrained: Sequence[PodGroup]) -> Iterable[Row]:
    """One for each topology key that open groups name."""
    by_key = defaultdict[str, list[PodGroup]](list)
    for group in constrained:
        by_key[group.topology_key].append(group)
    if not by_key:
        yield Row("labels", Standing.UNKNOWN, "no_key")
    for key, groups in sorted(by_key.items()):
        if key == NUMA_KEY:
            names = tuple(Item("group", group.key) for group in groups)
            yield Row("labels", Standing.RED, "numa", key, (("groups", len(groups)),), names, "release")
            continue
        without = sorted(set(state.nodes).difference(labelled(state.nodes, key)[1]))
        lost = _usable(state, groups, without)
        said = "no_domain" if len(without) == len(state.nodes) else "usable" if lost else "others"
        yield Row(
            "labels",
            Standing.RED if lost or said == "no_domain" else Standing.GREEN,
            said if without else "all",
            key,
            (
                ("without", len(without)), ("usable", len(lost)), ("nodes", len(state.nodes)),
                ("groups", len(groups)),
                ("gpus", sum(gpus_of(state.nodes[name].allocatable) for name in lost)),
            ),
            tuple(Item("node", name) for name in lost),
        )  # fmt: skip


def _usable(state: ClusterState, groups: Sequence[PodGroup], nodes: Sequence[str]) -> tuple[str, ...]:
    """Those of the nodes that would hold a member of one of the groups if they were empty: room that the
    constraint loses.
    """
    shapes: set[Shape] = {pod.shape for group in groups for pod in state.members(group.key)}
    rows = np.array([state.columns.slot[name] for name in nodes], np.int64)
    found = np.zeros(len(nodes), bool)
    for shape in {(shape.requests, shape.eligibility) for shape in shapes}:
        requests, wanted = shape
        fits = np.isin(state.bars(wanted)[rows], _PASSING)
        for resource, amount in requests:
            column = state.columns.alloc.get(resource)
            fits &= column[rows] >= amount if column is not None else False
        found |= fits
    return tuple(name for name, usable in zip(nodes, found.tolist(), strict=True) if usable)


def _mixed_row(on: ClusterState, constrained: Sequence[PodGroup], release: Release | None) -> Row:
    """Groups that kube-scheduler may miss: each decided by both, as if all its members had to be placed."""
    mixed = [group for group in constrained if _is_mixed(on, group)]
    profile = release.profile if release is not None else "upstream-1.36"
    looked = min(len(mixed), MOST_COMPARED, max(1, MOST_NODES // max(1, len(on.nodes))))
    items = []
    for group in mixed[:looked]:
        found = compare(unplaced(on, group.key), group.key, profile)
        if found.misses:
            why = "luck" if found.upstream.depends_on_ties else "misses"
            items.append(Item("group", group.key, why, tuple(map(str, found.upstream.luck))))
        elif found.exact.verdict == Verdict.NOT_FOUND:
            items.append(Item("group", group.key, "not_claimed"))
    missed = sum(item.why != "not_claimed" for item in items)
    whole = looked == len(mixed) and len(items) == missed
    return Row(
        "mixed",
        Standing.RED if missed else Standing.GREEN if whole else Standing.UNKNOWN,
        "missed" if missed else "none" if not mixed else "found" if whole else "not_all",
        values=(
            ("mixed", len(mixed)), ("missed", missed), ("profile", profile),
            ("looked", looked),
        ),
        items=tuple(items),
    )  # fmt: skip


def _is_mixed(state: ClusterState, group: PodGroup) -> bool:
    shapes = {pod.shape for pod in state.members(group.key)}
    kinds = {(shape.requests, shape.eligibility) for shape in shapes}
    return len(kinds) > 1 or any(shape.pairwise for shape in shapes)


def unplaced(state: ClusterState, key: str) -> ClusterState:
    """A copy in which no member of the group is on a node."""
    bound = roster(state, key).bound
    if not bound:
        return state
    ahead = state.fork()
    for pod in bound:
        ahead.set_pod(altered(pod, (("node", ""), ("phase", "Pending"), ("terminating", False))))
    return ahead


def _conflict_rows(on: ClusterState, constrained: Sequence[PodGroup]) -> Iterable[Row]:
    """Groups whose members are where the law does not let them be: each new member of these ends in an error
    as long as the gates are on.
    """
    spread_over: list[Item] = []
    others: list[Item] = []
    for group in constrained:
        where = undisputed(*in_zones(on, roster(on, group.key)))
        if not isinstance(where, Conflict):
            continue
        item = Item("group", group.key, str(where.reason), where.domains or where.nodes)
        (spread_over if where.reason == Reason.CONFLICTING_DOMAINS else others).append(item)
    looked = (("groups", len(constrained)),)
    for code, items in (("spread_groups", spread_over), ("conflicts", others)):
        values = (("found", len(items)), *looked)
        standing = Standing.RED if items else Standing.GREEN
        yield Row(code, standing, "some" if items else "none", values=values, items=tuple(items))


def _spread_row(on: ClusterState, constrained: Sequence[PodGroup]) -> Row:
    asked = [group.key for group in constrained if _spreads(roster(on, group.key))]
    there = pods_there(on) if asked else {}
    items, unsure = [], len(asked) > MOST_SPREAD
    for key in asked[:MOST_SPREAD]:
        found = spread(on, key, there)
        if found is None:
            continue
        if found.impossible:
            items.append(Item("group", key, "impossible"))
        elif any(entry.left == "open" for entry in found.domains):
            items.append(Item("group", key, "open"))
    impossible = sum(item.why == "impossible" for item in items)
    unsure = unsure or len(items) > impossible
    return Row(
        "topology_spread",
        Standing.RED if impossible else Standing.UNKNOWN if unsure else Standing.GREEN,
        "empty" if impossible else "not_all" if unsure else "fits" if asked else "none",
        values=(("asked", len(asked)), ("impossible", impossible)),
        items=tuple(items),
    )


def _spreads(who: Roster) -> bool:
    return any(one.hard for pod in (*who.waiting, *who.gated) for one in pod.shape.spread)


def _ghost_row(state: ClusterState, now: int) -> Row:
    """Groups without a bound member that our cycle would place and the real scheduler has not for long: it
    may remember members that are gone.
    """
    if state.mode != "observed":
        return Row("ghosts", Standing.GREEN, "simulated", read="release")
    items = [
        Item("group", key)
        for key, verdict in sorted(state.verdicts.items())
        if verdict.verdict == Verdict.PLACED
        and not roster(state, key).bound
        and (turn := state.turns.get(key)) is not None
        and now - (turn.waits_since or turn.at) > LONG_WAIT
    ]
    return Row(
        "ghosts",
        Standing.UNKNOWN if items else Standing.GREEN,
        "maybe" if items else "none",
        values=(("found", len(items)), ("minutes", LONG_WAIT // 60_000)),
        items=tuple(items),
    )


def _rollback_row(state: ClusterState, release: Release | None) -> Row:
    fact = state.records.of(RolloutFact).get(stating.ROLLBACK)
    return Row(
        "rollback",
        Standing.GREEN if fact else Standing.RED,
        "stated" if fact else "none",
        values=(
            ("plan", fact.value if fact else ""), ("owner", fact.source if fact else ""),
            ("release", release.version if release else ""),
        ),
        items=tuple(Item("step", step) for step in (release.rollback if release else ())),
        read="stated" if fact else "",
        fact=stating.ROLLBACK,
        sources=release.sources if release is not None else (),
    )  # fmt: skip


def _read_from(cluster: Cluster, row: Row, fact: RolloutFact | None) -> First | None:
    if row.read == "stated" and fact is not None:
        said = Event.objects.filter(stream_id=cluster.pk, seq=fact.seq).first()
        actor = said.actor if said is not None else ""
        return First(cluster.name, fact.seq, "RolloutFactStated", actor, fact.at)
    registered = ("ClusterRegistered",)
    if row.read == "switch":
        gate = f'"{row.about}"'
        return first_come.newest(
            cluster, "cluster", "", "", ("FeatureGateChanged",), lambda event: gate in event.body
        ) or first_come.newest(cluster, "cluster", "", cluster.name, registered)
    if row.read == "import":
        return first_come.newest(cluster, "cluster", "", cluster.name, registered)
    return None
