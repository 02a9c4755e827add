"""`tas scenario`."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import CommandError

from scheduling.api import runs as api_runs
from scheduling.api import scenarios as api
from scheduling.management.families.verb import Family, Printer, Verb, actor
from scheduling.models import Cluster, Run
from scheduling.scenarios import documents, runs, scenario_runs, workbench
from scheduling.scenarios.documents import ScenarioDocument
from scheduling.selectors import workbench as rows
from scheduling.selectors.moments import BadMoment
from scheduling.wording import decisions, moments

POLL = 0.3
"""Seconds between two looks at a run that a worker has."""


def _name(parser: ArgumentParser) -> None:
    parser.add_argument("name")


def _list(cluster: Cluster, printer: Printer) -> None:
    found = [api.brief(row) for row in rows.scenarios(cluster)]
    if printer.json:
        return printer.document(api.ScenariosOut(items=found))
    printer.table(
        ("scenario", "steps", "begins at", "saved by", "saved"),
        [
            (row.name, len(row.steps), row.at or "newest", row.saved_by, f"{row.saved_at:%Y-%m-%d %H:%M:%S}")
            for row in found
        ],
    )


def _show(cluster: Cluster, printer: Printer, name: str) -> None:
    row = api.find_scenario(cluster, name)
    if printer.json:
        return printer.document(api.scenario_out(row))
    printer.stdout.write(documents.to_yaml(documents.read(row.document)), ending="")


def _save(cluster: Cluster, printer: Printer, file: str) -> None:
    row = workbench.save(cluster=cluster, document=_document(file), actor=actor())
    if printer.json:
        return printer.document(api.scenario_out(row))
    printer.stdout.write(f"{row.name} is saved, revision {row.revision}.")


def _run_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "scenario",
        metavar="NAME|FILE",
        help="with a dot or a slash in it it is a file; - for standard input",
    )
    parser.add_argument("--at", default="", help="begin after this event or at this time")
    parser.add_argument(
        "--wait", action="store_true", help="until it is over; works on it where no worker does"
    )


def _run(cluster: Cluster, printer: Printer, scenario: str, at: str, wait: bool) -> None:
    name = "" if scenario == "-" or "." in scenario or "/" in scenario else scenario
    document = documents.read(api.find_scenario(cluster, name).document) if name else _document(scenario)
    if at:
        document = document.model_copy(update={"at": at})
    try:
        run = scenario_runs.ask(cluster=cluster, document=document, actor=actor(), scenario=name)
    except BadMoment as error:
        raise CommandError(moments.sentence(error)) from error
    if not wait:
        if printer.json:
            return printer.document(api_runs.RunBriefOut.from_orm(run))
        printer.stdout.write(f"Run {run.number} begins after event {run.base_seq}.")
        return
    while Run.objects.filter(pk=run.pk, status__in=Run.OPEN).exists():
        if not runs.work(run.pk):
            time.sleep(POLL)  # a worker is at it
    _result(cluster, printer, run.number)


def _number(parser: ArgumentParser) -> None:
    parser.add_argument("number", type=int, help="of a run")


def _result(cluster: Cluster, printer: Printer, number: int) -> None:
    run = api_runs.find_run(cluster.name, number)
    if printer.json:
        return printer.document(api_runs.RunOut.from_orm(run))
    if run.status == Run.Status.FAILED:
        raise CommandError(f"run {number} failed: {run.error}")
    if run.status != Run.Status.DONE:
        raise CommandError(f"run {number} is {run.status}: {run.done} of {run.total} steps are done")
    result = scenario_runs.result_of(run)
    counts = ", ".join(f"{name} {count}" for name, count in result["verdict"].items() if name != "code")
    printer.stdout.write(f"Run {number} on event {run.base_seq}: {result['verdict']['code']} ({counts})")
    printer.table(
        ("podgroup", "role", "became", "domain", "waited s", "what"),
        [
            (
                group["key"],
                group["role"],
                group["became"],
                ", ".join(group["after"]["domains"]) if group["after"] else "",
                "" if group["wait_ms"] is None else group["wait_ms"] // 1000,
                decisions.sentences(decisions.facts_of_result(group["facts"])) if group["facts"] else "",
            )
            for group in (*result["asked"], *result["others"])
        ],
    )


def _document(file: str) -> ScenarioDocument:
    """Of a file, or of standard input for ``-``. Raises Refused."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return documents.read_yaml(data.decode())
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{file}: this is not UTF-8 text") from error


FAMILY = Family(
    "save scenarios, run them on a fork of a cluster, read what came of it",
    {
        "list": Verb("saved scenarios", _list),
        "show": Verb("one of them, as YAML that can be saved again", _show, _name),
        "save": Verb(
            "save it under the name that it has in the file",
            _save,
            lambda parser: parser.add_argument("file", help="YAML or JSON; - for standard input"),
        ),
        "run": Verb("run one on a fork of the cluster", _run, _run_arguments),
        "result": Verb("what came of a run", _result, _number),
    },
)
