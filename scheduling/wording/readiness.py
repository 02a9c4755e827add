"""Sentences about readiness: what each row asks, what was found, what to do, and what rehearsals were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from scheduling.ledger import events as log
from scheduling.services.readiness import Item, Readiness, Row, Standing
from scheduling.wording import units, words

STANDINGS: dict[str, Any] = {
    "green": pgettext_lazy("readiness", "ready"),
    "red": pgettext_lazy("readiness", "not ready"),
    "unknown": pgettext_lazy("readiness", "not known"),
}

TITLES: dict[str, Any] = {
    "version": _("Kubernetes version"),
    "gate": _("Feature gate"),
    "cluster_gates": _("Gates of the cluster itself"),
    "served": _("API group version"),
    "profile": _("Scheduler profile and plugins"),
    "autoscaler": _("Autoscaler and topology"),
    "labels": _("Nodes without a label"),
    "mixed": _("Mixed groups at risk"),
    "spread_groups": _("Groups spread over several domains"),
    "conflicts": _("Other contradictions"),
    "topology_spread": _("Topology spread beside one domain"),
    "ghosts": _("Members that the scheduler may remember"),
    "rollback": _("Rollback plan"),
}

SAID: dict[tuple[str, str], Any] = {
    ("version", "untold"): _("No import told a version."),
    ("version", "has_it"): _(
        "%(version)s has topology-aware scheduling, as an alpha feature that is off by default."
    ),
    ("version", "too_old"): _(
        "%(version)s does not have topology-aware scheduling of PodGroups; it came with 1.36."
    ),
    ("version", "not_followed"): _("What %(version)s does is not known here; 1.36 and 1.37 are followed."),
    ("gate", "on"): _("On, and so is what it needs."),
    ("gate", "off"): _("Off."),
    ("gate", "needs"): _("On, but it needs %(off)s, which is off."),
    ("gate", "merged_on"): _(
        "In %(release)s it is part of %(into)s and no gate any more. This console still has it as a switch; "
        "it is on."
    ),
    ("gate", "merged_off"): _(
        "In %(release)s it is part of %(into)s and no gate any more. This console still has it as a switch, "
        "and holds groups to one domain only while that is on."
    ),
    ("cluster_gates", "untold"): _("No object tells which gates the API server and the scheduler run with."),
    ("cluster_gates", "on"): _("Stated to be on in API server, scheduler and controller manager."),
    ("cluster_gates", "off"): _("Stated to be off."),
    ("cluster_gates", "differs"): _(
        "Stated to be on, while switches of this console are off: its forecasts are of another cluster."
    ),
    ("served", "untold"): _("Which version is served is not told by objects as they are kept here."),
    ("served", "none"): _("Stated not to be served: PodGroups cannot be created."),
    ("served", "no_release"): _(
        "Stated to be %(served)s; which one is needed is not known without a version."
    ),
    ("served", "right"): _("%(served)s is stated to be served, which is one of %(release)s."),
    ("served", "wrong"): _("%(served)s is stated to be served; %(release)s has %(wanted)s."),
    ("profile", "untold"): _("Dumps do not hold the configuration of the scheduler."),
    ("profile", "both"): _("TopologyPlacementGenerator and the gang plugin are stated to be on."),
    ("profile", "no_topology"): _(
        "The plugin TopologyPlacementGenerator is stated to be missing: constraints would be ignored."
    ),
    ("profile", "no_gang"): _("The gang plugin is stated to be missing: minCount would not be waited for."),
    ("profile", "neither"): _("Both plugins are stated to be missing."),
    ("autoscaler", "untold"): _("Whether and what adds nodes is not known."),
    ("autoscaler", "none"): _("No autoscaler adds nodes, so none adds them in the wrong place."),
    ("autoscaler", "cluster-autoscaler"): _(
        "Cluster Autoscaler does not know of topology constraints: it adds nodes for single pods, in "
        "any domain."
    ),
    ("autoscaler", "karpenter"): _(
        "Karpenter does not know of topology constraints: it adds nodes for single pods, in any domain."
    ),
    ("autoscaler", "aware"): _("An autoscaler is stated that grows one domain for a whole group."),
    ("autoscaler", "unaware"): _("An autoscaler is stated that does not know of topology constraints."),
    ("labels", "no_key"): _("No open PodGroup names a topology key."),
    ("labels", "numa"): _(
        "kube-scheduler knows no NUMA zones as domains: to it no node carries this key, and these "
        "groups would wait for ever."
    ),
    ("labels", "no_domain"): _("No node carries the label: there is no domain."),
    ("labels", "usable"): _(
        "Nodes without the label that could hold members: %(usable)s of %(without)s. GPUs of theirs that the "
        "constraint never uses: %(gpus)s."
    ),
    ("labels", "others"): _(
        "Nodes without the label: %(without)s of %(nodes)s; none of them could hold a member of these groups."
    ),
    ("labels", "all"): _("Every node carries it: %(nodes)s."),
    ("mixed", "none"): _("No constrained group has members of several kinds."),
    ("mixed", "found"): _(
        "Mixed groups: %(mixed)s. %(release)s finds a place for each of them for which there is one."
    ),
    ("mixed", "missed"): _(
        "Mixed groups with a place now that %(release)s misses, or may miss by chance: %(missed)s of "
        "%(looked)s."
    ),
    ("mixed", "not_all"): _(
        "Mixed groups that were decided both ways: %(looked)s of %(mixed)s. Nothing can be claimed of some."
    ),
    ("spread_groups", "none"): _(
        "Constrained groups: %(groups)s. None of them runs in more than one domain."
    ),
    ("spread_groups", "some"): _(
        "Constrained groups that run in several domains: %(found)s of %(groups)s. With the gates on each "
        "new member of theirs ends in an error."
    ),
    ("conflicts", "none"): _("Constrained groups: %(groups)s. The facts of each of them agree."),
    ("conflicts", "some"): _(
        "Constrained groups that cannot be decided: %(found)s of %(groups)s. Their domain cannot be told, "
        "or members name different schedulers."
    ),
    ("topology_spread", "none"): _(
        "No member that is to come has a hard spread constraint beside a topology constraint."
    ),
    ("topology_spread", "fits"): _(
        "Groups with hard spread constraints: %(asked)s. For each of them a domain is left."
    ),
    ("topology_spread", "empty"): _(
        "Groups for which no domain meets both, so that they would wait for ever: %(impossible)s of "
        "%(asked)s."
    ),
    ("topology_spread", "not_all"): _(
        "Groups with hard spread constraints: %(asked)s. The search did not end for all of them."
    ),
    ("ghosts", "simulated"): _("A simulated cluster is scheduled from the log: nothing else is remembered."),
    ("ghosts", "none"): _(
        "No group waits without members that our cycle would place for more than %(minutes)s minutes."
    ),
    ("ghosts", "maybe"): _(
        "Groups without a bound member that wait for more than %(minutes)s minutes though our cycle would "
        "place them: %(found)s. The scheduler may count members that are gone."
    ),
    ("rollback", "none"): _("No plan is stated."),
    ("rollback", "stated"): _("%(plan)s"),
}

TO_DO: dict[tuple[str, str], Any] = {
    ("version", "untold"): _("Import nodes with their status, or state the version."),
    ("version", "too_old"): _("Upgrade first."),
    ("version", "not_followed"): _("Read the release notes: gates and API versions may be others."),
    ("gate", "off"): _("Rehearse the switch, then switch it on here and in %(components)s."),
    ("gate", "needs"): _("Switch on what it needs first."),
    ("gate", "merged_off"): _("Switch it on here, so that this console decides as that release does."),
    ("cluster_gates", "untold"): _(
        "Look at the flags of the components (--feature-gates), then state what they are."
    ),
    ("cluster_gates", "off"): _("Set them in all three components, the API server first."),
    ("cluster_gates", "differs"): _("Switch them on here too."),
    ("served", "untold"): _(
        "Ask the API server (kubectl api-versions), then state what it serves; %(release)s needs %(wanted)s."
    ),
    ("served", "none"): _("Enable it with --runtime-config at the API server."),
    ("served", "no_release"): _("State the version of Kubernetes."),
    ("served", "wrong"): _(
        "Enable one of them at the API server; objects of v1alpha2 have to be deleted before an "
        "upgrade to 1.37."
    ),
    ("profile", "untold"): _("Read the configuration of kube-scheduler and state which plugins are on."),
    ("profile", "no_topology"): _("Enable it in the profile of kube-scheduler."),
    ("profile", "no_gang"): _("Enable it in the profile of kube-scheduler."),
    ("profile", "neither"): _("Enable them in the profile of kube-scheduler."),
    ("autoscaler", "untold"): _("State which autoscaler there is, or that there is none."),
    ("autoscaler", "cluster-autoscaler"): _(
        "Keep it from growing for constrained groups, and grow by scale-up plans, which have the "
        "shape of the whole group."
    ),
    ("autoscaler", "karpenter"): _(
        "Keep it from growing for constrained groups, and grow by scale-up plans, which have the "
        "shape of the whole group."
    ),
    ("autoscaler", "unaware"): _(
        "Keep it from growing for constrained groups, and grow by scale-up plans, which have the "
        "shape of the whole group."
    ),
    ("labels", "no_key"): _("Nothing is known of labels before a group is to use one."),
    ("labels", "numa"): _("Give these groups another key before they go to a real scheduler."),
    ("labels", "no_domain"): _("Label the nodes before the gates go on."),
    ("labels", "usable"): _("Label these nodes, or accept that no constrained group uses them."),
    ("mixed", "missed"): _(
        "Make the members alike, leave more room, or submit the leader as a group of its own."
    ),
    ("mixed", "not_all"): _("Rehearse the switch: that looks at every group."),
    ("spread_groups", "some"): _("Let them end, or open a new generation of each, before the gates go on."),
    ("conflicts", "some"): _("Bring the label or the node back, or open a new generation."),
    ("topology_spread", "empty"): _("Drop one of the two constraints."),
    ("topology_spread", "not_all"): _("Look at these groups one by one."),
    ("ghosts", "maybe"): _("Compare with the events of the scheduler; restarting it makes it forget."),
    ("rollback", "none"): _("State who switches what back, and when; the steps are below."),
}

READ: dict[str, Any] = {
    "state": _("counted on the state"),
    "import": _("read from an import"),
    "switch": _("as switched in this console"),
    "stated": _("stated, not measured"),
    "release": _("known of the release"),
    "": _("nothing tells it"),
}

FACTS: dict[str, Any] = {
    "kubernetes_version": _("Kubernetes version"),
    "cluster_gates": _("Gates of the cluster itself"),
    "api_served": _("Served API group version"),
    "scheduler_profile": _("Plugins in the scheduler profile"),
    "autoscaler": _("Autoscaler"),
    "rollback_plan": _("Rollback plan"),
}

FACT_VALUES: dict[str, Any] = {
    "on": _("on in all components"),
    "off": pgettext_lazy("gates", "off"),
    "none": pgettext_lazy("stated", "none"),
    "both": _("TopologyPlacementGenerator and the gang plugin"),
    "no_topology": _("without TopologyPlacementGenerator"),
    "no_gang": _("without the gang plugin"),
    "neither": _("neither of them"),
    "cluster-autoscaler": "Cluster Autoscaler",
    "karpenter": "Karpenter",
    "aware": _("another one, which grows one domain for a group"),
    "unaware": _("another one, which does not know of topology"),
}

STEPS: dict[str, Any] = {
    "tas_off": _(
        "Switch TopologyAwareWorkloadScheduling off in kube-scheduler: constraints are ignored at "
        "once, and what runs stays."
    ),
    "watch": _("Watch the waiting groups: they may go over several domains from now on."),
    "scheduler_first": _("Take kube-scheduler back before the API server."),
    "gang_gate_again": _(
        "Going back to 1.36, switch GangScheduling on there: it is a gate of its own again."
    ),
    "objects_unreadable": _(
        "Going back to 1.36, delete Workloads and PodGroups of v1beta1 and v1alpha3 first: 1.36 "
        "cannot read them."
    ),
    "spread_errors": _(
        "Before the gate goes on again, end the groups that went over several domains meanwhile: "
        "their new members would end in errors."
    ),
}

RELEASE_FACTS: dict[str, Any] = {
    "no_preemption": _("A group with a constraint preempts nobody."),
    "no_diagnosis": _("The condition of a refused group tells of one placement only, whichever came first."),
    "preemption_whole": _(
        "Preemption for a constrained group looks at the emptied cluster: more may be evicted than needed."
    ),
    "min_count_mutable": _("minCount may be changed in place."),
    "objects_removed": _(
        "v1alpha2 is gone without a conversion: its objects have to be deleted before the upgrade."
    ),
    "one_priority": _("Members of another priority than their group's end in an error."),
}

STAGES: dict[str, Any] = {
    "alpha": pgettext_lazy("stage", "alpha"),
    "beta": pgettext_lazy("stage", "beta"),
    "merged": pgettext_lazy("stage", "merged"),
}

WHYS: dict[str, Any] = {
    "misses": _("missed"),
    "luck": _("placed by chance in %(k)s of %(n)s rolls"),
    "not_claimed": _("neither a fit nor a proof"),
    "impossible": _("no domain is left"),
    "open": _("the search did not end"),
    "scheduler": _("asks for %(names)s"),
}


def title(row: Row) -> str:
    said = words.word(TITLES, row.code)
    return f"{said}: {row.about}" if row.about else said


def sentence(row: Row) -> str:
    return str(SAID[row.code, row.said]) % _values(row)


def to_do(row: Row) -> str:
    """What would make it green or known; "" for a row that is."""
    found = TO_DO.get((row.code, row.said))
    return str(found) % _values(row) if found is not None and row.standing is not Standing.GREEN else ""


def read(row: Row) -> str:
    return words.word(READ, row.read)


def item(found: Item) -> str:
    """What is said of it beside its name; "" for nothing."""
    if found.why in WHYS:
        k, n = (*found.names, "", "")[:2]
        return str(WHYS[found.why]) % {"k": k, "n": n, "names": ", ".join(found.names)}
    if found.kind == "step":
        return words.word(STEPS, found.name)
    said = ", ".join(name or '""' for name in found.names)
    return f"{words.word(words.REASONS, found.why)}: {said}" if found.why else said


def overall(found: Readiness) -> str:
    red, unknown = found.count(Standing.RED), found.count(Standing.UNKNOWN)
    if found.ready:
        return gettext("Ready: every row is green.")
    return gettext("Not ready: %(red)s, %(unknown)s.") % {
        "red": ngettext("%(n)s row is red", "%(n)s rows are red", red) % {"n": units.count(red)},
        "unknown": ngettext("%(n)s is not known", "%(n)s are not known", unknown)
        % {"n": units.count(unknown)},
    }


def _values(row: Row) -> dict[str, str]:
    shown = {name: value if isinstance(value, str) else units.count(value) for name, value in row.values}
    if "profile" in shown:
        shown["release"] = f"kube-scheduler {shown['profile'].removeprefix('upstream-')}"
    elif shown.get("release"):
        shown["release"] = f"Kubernetes {shown['release']}"
    return shown


def gates(pairs: tuple[tuple[str, bool], ...] | list[list[Any]]) -> str:
    """``GangScheduling on, …``."""
    return ", ".join(
        (gettext("%(gate)s on") if on else gettext("%(gate)s off")) % {"gate": name} for name, on in pairs
    )


def _stated(event: log.RolloutFactStated) -> str:
    values = {
        "fact": words.word(FACTS, event.fact),
        "value": words.word(FACT_VALUES, event.value),
        "source": event.source,
    }
    if not event.value:
        return gettext("What was stated was taken back: %(fact)s.") % values
    return gettext("Stated, not measured: %(fact)s: %(value)s (%(source)s).") % values


def _rehearsed(event: log.RehearsalRun) -> str:
    changed = sum(number for kind, number in event.counts if kind != "same")
    groups = sum(number for _, number in event.counts)
    return ngettext(
        "The switch %(gates)s was rehearsed on a copy after event %(seq)s (run %(run)s): %(changed)s of "
        "%(all)s group would change. Nothing was switched.",
        "The switch %(gates)s was rehearsed on a copy after event %(seq)s (run %(run)s): %(changed)s of "
        "%(all)s groups would change. Nothing was switched.",
        groups,
    ) % {
        "gates": gates(event.gates),
        "seq": units.count(event.decided_on),
        "run": event.run,
        "changed": units.count(changed),
        "all": units.count(groups),
    }


SENTENCES: dict[str, Callable[[Any], str]] = {
    "RolloutFactStated": _stated,
    "RehearsalRun": _rehearsed,
}
