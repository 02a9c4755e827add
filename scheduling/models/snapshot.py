"""Packed states of streams at some of their events: a cache of the log, which may be dropped at any time."""

from django.db import models

from scheduling.models.stream import Stream


class Snapshot(models.Model):
    """``data`` has its own digest. ``hash`` is that of the event at ``seq``: a snapshot of another history,
    as before a restore, is told by it.
    """

    stream = models.ForeignKey(Stream, models.CASCADE, related_name="snapshots")
    seq = models.BigIntegerField()
    hash = models.BinaryField()
    format = models.CharField(max_length=32, help_text="Which version of the console can read it.")
    data = models.BinaryField()
    taken_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["stream", "seq", "format"], name="snapshot_seq")]

    def __str__(self) -> str:
        return f"{self.stream} at {self.seq}"
