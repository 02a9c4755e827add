"""What the ledger tells the floors above it."""

from django.dispatch import Signal

log_advanced = Signal()
"""Sent after the commit of an append, once for each: ``stream_id``, ``seq`` (the last one), ``woke`` (a
waiting group could go on because of it) and ``events``, a tuple. Only a hint: a receiver that misses it finds
the events in the log.
"""
