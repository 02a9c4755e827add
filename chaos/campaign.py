"""One stack under load for some rounds: kill, start again, wait until nothing is left to do, judge."""

from __future__ import annotations

import json
import shutil
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import Group, User
from django.contrib.sessions.backends.db import SessionStore
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, connections

from chaos import checks
from chaos.clients import Api, Client, Importer, Load
from chaos.journal import Journal
from chaos.rounds import Round
from chaos.stack import NotReached, Stack, until
from chaos.watchers import Auditor, Viewer
from scheduling.ledger import store
from scheduling.ledger.store import Head
from scheduling.models import Cluster
from scheduling.services import tokens
from tasweb.stack import ROOT, StackError

CLIENTS = 2
"""That submit, end and cordon; one more imports, one reads the log, one watches the map."""

REACH_SECONDS = 90.0
SETTLE_SECONDS = 90.0
"""Then a wait has failed; it ends as soon as what it waits for is there."""

KEPT = ("scheduling_event", "scheduling_command", "scheduling_streamhead", "scheduling_cluster")
"""Tables that are kept of a round that failed."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a round. ``seconds``: from the restart until nothing was left to do. ``unknown``: commands
    whose answer was lost, and that had to be sent again; ``done``: those of them that had been carried out.
    """

    round: Round
    problems: list[str]
    seconds: float
    commands: int
    unknown: int
    done: int


