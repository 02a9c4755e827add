"""The most common messages about manifests in the reader's language.

They are made as English sentences where manifests are read (kube, services), with values in them. Here is
each of these sentences with names in the place of its values; one that fits none is shown as it was made.
"""

from __future__ import annotations

import re

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

SENTENCES = (
    _("must be given and at least 1"),
    _("%(number)s is less than 1"),
    _("must be an object, not %(value)s"),
    _("must be a list, not %(value)s"),
    _("must be a string, but is the truth value %(value)s; put it in quotes"),
    _("must be a string, but is the number %(value)s; put it in quotes"),
    _("must be true or false, not %(value)s"),
    _("must be a whole number, not %(value)s"),
    _("must have exactly one of basic and gang, not none"),
    _("must have exactly one of basic and gang, not basic and gang"),
    _("must have at most 1 entry, not %(number)s"),
    _("must fit 32 bits"),
    _("field is immutable: %(change)s is another PodGroup"),
    _("there is no PodGroup, Pod or Workload in it"),
    _("only members of a PodGroup are scheduled here"),
    _("the node is the scheduler's to choose"),
    _("a submission holds PodGroups and Pods; nodes are imported"),
    _("is missing: no pod fits this node"),
    _("members in one form: at most %(most)s, not %(number)s"),
    _("minCount %(need)s is more than there are members, %(number)s: it would be held for ever"),
    _("with several kinds of members each needs a role"),
    _("PodGroup %(key)s is open: end it first, or take another name"),
    _("Pod %(key)s exists already"),
    _("1 node has no label %(key)s and belongs to none of its domains: %(names)s"),
    _("%(number)s nodes have no label %(key)s and belong to none of its domains: %(names)s"),
    _("the value %(value)s of %(key)s spans %(number)s zones, yet it is one domain"),
    _(
        "members that can come: at most %(number)s of %(need)s; no order in which they come keeps the "
        "constraints over %(key)s"
    ),
    _(
        "members that can come into %(domains)s: at most %(number)s of %(need)s; no node that they may use "
        "there carries %(key)s"
    ),
    _(
        "members that can come into %(domains)s: at most %(number)s of %(need)s; maxSkew is %(skew)s over "
        "%(key)s, and since its domains, %(there)s, are fewer than minDomains, %(least)s, the fewest counts "
        "as 0"
    ),
    _(
        "members that can come into %(domains)s: at most %(number)s of %(need)s; maxSkew is %(skew)s over "
        "%(key)s, of whose domains, %(there)s, %(domain)s holds the fewest pods that match, %(fewest)s"
    ),
    _(
        "members that can come into %(domains)s: at most %(number)s of %(need)s; each constraint can be met "
        "alone, all together cannot"
    ),
    _("the node is cordoned already"),
    _("the node is not cordoned"),
    _("%(gate)s is on already"),
    _("%(gate)s is off already"),
    _("the cluster is simulated already"),
    _("the cluster is observed already"),
    _("this page was sent before, with something else in it; send it again to have this done too"),
    _("there is no open PodGroup %(key)s"),
    _("there is no pod with uid %(uid)s"),
    _("there is no node %(name)s"),
    _("domains that the constraints leave, %(number)s of %(most)s: %(domains)s"),
    _("ScheduleAnyway over %(key)s is a preference: it is not looked at here"),
    _("PodGroups whose constraints were not looked at, beside these: %(number)s"),
    _("%(value)s has characters that cannot be printed"),
    _("%(value)s must be a quantity such as 500m or 2Gi"),
    _("%(value)s must not be negative"),
    _("%(value)s must have at most 63 characters"),
    _("%(value)s must consist of lower-case letters, digits and '-', with a letter or digit at both ends"),
    _("%(value)s must consist of letters, digits, '-', '_' and '.', with a letter or digit at both ends"),
    _("%(value)s is not one of %(values)s"),
    # node types and plans for new nodes
    _("it fits as things are: the next cycle places it"),
    _("it waits for nothing"),
    _("members or the PodGroup are missing; nodes do not help"),
    _("its facts contradict each other or its domain is lost; nodes do not help"),
    _("members use what is not modelled here: no plan can be proved"),
    _("it asks for one NUMA zone, and node types tell none"),
    _("no node type is defined"),
    _("no growth of the defined node types makes it fit"),
    _("no plan was found within the bounds of the search; that is no proof"),
    _("its growth names no domain of the group's topology key: its nodes would not have that label"),
    _("it does not grow in the domain that the group is bound to"),
    _("its growth is used up or promised"),
    _("the members' node selector or affinity does not allow such nodes"),
    _("the members do not tolerate its taints"),
    _("no member fits on such a node, even an empty one"),
    _("not even all nodes by which it may grow are enough in one domain"),
    _("name at least one group"),
    _("the open plan %(name)s is for it already"),
    _("the open plan %(name)s needs it"),
    _("a group that it is for has ended or was made anew: plan again"),
    _("fewer nodes do now: plan again"),
    _("with these nodes the groups would not all run any more: plan again"),
    _("nodes of %(name)s by which %(value)s may grow now: %(number)s; plan again"),
    _("nodes: 0 to %(most)s, not %(number)s"),
    _("nodes in one domain: 1 to %(most)s, not %(number)s"),
    _("minutes: 1 to %(most)s, not %(number)s"),
    _("an observed cluster is only read: nodes join the cluster itself"),
    _("there is no node type %(name)s"),
    _("there is no node %(name)s"),
    _("a cost is a number with at most three decimals, such as 98.32"),
    _("name at least one domain in which it may grow"),
    _("%(key)s differs from node to node: no domain of it can grow"),
    _("%(key)s is there twice"),
    _("the value of %(key)s comes from the domain that grows"),
    _("say what such a node has, or name a node like it"),
    _("there is no queue %(name)s: the group is treated as one without a queue"),
    _("there is no queue %(name)s"),
    _("there is no reservation %(name)s"),
    _("for whom the room is held must be said"),
    _("%(value)s is not the namespace/name of a PodGroup"),
    _("the label that tells domains must be named"),
    _("no node carries %(key)s=%(value)s"),
    _("room is held on whole nodes: NUMA zones are not domains for that"),
    _("either a number of whole nodes or a number of members is needed"),
    _("what a member requests, or a group whose members are like it, is needed"),
    _("wholly free nodes in %(domain)s now: %(number)s of %(need)s"),
    _("such members for which %(domain)s has room now: %(number)s of %(need)s"),
    _("members of PodGroup %(key)s: %(number)s, not %(need)s"),
    _("room is held for it: release %(names)s first"),
    _("the preemption policy names it: change that first"),
    _("a fair queue shares by its quota, so it needs one above 0"),
    _("preemption is off in this cluster: its policy allows none"),
    _("proposal %(value)s for it is open already"),
    _("proposal %(value)s is approved already"),
    _("there is no open proposal %(value)s"),
    _("proposal %(value)s does not hold any more: %(change)s"),
    _("automatic preemption is for named queues: name one at least"),
    _("queues are named for automatic preemption only"),
    _("the name of a queue is empty"),
    _("queue %(value)s is named twice"),
    _("there is no open PodGroup of this name"),
    _("it waits for no room: it runs, or there is a place for it now"),
    _("members are missing, so no room would help"),
    _("the quota of its queue holds it, whatever room there is"),
    _("its facts contradict each other, so no room would help"),
    _("it uses what the console does not model, so no fit is claimed"),
    _("its domains are NUMA zones, in which preemption does not look"),
    _("no group of lower priority that may go has members where it could run"),
    _("not even the end of every group of lower priority would make room in one domain"),
    _("the search found no groups to end; that is no proof that there are none"),
    _("PodGroup %(key)s goes first in the queue and would take the room"),
    _("the group that waited has ended"),
    _("the group runs now"),
    _("PodGroup %(key)s has ended meanwhile"),
    _("PodGroup %(key)s has other members on nodes now"),
    _("PodGroup %(key)s is protected now"),
    _("PodGroup %(key)s has no lower priority any more"),
    _("there is a place for the group now without it"),
    _("the group would not fit any more after it"),
    _("preemption was switched off"),
    _("the deadline must be in the future"),
    _("the group does not wait: it has minCount members on nodes, or they have finished"),
    _("an observed cluster is only read: no group of it is closed here"),
    _("must be more than 0 and at most %(most)s days"),
    _("minCount may be lowered from %(need)s only where the group is marked elastic"),
    _("a group of the basic policy has no minCount"),
    _("generation %(number)s is not the open one, which is generation %(need)s"),
    _("the open generation that this was decided on must be named"),
    _("must have at most %(most)s characters"),
    _("a NUMA zone is a part of its node: cordon the node"),
    _("no node carries %(label)s"),
    _("%(label)s is not marked lost"),
    # canaries
    _("%(name)s is not over: a cluster has one canary at a time"),
    _("%(name)s is not over: roll it back or stop it first"),
    _("every gate is on: all groups are held to one domain already"),
    _("there is no canary %(name)s"),
    _("it is not judged yet"),
    _("it is over: %(value)s"),
    _("it failed: it can be rolled back or stopped"),
    _("it is in its last stage"),
    _("at least one limit is needed: by nothing else it is judged"),
    _("there is no control: every group of the cluster is held to one domain in a stage"),
    _("a stage covers all of the one before it"),
    _("a namespace or a group is needed, or the whole cluster"),
    _("the whole cluster is meant, so nothing of it can be named"),
    _("only the last stage may be the whole cluster"),
    _("must be %(number)s second to %(most)s days"),
    _("at most %(most)s may be named"),
    # scenarios: what their documents must be, and what their steps find
    _("Field required"),
    _("Input should be a valid integer"),
    _("Input should be a valid string"),
    _("Input should be a valid boolean"),
    _("Input should be a valid array"),
    _("Input should be greater than or equal to %(number)s"),
    _("Input should be less than or equal to %(number)s"),
    _("Input should be %(values)s"),
    _("String should have at least 1 character"),
    _("String should have at most %(most)s characters"),
    _("String should match pattern %(value)s"),
    _("Extra inputs are not permitted"),
    _("Unable to extract tag using discriminator %(value)s"),
    _("Input tag %(value)s found using 'step' does not match any of the expected tags: %(values)s"),
    _("one document with the steps is needed"),
    _("a whole number of at most 64 bits is needed"),
    _("no field of the form can show this"),
    _("a name is needed"),
    _("%(name)s is no name for a scenario"),
    _("%(name)s is saved already"),
    _("%(name)s was changed or removed by somebody else meanwhile"),
    _("%(value)s is none of %(values)s"),
    _("name either a node, or a topology key and a domain"),
    _("name either a node type, or a node that the new ones are like"),
    _("no member %(name)s of %(key)s is on a node"),
    _("no member of %(key)s waits"),
    _("%(key)s has no member that new ones could be like"),
    _("no such node carries the label %(label)s"),
    _("node %(name)s offers %(number)s kinds of GPUs: which ones are meant is not clear"),
    _("node %(name)s offers no GPU"),
    _("a domain is one of a topology key: name it"),
    _("the domain in which the nodes join must be named"),
    _("members of %(key)s on nodes: %(number)s, not %(need)s"),
    _("members of %(key)s behind scheduling gates: %(number)s, not %(need)s"),
    _("%(key)s is no label: it names zones of nodes"),
    _("%(number)s runs of this cluster wait or run: cancel some, or wait"),
    _("the file is empty"),
    _("node %(name)s is there twice"),
    _("workload %(name)s is there twice"),
    _("there is no workload %(name)s"),
    _("there is no workload in it"),
    _("there is no queue %(name)s"),
    _("%(value)s is no whole number up to %(most)s"),
    _("there is no column %(names)s"),
    _("the file of the pods is needed"),
    _("the file of the trace is needed"),
    _("the trace has no nodes: give them, or replay it on those of the cluster"),
    _("no node of the cluster carries %(key)s, which workloads name: give a key of the cluster"),
    _("nodes of a cluster have whole GPUs: thousandths are only on the nodes of the trace"),
    _("is larger than %(most)s MiB: %(number)s bytes"),
    _("%(need)s is more than there are members, %(number)s"),
)

