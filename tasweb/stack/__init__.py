"""Private PostgreSQL and Valkey, and the processes of the console under one supervisor. Knows nothing of
Django."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""


class StackError(Exception):
    """Something that the operator must see: one sentence, with what to do where we know it."""

    exit_code = 2


class ProcessDied(StackError):
    """A process or a step of ours failed; the message ends with the last lines of its log."""

    exit_code = 1
