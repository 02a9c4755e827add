"""The slow, obvious reference for affinity, anti-affinity and host ports: pods come one after the other in
every order and onto every node, and kube-scheduler's filters are asked each time. It reads objects only.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hypothesis import strategies as st

from scheduling.engine import oracle
from scheduling.engine.eligibility import Bar, bar
from scheduling.engine.model import Eligibility, Node, Pod, PodTerm, Requirement, Shape
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from tests.engine.builders import RACK, ZONE, cluster, gang, node, pod

HOST = "kubernetes.io/hostname"


def term(key: str = HOST, app: str = "a", **more: object) -> PodTerm:
    return PodTerm(key, (Requirement("app", "In", (app,)),), **more)  # type: ignore[arg-type]


def host(name: str, rack: str | None = "r1", **more: object) -> Node:
    """A node that carries its host name, as real ones do."""
    labels = {HOST: name, **more.pop("labels", {})}  # type: ignore[dict-item]
    return node(name, rack, labels=labels, **more)  # type: ignore[arg-type]


def with_rules(one: Pod, **rules: object) -> Pod:
    """The pod with ``host_ports``, ``pod_affinity``, ``pod_anti_affinity`` of its shape set."""
    return replace(one, shape=replace(one.shape, **rules))  # type: ignore[arg-type]


def meant(rule: PodTerm, owner: Pod, other: Pod) -> bool:
    if rule.selector is None:
        return False
    if rule.namespaces == () and other.namespace != owner.namespace:
        return False
    if rule.namespaces and other.namespace not in rule.namespaces:
        return False
    labels = dict(other.labels)
    for wanted in rule.selector:
        there = wanted.key in labels
        good = {
            "In": labels.get(wanted.key) in wanted.values,
            "NotIn": labels.get(wanted.key) not in wanted.values,
            "Exists": there,
            "DoesNotExist": not there,
        }
        if not good[wanted.operator]:
            return False
    return True


def allowed(coming: Pod, where: Node, there: Sequence[tuple[Pod, Node]]) -> bool:
    """Whether the filters let the pod onto the node while those pods are on theirs; room apart."""
    labels = dict(where.labels)
    for other, at in there:
        seen = dict(at.labels)
        for owner, aim in ((coming, other), (other, coming)):
            for rule in owner.shape.pod_anti_affinity:
                key = rule.topology_key
                if meant(rule, owner, aim) and key in labels and labels[key] == seen.get(key):
                    return False
        if at.name == where.name:
            for protocol, address, port in coming.shape.host_ports:
                for protocol_2, address_2, port_2 in other.shape.host_ports:
                    everywhere = "0.0.0.0" in (address, address_2)
                    if (protocol, port) == (protocol_2, port_2) and (everywhere or address == address_2):
                        return False
    rules = coming.shape.pod_affinity
    if not rules:
        return True
    if any(rule.topology_key not in labels for rule in rules):
        return False
    keys = {rule.topology_key for rule in rules}
    company = [dict(at.labels) for other, at in there if all(meant(rule, coming, other) for rule in rules)]
    if all(any(seen.get(key) == labels[key] for seen in company) for key in keys):
        return True
    nobody = not any(key in seen for seen in company for key in keys)
    return nobody and all(meant(rule, coming, coming) for rule in rules)


def most(state: ClusterState, key: str) -> dict[str, int]:
    """Per domain: the most waiting members that can come, one after the other, in some order."""
    who = roster(state, key)
    there = [
        (one, state.nodes[one.node])
        for one in state.pods.values()
        if one.node in state.nodes and not one.finished
    ]
    return {
        value: _most(state, nodes, who.waiting, there) for value, nodes in oracle.domains(state, key).items()
    }


def _most(
    state: ClusterState, nodes: Sequence[Node], waiting: Sequence[Pod], there: list[tuple[Pod, Node]]
) -> int:
    free = {one.name: oracle.free(state, one) for one in nodes}
    known: set[frozenset[tuple[str, str]]] = set()
    best = 0

    def come(placed: dict[str, Node]) -> None:
        nonlocal best
        here = frozenset((uid, at.name) for uid, at in placed.items())
        if here in known:
            return
        known.add(here)
        best = max(best, len(placed))
        now = [*there, *((state.pods[uid], at) for uid, at in placed.items())]
        for one in waiting:
            if one.uid in placed:
                continue
            for at in nodes:
                held = [state.pods[uid] for uid, where in placed.items() if where.name == at.name]
                if _room(free[at.name], one, held) and _open(one, at) and allowed(one, at, now):
                    come({**placed, one.uid: at})

    come({})
    return best


def _open(one: Pod, at: Node) -> bool:
    return bar(at, one.shape.eligibility) == Bar.NONE


def _room(left: dict[str, int], one: Pod, held: Sequence[Pod]) -> bool:
    return all(
        left.get(resource, 0) - sum(dict(other.shape.requests).get(resource, 0) for other in held) >= amount
        for resource, amount in one.shape.requests
    )


KEYS = (HOST, HOST, ZONE, RACK, "nobody/has-it")
APPS = ("a", "b", "c")
PORTS = (("TCP", "0.0.0.0", 80), ("TCP", "10.0.0.1", 80), ("UDP", "0.0.0.0", 80), ("TCP", "0.0.0.0", 81))


def terms() -> st.SearchStrategy[PodTerm]:
    one_app = st.sampled_from(APPS).map(lambda app: Requirement("app", "In", (app,)))
    other = st.sampled_from(
        [
            Requirement("app", "NotIn", ("a",)),
            Requirement("app", "Exists", ()),
            Requirement("x", "DoesNotExist", ()),
        ]
    )
    selectors = st.one_of(one_app, one_app, other).map(lambda rule: (rule,)) | st.none() | st.just(())
    return st.builds(PodTerm, st.sampled_from(KEYS), selectors, st.sampled_from([(), (), ("other",), None]))


def some(values: st.SearchStrategy[PodTerm], most: int = 2) -> st.SearchStrategy[tuple[PodTerm, ...]]:
    return st.just(()) | st.lists(values, min_size=1, max_size=most).map(tuple)


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    return Shape(
        (("cpu", draw(st.sampled_from([500, 1000, 2000]))), ("pods", 1)),
        Eligibility(),
        host_ports=tuple(sorted(draw(st.sets(st.sampled_from(PORTS), max_size=1)))),
        pod_affinity=draw(some(terms())),
        pod_anti_affinity=draw(some(terms(), 1)),
    )


@st.composite
def clusters(draw: st.DrawFn) -> ClusterState:
    """Three nodes, some pods on them, and a gang of up to four members of up to three shapes."""
    made: list[object] = []
    for number in range(3):
        labels = {HOST: f"n{number}"} if draw(st.integers(0, 9)) else {}
        labels |= draw(st.sampled_from([{ZONE: "z1"}, {ZONE: "z2"}, {}]))
        rack = draw(st.sampled_from(["r1", "r1", "r2"]))
        made.append(node(f"n{number}", rack, cpu=draw(st.sampled_from([1000, 2000, 4000])), labels=labels))
    labels = st.sampled_from(APPS).map(lambda app: (("app", app),)) | st.just(())
    for number in range(draw(st.integers(0, 2))):
        made.append(
            replace(
                pod(f"s{number}", shape=draw(shapes()), labels=draw(labels)),
                namespace=draw(st.sampled_from(["ml", "other"])),
                node=draw(st.sampled_from(["n0", "n1", "n2", "gone"])),
                phase=draw(st.sampled_from(["Running", "Running", "Succeeded"])),
                terminating=draw(st.booleans()),
            )
        )
    kinds = draw(st.lists(shapes(), min_size=1, max_size=3))
    count = draw(st.integers(1, 4))
    made.append(gang("g", draw(st.integers(1, count)), draw(st.sampled_from([RACK, RACK, ""]))))
    for number in range(count):
        made.append(pod(f"g-{number}", "g", shape=draw(st.sampled_from(kinds)), labels=draw(labels)))
    return cluster(*made)  # type: ignore[arg-type]


def wishful(seed: int) -> ClusterState:
    """Members that want and shun each other in rings and chains, on few nodes, from a seed: such are too rare
    among drawn clusters.
    """
    random = Random(seed)
    keys = (HOST, HOST, ZONE)

    def rule() -> PodTerm:
        return term(random.choice(keys), random.choice(APPS))

    made: list[object] = [
        host(f"n{n}", cpu=random.choice([1000, 2000, 3000]), labels={ZONE: random.choice(["z1", "z2"])})
        for n in range(random.randint(2, 3))
    ]
    size = random.randint(2, 5)
    made.append(gang("g", random.randint(max(1, size - 1), size)))
    for number in range(size):
        labels = (("app", random.choice(APPS)),)
        one = pod(f"g-{number}", "g", cpu=random.choice([500, 1000, 1000]), labels=labels)
        wants = tuple(rule() for _ in range(random.choice([1, 1, 2]))) if random.random() < 0.75 else ()
        shuns = (rule(),) if random.random() < 0.3 else ()
        made.append(with_rules(one, pod_affinity=wants, pod_anti_affinity=shuns))
    if random.random() < 0.4:
        made.append(pod("s", node="n0", cpu=0, labels=(("app", random.choice(APPS)),)))
    return cluster(*made)  # type: ignore[arg-type]
