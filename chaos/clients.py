"""Clients that change clusters over HTTP, as good clients do: what is not known to have happened is asked for
again.

Each is a thread with a token, an Idempotency-Key for every command, and a random but seeded choice of what to
do.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from random import Random
from typing import Any
from urllib.parse import quote

from chaos.journal import Command, Journal
from chaos.manifests import NAMESPACE, Nodes, gang

ANSWER_SECONDS = 45
"""More than any statement or lock of the console may take."""
AGAIN_SECONDS = 0.1
"""Before a try is repeated."""
OPEN_GROUPS = 9
"""Of one client in one cluster; then it ends some."""
CLUSTERS = 6


class Api:
    """One keep-alive connection to the API."""

    def __init__(self, port: int, token: str) -> None:
        self.headers = {"Authorization": f"Bearer {token}"}
        self.connection = HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """Status and JSON. Raises OSError or HTTPException when no whole answer came."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        try:
            sent = {**self.headers, "Content-Type": "application/json", **(headers or {})}
            self.connection.request(method, f"/api/v1{path}", body=data, headers=sent)
            response = self.connection.getresponse()
            text = response.read()
        except BaseException:
            self.connection.close()
            raise
        try:
            return response.status, json.loads(text)
        except ValueError:
            return response.status, {"code": "", "message": text.decode(errors="replace")[:200]}


class Load:
    """What all clients share. ``hold`` makes them stop after the command at hand."""

    def __init__(self, port: int, token: str, journal: Journal) -> None:
        self.port, self.token, self.journal = port, token, journal
        self.over = threading.Event()
        self.clusters: list[str] = []
        self.nodes: dict[str, Nodes] = {}
        self._threads: list[threading.Thread] = []
        self._change = threading.Condition()
        self._going, self._busy = True, 0

    def start(self, *loops: Callable[[], None]) -> None:
        for loop in loops:
            thread = threading.Thread(target=self._run, args=(loop,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def _run(self, loop: Callable[[], None]) -> None:
        try:
            loop()
        except Exception as error:
            self.journal.complain(f"a client died: {error!r}")
            raise

    def hold(self, seconds: float) -> bool:
        """Whether every client has the answer to its last command by then; none sends another before
        ``resume``.
        """
        with self._change:
            self._going = False
            return self._change.wait_for(lambda: self._busy == 0, seconds)

    def resume(self) -> None:
        with self._change:
            self._going = True
            self._change.notify_all()

    def stop(self) -> None:
        self.over.set()
        self.resume()
        for thread in self._threads:
            thread.join(ANSWER_SECONDS)

    def carry_out(self, api: Api, command: Command) -> Command:
        """Send it until it is known what came of it."""
        with self._change:
            self._change.wait_for(lambda: self._going)
            self._busy += 1
        self.journal.write(command)
        try:
            while not self.over.is_set():
                self._try(api, command)
                if command.known:
                    break
                self.over.wait(AGAIN_SECONDS)
        finally:
            with self._change:
                self._busy -= 1
                self._change.notify_all()
        return command

    def _try(self, api: Api, command: Command) -> None:
        try:
            status, body = api.ask(
                command.method, command.path, command.body, {"Idempotency-Key": command.key}
            )
        except (OSError, HTTPException) as error:
            command.tries.append(type(error).__name__)
            return
        command.tries.append(str(status))
        if 200 <= status < 300:
            command.answer = body
        elif status in (409, 503):
            pass  # "ask again"
        elif status in (404, 422):
            command.refusal = {"status": status, **body}
        else:
            self.journal.complain(f"{command.kind} {command.path} was answered {status}: {body['message']}")


class Client:
    """One of the clients; it ends only groups of its own, so that every refusal is one that it provoked."""

    THINK_SECONDS = 0.08
    """At most, between two commands."""

    def __init__(self, load: Load, number: int, seed: str) -> None:
        self.load, self.number = load, number
        self.dice = Random(f"{seed} client {number}")
        self.api = Api(load.port, load.token)
        self.open: dict[str, list[str]] = {}
        self.count = 0

    def run(self) -> None:
        while not self.load.over.is_set():
            self.act()
            self.load.over.wait(self.dice.uniform(0, self.THINK_SECONDS))

    def act(self) -> None:
        clusters = list(self.load.clusters)
        # Most of it in one cluster, so that commands meet.
        cluster = clusters[0] if self.dice.random() < 0.8 else self.dice.choice(clusters)
        own = self.open.setdefault(cluster, [])
        if len(own) >= OPEN_GROUPS:
            for _ in range(3):
                self.end(cluster, own)
            return
        kinds = [self.submit, self.submit, self.submit, self.cordon, self.uncordon, self.end, self.mistake]
        self.dice.choice(kinds)(cluster, own)

    def send(self, cluster: str, kind: str, method: str, path: str, body: Any = None) -> Command:
        self.count += 1
        key = f"{self.number}-{self.count}"
        return self.load.carry_out(
            self.api, Command(key, cluster, kind, method, f"/clusters/{cluster}{path}", body)
        )

    def submit(self, cluster: str, own: list[str]) -> None:
        """Names come again, so that groups have generations."""
        name = f"c{self.number}-g{self.dice.randrange(3 * OPEN_GROUPS)}"
        done = self.send(cluster, "submit", "POST", "/podgroups", gang(name, self.dice))
        if done.answer is not None:
            own.append(name)

    def end(self, cluster: str, own: list[str]) -> None:
        if own:
            name = own.pop(self.dice.randrange(len(own)))
            self.send(cluster, "end", "DELETE", f"/podgroups/{NAMESPACE}/{name}")

    def cordon(self, cluster: str, own: list[str]) -> None:
        self._mark(cluster, "cordon")

    def uncordon(self, cluster: str, own: list[str]) -> None:
        self._mark(cluster, "uncordon")

    def _mark(self, cluster: str, what: str) -> None:
        node = self.dice.choice(sorted(self.load.nodes[cluster].cpus)[:12])
        self.send(cluster, what, "POST", f"/nodes/{quote(node)}/{what}")

    def mistake(self, cluster: str, own: list[str]) -> None:
        """What has to be refused, and leave nothing."""
        if own and self.dice.random() < 0.5:
            self.send(cluster, "submit again", "POST", "/podgroups", gang(own[0], self.dice))
        else:
            self.send(cluster, "end nothing", "DELETE", f"/podgroups/{NAMESPACE}/nobody")


class Importer(Client):
    """Imports the clusters' dumps again, changed, and makes new clusters of dumps."""

    THINK_SECONDS = 0.4

    def act(self) -> None:
        if not self.load.clusters or (len(self.load.clusters) < CLUSTERS and self.dice.random() < 0.1):
            self.make()
        else:
            self.again(self.dice.choice(self.load.clusters))

    def make(self) -> None:
        """The first one is large; clients act on a cluster when it is known to be there."""
        name = f"cluster-{len(self.load.clusters)}"
        self.load.nodes[name] = nodes = Nodes(1 if self.load.clusters else 4)
        self.send(name, "make", "POST", "/import?mode=simulated", nodes.dump())
        self.load.clusters.append(name)

    def again(self, cluster: str) -> None:
        if self.dice.random() < 0.8:
            self.load.nodes[cluster].change(self.dice)
        self.send(cluster, "import", "POST", "/import?complete=Node", self.load.nodes[cluster].dump())
