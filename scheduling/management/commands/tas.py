"""`manage.py tas`: the services at the command line, for people and for programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.http import Http404
from ninja import Schema

from scheduling.api import clusters, explanations, pod_groups
from scheduling.api.commands import find_cluster, outcome
from scheduling.api.errors import problem
from scheduling.api.event_rows import event_out
from scheduling.api.rendering import encode
from scheduling.api.schemas import ErrorOut, PodGroupsOut
from scheduling.ledger.archives import Archived
from scheduling.ledger.bases import UnreadableBase
from scheduling.ledger.codec import UnknownEvent
from scheduling.ledger.events import CATALOGUE
from scheduling.ledger.store import ConflictingAppend
from scheduling.management.commands.import_cluster import gate
from scheduling.management.families import holds, preemption, scale_up, scenarios, waits
from scheduling.management.families.verb import Family, actor, within
from scheduling.models import PodGroupRow
from scheduling.projections.writer import TablesBehind
from scheduling.selectors import history
from scheduling.selectors import pod_groups as groups
from scheduling.selectors.event_search import Filters, gather
from scheduling.services import workloads
from scheduling.services.clusters import ImportRequest, import_cluster, preview_import
from scheduling.services.explain import investigate
from scheduling.services.problems import NOT_FOUND, Refused
from scheduling.storable import is_storable, shown
from scheduling.wording import units

MOST_ROWS = 1_000_000
"""More than this in one table or at once in memory is a slip of the pen; `--after` goes on from there."""

LAST_SEQ = 2**63 - 1

SUBJECTS = tuple(dict.fromkeys(kind.SUBJECT for kind in CATALOGUE.values()))

ACTIONS = {
    "import": "import a dump of nodes, pods and PodGroups",
    "submit": "submit PodGroup and Pod manifests to a simulated cluster",
    "groups": "list open PodGroups",
    "explain": "say why a PodGroup waits, or where it would go",
    "events": "read the log",
}
FAMILIES: dict[str, Family] = {
    "wait": waits.FAMILY,
    "reservation": holds.RESERVATION,
    "queue": holds.QUEUE,
    "node-type": scale_up.NODE_TYPE,
    "scale-up": scale_up.SCALE_UP,
    "preemption": preemption.FAMILY,
    "scenario": scenarios.FAMILY,
}

REFUSED = 3
"""Exit code of a command that a service refused; nothing was stored."""


def read(name: str) -> bytes:
    """A file, or standard input for ``-``."""
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error


def _texts(value: object) -> Iterator[str]:
    """Every text in the value of an option."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


