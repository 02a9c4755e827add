"""`tas wait`: what groups wait for, until when, and what takes them out of it."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser
from datetime import UTC, datetime

from scheduling.api import waits as api
from scheduling.engine.waits import ACTIONS
from scheduling.ledger.store import to_milliseconds
from scheduling.management.families.verb import Family, Printer, Verb, actor, done, group, parts
from scheduling.models import Cluster
from scheduling.services import deadlines, generations, lost_domains
from scheduling.services.generations import NextGeneration


def _moment(text: str) -> int:
    """Milliseconds; a time without a zone is in UTC."""
    try:
        found = datetime.fromisoformat(text)
        return to_milliseconds(found if found.tzinfo else found.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is no time like 2026-12-01T09:00:00Z") from None


def _action(parser: ArgumentParser) -> None:
    # The first word of the command is its ``action`` already.
    parser.add_argument("--action", dest="then", choices=ACTIONS, default="alert", help="what its end does")


def _show(cluster: Cluster, printer: Printer, podgroup: str) -> None:
    found = api.wait_out(cluster, *parts(podgroup))
    if printer.json:
        return printer.document(found)
    until = found.deadline
    rows = [
        ("waits for minCount since", found.since or "-"),
        ("degraded since", found.degraded_since or "-"),
        ("held to its domain", (found.sticky.domain or "not told") if found.sticky else "-"),
        ("domain lost", "yes" if found.domain_lost else "no"),
        (
            "deadline",
            f"{until.at} {until.action}{' (default)' if until.default else ''}"
            f"{' past' if until.expired_at else ''}"
            if until
            else "as long as it takes"
            if found.unlimited
            else "-",
        ),
    ]
    printer.table(("what", "value"), rows)
    for made in found.proposals:
        key = made.topology_key or "no constraint"
        printer.stdout.write(f"- a new generation, {key}, minCount {made.min_count}: {made.sentence}")


def _deadline_arguments(parser: ArgumentParser) -> None:
    group(parser)
    until = parser.add_mutually_exclusive_group(required=True)
    until.add_argument("--at", type=_moment, metavar="TIME", help="in UTC where it names no zone")
    until.add_argument("--unlimited", action="store_true", help="as long as it takes")
    until.add_argument("--default", action="store_true", help="back to the default of the cluster")
    _action(parser)


def _deadline(
    cluster: Cluster,
    printer: Printer,
    podgroup: str,
    at: int | None,
    unlimited: bool,
    default: bool,
    then: str,
) -> None:
    namespace, name = parts(podgroup)
    if default:
        made = deadlines.withdraw_deadline(cluster=cluster, namespace=namespace, name=name, actor=actor())
    else:
        made = deadlines.set_deadline(
            cluster=cluster, namespace=namespace, name=name, at=at, action=then, actor=actor()
        )
    done(printer, made)


def _generations(cluster: Cluster, printer: Printer, podgroup: str) -> None:
    found = api.generations_out(cluster, *parts(podgroup))
    if printer.json:
        return printer.document(found)
    printer.table(
        ("generation", "opened", "by", "why", "checkpoint", "closed"),
        [
            (
                each.generation,
                f"{each.opened_at:%Y-%m-%d %H:%M:%S}",
                each.opened_by,
                each.why,
                each.checkpoint,
                each.closed_reason,
            )
            for each in found.items
        ],
    )


def _next_arguments(parser: ArgumentParser) -> None:
    group(parser)
    parser.add_argument(
        "--generation", type=int, required=True, metavar="N", help="the open one that this is decided on"
    )
    key = parser.add_mutually_exclusive_group()
    key.add_argument("--topology-key", metavar="KEY", help="another constraint; left out: the same")
    key.add_argument("--no-constraint", action="store_true")
    parser.add_argument("--min-count", type=int, metavar="N", help="left out: the same")
    parser.add_argument("--checkpoint", default="", help="what its members start from")
    parser.add_argument("--elastic", action="store_true", help="mark the group as elastic")
    parser.add_argument("--dry-run", action="store_true", help="only tell what would be decided")


def _next(
    cluster: Cluster,
    printer: Printer,
    podgroup: str,
    generation: int,
    topology_key: str | None,
    no_constraint: bool,
    min_count: int | None,
    checkpoint: str,
    elastic: bool,
    dry_run: bool,
) -> None:
    namespace, name = parts(podgroup)
    wanted = NextGeneration("" if no_constraint else topology_key, min_count, checkpoint, elastic, generation)
    if not dry_run:
        made = generations.open_next(
            cluster=cluster, namespace=namespace, name=name, wanted=wanted, actor=actor()
        )
        return done(printer, made)
    found = api.forecast_out(
        generations.preview_next(cluster=cluster, namespace=namespace, name=name, wanted=wanted)
    )
    if printer.json:
        return printer.document(found)
    printer.stdout.write(found.sentence)
    printer.table(("members that lose their node", "fewer guaranteed at once"), [(found.bound, found.fewer)])


def _policy_arguments(parser: ArgumentParser) -> None:
    after = parser.add_mutually_exclusive_group()
    after.add_argument("--after-s", type=int, metavar="SECONDS", help="set it")
    after.add_argument("--none", action="store_true", help="take it away")
    _action(parser)


def _policy(cluster: Cluster, printer: Printer, after_s: int | None, none: bool, then: str) -> None:
    if after_s is not None or none:
        after = None if after_s is None else after_s * 1000
        return done(printer, deadlines.set_policy(cluster=cluster, after=after, action=then, actor=actor()))
    found = api.policy_out(cluster)
    if printer.json:
        return printer.document(found)
    if found.after_s is None:
        return printer.stdout.write("Groups may wait for as long as it takes.")
    printer.table(("seconds", "then"), [(found.after_s, found.action)])


def _lost(cluster: Cluster, printer: Printer) -> None:
    found = api.lost_domains_out(cluster)
    if printer.json:
        return printer.document(found)
    printer.table(
        ("key", "domain", "nodes"),
        [(each.topology_key, each.domain, ", ".join(each.nodes)) for each in found.items],
    )


def _domain_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("topology_key", metavar="KEY")
    parser.add_argument("domain")


def _mark_lost(cluster: Cluster, printer: Printer, topology_key: str, domain: str) -> None:
    made = lost_domains.mark(cluster=cluster, topology_key=topology_key, domain=domain, actor=actor())
    done(printer, made)


def _take_back(cluster: Cluster, printer: Printer, topology_key: str, domain: str) -> None:
    made = lost_domains.take_back(cluster=cluster, topology_key=topology_key, domain=domain, actor=actor())
    done(printer, made)


FAMILY = Family(
    "waits, deadlines, new generations, domains marked lost",
    {
        "show": Verb("what a group waits for, and until when", _show, group),
        "deadline": Verb("how long a group may wait", _deadline, _deadline_arguments),
        "generations": Verb("who opened each generation, why, and how it ended", _generations, group),
        "next": Verb("open a new generation in the place of the open one", _next, _next_arguments),
        "policy": Verb("show or set the default deadline of the cluster", _policy, _policy_arguments),
        "lost": Verb("list the domains that are marked lost", _lost),
        "mark-lost": Verb("give a domain up", _mark_lost, _domain_arguments),
        "take-back": Verb("take the mark of a domain back", _take_back, _domain_arguments),
    },
)
