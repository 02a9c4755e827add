"""Nodes of a cluster as the pages show them, one row for each name."""

from django.db import models

from scheduling.models.cluster import Cluster


class NodeRow(models.Model):
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="nodes")
    index = models.IntegerField(
        help_text="Given at first appearance, gapless in the cluster, never given again."
    )
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=253)
    labels = models.JSONField(help_text="{key: value}")
    taints = models.JSONField(help_text="[[key, value, effect]]")
    unschedulable = models.BooleanField()
    ready = models.BooleanField()
    allocatable = models.JSONField(help_text="{resource: amount}")
    zones = models.JSONField(default=list, help_text="[[NUMA zone, {resource: amount}]], empty when not told")
    used = models.JSONField(help_text="{resource: amount} of the pods on it, finished ones left out")
    occupants = models.JSONField(help_text='[[group key or "", pods, gpus]], sorted')
    gpus = models.IntegerField()
    gpus_used = models.IntegerField()
    removed = models.BooleanField(default=False)
    since_seq = models.BigIntegerField(help_text="When the node of this uid appeared.")
    changed_seq = models.BigIntegerField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="noderow_name"),
            models.UniqueConstraint(fields=["cluster", "index"], name="noderow_index"),
        ]
        indexes = [models.Index(fields=["cluster", "changed_seq"], name="noderow_changed")]

    def __str__(self) -> str:
        return self.name