class Command(BaseCommand):
    help = (
        "Import, submit, list, explain, read the log; waits, room, queues, new nodes, preemption, scenarios. "
        "Exits with 0 done, 1 not done, 2 usage, 3 refused."
    )
    json = False

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="|".join((*ACTIONS, *FAMILIES)))
        for name, text in ACTIONS.items():
            action = actions.add_parser(name, help=text)
            action.add_argument("cluster")
            action.add_argument("--json", action="store_true", help="print JSON for programs")
            getattr(self, f"{name}_arguments")(action)
        for name, family in FAMILIES.items():
            verbs = actions.add_parser(name, help=family.help).add_subparsers(
                dest="verb", required=True, metavar="|".join(family.verbs)
            )
            for word, verb in family.verbs.items():
                asked = verbs.add_parser(word, help=verb.help)
                asked.add_argument("cluster")
                verb.arguments(asked)
                asked.add_argument("--json", action="store_true", help="print JSON for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        for name, value in options.items():
            for text in _texts(value):
                if not is_storable(text):
                    raise CommandError(f"{name}: {shown(text)} is not text in UTF-8")
        self.json = options["json"]
        try:
            if options["action"] in FAMILIES:
                self.family(**options)
            else:
                getattr(self, f"{options['action']}_")(**options)
        except Refused as error:
            if options["json"]:
                found = [problem(each) for each in error.problems]
                self.document(ErrorOut(code="refused", message=str(error), problems=found))
            lines = "\n".join(f"- {each}" for each in error.problems)
            if all(each.reason == NOT_FOUND for each in error.problems):
                raise CommandError(lines) from error
            raise CommandError(f"Refused; nothing was stored.\n{lines}", returncode=REFUSED) from error
        except (Http404, ConflictingAppend, TablesBehind, UnknownEvent, Archived, UnreadableBase) as error:
            raise CommandError(str(error)) from error
        except BrokenPipeError:
            # Whoever read has seen enough (`| head`); Python would complain again when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(1) from None

    def family(self, *, action: str, verb: str, cluster: str, **options: Any) -> None:
        """A verb gets the options that it has itself."""
        run = FAMILIES[action].verbs[verb].run
        own = {name: options[name] for name in signature(run).parameters if name in options}
        run(find_cluster(cluster), self, **own)

    # --- import

    def import_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="- for standard input")
        parser.add_argument("--mode", choices=("simulated", "observed"), help="needed for a new cluster")
        parser.add_argument(
            "--complete", default="", help="kinds of which the dump is complete: Node,Pod,PodGroup"
        )
        parser.add_argument(
            "--partial", action="store_true", help="take what is valid and leave out the rest"
        )
        parser.add_argument("--gate", action="append", type=gate, default=[], metavar="NAME=true|false")
        parser.add_argument("--dry-run", action="store_true", help="only tell what would be done")

    def import_(self, *, cluster: str, file: str, json: bool, dry_run: bool, **options: Any) -> None:
        wanted = ImportRequest(
            data=read(file),
            mode=options["mode"],
            gates=dict(options["gate"]) or None,
            complete=frozenset(filter(None, options["complete"].split(","))),
            partial=options["partial"],
        )
        if dry_run:
            report = preview_import(name=cluster, request=wanted)
        else:
            report = import_cluster(name=cluster, request=wanted, actor=actor())
        if json:
            return self.document(clusters.import_out(report, dry_run=dry_run, partial=wanted.partial))
        kinds = sorted({*report.added, *report.updated, *report.removed, *report.unchanged})
        columns = (report.added, report.updated, report.unchanged)
        rows = [
            (kind, *(column.get(kind, 0) for column in columns), len(report.removed.get(kind, ())))
            for kind in kinds
        ]
        self.table(("kind", "added", "updated", "unchanged", "removed"), rows)
        for found in (*report.refused, *report.notices):
            self.stdout.write(f"- {found}")
        if dry_run and report.refused and not wanted.partial:
            self.stdout.write("Nothing would be stored: what is refused refuses all, unless --partial.")
        self.stdout.write("Nothing was stored." if dry_run else f"{report.cluster} is at event {report.seq}.")

    # --- submit

    def submit_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="- for standard input")

    def submit_(self, *, cluster: str, file: str, json: bool, **options: Any) -> None:
        data = read(file)
        done = workloads.submit_manifests(cluster=find_cluster(cluster), data=data, actor=actor())
        if json:
            return self.document(outcome(done))
        answer = outcome(done)
        self.table(("seq", "event"), [(event.seq, event.type) for event in answer.events])

    # --- groups

    def groups_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--status", default="", choices=(*PodGroupRow.Status.values, "degraded"), help="its state"
        )
        parser.add_argument("--namespace", default="")
        parser.add_argument("--limit", type=within(1, MOST_ROWS), default=100)

    def groups_(
        self, *, cluster: str, json: bool, status: str, namespace: str, limit: int, **options: Any
    ) -> None:
        found = find_cluster(cluster)
        page = groups.page(found, status=status, namespace=namespace, limit=limit)
        rows = pod_groups.pod_groups_out(found, page.items)
        if json:
            return self.document(PodGroupsOut(items=rows, next=page.next or None))
        self.table(
            (
                "podgroup",
                "status",
                "bound",
                "members",
                "minCount",
                "verdict",
                "reason",
                "domain",
                "fits",
            ),
            [
                (
                    f"{row.namespace}/{row.name}",
                    row.status,
                    row.bound,
                    row.members,
                    row.need,
                    row.verdict,
                    row.reason,
                    row.domain,
                    row.fits,
                )
                for row in rows
            ],
        )
        if page.next:
            self.stdout.write(f"There are more than {limit}; ask with a larger --limit.")

    # --- explain

    def explain_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("podgroup", metavar="NAMESPACE/NAME")

    def explain_(self, *, cluster: str, podgroup: str, json: bool, **options: Any) -> None:
        namespace, slash, name = podgroup.partition("/")
        if not slash:
            raise CommandError("Name the PodGroup as NAMESPACE/NAME.")
        found = explanations.explanation_out(
            investigate(cluster=find_cluster(cluster), namespace=namespace, name=name)
        )
        if json:
            return self.document(found)
        self.stdout.write(f"{podgroup} at event {found.seq}: {found.verdict} {found.reason}".rstrip())
        self.stdout.write(found.sentence)
        self.stdout.write(found.upstream.sentence)
        for change in found.changes:
            self.stdout.write(f"- {change.sentence}")
        rows = [
            (
                row.domain,
                row.nodes,
                row.eligible,
                f"{row.fits}/{found.need}",
                row.reason,
                ", ".join(units.quantity(short.resource, short.amount) for short in row.short_of),
                ", ".join(f"{cause.code} {cause.nodes}" for cause in row.causes),
            )
            for row in found.domains
        ]
        self.table(
            (found.topology_key or "domain", "nodes", "eligible", "fits", "reason", "short of", "nodes out"),
            rows,
        )

    # --- events

    def events_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--after", type=within(0, LAST_SEQ), help="from there on, oldest first; else the newest"
        )
        parser.add_argument(
            "--type",
            default="",
            choices=tuple(CATALOGUE),
            metavar="TYPE",
            help="an event type, such as PodGroupPlaced",
        )
        parser.add_argument("--subject", default="", choices=SUBJECTS, help="kind of the object it is about")
        for name in ("namespace", "name", "actor"):
            parser.add_argument(f"--{name}", default="")
        parser.add_argument("--limit", type=within(1, MOST_ROWS), default=50)

    def events_(self, *, cluster: str, json: bool, after: int | None, limit: int, **options: Any) -> None:
        wanted = {name: options[name] for name in ("type", "subject", "namespace", "name", "actor")}
        found = find_cluster(cluster)
        history.refuse_archived(found, after)
        listed = gather(found, Filters(**wanted), after=after, limit=limit)
        rows = [event_out(row) for row in (listed if after is not None else reversed(listed))]
        if json:
            for row in rows:
                self.document(row)
            return
        self.table(
            ("seq", "recorded", "event", "actor", "what"),
            [
                (row.seq, f"{row.recorded_at:%Y-%m-%d %H:%M:%S}", row.type, row.actor, row.sentence)
                for row in rows
            ],
        )

    # --- printing

    def document(self, found: Schema) -> None:
        self.stdout.write(encode(found.model_dump()).decode())

    def table(self, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Columns as wide as their widest cell; numbers to the right."""
        lines = [tuple(map(str, row)) for row in (head, *rows)]
        widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
        for line in lines:
            cells = (
                cell.rjust(width) if cell.lstrip("-").isdigit() else cell.ljust(width)
                for cell, width in zip(line, widths, strict=True)
            )
            self.stdout.write("  ".join(cells).rstrip())
