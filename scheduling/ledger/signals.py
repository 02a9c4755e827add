"""What the ledger tells the floors above it."""

from django.dispatch import Signal

log_advanced = Signal()
"""Sent after the commit of an append, once for each: ``stream_id``, ``seq`` (the last one), ``woke`` (a
waiting group could go on because of it) and ``events``, a tuple. Only a hint: a receiver that misses it finds
the events in the log.
"""

append_reached = Signal()
"""Sent on the way of every append, with ``stream_id`` and ``point``, one of ``APPEND_POINTS``. Nobody listens
in production; ``manage.py chaos`` stops a process there.
"""

APPEND_POINTS = ("appending", "appended", "projected", "committed")
"""``appending``: the events are made, nothing is written. ``appended``: they are written, in a transaction.
``projected``: the tables too, COMMIT is next. ``committed``: before anybody is told.
"""
