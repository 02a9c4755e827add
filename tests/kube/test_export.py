"""What is exported reads back as the same object, whoever reads it."""

import json
from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scheduling.engine.model import (
    Eligibility,
    Node,
    NodeSelectorTerm,
    Pod,
    PodGroup,
    PodTerm,
    Requirement,
    Shape,
    SpreadConstraint,
    Taint,
    Toleration,
)
from scheduling.kube.export import node_manifest, pod_group_manifest, pod_manifest, to_yaml
from scheduling.kube.manifests import read
from scheduling.kube.quantity import AMOUNT_LIMIT

NAMES = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
KEYS = st.from_regex(r"([a-z]{1,5}\.[a-z]{2}/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,6}[A-Za-z0-9])?", fullmatch=True)
BAIT = st.sampled_from(
    ["y", "no", "08", "041", "6214e9", "1_000", "0x1f", "1.10", "null", "2025-11-01", "true", ""]
)
VALUES = BAIT | st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,6}[A-Za-z0-9])?", fullmatch=True)
LABELS = st.dictionaries(KEYS, VALUES, max_size=4).map(lambda labels: tuple(sorted(labels.items())))
UIDS = st.just("") | st.uuids().map(str)
TIMES = st.integers(0, 4102444800000)
EFFECTS = st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])
DEVICES = st.sampled_from(["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu"])
PRIORITIES = st.integers(-(2**31), 10**9)


def canonical(items):
    return st.lists(items, max_size=3, unique=True).map(lambda found: tuple(sorted(found, key=repr)))


TAINTS = st.lists(st.builds(Taint, KEYS, VALUES, EFFECTS), max_size=3, unique=True).map(
    lambda taints: tuple(sorted(taints, key=lambda taint: (taint.key, taint.effect, taint.value)))
)
NODES = st.builds(
    Node,
    name=NAMES,
    uid=UIDS,
    labels=LABELS,
    taints=TAINTS,
    unschedulable=st.booleans(),
    ready=st.booleans(),
    allocatable=st.dictionaries(DEVICES | st.just("pods"), st.integers(0, AMOUNT_LIMIT - 1), max_size=4).map(
        lambda amounts: tuple(sorted(amounts.items()))
    ),
)
SOME_VALUES = st.sets(VALUES, min_size=1, max_size=3).map(lambda values: tuple(sorted(values)))
REQUIREMENTS = st.builds(Requirement, KEYS, st.sampled_from(["In", "NotIn"]), SOME_VALUES) | st.builds(
    Requirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"]), st.just(())
)
FIELDS = st.builds(Requirement, st.just("metadata.name"), st.sampled_from(["In", "NotIn"]), st.tuples(NAMES))
TERMS = st.builds(NodeSelectorTerm, canonical(REQUIREMENTS), canonical(FIELDS))
TOLERATIONS = st.builds(Toleration, KEYS, st.just("Equal"), VALUES, EFFECTS | st.just("")) | st.builds(
    Toleration, KEYS | st.just(""), st.just("Exists"), st.just(""), EFFECTS | st.just("")
)
ELIGIBILITIES = st.builds(
    Eligibility,
    node_selector=LABELS,
    terms=st.none() | canonical(TERMS).filter(bool),
    tolerations=canonical(TOLERATIONS),
)
NAMESPACES = st.sampled_from(["a", "b", "c"])
POD_TERMS = st.builds(
    PodTerm,
    KEYS,
    st.none() | canonical(REQUIREMENTS),
    st.none() | st.sets(NAMESPACES).map(lambda names: tuple(sorted(names))),
)
PORTS = st.tuples(
    st.sampled_from(["TCP", "UDP", "SCTP"]), st.sampled_from(["0.0.0.0", "10.0.0.1"]), st.integers(1, 65535)
)
HARD = st.builds(
    SpreadConstraint,
    KEYS,
    st.integers(1, 2**31 - 1),
    st.none() | canonical(REQUIREMENTS),
    st.just(True),
    st.integers(1, 2**31 - 1),
    st.booleans(),
    st.booleans(),
)
SOFT = st.builds(lambda one: replace(one, hard=False, min_domains=1), HARD)
SPREADS = st.lists(HARD | SOFT, max_size=3, unique_by=lambda one: (one.topology_key, one.hard)).map(tuple)
SHAPES = st.builds(
    lambda amounts, *parts: Shape(
        tuple(sorted((amounts | {"pods": 1}).items())),
        parts[0],
        ("topologySpread",) if any(one.hard for one in parts[-1]) else (),
        *parts[1:],
    ),
    st.dictionaries(DEVICES, st.integers(1, AMOUNT_LIMIT - 1), max_size=3),
    ELIGIBILITIES,
    st.sets(PORTS, max_size=3).map(lambda ports: tuple(sorted(ports))),
    canonical(POD_TERMS),
    canonical(POD_TERMS),
    SPREADS,
)
PODS = st.builds(
    Pod,
    namespace=NAMES,
    name=NAMES,
    uid=UIDS,
    shape=SHAPES,
    node=NAMES | st.just(""),
    group=NAMES | st.just(""),
    priority=PRIORITIES,
    phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown"]),
    terminating=st.booleans(),
    gated=st.booleans(),
    scheduler_name=NAMES,
    labels=LABELS,
    created=TIMES,
)
GROUPS = st.builds(
    PodGroup,
    namespace=NAMES,
    name=NAMES,
    uid=UIDS,
    policy=st.just("gang"),
    min_count=st.integers(1, 2**31 - 1),
    topology_key=KEYS | st.just(""),
    priority=st.none() | PRIORITIES,
    created=TIMES,
) | st.builds(PodGroup, namespace=NAMES, name=NAMES, uid=UIDS, policy=st.just("basic"), created=TIMES)


