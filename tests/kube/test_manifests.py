"""What of a manifest is taken, what is refused with which sentence, what is only counted."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.model import Node, PodGroupTemplate, Requirement, Taint, Toleration
from scheduling.kube.manifests import read

RAW = Path(__file__).parents[1] / "conformance/raw"


def node(**changes):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u1"}} | changes


def pod(spec=None, metadata=None, **changes):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "t"} | (metadata or {}),
        "spec": {"containers": [{"name": "c"}]} | (spec or {}),
    } | changes


def group(name="g", metadata=None, **spec):
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "t"} | (metadata or {}),
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}} | spec,
    }


def read_all(*objects):
    return read(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))


def taken(*objects):
    manifests = read_all(*objects)
    assert not manifests.refused
    return manifests


def refused(*objects):
    [refusal] = read_all(*objects).refused
    return refusal


def test_a_node_is_read_with_what_scheduling_needs():
    manifests = taken(
        node(
            metadata={"name": "n", "uid": "u1", "labels": {"b": "2", "a": ""}},
            spec={
                "taints": [
                    {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
                    {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
                ]
            },
            status={
                "allocatable": {"pods": "110", "cpu": "1.5", "memory": "1Ki"},
                "conditions": [
                    {"type": "MemoryPressure", "status": "True"},
                    {"type": "Ready", "status": "Unknown"},
                ],
                "nodeInfo": {"kubeletVersion": "v1.36.2"},
            },
        )
    )
    assert manifests.nodes == [
        Node(
            name="n",
            uid="u1",
            labels=(("a", ""), ("b", "2")),
            taints=(Taint("gpu", "yes", "NoSchedule"),),
            ready=False,
            allocatable=(("cpu", 1500), ("memory", 1024), ("pods", 110)),
        )
    ]
    assert manifests.kubernetes_version == "v1.36.2"


def test_a_cordon_is_kept_once_not_as_a_taint_as_well():
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    [cordoned] = taken(node(spec={"unschedulable": True, "taints": [taint]})).nodes
    assert cordoned.unschedulable and not cordoned.taints
    [tainted] = taken(node(spec={"taints": [taint]})).nodes
    assert not tainted.unschedulable and tainted.taints


def test_a_node_without_allocatable_offers_its_capacity_and_says_so():
    manifests = taken(node(status={"capacity": {"cpu": "4"}}))
    assert manifests.nodes[0].allocatable == (("cpu", 4000),)
    assert [notice.path for notice in manifests.notices] == ["status.allocatable", "status.capacity[pods]"]


def test_a_pod_is_read_with_what_scheduling_needs():
    required = {
        "nodeSelectorTerms": [
            {
                "matchExpressions": [{"key": "zone", "operator": "In", "values": ["b", "a", "b"]}],
                "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
            }
        ]
    }
    [read_pod] = taken(
        pod(
            spec={
                "schedulingGroup": {"podGroupName": "g"},
                "nodeName": "n",
                "priority": -10,
                "schedulerName": "mine",
                "schedulingGates": [{"name": "wait"}],
                "nodeSelector": {"disk": "ssd"},
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
                "tolerations": [{"key": "gpu", "value": "yes"}, {"operator": "Exists"}],
            },
            metadata={
                "uid": "u",
                "labels": {"app": "x"},
                "creationTimestamp": "1970-01-01T00:00:01.5Z",
                "deletionTimestamp": "2026-01-01T00:00:00Z",
            },
            status={"phase": "Running", "nominatedNodeName": "other"},
        )
    ).pods
    assert (read_pod.group_key, read_pod.node, read_pod.priority, read_pod.scheduler_name) == (
        "t/g",
        "n",
        -10,
        "mine",
    )
    assert (read_pod.gated, read_pod.terminating, read_pod.phase, read_pod.created) == (
        True,
        True,
        "Running",
        1500,
    )
    assert read_pod.labels == (("app", "x"),)
    eligibility = read_pod.shape.eligibility
    assert eligibility.node_selector == (("disk", "ssd"),)
    [term] = eligibility.terms
    assert term.labels == (Requirement("zone", "In", ("a", "b")),)
    assert term.fields == (Requirement("metadata.name", "In", ("n",)),)
    assert set(eligibility.tolerations) == {
        Toleration("gpu", "Equal", "yes", ""),
        Toleration("", "Exists", "", ""),
    }


def required(kind, *terms):
    """A pod spec with these terms, their topology key filled in."""
    terms = [{"topologyKey": "kubernetes.io/hostname"} | term for term in terms]
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def test_pods_that_differ_only_in_the_order_of_their_wishes_have_one_shape():
    tolerations = [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}]
    first, second = taken(
        pod({"tolerations": tolerations}, {"name": "a"}),
        pod({"tolerations": tolerations[::-1]}, {"name": "b"}),
    ).pods
    assert first.shape == second.shape


SPREAD = {"maxSkew": 1, "topologyKey": "rack"}


@pytest.mark.parametrize(
    ("spec", "unmodelled"),
    [
        (required("podAffinity", {"namespaceSelector": {"matchLabels": {"team": "a"}}}), ("podAffinity",)),
        (
            required("podAntiAffinity", {"namespaceSelector": {"matchLabels": {"team": "a"}}}),
            ("podAntiAffinity",),
        ),
        (required("podAffinity", {}), ()),
        (required("podAntiAffinity", {"namespaceSelector": {}}), ()),
        ({"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}}}, ()),
        ({"containers": [{"ports": [{"containerPort": 80, "hostPort": 80}]}]}, ()),
        ({"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "configMap": {}}]}, ()),
        ({"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "c"}}]}, ("volumes",)),
        ({"resourceClaims": [{"name": "gpu"}]}, ("resourceClaims",)),
        (
            {"topologySpreadConstraints": [SPREAD | {"whenUnsatisfiable": "DoNotSchedule"}]},
            ("topologySpread",),
        ),
        ({"topologySpreadConstraints": [SPREAD | {"whenUnsatisfiable": "ScheduleAnyway"}]}, ()),
    ],
)
def test_what_the_engine_does_not_model_is_named(spec, unmodelled):
    [read_pod] = taken(pod(spec)).pods
    assert read_pod.shape.unmodelled == unmodelled


def test_env_arguments_and_annotations_leave_no_trace():
    container = {"name": "c", "env": [{"name": "K", "value": "hunter2"}], "args": ["hunter2"]}
    manifests = taken(pod({"containers": [container]}, {"annotations": {"a": "hunter2", "b": 4}}))
    assert "hunter2" not in repr(manifests)


@pytest.mark.parametrize(
    ("changed", "path", "reason"),
    [
        (pod(metadata={"name": None}), "metadata.name", "FieldValueRequired"),
        (pod(metadata={"name": "UPPER"}), "metadata.name", "FieldValueInvalid"),
        (pod(metadata={"name": "<job>"}), "metadata.name", "FieldValueInvalid"),
        (pod(metadata={"namespace": "a.b"}), "metadata.namespace", "FieldValueInvalid"),
        (pod(metadata={"labels": {"a": 1}}), "metadata.labels[a]", "Undecodable"),
        (pod(metadata={"labels": {"a": "-"}}), "metadata.labels[a]", "FieldValueInvalid"),
        (pod(metadata={"labels": {"a b": "x"}}), "metadata.labels", "FieldValueInvalid"),
        (pod(metadata={"creationTimestamp": "yesterday"}), "metadata.creationTimestamp", "Undecodable"),
        (pod(metadata={"uid": "a\u0000b"}), "metadata.uid", "FieldValueInvalid"),
        (pod(spec={"containers": None}), "spec.containers", "FieldValueRequired"),
        (pod(spec={"containers": {}}), "spec.containers", "Undecodable"),
        (pod(spec=None) | {"spec": "x"}, "spec", "Undecodable"),
        (pod(spec={"priority": "high"}), "spec.priority", "Undecodable"),
        (pod(spec={"priority": 2**31}), "spec.priority", "Undecodable"),
        (pod(spec={"schedulingGroup": {}}), "spec.schedulingGroup.podGroupName", "FieldValueRequired"),
        (pod(spec={"tolerations": [{"value": "x"}]}), "spec.tolerations[0].operator", "FieldValueInvalid"),
        (
            pod(spec={"tolerations": [{"key": "a", "effect": "Never"}]}),
            "spec.tolerations[0].effect",
            "FieldValueNotSupported",
        ),
        (pod(status={"phase": "Sleeping"}), "status.phase", "FieldValueNotSupported"),
        (node(metadata={"name": "n", "namespace": "t"}), "metadata.namespace", "FieldValueForbidden"),
        (node(spec={"unschedulable": "true"}), "spec.unschedulable", "Undecodable"),
        (
            node(spec={"taints": [{"key": "a", "effect": "NoSched"}]}),
            "spec.taints[0].effect",
            "FieldValueNotSupported",
        ),
        (node(status={"allocatable": {"cpu": "-1"}}), "status.allocatable[cpu]", "FieldValueInvalid"),
        (
            node(status={"conditions": [{"type": "Ready", "status": True}]}),
            "status.conditions[0].status",
            "Undecodable",
        ),
        (node(apiVersion="v2"), "apiVersion", "FieldValueInvalid"),
        (node(kind="node"), "kind", "FieldValueNotSupported"),
        (node(kind=""), "kind", "FieldValueRequired"),
        (node(kind=["Node"]), "kind", "Undecodable"),
        (node(apiVersion=None), "apiVersion", "FieldValueRequired"),
        (node(apiVersion=None, version="v1"), "apiVersion", "FieldValueRequired"),
        (group() | {"apiVersion": "scheduling.k8s.io/v9"}, "apiVersion", "FieldValueInvalid"),
    ],
)
def test_a_faulty_object_is_refused_at_its_field(changed, path, reason):
    refusal = refused(changed)
    assert (refusal.path, refusal.reason) == (path, reason)
    assert refusal.document == 1 and refusal.message


def test_one_refused_object_is_one_refusal_that_names_every_fault_and_does_not_hide_the_rest():
    wrong = group(disruptionMode="Group", schedulingConstraints={"topology": [{"key": "a b"}]})
    manifests = read_all(node(), wrong, pod())
    [refusal] = manifests.refused
    assert (refusal.kind, refusal.namespace, refusal.name) == ("PodGroup", "t", "g")
    assert refusal.path == "spec.schedulingConstraints.topology[0].key"
    assert "spec.disruptionMode" in refusal.message
    assert len(manifests.nodes) == len(manifests.pods) == 1


@pytest.mark.parametrize(
    ("first", "second", "path"),
    [
        (pod(metadata={"uid": "u"}), pod(metadata={"uid": "u", "name": "other"}), "metadata.uid"),
        (pod(), pod(), "metadata.name"),
        (pod(metadata={"uid": "u"}), pod(), "metadata.name"),
        (node(), node(metadata={"name": "n", "uid": "u2"}), "metadata.name"),
        (group(), group(), "metadata.name"),
    ],
)
def test_an_object_that_stands_twice_in_the_input_is_refused_naming_the_first(first, second, path):
    refusal = refused(first, second)
    assert (refusal.path, refusal.reason) == (path, "FieldValueDuplicate")
    assert "document 1" in refusal.message and "items[0]" in refusal.message


def test_a_pod_and_its_replacement_of_the_same_name_are_both_taken():
    assert len(taken(pod(metadata={"uid": "u1"}), pod(metadata={"uid": "u2"})).pods) == 2


def test_other_kinds_are_counted_by_name_and_a_foreign_pod_group_is_another_kind():
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "hunter2"}}
    volcano = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}}
    manifests = taken(secret, secret, volcano)
    assert manifests.ignored == {"PodGroup.scheduling.volcano.sh": 1, "Secret": 2}
    assert "hunter2" not in repr(manifests)


def test_a_foreign_pod_group_has_one_sentence_per_sub_group():
    groups = [{"name": "workers", "minMember": 0}, {"name": "a", "parent": "workers", "minMember": 2}]
    body = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"subGroups": groups},
    }
    notices = taken(body).notices
    assert [notice.path for notice in notices] == ["spec.subGroups[0].minMember", "spec.subGroups[1]"]
    assert "0 members" in notices[0].message


def test_a_constraint_written_with_an_unknown_field_is_refused_not_dropped():
    level = group("a", schedulingConstraints={"topology": [{"level": "rack"}]})
    empty = group("b", schedulingConstraints={"topology": [{"key": ""}]})
    paths = [refusal.path for refusal in read_all(level, empty).refused]
    assert [path.rpartition(".")[0] for path in paths] == ["spec.schedulingConstraints.topology[0]"] * 2


def test_pod_groups_of_the_next_release_are_read_where_they_mean_the_same():
    body = group(
        schedulingConstraints={"topology": [{"key": "rack"}]},
        workloadRef={"workloadName": "w", "templateName": "a"},
        parentCompositePodGroupName="parent",
        priority=5,
        metadata={"uid": "u"},
    ) | {"apiVersion": "scheduling.k8s.io/v1beta1"}
    [stored] = taken(body).pod_groups
    assert stored.api_version == "scheduling.k8s.io/v1beta1"
    assert (stored.group.min_count, stored.group.topology_key, stored.group.priority) == (2, "rack", 5)
    assert stored.group.unmodelled == ("parentCompositePodGroupName",)


def test_the_default_priority_that_a_server_fills_in_is_no_priority():
    defaulted = group(metadata={"uid": "u", "resourceVersion": "7"}, priority=0)
    assert taken(defaulted).pod_groups[0].group.priority is None
    assert taken(group(priority=0)).pod_groups[0].group.priority == 0


def test_a_new_group_made_from_a_template_needs_its_workload_in_the_input():
    reference = {"workload": {"workloadName": "w", "podGroupTemplateName": "a"}}
    workload = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "t"},
        "spec": {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"gang": {"minCount": 3}}}]},
    }
    manifests = taken(group(podGroupTemplateRef=reference), workload)
    assert manifests.workloads[0].templates == (PodGroupTemplate("a", "gang", 3, ""),)
    assert refused(group(podGroupTemplateRef=reference)).reason == "FieldValueForbidden"
    assert taken(group(podGroupTemplateRef=reference, metadata={"uid": "u"})).pod_groups


def test_workloads_of_release_1_35_are_read():
    body = {
        "apiVersion": "scheduling.k8s.io/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": "w"},
        "spec": {"podGroups": [{"name": "a", "policy": {"basic": {}}}]},
    }
    assert taken(body).workloads[0].templates == (PodGroupTemplate("a", "basic", 1, ""),)
    body["spec"]["podGroups"][0]["policy"] = {}
    assert refused(body).path == "spec.podGroups[0].policy"


def test_generated_names_are_told_apart_and_the_same_on_every_reading():
    unnamed = pod(metadata={"name": None, "generateName": "worker-"})
    first, again = taken(unnamed, unnamed), taken(unnamed, unnamed)
    names = [item.name for item in first.pods]
    assert len(set(names)) == 2 and all(name.startswith("worker-") for name in names)
    assert first == again


def test_a_domain_value_that_spans_zones_is_worth_a_notice():
    def in_zone(name, zone):
        return node(metadata={"name": name, "labels": {"rack": "01", "topology.kubernetes.io/zone": zone}})

    constrained = group(schedulingConstraints={"topology": [{"key": "rack"}]})
    notices = taken(in_zone("a", "x"), in_zone("b", "y"), in_zone("c", "z"), constrained).notices
    assert any('the value "01" of rack spans 3 zones' in notice.message for notice in notices)


@pytest.mark.parametrize("name", sorted(path.name for path in RAW.iterdir()))
def test_reported_inputs_are_taken_or_refused_as_the_reports_ask(name):
    expected = {
        "C04.json": (1, {}, []),
        "C06.yaml": (3, {"ConfigMap": 1}, []),
        "C08.yaml": (1, {}, []),
        "C11.yaml": (0, {}, [1]),
        "C12.conf": (0, {}, [1]),
        "C15.conf": (0, {}, [1, 5]),
        "C18.yaml": (0, {"PodGroup.scheduling.sigs.k8s.io": 1}, [1, 5, 13, 18]),
        "C19.yaml": (1, {}, []),
    }
    manifests = read((RAW / name).read_bytes())
    accepted = (
        len(manifests.nodes) + len(manifests.pods) + len(manifests.pod_groups) + len(manifests.workloads)
    )
    assert (accepted, manifests.ignored, [refusal.line for refusal in manifests.refused]) == expected[name]


ODD = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8)
ODD = st.recursive(
    ODD | st.sampled_from(["1", "NoSchedule", "Exists", "In", "Always", "a/b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WHOLE = {
    "Node": node(
        spec={"unschedulable": True, "taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
        status={"allocatable": {"cpu": "1"}, "conditions": [{"type": "Ready", "status": "True"}]},
    ),
    "Pod": pod(
        {
            "initContainers": [{"name": "i", "restartPolicy": "Always", "resources": {"limits": {"cpu": 1}}}],
            "overhead": {"cpu": "1"},
            "resources": {"requests": {"cpu": "1"}},
            "tolerations": [{"key": "a"}],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
                        ]
                    }
                }
            },
            "volumes": [{"name": "v"}],
        }
    ),
    "PodGroup": group(
        schedulingConstraints={"topology": [{"key": "rack"}]},
        podGroupTemplateRef={"workload": {"workloadName": "w", "podGroupTemplateName": "a"}},
        resourceClaims=[{"name": "a", "resourceClaimName": "b"}],
        disruptionMode="Pod",
    ),
    "Workload": {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "Workload",
        "metadata": {"name": "w", "generateName": "x", "annotations": {"a": "b"}},
        "spec": {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"basic": {}}}]},
    },
}


def places(value, path=()):
    yield path
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        yield from places(child, (*path, key))


def replaced(value, path, odd):
    if not path:
        return odd
    key, *rest = path
    if isinstance(value, dict):
        return {name: replaced(child, rest, odd) if name == key else child for name, child in value.items()}
    return [replaced(child, rest, odd) if number == key else child for number, child in enumerate(value)]


@settings(max_examples=300)
@given(st.data())
def test_a_manifest_with_anything_odd_anywhere_is_taken_or_refused_never_an_exception(data):
    body = WHOLE[data.draw(st.sampled_from(sorted(WHOLE)))]
    path = data.draw(st.sampled_from(list(places(body))))
    manifests = read(json.dumps(replaced(body, path, data.draw(ODD))))
    total = len(manifests.nodes) + len(manifests.pods) + len(manifests.pod_groups) + len(manifests.workloads)
    assert total + sum(manifests.ignored.values()) + len(manifests.refused) <= 3
    repr(manifests).encode()


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_input_at_all_is_read_without_an_exception(data):
    read(data)


@given(st.text("kind: Pod[]{}&*!|>'\"\n-#%@\t,<\\", max_size=60))
def test_any_yaml_like_text_is_read_without_an_exception(text):
    read(text)


def test_our_annotations_of_a_pod_group_are_read():
    told = {"tas-console/elastic": "true", "tas-console/protected": "true", "tas-console/queue": "research"}
    found = read(json.dumps(group(metadata={"annotations": told}))).pod_groups[0].group
    assert (found.elastic, found.protected, found.queue) == (True, True, "research")


def test_annotations_of_others_change_nothing():
    found = (
        read(json.dumps(group(metadata={"annotations": {"example.com/elastic": "true"}}))).pod_groups[0].group
    )
    assert (found.elastic, found.protected, found.queue) == (False, False, "")


@pytest.mark.parametrize(
    ("key", "value"),
    [("tas-console/elastic", "yes"), ("tas-console/protected", 1), ("tas-console/queue", "Not a name")],
)
def test_a_wrong_value_of_our_annotations_is_refused_at_its_field(key, value):
    found = read(json.dumps(group(metadata={"annotations": {key: value}})))
    assert [(bad.kind, bad.path) for bad in found.refused] == [("PodGroup", f"metadata.annotations[{key}]")]
    assert found.pod_groups == []
