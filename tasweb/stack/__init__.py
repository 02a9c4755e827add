"""Private PostgreSQL and Valkey, and the processes of the console under one supervisor. Knows nothing of Django."""


class StackError(Exception):
    """Something that the operator must see: one sentence, with what to do where we know it."""
