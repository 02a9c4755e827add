"""Where a run can be stopped by a harness; loads no tables, so that whoever listens may do so early."""

from django.dispatch import Signal

run_reached = Signal()
"""``run_id``, ``point``: a fanned run has come to one of ``RUN_POINTS`` in this process. Nobody hears it in
production.
"""

RUN_POINTS = ("point", "kept")
"""A point was worked out and is not kept yet; what was worked out is kept."""
