"""Streams of events, and where each of them stands."""

from datetime import UTC, datetime

from django.db import models


class Stream(models.Model):
    """A consistency boundary of its own: a cluster, its workbench (what people try out on it), a scenario run
    forked from it, or the site.
    """

    class Kind(models.TextChoices):
        CLUSTER = "cluster"
        WORKBENCH = "workbench"
        SCENARIO = "scenario"
        SITE = "site"

    kind = models.CharField(max_length=16, choices=Kind.choices)
    name = models.CharField(max_length=253)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "name"], name="stream_kind_name")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class StreamHead(models.Model):
    """The last event of a stream. An append compares and moves it, so that it is also the stream's lock."""

    stream = models.OneToOneField(Stream, models.PROTECT, primary_key=True, related_name="head")
    seq = models.BigIntegerField(default=0)
    hash = models.BinaryField(
        default=bytes(32), help_text="Of the last event; 32 zero bytes before the first."
    )
    recorded_at = models.DateTimeField(
        default=datetime.fromtimestamp(0, UTC), help_text="Of the last event; the epoch before the first."
    )
