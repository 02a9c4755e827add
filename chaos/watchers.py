"""Clients that only look: one reads the logs as an auditor would, one watches the map as a browser does."""

from __future__ import annotations

import json
import threading
import time
from http.client import HTTPException
from typing import Any
from urllib.parse import quote

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from chaos.clients import AGAIN_SECONDS, Api, Load
from chaos.manifests import RACK

PAGE = 500
QUIET_SECONDS = 12.0
"""Nothing heard for so long means that the socket is dead: a browser says stale then, and connects again."""
PAUSE_SECONDS = 0.25


class Auditor:
    """Keeps a copy of the hashes of every event that the API has ever shown; seqs must come without a gap."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.api = Api(load.port, load.token)
        self.hashes: dict[str, list[str]] = {}
        """By cluster: that of event n is at n - 1."""

    def run(self) -> None:
        while not self.load.over.wait(PAUSE_SECONDS):
            for cluster in list(self.load.clusters):
                self.read(cluster)

    def read(self, cluster: str) -> None:
        """One page more."""
        known = self.hashes.setdefault(cluster, [])
        try:
            status, body = self.api.ask("GET", f"/clusters/{cluster}/events?after={len(known)}&limit={PAGE}")
        except (OSError, HTTPException):
            return
        if status == 503:
            return
        if status != 200:
            self.load.journal.complain(f"the log of {cluster} was answered {status}: {body['message']}")
            return
        for item in body["items"]:
            if item["seq"] != len(known) + 1:
                self.load.journal.complain(
                    f"the log of {cluster} was told with a gap: after {len(known)} came {item['seq']}"
                )
                return
            known.append(item["hash"])


class Viewer:
    """A browser on the map of one cluster: snapshot, deltas over the socket, what it missed by HTTP."""

    def __init__(self, load: Load, cookie: str) -> None:
        self.load, self.cookie = load, cookie
        self.api = Api(load.port, load.token)
        self.cluster = ""
        self.epoch, self.seq = -1, -1
        self.nodes: dict[int, tuple[str, int]] = {}
        """By index: name, state."""
        self.connections = 0
        self.changed = threading.Condition()

    def run(self) -> None:
        while not self.load.clusters and not self.load.over.wait(PAUSE_SECONDS):
            pass
        while not self.load.over.is_set():
            self.cluster = self.load.clusters[0]
            try:
                self.snapshot()
                self.watch()
            except (OSError, HTTPException, WebSocketException, Unavailable):
                self.load.over.wait(AGAIN_SECONDS)

    def snapshot(self) -> None:
        body = self.ask("/map?key=" + quote(RACK))
        columns = body["nodes"]
        drawn = zip(columns["index"], columns["name"], columns["state"], strict=True)
        self.take(body["epoch"], body["seq"], {index: (name, state) for index, name, state in drawn})

    def watch(self) -> None:
        address = f"ws://127.0.0.1:{self.load.port}/ws/clusters/{self.cluster}/?key={quote(RACK)}"
        origin: Any = f"http://127.0.0.1:{self.load.port}"
        with connect(address, origin=origin, additional_headers={"Cookie": self.cookie}) as socket:
            self.connections += 1
            while not self.load.over.is_set():
                self.hear(json.loads(self.receive(socket)))

    def receive(self, socket: ClientConnection) -> str | bytes:
        deadline = time.monotonic() + QUIET_SECONDS
        while not self.load.over.is_set():
            try:
                return socket.recv(timeout=1)
            except TimeoutError:
                if time.monotonic() > deadline:
                    raise
        raise TimeoutError

    def hear(self, message: dict[str, Any]) -> None:
        """As the browser does (see ``live/protocol.py``)."""
        if message["t"] == "hello":
            if message["epoch"] != self.epoch:
                self.snapshot()
            elif message["seq"] < self.seq:
                self.load.journal.complain(
                    f"the live feed of {self.cluster} went back from {self.seq} to {message['seq']}"
                )
                self.snapshot()
        told = message["from"] if message["t"] == "delta" else message["seq"]
        if told > self.seq:
            self.apply(self.ask(f"/map/deltas?since={self.seq}&key={quote(RACK)}&epoch={self.epoch}"))
        if message["t"] == "delta":
            self.apply(message)

    def apply(self, delta: dict[str, Any]) -> None:
        if not delta["from"] <= self.seq < delta["to"]:
            return
        nodes = self.nodes | {row[0]: (row[1], row[3]) for row in delta["nodes"]}
        self.take(delta["epoch"], delta["to"], nodes)

    def take(self, epoch: int, seq: int, nodes: dict[int, tuple[str, int]]) -> None:
        with self.changed:
            self.epoch, self.seq, self.nodes = epoch, seq, nodes
            self.changed.notify_all()

    def has_reached(self, seq: int, seconds: float) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.seq >= seq, seconds)

    def ask(self, path: str) -> Any:
        """The body of a 200. Raises Unavailable for any other answer."""
        status, body = self.api.ask("GET", f"/clusters/{self.cluster}{path}")
        if status not in (200, 503):
            self.load.journal.complain(f"the map of {self.cluster} was answered {status}: {body['message']}")
        if status != 200:
            raise Unavailable
        return body


class Unavailable(Exception):
    """The map could not be had."""
