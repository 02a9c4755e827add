"""PodGroups of a cluster as the pages show them, one row for each object (so one for each generation)."""

from django.db import models

from scheduling.models.cluster import Cluster


class PodGroupRow(models.Model):
    """A key that only pods name has a row with ``uid`` "" and generation 0 until its PodGroup comes."""

    class Status(models.TextChoices):
        SCHEDULED = "scheduled"
        PENDING = "pending"
        HELD = "held"
        ERROR = "error"
        FINISHED = "finished"
        EMPTY = "empty"

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="pod_groups")
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    generation = models.IntegerField()
    uid = models.CharField(max_length=253, blank=True)
    policy = models.CharField(max_length=16, blank=True)
    min_count = models.IntegerField()
    topology_key = models.CharField(max_length=317, blank=True)
    priority = models.IntegerField(null=True)
    status = models.CharField(max_length=16, choices=Status.choices)
    degraded = models.BooleanField(help_text="Some members are on nodes, but fewer than minCount.")
    verdict = models.CharField(max_length=32, blank=True)
    reason = models.CharField(max_length=32, blank=True)
    domain = models.CharField(max_length=253, blank=True)
    fits = models.IntegerField()
    need = models.IntegerField()
    members = models.IntegerField(help_text="Members that exist and have not finished.")
    bound = models.IntegerField(help_text="Those of them that are on a node.")
    short_of = models.JSONField(default=list, help_text="[[resource, amount]]")
    unmodelled = models.JSONField(default=list, help_text="Used by it or its members and not modelled.")
    spec_unmodelled = models.JSONField(default=list, help_text="Those of its own spec.")
    elastic = models.BooleanField(default=False, help_text="It goes on with fewer members.")
    protected = models.BooleanField(default=False, help_text="Nobody may propose to end it.")
    queue = models.CharField(max_length=63, blank=True, default="")
    degraded_since = models.DateTimeField(null=True)
    closed = models.BooleanField(default=False)
    close_reason = models.CharField(max_length=16, blank=True)
    created_at = models.DateTimeField()
    waiting_since = models.DateTimeField(null=True)
    status_since = models.DateTimeField()
    decision_seq = models.BigIntegerField(null=True, help_text="Of the last event that decided about it.")
    changed_seq = models.BigIntegerField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "namespace", "name", "uid"], name="podgrouprow_object")
        ]
        indexes = [
            models.Index(
                fields=["cluster", "namespace", "name", "-generation"], name="podgrouprow_generation"
            ),
            models.Index(
                fields=["cluster", "status", "waiting_since"],
                name="podgrouprow_open",
                condition=models.Q(closed=False),
            ),
            models.Index(fields=["cluster", "changed_seq"], name="podgrouprow_changed"),
        ]

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def __str__(self) -> str:
        return self.key