_PLACE = re.compile(r"(?P<text>.*) \(document (?P<document>\d+)(?:, line (?P<line>\d+))?\)", re.S)
_NAME = re.compile(r"%\((\w+)\)s")


def _pattern(sentence: str) -> re.Pattern[str]:
    """Numbers are matched as numbers, so that a sentence about one is never taken for one about a text."""
    parts = _NAME.split(sentence)
    numbers = {"number", "need", "most"}
    return re.compile(
        "".join(
            (rf"(?P<{part}>-?\d+)" if part in numbers else f"(?P<{part}>.+)")
            if place % 2
            else re.escape(part)
            for place, part in enumerate(parts)
        ),
        re.S,
    )


_PATTERNS = tuple((sentence, _pattern(sentence)) for sentence in SENTENCES)


def translated(message: str) -> str:
    """The message in the reader's language, with its place in the input; itself when it is none of these."""
    place = _PLACE.fullmatch(message)
    if place is None:
        return _sentence(message)
    values = place.groupdict()
    where = (
        gettext("document %(document)s, line %(line)s")
        if values["line"]
        else gettext("document %(document)s")
    )
    return f"{_sentence(values['text'])} ({where % values})"


def _sentence(message: str) -> str:
    for sentence, pattern in _PATTERNS:
        if found := pattern.fullmatch(message):
            values = found.groupdict()
            if "change" in values:  # a sentence in a sentence
                values["change"] = _sentence(values["change"])
            return gettext(sentence) % values
    return message
