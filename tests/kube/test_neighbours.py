"""What of pod affinity, anti-affinity and host ports is read, and how."""

import pytest

from scheduling.engine.model import PodTerm, Requirement
from tests.kube.test_manifests import pod, refused, required, taken

HOST = "kubernetes.io/hostname"
APP = Requirement("app", "In", ("x",))


def terms(kind, *written, labels=None):
    [read] = taken(pod(required(kind, *written), {"labels": labels or {}})).pods
    assert not read.shape.unmodelled
    return read.shape.pod_affinity if kind == "podAffinity" else read.shape.pod_anti_affinity


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
def test_labels_and_expressions_of_a_selector_are_one_list_in_one_order(kind):
    expressions = [
        {"key": "tier", "operator": "NotIn", "values": ["b", "a", "b"]},
        {"key": "old", "operator": "DoesNotExist"},
    ]
    for order in (expressions, expressions[::-1]):
        selector = {"matchLabels": {"app": "x"}, "matchExpressions": order}
        assert terms(kind, {"labelSelector": selector}) == (
            PodTerm(
                HOST,
                (APP, Requirement("old", "DoesNotExist", ()), Requirement("tier", "NotIn", ("a", "b"))),
            ),
        )


@pytest.mark.parametrize(
    ("written", "selector", "namespaces"),
    [
        ({}, None, ()),
        ({"labelSelector": {}}, (), ()),
        ({"labelSelector": {"matchLabels": {"app": "x"}}}, (APP,), ()),
        ({"labelSelector": {}, "namespaces": ["b", "a"]}, (), ("a", "b")),
        ({"labelSelector": {}, "namespaces": ["a"], "namespaceSelector": {}}, (), None),
        (
            {
                "labelSelector": {},
                "namespaces": ["z"],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "a"}},
            },
            (),
            ("a", "z"),
        ),
        ({"labelSelector": {}, "matchLabelKeys": ["app", "none"]}, (APP,), ()),
        (
            {"labelSelector": {}, "mismatchLabelKeys": ["app"]},
            (Requirement("app", "NotIn", ("x",)),),
            (),
        ),
        ({"labelSelector": {"matchLabels": {"app": "x"}}, "matchLabelKeys": ["app"]}, (APP,), ()),
    ],
)
def test_what_is_left_away_means_what_it_means_to_kubernetes(written, selector, namespaces):
    [term] = terms("podAntiAffinity", written, labels={"app": "x"})
    assert (term.selector, term.namespaces) == (selector, namespaces)


def ports(spec):
    [read] = taken(pod(spec)).pods
    return read.shape.host_ports


def test_host_ports_are_those_of_containers_and_sidecars():
    web = {"containerPort": 8080, "hostPort": 80}
    dns = {"containerPort": 53, "hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}
    spec = {
        "containers": [{"name": "c", "ports": [web, {"containerPort": 9}]}],
        "initContainers": [
            {"name": "ends", "ports": [{"containerPort": 1, "hostPort": 1}]},
            {"name": "stays", "restartPolicy": "Always", "ports": [dns]},
        ],
    }
    assert ports(spec) == (("TCP", "0.0.0.0", 80), ("UDP", "10.0.0.1", 53))


def test_on_the_host_network_every_port_is_a_host_port():
    spec = {"hostNetwork": True, "containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}
    assert ports(spec) == (("TCP", "0.0.0.0", 80),)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        (required("podAffinity", {"topologyKey": ""}), "[0].topologyKey"),
        (required("podAffinity", {"namespaces": ["A"]}), "[0].namespaces"),
        (
            required(
                "podAffinity", {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}}
            ),
            "[0].labelSelector.matchExpressions[0].operator",
        ),
        (required("podAffinity", {"matchLabelKeys": ["a b"]}), "[0].matchLabelKeys[0]"),
        (
            {"containers": [{"name": "c", "ports": [{"containerPort": 1, "hostPort": 70000}]}]},
            "spec.containers[0].ports[0].hostPort",
        ),
        (
            {"containers": [{"name": "c", "ports": [{"hostPort": 1, "protocol": "HTTP"}]}]},
            "spec.containers[0].ports[0].protocol",
        ),
    ],
)
def test_a_faulty_term_or_port_is_refused_at_its_field(spec, path):
    assert refused(pod(spec)).path.endswith(path)
