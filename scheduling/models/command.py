"""Which commands have been carried out, so that the same one sent twice happens once."""

from django.db import models


class Command(models.Model):
    """``first_seq`` to ``last_seq`` are its events; ``last_seq`` is one less than ``first_seq`` when it had
    none.
    """

    pk = models.CompositePrimaryKey("stream_id", "command_id")
    stream_id = models.BigIntegerField()
    command_id = models.TextField()
    fingerprint = models.BinaryField(help_text="SHA-256 of who asked for what.")
    first_seq = models.BigIntegerField()
    last_seq = models.BigIntegerField()
