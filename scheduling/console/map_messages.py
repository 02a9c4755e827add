"""The sentences of the map in the reader's language; the script has them in English
(frontend/src/map/messages.ts).
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

MESSAGES: dict[str, Any] = {
    "domain": _("{domain} · nodes: {nodes} · GPUs free: {free}/{gpus}"),
    "unlabelled": _("no {key} label"),
    "node": _("{node} · {domain} · GPUs free: {free}/{gpus}"),
    "cordoned": _("cordoned"),
    "notReady": _("not ready"),
    "tainted": _("tainted"),
    "nodeIs": _("{node} {state}"),
    "held": _("{held} of them held by reservations"),
    "more": _("{count} more"),
    "fits": _("members that fit: {fits} of {need}"),
    "rank": _("rank {rank}"),
    "holders": _("held by {groups}"),
    "noGroup": _("pods of no PodGroup"),
    "matches": _("nodes that match: {count}"),
    "changed": _("nodes that changed: {count}"),
    "loading": _("Loading the map…"),
    "empty": _("No nodes yet."),
    "emptyHint": _("Import a cluster to see its racks."),
    "failed": _("The map could not be loaded."),
    "signedOut": _("You are signed out, or may not see this cluster."),
    "retry": _("Retry"),
    "zoomIn": _("Zoom in"),
    "zoomOut": _("Zoom out"),
    "fit": _("Show all"),
    "openNode": _("Open node"),
    "openDomain": _("Open domain"),
    "openGroup": _("Open PodGroup"),
    "pick": _("Highlight"),
    "unpick": _("Clear highlight"),
    "column_group": _("PodGroup"),
    "column_gpus": _("GPUs"),
    "column_node": _("Node"),
    "column_free": _("Free"),
    "others": _("others"),
    "close": _("Close"),
    "pastEvent": _("event {seq}"),
    "pastAhead": _("Live has moved on by {count} events."),
    "pastAheadOne": _("Live has moved on by 1 event."),
    "pastAheadNone": _("Nothing has happened since."),
    "pastValue": _("Event {seq}, {time}: {sentence}"),
    "pastPlay": _("Play"),
    "pastStop": _("Stop"),
    "pastLoading": _("Loading this moment…"),
    "pastFailed": _("This moment could not be loaded: {error}"),
    "pastCounts": _(
        "Nodes: {all}. Added: {added}, removed: {removed}, with another state, rack or size: {state}, "
        "with other owners: {owners}, the same: {same}."
    ),
    "pastChanged": _("at event {a}: {before} — at event {b}: {after}"),
    "pastAbsent": _("not there"),
    "pairChanged": _("before: {before} — after: {after}"),
}
PAST: dict[str, Any] = {
    "openNode": _("The node as it is now"),
    "openDomain": _("The domain as it is now"),
}
"""What is said otherwise beside a picture of the past."""


def messages() -> dict[str, str]:
    """Ready for a JSON block in the page."""
    return {key: str(text) for key, text in MESSAGES.items()}


def past_messages() -> dict[str, str]:
    """As ``messages``, for a map of the past."""
    return messages() | {key: str(text) for key, text in PAST.items()}
