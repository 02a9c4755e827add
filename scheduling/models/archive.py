"""Which events of a stream lie in files, and what it was after them.

Written by the role that owns the tables; the runtime reads.
"""

from django.db import models

from scheduling.models.stream import Stream


class Archive(models.Model):
    """A whole partition of the log that is in a file instead of in the table. The archives of a stream have
    no gap between them, and the table goes on where they end.
    """

    pk = models.CompositePrimaryKey("stream_id", "first_seq")
    stream = models.ForeignKey(Stream, models.PROTECT, related_name="archives")
    first_seq = models.BigIntegerField()
    last_seq = models.BigIntegerField()
    prev_hash = models.BinaryField(help_text="Of the event before the first.")
    hash = models.BinaryField(help_text="Of the last event.")
    first_at = models.DateTimeField(help_text="When the first event was recorded.")
    last_at = models.DateTimeField(help_text="When the last event was recorded.")
    file = models.TextField(help_text="Name of the file, without a folder.")
    size = models.BigIntegerField(help_text="Of the file, in bytes.")
    sha256 = models.CharField(max_length=64, help_text="Of the file, in hexadecimal.")
    told_seq = models.BigIntegerField(help_text="The event that tells it.")

    class Meta:
        ordering = ["stream_id", "first_seq"]

    def __str__(self) -> str:
        return f"events {self.first_seq:,} to {self.last_seq:,} in {self.file}"


class Base(models.Model):
    """The cluster as it stood after the last event of an archive, so that what is folded can begin there.

    No cache: it cannot be made again without the files. ``versions``: of the rules that made each part.
    """

    pk = models.CompositePrimaryKey("stream_id", "seq")
    stream = models.ForeignKey(Stream, models.PROTECT, related_name="bases")
    seq = models.BigIntegerField()
    hash = models.BinaryField(help_text="Of the event at seq.")
    versions = models.JSONField(help_text="{part: version}")
    state = models.BinaryField(help_text="As ledger.bases packs it.")
    tables = models.BinaryField(help_text="As projections.bases packs the rows.")
    tables_seq = models.BigIntegerField(
        help_text="Where the rows stand: at the end of the append that seq is part of."
    )
