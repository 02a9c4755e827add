"""What a newer console wrote stops this one with a sentence: nothing is skipped, nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scheduling.ledger import fold, store
from scheduling.ledger.codec import UnknownEvent
from scheduling.ledger.verify import verify_chain
from scheduling.models import Cluster
from scheduling.projections import rebuild
from scheduling.services import cycles, nodes, workloads
from scheduling.services.replaying import replay_stream
from tests.services.builders import form, node
from tests.versions import append_newer, append_newer_version

UNKNOWN = (
    "event {seq}: the log holds an event of type 'PodPraised', "
    "which this version of the console does not know"
)
NEWER = "event {seq}: the log holds NodeRemoved in version 2; this version of the console knows it up to 1"


@pytest.fixture(params=[append_newer, append_newer_version], ids=["type", "version"])
def ahead(request: Any, make: Any) -> tuple[Cluster, str]:
    """A cluster with an event from a newer console, and the sentence about it."""
    cluster = make(node("a"))
    seq = request.param(cluster)
    return cluster, (UNKNOWN if request.param is append_newer else NEWER).format(seq=seq)


READERS: dict[str, Callable[[Cluster], Any]] = {
    "fold": lambda cluster: fold.state_at(cluster.pk),
    "a command": lambda cluster: nodes.cordon(cluster=cluster, node="a", actor="t"),
    "a submission": lambda cluster: workloads.submit(cluster=cluster, form=form(), actor="t"),
    "a cycle": lambda cluster: cycles.run_cycle(cluster.pk),
    "rebuild": lambda cluster: rebuild.rebuild(cluster.pk),
    "compare": lambda cluster: rebuild.compare(cluster.pk),
    "replay": lambda cluster: list(replay_stream(cluster.pk)),
}


@pytest.mark.parametrize("reader", READERS)
def test_who_has_to_understand_the_log_refuses_with_a_sentence(
    ahead: tuple[Cluster, str], reader: str
) -> None:
    cluster, sentence = ahead
    head = store.head(cluster.pk)
    with pytest.raises(UnknownEvent) as refused:
        READERS[reader](cluster)
    assert str(refused.value) == sentence
    assert refused.value.seq == head.seq
    assert store.head(cluster.pk) == head


def test_what_lies_before_it_is_read_and_the_chain_is_verified(ahead: tuple[Cluster, str]) -> None:
    cluster, _ = ahead
    head = store.head(cluster.pk).seq
    assert fold.state_at(cluster.pk, head - 1).seq == head - 1
    assert verify_chain(cluster.pk).ok
    assert [row.seq for row in store.stored(cluster.pk)] == list(range(1, head + 1))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["verify_log"], "not as written, or not to be read: cluster c"),
        (["rebuild_projections"], "cluster c cannot be rebuilt: {sentence}"),
        (["replay", "c"], "cluster c cannot be replayed: {sentence}"),
        (["tas", "explain", "c", "default/g"], "{sentence}"),
    ],
)
def test_commands_close_with_it(ahead: tuple[Cluster, str], arguments: list[str], said: str) -> None:
    _, sentence = ahead
    out = StringIO()
    with pytest.raises(CommandError) as failed:
        call_command(*arguments, stdout=out)
    assert str(failed.value) == said.format(sentence=sentence)
    if arguments == ["verify_log"]:
        assert f"cluster c: the tables cannot be compared: {sentence}\n" in out.getvalue()
