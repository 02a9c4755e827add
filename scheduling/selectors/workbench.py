"""What pages and API read of a workbench."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from scheduling.models import Cluster, Run, Scenario


def scenarios(cluster: Cluster) -> QuerySet[Scenario]:
    return Scenario.objects.filter(cluster=cluster)


def scenario(cluster: Cluster, name: str) -> Scenario:
    """Raises Scenario.DoesNotExist."""
    return Scenario.objects.get(cluster=cluster, name=name)


def runs(cluster: Cluster, kinds: Sequence[str] = (), scenario: str = "") -> QuerySet[Run]:
    """The newest first, without their results."""
    found = Run.objects.filter(cluster=cluster).defer("result", "document")
    if kinds:
        found = found.filter(kind__in=kinds)
    return found.filter(scenario=scenario) if scenario else found


def run(cluster: Cluster, number: int) -> Run:
    """Raises Run.DoesNotExist."""
    return Run.objects.select_related("cluster", "fork").get(cluster=cluster, number=number)


def last_runs(cluster: Cluster) -> dict[str, Run]:
    """The newest run of each saved scenario, by name."""
    rows = Run.objects.filter(cluster=cluster, kind="scenario").exclude(scenario="").defer("document")
    return {run.scenario: run for run in rows.order_by("scenario", "-number").distinct("scenario")}
