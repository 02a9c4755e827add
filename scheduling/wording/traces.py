"""Words about replays of traces."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

SOURCES: dict[str, Any] = {
    "kueue": _("the load of Kueue's test: 640 nodes, 15,000 workloads"),
    "openb": _("files of the openb trace"),
    "ndjson": _("a file of our own format"),
}

NODES: dict[str, Any] = {
    "trace": pgettext_lazy("nodes of", "the trace"),
    "cluster": pgettext_lazy("nodes of", "this cluster"),
}

SOFT: dict[str, Any] = {
    "required": _("required: a rack is large beside every workload"),
    "none": _("not asked for: a plain gang"),
}

PARTS: dict[str, Any] = {
    "milli": _("thousandths, as if a part could lie across GPUs"),
    "whole": _("a whole GPU"),
}

PLOTS: dict[str, Any] = {
    "use": _("Use"),
    "waiting": _("Workloads that wait"),
    "fragmentation": _("Fragmentation"),
    "wait": _("Mean wait of those placed"),
}
