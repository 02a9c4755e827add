"""How far each projection has followed its stream."""

from django.db import models

from scheduling.models.stream import Stream


class TableHead(models.Model):
    """``version`` is that of the projection's code; rows of an older one have to be rebuilt."""

    pk = models.CompositePrimaryKey("stream_id", "name")
    stream = models.ForeignKey(Stream, models.CASCADE)
    name = models.CharField(max_length=32)
    version = models.IntegerField()
    seq = models.BigIntegerField()