def read_back(manifest):
    """Through YAML and through JSON, which must agree."""
    manifests = read(to_yaml(manifest))
    assert not manifests.refused and not manifests.ignored
    assert read(json.dumps(manifest)) == manifests
    return manifests


@given(GROUPS)
def test_a_pod_group_reads_back_as_the_same(group):
    [found] = read_back(pod_group_manifest(group)).pod_groups
    assert found.group == group
    assert found.api_version == "scheduling.k8s.io/v1alpha2"


@given(NODES)
def test_a_node_reads_back_as_the_same(node):
    assert read_back(node_manifest(node)).nodes == [node]


@given(PODS)
def test_a_pod_reads_back_as_the_same(pod):
    assert read_back(pod_manifest(pod)).pods == [pod]


def test_what_cannot_be_written_is_said_in_an_annotation():
    pod = Pod("t", "p", "u", Shape((("pods", 1),), unmodelled=("hostPorts", "volumes")))
    assert pod_manifest(pod)["metadata"]["annotations"] == {"tas-console/unmodelled": "hostPorts,volumes"}


def test_spread_is_written_and_so_not_missing():
    spread = (SpreadConstraint("rack", 1, ()),)
    pod = Pod("t", "p", "u", Shape((("pods", 1),), unmodelled=("topologySpread", "volumes"), spread=spread))
    manifest = pod_manifest(pod)
    assert manifest["metadata"]["annotations"] == {"tas-console/unmodelled": "volumes"}
    assert manifest["spec"]["topologySpreadConstraints"] == [
        {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    ]


def test_devices_have_equal_limits_as_an_api_server_demands():
    pod = Pod("t", "p", "u", Shape((("cpu", 1500), ("nvidia.com/gpu", 8), ("pods", 1))))
    [container] = pod_manifest(pod)["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "1500m", "nvidia.com/gpu": "8"},
        "limits": {"nvidia.com/gpu": "8"},
    }


@pytest.mark.parametrize(
    "value", ["y", "No", "08", "0o17", "6214e9", "12:30", "2025-11-01", "1_000", "~", "null", "="]
)
def test_a_text_that_some_reader_changes_is_written_in_quotes(value):
    text = to_yaml({"labels": {"a": value, "rack": "rack-1"}})
    assert f'a: "{value}"' in text
    assert "rack: rack-1" in text
    assert yaml.safe_load(text) == {"labels": {"a": value, "rack": "rack-1"}}


def test_kind_and_api_version_come_first():
    text = to_yaml(pod_group_manifest(PodGroup("t", "g", "u", topology_key="rack", min_count=3)))
    assert text == (
        "apiVersion: scheduling.k8s.io/v1alpha2\n"
        "kind: PodGroup\n"
        "metadata:\n"
        "  namespace: t\n"
        "  name: g\n"
        "  uid: u\n"
        "spec:\n"
        "  schedulingPolicy:\n"
        "    gang:\n"
        "      minCount: 3\n"
        "  schedulingConstraints:\n"
        "    topology:\n"
        "    - key: rack\n"
    )
