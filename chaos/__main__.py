"""`python -m chaos DIRECTORY SEED ROUNDS [--json]`, in an environment that `manage.py chaos` prepared."""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import django

django.setup()

from chaos.campaign import Campaign, Verdict  # noqa: E402
from chaos.rounds import Round, plan  # noqa: E402
from chaos.stack import running  # noqa: E402
from tasweb.stack import StackError  # noqa: E402

STACK_ROUNDS = 40
"""Then a new stack is made: every round reads whole logs, which must not grow without end."""


def verdicts(directory: Path, seed: str, rounds: list[Round]) -> Iterator[Verdict]:
    """The rounds, each on the stack of the one before unless that failed. StackError when none can be
    started.
    """
    while rounds:
        with running(dict(os.environ), directory) as stack:
            campaign = Campaign(stack, seed, rounds[0].number)
            with campaign.loaded():
                for place, chosen in enumerate(rounds[:STACK_ROUNDS], 1):
                    verdict = campaign.play(chosen, last=place in (STACK_ROUNDS, len(rounds)))
                    yield verdict
                    if verdict.problems:
                        print(f"      kept in {campaign.keep(verdict)}", flush=True)
                        break
        rounds = rounds[place:]


def told(verdict: Verdict) -> str:
    """A line for people, more when it failed."""
    word = "FAILED" if verdict.problems else "ok"
    lines = [
        f"{verdict.round.number:5} {word:6} {verdict.round}: {verdict.seconds:.1f} s until settled; "
        f"{verdict.commands} commands, {verdict.unknown} sent again, {verdict.done} of those found done"
    ]
    return "\n".join([*lines, *(f"      {problem}" for problem in verdict.problems)])


def main(directory: Path, seed: str, wanted: int, *, as_json: bool) -> int:
    """The exit code: 1 when a round failed or could not be played."""
    rounds = list(islice(plan(seed), wanted))
    named = sum(chosen.stop is not None for chosen in rounds)
    print(
        f"chaos: {wanted} rounds, {named} of them at named points; "
        f"seed {seed} (victims and points follow from it, timing does not)",
        flush=True,
    )
    played: list[Verdict] = []
    try:
        for verdict in verdicts(directory, seed, rounds):
            played.append(verdict)
            print(told(verdict), flush=True)
    except StackError as error:
        print(f"the console could not be started: {error}", flush=True)
    passed = sum(not verdict.problems for verdict in played)
    settled = [verdict.seconds for verdict in played if not verdict.problems] or [0.0]
    summary = {
        "seed": seed,
        "passed": passed,
        "failed": wanted - passed,
        "settled_median_s": round(statistics.median(settled), 2),
        "settled_max_s": round(max(settled), 2),
        "commands": sum(verdict.commands for verdict in played),
        "sent_again": sum(verdict.unknown for verdict in played),
        "had_been_carried_out": sum(verdict.done for verdict in played),
        "failures": [asdict(verdict) for verdict in played if verdict.problems],
    }
    if as_json:
        print(json.dumps(summary), flush=True)
    else:
        print(
            f"{summary['commands']} commands, {summary['sent_again']} sent again; until settled: "
            f"median {summary['settled_median_s']} s, longest {summary['settled_max_s']} s"
        )
    print(f"{passed} passed, {wanted - passed} failed", flush=True)
    return int(passed < wanted)


where, seed, rounds, *options = sys.argv[1:]
sys.exit(main(Path(where), seed, int(rounds), as_json="--json" in options))
