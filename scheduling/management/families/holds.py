"""`tas reservation` and `tas queue`."""

from __future__ import annotations

from argparse import ArgumentParser

from scheduling.api import queues, reservations
from scheduling.engine.queues import ORDERS, Queue
from scheduling.engine.reservations import HOLDER_KINDS
from scheduling.management.families.verb import Family, Printer, Verb, actor, done, pair, within
from scheduling.models import Cluster
from scheduling.services import holding
from scheduling.wording import units


def _name(parser: ArgumentParser) -> None:
    parser.add_argument("name")


def _reservations(cluster: Cluster, printer: Printer) -> None:
    found = reservations.reservations_out(cluster)
    if printer.json:
        return printer.document(found)
    printer.table(
        ("name", "domain", "for", "nodes", "reserved", "still held", "expires"),
        [
            (
                each.name,
                each.domain,
                f"{each.holder_kind} {each.holder}",
                ", ".join(node.node for node in each.nodes),
                units.quantities(each.reserved.items()),
                units.quantities(each.left.items()),
                each.expires_at or "never",
            )
            for each in found.items
        ],
    )


def _reserve_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("topology_key", metavar="KEY")
    parser.add_argument("domain")
    parser.add_argument("holder_kind", choices=HOLDER_KINDS, help="for whom")
    parser.add_argument("holder", help="NAMESPACE/NAME of a PodGroup, a namespace or a queue")
    parser.add_argument("--nodes", type=int, default=0, metavar="N", help="so many wholly free nodes")
    parser.add_argument("--members", type=int, default=0, metavar="N", help="room for so many members")
    parser.add_argument(
        "--request", action="append", type=pair, default=[], metavar="RESOURCE=QUANTITY", help="of a member"
    )
    parser.add_argument("--like", default="", metavar="NAMESPACE/NAME", help="room as its members ask for")
    parser.add_argument("--minutes", type=int, metavar="N", help="left out: until it is released")


def _reserve(
    cluster: Cluster,
    printer: Printer,
    topology_key: str,
    domain: str,
    holder_kind: str,
    holder: str,
    nodes: int,
    members: int,
    request: list[tuple[str, str]],
    like: str,
    minutes: int | None,
) -> None:
    wish = holding.Wish(
        topology_key, domain, holder_kind, holder, nodes, members, dict(request), like, minutes
    )
    done(printer, holding.reserve(cluster=cluster, wish=wish, actor=actor()))


def _release(cluster: Cluster, printer: Printer, name: str) -> None:
    done(printer, holding.release(cluster=cluster, name=name, actor=actor()))


def _queues_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--limit", type=within(1, 1000), default=100, help="groups of the order that are printed"
    )


def _queues(cluster: Cluster, printer: Printer, limit: int) -> None:
    found = queues.queues_out(cluster, limit)
    if printer.json:
        return printer.document(found)
    printer.table(
        ("queue", "priority", "order", "used", "quota", "waiting", "held by the quota"),
        [
            (
                each.name,
                each.priority,
                each.order,
                each.used,
                "-" if each.quota is None else each.quota,
                len(each.waiting),
                len(each.over_quota),
            )
            for each in found.items
        ],
    )
    if found.order:
        printer.stdout.write("")
        printer.table(
            ("next", "queue", "GPUs asked", "reason"),
            [(turn.group, turn.queue, turn.asked, turn.reason) for turn in found.order],
        )


def _define_arguments(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--priority", type=int, default=0)
    parser.add_argument("--quota", type=int, metavar="GPUS", help="left out: no limit")
    parser.add_argument("--order", choices=ORDERS, default="strict")


def _define(
    cluster: Cluster, printer: Printer, name: str, priority: int, quota: int | None, order: str
) -> None:
    queue = Queue(name, priority, quota, order)
    done(printer, holding.define_queue(cluster=cluster, queue=queue, actor=actor()))


def _remove(cluster: Cluster, printer: Printer, name: str) -> None:
    done(printer, holding.remove_queue(cluster=cluster, name=name, actor=actor()))


RESERVATION = Family(
    "room that is held on nodes",
    {
        "list": Verb("what is held, where and for whom", _reservations),
        "make": Verb("hold whole free nodes, or room for members", _reserve, _reserve_arguments),
        "release": Verb("let it go", _release, _name),
    },
)
QUEUE = Family(
    "queues with a priority and maybe a quota",
    {
        "list": Verb("queues, their use, and the order of deciding", _queues, _queues_arguments),
        "define": Verb("define or change one", _define, _define_arguments),
        "remove": Verb("remove one", _remove, _name),
    },
)