class Campaign:
    """The load on a running stack, and what was noted of its logs after the last round."""

    def __init__(self, stack: Stack, seed: str, number: int) -> None:
        """``number``: of its first round; clients of a later campaign do not do the same again."""
        self.stack, self.seed, self.number = stack, seed, number
        self.journal = Journal()
        connections.close_all()  # to the servers of the campaign before
        user = User.objects.create_user("chaos")
        user.groups.add(Group.objects.get(name="operators"))
        _, token = tokens.create_token(user=user, name="chaos")
        self.prefix = f"api:{user.pk}:"
        self.load = Load(stack.port, token, self.journal)
        self.auditor = Auditor(self.load)
        self.viewer = Viewer(self.load, _cookie(user))
        self.heads: dict[int, Head] = {}
        self.told = 0

    @contextmanager
    def loaded(self) -> Iterator[None]:
        """With clients, from when the first cluster is there."""
        seed = f"{self.seed} {self.number}"
        importer = Importer(self.load, 0, seed)
        importer.make()
        clients = [Client(self.load, number + 1, seed) for number in range(CLIENTS)]
        self.load.start(*(client.run for client in (importer, *clients)), self.auditor.run, self.viewer.run)
        try:
            yield
        finally:
            self.load.stop()

    def play(self, chosen: Round, *, last: bool) -> Verdict:
        """One round; with the ``last`` one of this stack `verify_log` is run too."""
        problems: list[str] = []
        seconds = 0.0
        try:
            began = self._strike(chosen)
            self._settle()
            seconds = time.monotonic() - began
            problems += self._judge()
            if last:
                problems += self.verify_log()
        except (NotReached, StackError) as missing:
            problems.append(str(missing))
        except Exception:
            # A log that cannot be folded, a server that is gone again: others can be played.
            problems.append(traceback.format_exc())
        problems += self.journal.complaints()
        self.stack.points.withdraw()
        verdict = self._count(chosen, problems, seconds)
        self.load.resume()
        return verdict

    def _strike(self, chosen: Round) -> float:
        """Kill and start again; when it was started."""
        stopped: int | None = None
        time.sleep(chosen.delay)  # the random moment itself
        if chosen.stop is not None:
            process, point = chosen.stop
            self.stack.points.want(process, point)
            stopped = until(self.stack.points.reached, f"{process} comes to {point}", REACH_SECONDS)
        self.stack.kill(*chosen.victims)
        if stopped is not None and chosen.first:
            self.stack.release(stopped)
        if chosen.emptied:
            self.stack.empty_redis()
        began = time.monotonic()
        self.stack.start(*chosen.victims)
        if stopped is not None and not chosen.first:
            self.stack.release(stopped)
        return began

    def _settle(self) -> None:
        """Until the console is healthy, every command known, every log decided to its end."""
        until(self.stack.healthy, "/health is 200", SETTLE_SECONDS)
        if not self.load.hold(SETTLE_SECONDS):
            waiting = [
                f"{command.kind} {command.key} {command.tries[-3:]}"
                for command in self.journal.commands()
                if not command.known
            ]
            raise NotReached(f"commands without an answer after {SETTLE_SECONDS:.0f} s: {waiting}")
        connections.close_all()  # the server behind them may have been killed
        until(self._is_decided, "every log is decided to its end", SETTLE_SECONDS)
        until(lambda: not list(checks.sessions()), "no lock and no transaction is left", SETTLE_SECONDS)

    def _is_decided(self) -> bool:
        """No cluster is behind, and no group rests that is to be looked at again."""
        rows = Cluster.objects.values_list("stream__head__seq", "last_cycle_seq", "retry_at")
        return all(head == seen and retry_at is None for head, seen, retry_at in rows)

    def _judge(self) -> list[str]:
        sent = self.journal.commands()
        found: list[str] = []
        for cluster in Cluster.objects.order_by("pk"):
            mine = [command for command in sent if command.cluster == cluster.name]
            found += checks.whole(cluster, mine, self.prefix, self.heads.get(cluster.pk), self.auditor)
            self.heads[cluster.pk] = store.head(cluster.pk)
        watched = Cluster.objects.get(name=self.viewer.cluster)
        if self.viewer.has_reached(self.heads[watched.pk].seq, SETTLE_SECONDS):
            found += checks.live(self.viewer, Api(self.stack.port, self.load.token))
        else:
            found.append(f"the live feed is at {self.viewer.seq}, the log at {self.heads[watched.pk].seq}")
        if not self.stack.healthy():
            found.append("/health is not 200")
        return found

    def _count(self, chosen: Round, problems: list[str], seconds: float) -> Verdict:
        sent = self.journal.commands()
        new, self.told = sent[self.told :], len(sent)
        unknown = [command for command in new if len(command.tries) > 1]
        return Verdict(
            chosen,
            problems,
            seconds,
            len(new),
            len(unknown),
            sum(bool(command.answer and command.answer.get("repeated")) for command in unknown),
        )

    def verify_log(self) -> list[str]:
        """What `manage.py verify_log` says when it does not find everything as written."""
        told = StringIO()
        try:
            call_command("verify_log", stdout=told)
        except CommandError as error:
            return [f"verify_log: {error}", *told.getvalue().splitlines()]
        return []

    def keep(self, verdict: Verdict) -> Path:
        """What is needed to find out why a round failed, in a folder of its own."""
        folder = ROOT / "artefacts" / f"chaos-{self.seed}-{verdict.round.number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        told = {**verdict.round.as_dict(), "problems": verdict.problems}
        (folder / "round.json").write_text(json.dumps(told, indent=2))
        with (folder / "commands.jsonl").open("w") as lines:
            for command in self.journal.commands():
                lines.write(json.dumps(command.as_dict()) + "\n")
        for logs in (self.stack.logs, self.stack.directory):
            for log in logs.glob("*.log"):
                shutil.copy(log, folder)
        connections.close_all()
        try:
            self._keep_tables(folder)
        except OperationalError as error:
            (folder / "tables.txt").write_text(f"not to be had: {error}")
        return folder

    def _keep_tables(self, folder: Path) -> None:
        with connection.cursor() as cursor:
            for table in KEPT:
                with (
                    cursor.copy(f"copy (select * from {table}) to stdout (format csv, header)") as rows,
                    (folder / f"{table}.csv").open("wb") as file,
                ):
                    for row in rows:
                        file.write(row)


def _cookie(user: User) -> str:
    """The Cookie header of a browser in which the user is signed in."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return f"{settings.SESSION_COOKIE_NAME}={session.session_key}"
