"""Clusters: written from events by the projection ``clusters``, apart from the cycle's own progress."""

from django.db import models

from scheduling.models.stream import Stream


class Cluster(models.Model):
    class Mode(models.TextChoices):
        SIMULATED = "simulated"
        OBSERVED = "observed"

    stream = models.OneToOneField(Stream, models.PROTECT, primary_key=True)
    name = models.SlugField(max_length=63, unique=True)
    mode = models.CharField(max_length=16, choices=Mode.choices)
    gates = models.JSONField(default=dict, help_text="{name: on}")
    canaries = models.JSONField(
        default=list, help_text="Whom canaries hold: [name, namespaces, groups, exempt uids] of each."
    )
    kubernetes_version = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField()
    last_import_at = models.DateTimeField(null=True)
    last_cycle_seq = models.BigIntegerField(
        default=0, help_text="How far in the log the last cycle had read."
    )
    last_cycle_at = models.DateTimeField(null=True)
    retry_at = models.DateTimeField(
        null=True, help_text="When a group that was woken has rested from its last failed attempt."
    )

    class Meta:
        ordering = ["name"]
        permissions = [
            ("operate_cluster", "Can import, submit, end groups, delete members and cordon"),
            ("switch_gate", "Can switch feature gates"),
            ("run_scenario", "Can save and run scenarios"),
        ]

    def __str__(self) -> str:
        return self.name
