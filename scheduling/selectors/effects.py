"""What one event did: the objects that it is about just before and just after it, and the cluster then."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.state import ClusterState
from scheduling.ledger import codec, fold, store
from scheduling.ledger import events as e
from scheduling.ledger.store import Recorded
from scheduling.models import Cluster
from scheduling.selectors import past_states, pictures
from scheduling.selectors.headline import Headline, headline
from scheduling.selectors.pictures import Field, Picture


@dataclass(frozen=True, slots=True)
class About:
    """An object of which an event tells. ``uid``: of a pod, whose name others may bear too."""

    subject: str
    namespace: str
    name: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Beside:
    """One object before and after; no fields where the state keeps nothing of it."""

    about: About
    fields: list[Field]


@dataclass(frozen=True, slots=True)
class Move:
    """A member of a placement: the node it was on before ("" for none) and the one it is on after."""

    pod: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Effect:
    """``objects``: what the event is about first. ``moves``: of a placement, by pod name. ``then``: the
    cluster right after the event.
    """

    objects: list[Beside]
    moves: list[Move]
    then: Headline


def effect(cluster: Cluster, seq: int) -> Effect:
    """Folds up to the event, then one step more. Raises LookupError for a seq that the log has not, BadEvent
    for an event that cannot be read (UnknownEvent where a newer console wrote it) and BrokenHistory.
    """
    state = past_states.state_at(cluster, seq - 1)
    recorded = next(store.read(cluster.pk, after=seq - 1, upto=seq), None)
    if recorded is None:
        raise LookupError(f"stream {cluster.pk} has no event {seq}")
    about = _about(state, recorded)
    before = [_picture(state, each) for each in about]
    placed = recorded.event.assignments if isinstance(recorded.event, e.PodGroupPlaced) else ()
    nodes = {uid: state.pods[uid].node for uid, _, _ in placed if uid in state.pods}
    fold.apply(state, recorded)
    return Effect(
        [
            Beside(each, pictures.beside(old, _picture(state, each)))
            for each, old in zip(about, before, strict=True)
        ],
        [Move(name, nodes[uid], state.pods[uid].node) for uid, name, _ in placed],
        headline(state),
    )


def _about(state: ClusterState, recorded: Recorded) -> list[About]:
    """The object of the event; after a pod the group that it belongs to."""
    event = recorded.event
    subject, namespace, name = codec.subject(event)
    pod = None
    if isinstance(event, e.PodAdded):
        pod = event.pod
    elif isinstance(event, e.PodUpdated | e.PodRemoved):
        pod = state.pods.get(event.uid)
    if pod is None:
        return [About(subject, namespace, name)]
    group = [About("podgroup", namespace, pod.group)] if pod.group else []
    return [About(subject, namespace, name, pod.uid), *group]


def _picture(state: ClusterState, about: About) -> Picture:
    if about.uid:
        return pictures.of_pod(state.pods.get(about.uid), state.zone_of.get(about.uid, ""))
    return pictures.of(state, about.subject, about.namespace, about.name)
