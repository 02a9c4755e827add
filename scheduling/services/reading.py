"""What reading manifests refused and remarked, as problems. Pure."""

from __future__ import annotations

from scheduling.kube.manifests import Manifests, Refusal
from scheduling.services.problems import Problem


def refusals(manifests: Manifests) -> list[Problem]:
    """One problem for each object or document that was not taken, with its place in the input."""
    return [
        Problem(bad.kind, bad.namespace, bad.name, bad.path, bad.reason, bad.message + _place(bad))
        for bad in manifests.refused
    ]


def remarks(manifests: Manifests) -> list[Problem]:
    """What is worth knowing of objects that were taken; without a reason."""
    return [
        Problem(say.kind, say.namespace, say.name, say.path, "", say.message) for say in manifests.notices
    ]


def _place(bad: Refusal) -> str:
    """Nothing for the only document of an input without lines (JSON): there the name has to do."""
    if bad.line is not None:
        return f" (document {bad.document}, line {bad.line})"
    return f" (document {bad.document})" if bad.document > 1 else ""
