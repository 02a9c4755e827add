"""What services tell of their own progress."""

from __future__ import annotations

from django.dispatch import Signal

cycle_reached = Signal()
"""Sent by ``cycles.run_cycle`` with ``stream_id`` and ``point``: ``loaded`` (the state is at hand),
``decided`` (events are made, nothing is written), ``inserted`` (written, not committed), ``committed``.
Nobody listens in production; the fault tests stop a worker there.
"""

CYCLE_POINTS = ("loaded", "decided", "inserted", "committed")

retention_reached = Signal()
"""Sent by ``retention`` with ``stream_id`` and ``point``: ``chosen``, ``written`` (a file without its name),
``published`` (with it), ``recorded`` (in a transaction, which is not committed), ``committed``, ``detached``,
``dropped``; on the way back ``loaded`` (a table beside the log), ``attached`` (not committed), ``restored``.
"""
