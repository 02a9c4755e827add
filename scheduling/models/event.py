"""The log itself. Written by ``ledger.store`` only; the database refuses to change or delete a row."""

from django.db import models

COMMON_TYPES = ("PodAdded", "PodRemoved")
"""Most events of a log are of these types. Walking through the log finds the next one soon, so that no index
has to hold them.
"""


class Event(models.Model):
    """One event as stored. The table is partitioned by stream and, in it, by seq (migration 0001 says why).

    The stream is no foreign key: the head row, which an append has to move, already says that it exists.
    """

    pk = models.CompositePrimaryKey("stream_id", "seq")
    stream_id = models.BigIntegerField()
    seq = models.BigIntegerField()
    type = models.TextField()
    version = models.SmallIntegerField()
    occurred_at = models.DateTimeField()
    recorded_at = models.DateTimeField()
    actor = models.TextField()
    command_id = models.TextField()
    cause = models.BigIntegerField(null=True)
    subject = models.TextField(help_text="Kind of the object it is about.")
    namespace = models.TextField()
    name = models.TextField()
    body = models.TextField(help_text="Canonical JSON, integers only.")
    prev_hash = models.BinaryField()
    hash = models.BinaryField()

    class Meta:
        indexes = [
            models.Index(
                fields=["stream_id", "type", "seq"],
                condition=~models.Q(type__in=COMMON_TYPES),
                name="event_type",
            ),
            models.Index(fields=["stream_id", "subject", "namespace", "name", "seq"], name="event_object"),
            models.Index(
                fields=["stream_id", "cause", "seq"],
                condition=models.Q(cause__isnull=False),
                name="event_cause",
            ),
        ]
