"""Two moments of a cluster compared: what differs, object by object and field by field."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from django.http import HttpRequest
from ninja import Field, Query, Router, Schema

from scheduling.api.auth import VIEW, access
from scheduling.api.commands import find_cluster
from scheduling.api.errors import errors, no_state
from scheduling.api.event_rows import field_out
from scheduling.api.moments import find_moment
from scheduling.api.schemas import FieldOut, Seq
from scheduling.ledger import codec, fold
from scheduling.selectors import rack_map
from scheduling.selectors import two_moments as selectors
from scheduling.selectors.differences import Change, What
from scheduling.selectors.headline import Use
from scheduling.selectors.moments import newest
from scheduling.wording import differences as wording

router = Router(tags=["events"])


class MomentOut(Schema):
    """Right after an event."""

    seq: Seq
    recorded_at: datetime


class ChangeOut(Schema):
    subject: str = Field(description="node, podgroup or pod.")
    namespace: str
    name: str
    uid: str
    what: list[What] = Field(description="What became of it: codes; several may be true.")
    fields: list[FieldOut] = Field(description="Those that differ.")


class UseOut(Schema):
    gpus: int
    used: int
    free: int


class DomainUseOut(Schema):
    """Null where the domain is not there."""

    domain: str
    before: UseOut | None
    after: UseOut | None


class CompareOut(Schema):
    a: MomentOut
    b: MomentOut
    swapped: bool = Field(description="The later moment was given as `a`; here `a` is the earlier one.")
    sentences: list[str] = Field(description="What differs, in the language of the request.")
    cluster: list[FieldOut]
    counts: dict[str, int] = Field(description="How many objects of each kind differ.")
    before: UseOut
    after: UseOut
    key: str = Field(description="The topology key of `domains`.")
    domains: list[DomainUseOut] = Field(description="Domains whose GPUs or their use differ.")
    items: list[ChangeOut]
    next: int | None = Field(description="Give it as `start` for the next page; null on the last one.")


@router.get(
    "/{cluster}/compare",
    response={200: CompareOut, **errors(404, 410, 422, 503)},
    summary="Compare two moments",
    **access(VIEW),
)
def compare(
    request: HttpRequest,
    cluster: str,
    a: str = Query(..., max_length=60, description="The number of an event, or a time in ISO 8601."),
    b: str = Query("", max_length=60, description="As a; the newest moment when not given."),
    key: str = Query("", max_length=320, description="Topology key to count GPUs by."),
    kind: Literal["", "node", "podgroup", "pod"] = Query("", description="Only these objects."),
    what: Annotated[What | None, Query(description="Only objects of which this is true.")] = None,
    start: int = Query(0, ge=0, description="`next` of the page before."),
    limit: int = Query(100, ge=1, le=1000),
) -> CompareOut:
    """Nodes, PodGroups and pods that are not the same right after event `a` and right after event `b`.

    503 where the log does not lead to a state that this version of the console can tell.
    """
    found_cluster = find_cluster(cluster)
    first = find_moment(found_cluster, a, "a")
    second = find_moment(found_cluster, b, "b") if b else newest(found_cluster)
    key = key or rack_map.default_key(found_cluster)
    try:
        found = selectors.two_moments(found_cluster, first, second, key)
    except (codec.BadEvent, fold.BrokenHistory) as error:
        raise no_state(error) from error
    differ = found.difference
    changes = {"node": differ.nodes, "podgroup": differ.groups, "pod": differ.pods}
    wanted = [
        change
        for subject, every in changes.items()
        if kind in ("", subject)
        for change in every
        if what is None or what in change.what
    ]
    told = wording.told(differ, found.before, found.after)
    return CompareOut(
        a=MomentOut(seq=found.a.seq, recorded_at=found.a.recorded_at),
        b=MomentOut(seq=found.b.seq, recorded_at=found.b.recorded_at),
        swapped=found.swapped,
        sentences=[line.sentence for line in told],
        cluster=[field_out(field) for field in differ.cluster],
        counts={subject: len(every) for subject, every in changes.items()},
        before=_use(found.before),
        after=_use(found.after),
        key=key,
        domains=[
            DomainUseOut(
                domain=use.domain,
                before=_use(use.before) if use.before else None,
                after=_use(use.after) if use.after else None,
            )
            for use in found.domains
        ],
        items=[_change(change) for change in wanted[start : start + limit]],
        next=start + limit if start + limit < len(wanted) else None,
    )


def _use(use: Use) -> UseOut:
    return UseOut(gpus=use.gpus, used=use.used, free=use.free)


def _change(change: Change) -> ChangeOut:
    return ChangeOut(
        subject=change.subject,
        namespace=change.namespace,
        name=change.name,
        uid=change.uid,
        what=list(change.what),
        fields=[field_out(field) for field in change.fields],
    )
