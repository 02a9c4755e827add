"""Recorded decisions made again, each cycle's on the state that it decided on, and compared byte for byte.

``replayed`` is pure: of a state and of the log after it. What a cycle wrote lies in the log without anything
in between, since it is appended only where nobody else was first; a cycle that was cut off (by a conflict or
a crash) wrote the first of its decisions and no others. So of each cycle as many decisions are made again as
were recorded.

Which groups were due is not recorded, and need not be: in a simulated cluster a group that was due and gave
no news leaves no trace in the decisions of others, so those that did give news are decided. In an observed
one every waiting group is due, and forecasts that were no news take their room too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from scheduling.engine.decide import PROFILES
from scheduling.engine.state import ClusterState
from scheduling.engine.version import ENGINE
from scheduling.ledger import codec, fold, store
from scheduling.ledger.events import Decided
from scheduling.ledger.fold import BrokenHistory
from scheduling.ledger.store import Recorded
from scheduling.services.deciding import decided


@dataclass(frozen=True, slots=True)
class Difference:
    """``field``: path in the body of the event ``seq``, with the JSON values there. "" when one side has no
    such decision, and "order" when both have it at another place: then the values say which one, in words.
    """

    seq: int
    field: str
    recorded: Any
    replayed: Any


@dataclass(frozen=True, slots=True)
class Cycle:
    """What one cycle recorded from ``first`` to ``last``, decided again on the state at ``first - 1``.

    ``engine``: which one decided; when it is not the one of this console, nothing is compared.
    """

    first: int
    last: int
    engine: str
    differences: tuple[Difference, ...] = ()


@dataclass(slots=True)
class Replay:
    """Sums over cycles: ``decisions`` were made again, ``others`` are of another engine (by version)."""

    seq: int = 0
    decisions: int = 0
    others: Counter[str] = field(default_factory=Counter)

    def count(self, cycle: Cycle, first: int) -> None:
        """``first``: from which seq on decisions are counted."""
        number = cycle.last - max(cycle.first, first) + 1
        self.seq = cycle.last
        if cycle.engine == ENGINE:
            self.decisions += number
        else:
            self.others[cycle.engine] += number


def replay_stream(stream_id: int, first: int = 1, last: int | None = None) -> Iterator[Cycle]:
    """The cycles with decisions from ``first`` to ``last`` (both included; None: the head), as they are
    found. Differences before ``first``, in a cycle that began earlier, are left out.

    Raises LookupError for a ``first`` that the log does not have, and what reading and folding the log raises
    (UnknownEvent, BadEvent, BrokenHistory).
    """
    begin = _begin(stream_id, first)
    state = fold.state_at(stream_id, begin)
    for cycle in replayed(state, store.read(stream_id, after=begin, upto=last)):
        if cycle.last >= first:
            found = tuple(item for item in cycle.differences if item.seq >= first)
            yield Cycle(cycle.first, cycle.last, cycle.engine, found)


def replayed(state: ClusterState, recorded: Iterable[Recorded]) -> Iterator[Cycle]:
    """``recorded``: the log right after ``state``, which is brought along to its end."""
    cycle: list[Recorded] = []
    for item in recorded:
        if cycle and not _continues(cycle, item):
            yield _again(state, cycle)
            cycle = []
        if isinstance(item.event, Decided):
            cycle.append(item)
        else:
            _fold(state, item)
    if cycle:
        yield _again(state, cycle)


def _begin(stream_id: int, first: int) -> int:
    """The seq of a state from which the decisions after ``first - 1`` can be made again."""
    item = next(store.read(stream_id, after=first - 1, limit=1), None)
    if first < 1 or item is None or item.seq != first:
        raise LookupError(f"there is no event {first} in stream {stream_id}")
    on = item.event.decided_on if isinstance(item.event, Decided) else None
    return first - 1 if on is None else max(0, min(on, first - 1))


def _continues(cycle: Sequence[Recorded], item: Recorded) -> bool:
    begun = cycle[0].event
    return (
        isinstance(begun, Decided)
        and isinstance(item.event, Decided)
        and begun.decided_on is not None
        and (begun.decided_on, begun.engine) == (item.event.decided_on, item.event.engine)
    )


def _fold(state: ClusterState, item: Recorded) -> None:
    try:
        fold.apply(state, item)
    except BrokenHistory as error:
        raise BrokenHistory(f"event {item.seq}: {error}") from error


def _again(state: ClusterState, cycle: Sequence[Recorded]) -> Cycle:
    """Decide again what the cycle recorded; then ``state`` is brought over what it recorded."""
    recorded = [(item.seq, item.event) for item in cycle if isinstance(item.event, Decided)]
    engine = recorded[0][1].engine
    differences: list[Difference] = []
    if engine == ENGINE:
        groups = None if state.mode == "observed" else dict.fromkeys(_group(event) for _, event in recorded)
        told = decided(state, cycle[0].occurred_at, profile=_profile(recorded), due=groups)
        differences = _compare(recorded, [item.event for item in islice(told, len(recorded))])
    for item in cycle:
        _fold(state, item)
    return Cycle(cycle[0].seq, cycle[-1].seq, engine, tuple(differences))


def _group(event: Decided) -> str:
    return f"{event.namespace}/{event.name}"


def _profile(recorded: Sequence[tuple[int, Decided]]) -> str:
    """The profile that a cycle decided in, as the first of its decisions that has one tells."""
    told = (getattr(event, "profile", "") for _, event in recorded)
    return next((profile for profile in told if profile in PROFILES), "exact")


def _compare(recorded: Sequence[tuple[int, Decided]], again: Sequence[Decided]) -> list[Difference]:
    """Decisions of one group are held against each other, the first against the first; what is behind the
    last recorded one does not count.
    """
    if [_text(event) for _, event in recorded] == [_text(event) for event in again]:
        return []
    found: list[Difference] = []
    before, after = _places([event for _, event in recorded]), _places(again)
    for name, place in before.items():
        seq, event = recorded[place]
        if name in after:
            found.extend(_differences(seq, event, again[after[name]]))
        else:
            found.append(Difference(seq, "", _title(event), None))
    for name, place in after.items():
        if name not in before:
            found.append(Difference(recorded[place][0], "", None, _title(again[place])))
    kept, order = [name for name in before if name in after], [name for name in after if name in before]
    for name, other in zip(kept, order, strict=True):
        if name != other:
            seq, event = recorded[before[name]]
            found.append(Difference(seq, "order", _title(event), _title(again[after[other]])))
            break
    return sorted(found, key=lambda item: item.seq)


def _text(event: Decided) -> str:
    return f"{type(event).__name__} {codec.encode(event)}"


def _title(event: Decided) -> str:
    return f"{type(event).__name__} {_group(event)}"


def _places(events: Sequence[Decided]) -> dict[tuple[str, int], int]:
    """(group, how many of its decisions came before) -> place."""
    seen: Counter[str] = Counter()
    places: dict[tuple[str, int], int] = {}
    for place, event in enumerate(events):
        key = _group(event)
        places[key, seen[key]] = place
        seen[key] += 1
    return places


def _differences(seq: int, recorded: Decided, again: Decided) -> Iterator[Difference]:
    if type(recorded) is not type(again):
        yield Difference(seq, "", _title(recorded), _title(again))
        return
    for path, one, other in _unlike(codec.to_body(recorded), codec.to_body(again), ""):
        yield Difference(seq, path, one, other)


def _unlike(one: Any, other: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """(path, value, value) of the innermost parts in which two JSON values differ; None for a field that is
    not in one of them.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted(one.keys() | other.keys()):
            yield from _unlike(one.get(name), other.get(name), f"{path}.{name}" if path else name)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _unlike(left, right, f"{path}[{number}]")
    elif one != other or type(one) is not type(other):
        yield path, one, other
