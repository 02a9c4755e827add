"""`tas preemption`: policy, proposals, approval."""

from __future__ import annotations

from argparse import ArgumentParser

from scheduling.api import preemption as api
from scheduling.engine.preemption_records import MODES
from scheduling.management.families.verb import Family, Printer, Verb, actor, done, group, parts
from scheduling.models import Cluster
from scheduling.services import preemption as services


def _show(cluster: Cluster, printer: Printer) -> None:
    found = api.preemption_out(cluster)
    if printer.json:
        return printer.document(found)
    printer.stdout.write(f"policy: {found.policy.mode} {', '.join(found.policy.queues)}".rstrip())
    printer.table(
        ("id", "group", "domain", "victims", "cost", "proved smallest", "approved", "until"),
        [
            (
                each.id,
                each.group,
                each.domain or "-",
                ", ".join(victim.group for victim in each.victims),
                each.cost_sentence,
                "yes" if each.proved_smallest else "no",
                "yes" if each.approved else "no",
                f"{each.expires_at:%Y-%m-%d %H:%M:%S}",
            )
            for each in found.proposals
        ],
    )


def _policy_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--queue", action="append", default=[], help="for which automatic acts; repeat it")


def _policy(cluster: Cluster, printer: Printer, mode: str, queue: list[str]) -> None:
    done(printer, services.set_policy(cluster=cluster, mode=mode, queues=queue, actor=actor()))


def _propose(cluster: Cluster, printer: Printer, podgroup: str) -> None:
    namespace, name = parts(podgroup)
    done(printer, services.propose(cluster=cluster, namespace=namespace, name=name, actor=actor()))


def _id(parser: ArgumentParser) -> None:
    parser.add_argument("id")


def _approve(cluster: Cluster, printer: Printer, id: str) -> None:
    done(printer, services.approve(cluster=cluster, id=id, actor=actor()))


def _reject(cluster: Cluster, printer: Printer, id: str) -> None:
    done(printer, services.reject(cluster=cluster, id=id, actor=actor()))


FAMILY = Family(
    "preemption, which somebody asks for",
    {
        "show": Verb("the policy and the open proposals", _show),
        "policy": Verb("set the policy", _policy, _policy_arguments),
        "propose": Verb("look for groups whose end makes this one run; nothing is evicted", _propose, group),
        "approve": Verb("evict the victims of a proposal", _approve, _id),
        "reject": Verb("end a proposal", _reject, _id),
    },
)
