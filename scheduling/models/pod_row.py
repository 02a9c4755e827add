"""Pods of a cluster as the pages show them, one row for each uid."""

from django.db import models

from scheduling.models.cluster import Cluster


class PodRow(models.Model):
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="pods")
    uid = models.CharField(max_length=253)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    node = models.CharField(max_length=253, blank=True)
    zone = models.CharField(
        max_length=507, blank=True, default="", help_text="NUMA domain of its node that it was placed in."
    )
    group = models.CharField(max_length=253, blank=True, help_text="Name of its PodGroup in its namespace.")
    phase = models.CharField(max_length=16)
    terminating = models.BooleanField()
    gated = models.BooleanField(default=False, help_text="It has scheduling gates.")
    scheduler_name = models.CharField(max_length=253)
    priority = models.IntegerField()
    requests = models.JSONField(help_text="{resource: amount}")
    shape = models.CharField(max_length=16, help_text="The same for pods that ask for the same.")
    unmodelled = models.JSONField(default=list, help_text="What it uses that the engine does not model.")
    created = models.DateTimeField(null=True)
    removed = models.BooleanField(default=False)
    added_seq = models.BigIntegerField()
    changed_seq = models.BigIntegerField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "uid"], name="podrow_uid")]
        indexes = [
            models.Index(fields=["cluster", "namespace", "name"], name="podrow_name"),
            models.Index(
                fields=["cluster", "node"],
                name="podrow_node",
                condition=models.Q(removed=False) & ~models.Q(node=""),
            ),
            models.Index(
                fields=["cluster", "namespace", "group"], name="podrow_group", condition=~models.Q(group="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"
