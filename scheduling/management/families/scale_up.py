"""`tas node-type` and `tas scale-up`."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import CommandError

from scheduling.api import capacity as api
from scheduling.engine.node_types import SIMULATED
from scheduling.management.families.verb import Family, Printer, Verb, actor, done, group, pair, parts
from scheduling.models import Cluster
from scheduling.services import node_types, scale_up, scale_up_export
from scheduling.services.node_types import GrowthForm, NodeTypeForm
from scheduling.services.scale_up import JOIN_MINUTES, VALID_MINUTES, Approval
from scheduling.wording import units
from scheduling.wording.scale_up import cost as in_units


def _name(parser: ArgumentParser) -> None:
    parser.add_argument("name")


def _types(cluster: Cluster, printer: Printer) -> None:
    found = api.types_out(cluster)
    if printer.json:
        return printer.document(found)
    printer.table(
        ("name", "resources", "cost", "may still grow"),
        [
            (
                each.name,
                units.quantities(each.allocatable.items()),
                "-" if each.cost is None else in_units(each.cost),
                ", ".join(f"{entry.key}={entry.domain} {entry.room}/{entry.most}" for entry in each.growth),
            )
            for each in found.items
        ],
    )


def _define_arguments(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--like", default="", metavar="NODE", help="a node that such a node is like")
    for option, what in (("resource", "QUANTITY"), ("label", "VALUE")):
        parser.add_argument(f"--{option}", action="append", type=pair, default=[], metavar=f"NAME={what}")
    parser.add_argument(
        "--grow",
        action="append",
        nargs=3,
        default=[],
        metavar=("KEY", "DOMAIN", "NODES"),
        help="how many of it may be in a domain",
    )
    parser.add_argument("--cost", default="", help="of a node and hour, at most three decimals")
    parser.add_argument("--provider", choices=(SIMULATED,), default="")


def _define(
    cluster: Cluster,
    printer: Printer,
    name: str,
    like: str,
    resource: list[tuple[str, str]],
    label: list[tuple[str, str]],
    grow: list[list[str]],
    cost: str,
    provider: str,
) -> None:
    growth = tuple(GrowthForm(key, domain, _whole(most)) for key, domain, most in grow)
    form = NodeTypeForm(name, like, dict(resource), dict(label), (), growth, cost, provider)
    done(printer, node_types.define(cluster=cluster, form=form, actor=actor()))


def _whole(text: str) -> int:
    if not text.isascii() or not text.removeprefix("-").isdigit():
        raise CommandError(f"--grow: {text!r} is no whole number", returncode=2)
    return int(text)


def _remove(cluster: Cluster, printer: Printer, name: str) -> None:
    done(printer, node_types.remove(cluster=cluster, name=name, actor=actor()))


def _plans(cluster: Cluster, printer: Printer) -> None:
    found = api.plans_out(cluster)
    if printer.json:
        return printer.document(found)
    printer.table(
        ("plan", "status", "groups", "nodes", "joined", "the cheapest option, or the approved one"),
        [
            (
                each.name,
                each.status,
                ", ".join(each.groups),
                each.options[each.chosen or 0].nodes,
                len(each.joined),
                each.options[each.chosen or 0].sentence,
            )
            for each in found.items
        ],
    )


def _show(cluster: Cluster, printer: Printer, name: str) -> None:
    found = api.found_plan_out(cluster, name)
    if printer.json:
        return printer.document(found)
    printer.stdout.write(f"{found.name}: {found.status}; {', '.join(found.groups)}; {found.why}".rstrip("; "))
    for place, option in enumerate(found.options):
        printer.stdout.write(f"{'*' if place == found.chosen else '-'} {place}: {option.sentence}")


def _preview(cluster: Cluster, printer: Printer, podgroup: str) -> None:
    parts(podgroup)
    found = api.preview_out(scale_up.preview(cluster=cluster, groups=[podgroup]))
    if printer.json:
        return printer.document(found)
    for option in found.options:
        printer.stdout.write(f"- {option.sentence}")
    if found.message:
        printer.stdout.write(f"Nothing can be planned: {found.message}.")
    for kind in found.refused:
        printer.stdout.write(f"- {kind.type}: {kind.message}")


def _plan_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("podgroups", nargs="+", metavar="NAMESPACE/NAME")
    parser.add_argument("--minutes", type=int, default=VALID_MINUTES, help="for which it may be approved")


def _plan(cluster: Cluster, printer: Printer, podgroups: list[str], minutes: int) -> None:
    done(printer, scale_up.plan(cluster=cluster, groups=podgroups, minutes=minutes, actor=actor()))


def _approve_arguments(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--option", type=int, default=0, help="its place; 0 is the cheapest")
    parser.add_argument(
        "--minutes", type=int, default=JOIN_MINUTES, help="within which the nodes must have joined"
    )
    parser.add_argument("--nodes", type=int, help="that the simulated provider lets join; left out: all")


def _approve(
    cluster: Cluster, printer: Printer, name: str, option: int, minutes: int, nodes: int | None
) -> None:
    approval = Approval(option, minutes, nodes)
    done(printer, scale_up.approve(cluster=cluster, name=name, approval=approval, actor=actor()))


def _reject_arguments(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--why", default="")


def _reject(cluster: Cluster, printer: Printer, name: str, why: str) -> None:
    done(printer, scale_up.reject(cluster=cluster, name=name, why=why, actor=actor()))


def _join_arguments(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--nodes", type=int, help="left out: all that are missing")


def _join(cluster: Cluster, printer: Printer, name: str, nodes: int | None) -> None:
    done(printer, scale_up.provision(cluster=cluster, name=name, nodes=nodes, actor=actor()))


def _export_arguments(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("form", choices=("provisioning-request", "node-pools"))
    parser.add_argument("--option", type=int, help="left out: the approved one, or the cheapest")


def _export(cluster: Cluster, printer: Printer, name: str, form: str, option: int | None) -> None:
    if form == "node-pools":
        made = scale_up_export.node_pools(cluster=cluster, name=name, option=option)
    else:
        made = scale_up_export.provisioning_request(cluster=cluster, name=name, option=option)
    printer.document(api.ManifestsOut(items=made))


NODE_TYPE = Family(
    "types of nodes by which the cluster can grow",
    {
        "list": Verb("types, and how far each may still grow", _types),
        "define": Verb("define or replace one", _define, _define_arguments),
        "remove": Verb("remove one", _remove, _name),
    },
)
SCALE_UP = Family(
    "plans for new nodes that make groups fit",
    {
        "list": Verb("plans, open ones first", _plans),
        "show": Verb("a plan with its options", _show, _name),
        "preview": Verb("what could be planned for a group; nothing is written", _preview, group),
        "plan": Verb("plan for groups together", _plan, _plan_arguments),
        "approve": Verb("approve a plan; it is proved again", _approve, _approve_arguments),
        "reject": Verb("reject a plan", _reject, _reject_arguments),
        "join": Verb("let nodes of an approved plan join a simulated cluster", _join, _join_arguments),
        "export": Verb("print a plan as manifests for an autoscaler", _export, _export_arguments),
    },
)
