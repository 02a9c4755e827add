"""The kubectl commands that end a group, or take members off their nodes, in a cluster that is not ours."""

from __future__ import annotations

from collections.abc import Sequence


def commands(namespace: str, group: str, pods: Sequence[str], *, whole: bool) -> list[str]:
    """One after the other; ``whole``: the PodGroup ends too. What owns the pods may make them anew: a Job or
    its like has to be ended or made smaller first, which kubectl cannot know.
    """
    lines = [f"kubectl delete podgroups.scheduling.k8s.io -n {namespace} {group}"] if whole else []
    return [*lines, f"kubectl delete pods -n {namespace} {' '.join(pods)}"]
