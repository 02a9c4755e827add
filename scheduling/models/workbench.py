"""What people try out on a cluster: saved scenarios and runs. Written from events of the cluster's workbench
by the projection ``workbench``, apart from how far a run has come.
"""

from django.db import models

from scheduling.models.cluster import Cluster
from scheduling.models.stream import Stream


class Scenario(models.Model):
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="scenarios")
    name = models.SlugField(max_length=63)
    document = models.JSONField(help_text="As scenarios.documents has it.")
    revision = models.BigIntegerField(help_text="Seq of the event that saved it so.")
    saved_by = models.TextField()
    saved_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="scenario_name")]

    def __str__(self) -> str:
        return self.name


class Run(models.Model):
    """``number``: seq of the event that asked for it, in the workbench of the cluster."""

    class Status(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    OPEN = (Status.WAITING, Status.RUNNING)

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="runs")
    number = models.BigIntegerField()
    kind = models.CharField(max_length=16)
    scenario = models.SlugField(max_length=63, blank=True, help_text="The saved one that it runs, if any.")
    document = models.JSONField(help_text="All that it was asked for.")
    base_seq = models.BigIntegerField(help_text="The event of the cluster after which it begins.")
    fork = models.ForeignKey(Stream, models.PROTECT, null=True, help_text="Its own stream of events.")
    status = models.CharField(max_length=16, choices=Status.choices)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0, help_text="0: not known yet.")
    attempts = models.IntegerField(default=0, help_text="Slices begun since the last one that ended.")
    requested_by = models.TextField()
    requested_at = models.DateTimeField()
    touched_at = models.DateTimeField(help_text="When work was last done on it.")
    ended_at = models.DateTimeField(null=True)
    result = models.JSONField(null=True)
    error = models.TextField(blank=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["cluster", "number"], name="run_number")]
        indexes = [
            models.Index(
                fields=["touched_at"],
                condition=models.Q(status__in=("waiting", "running")),
                name="run_open",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"

    @property
    def open(self) -> bool:
        return self.status in self.OPEN


class RunPoint(models.Model):
    """One of the points of a run whose work is spread over workers; written once, by whoever was first."""

    pk = models.CompositePrimaryKey("run_id", "index")
    run = models.ForeignKey(Run, models.CASCADE, related_name="points")
    index = models.IntegerField()
    result = models.JSONField()
    worker = models.TextField(help_text="The process that did it: host and process id.")


class RunFile(models.Model):
    """Bytes of a run: ``input`` as it was sent, ``checkpoint`` to go on from."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="files")
    name = models.CharField(max_length=16)
    data = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "name"], name="run_file_name")]

    def __str__(self) -> str:
        return f"{self.name} of {self.run_id}"
