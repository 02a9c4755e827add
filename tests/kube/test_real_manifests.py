"""Every manifest that people really wrote is imported, ignored by kind or refused with the right sentence."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from scheduling.kube.manifests import Manifests, read


class Expected(NamedTuple):
    """How many objects are taken, ignored and refused; parts of the sentences, refusals and notices alike."""

    accepted: int
    ignored: int
    refused: int
    sentences: tuple[str, ...] = ()


LOWER_CASE = "must consist of lower-case letters"
NO_OBJECT = "this is no Kubernetes object"
FOREIGN = "names a group of another scheduler"

TABLE = {
    "README.md": None,
    "k8s-api-testdata/HEAD__core.v1.Node.json": Expected(0, 0, 1, (LOWER_CASE,)),
    "k8s-api-testdata/HEAD__core.v1.Node.yaml": Expected(0, 0, 1, (LOWER_CASE,)),
    "k8s-api-testdata/HEAD__core.v1.Pod.yaml": Expected(0, 0, 1, (LOWER_CASE,)),
    "k8s-api-testdata/HEAD__scheduling.k8s.io.v1alpha2.PodGroup.json": Expected(
        0,
        0,
        1,
        ("must have exactly one of basic and gang, not basic and gang", "is not one of Pod, PodGroup"),
    ),
    "k8s-api-testdata/HEAD__scheduling.k8s.io.v1alpha2.PodGroup.yaml": Expected(
        0,
        0,
        1,
        ("must have exactly one of basic and gang, not basic and gang", "is not one of Pod, PodGroup"),
    ),
    "k8s-api-testdata/HEAD__scheduling.k8s.io.v1alpha2.Workload.yaml": Expected(0, 0, 1, (LOWER_CASE,)),
    "k8s-api-testdata/HEAD__scheduling.k8s.io.v1beta1.PriorityClass.yaml": Expected(0, 1, 0),
    "k8s-api-testdata/v1.35.0__scheduling.k8s.io.v1alpha1.PriorityClass.yaml": Expected(0, 1, 0),
    "k8s-api-testdata/v1.35.0__scheduling.k8s.io.v1alpha1.Workload.yaml": Expected(0, 0, 1, (LOWER_CASE,)),
    "nodes/coreweave-labels.yaml": Expected(2, 0, 0),
    # Unquoted zeros: kubectl reads a number, and the API server refuses a label that is one.
    "nodes/eks-p4d24xlarge-karpenter.yaml": Expected(
        0, 0, 1, ("metadata.labels[k8s.io/cloud-provider-aws]: must be a string, but is the number 0",)
    ),
    "nodes/gke-h100-tas-kwok-4nodes.yaml": Expected(4, 0, 0),
    "nodes/headlamp-kwok-fixture-mixed-kinds.yaml": Expected(2, 7, 0),
    "nodes/kwok-defaults-and-ints.yaml": Expected(
        5,
        0,
        0,
        (
            'from generateName "node-low-capacity-"',
            "the capacity is taken in its place",
            "no pod fits this node",
        ),
    ),
    "nodes/oke-gb300-nvl72-4nodes.yaml": Expected(4, 0, 0),
    "nodes/volcano-hypernodes.yaml": Expected(
        0, 0, 13, ('the document has version: "topology.volcano.sh/v1alpha1" instead',)
    ),
    "podgroups/coscheduling-v1alpha1-podgroup-replicaset.yaml": Expected(0, 3, 1, (NO_OBJECT,)),
    "podgroups/k8s-pod-schedulingGroup-doc-ellipsis.NOT-VALID.yaml": Expected(
        0, 0, 2, ("did not find expected key", "mapping values are not allowed")
    ),
    "podgroups/k8s-v1alpha2-kep5832-podgroup-with-status.yaml": Expected(
        0, 0, 1, ("no Workload ns-1/training-workload with a template pd-1-template exists",)
    ),
    "podgroups/k8s-v1alpha3-kep5547-job-level-scheduling.yaml": Expected(
        0, 3, 3, ('"<job-name>-<hash>" must consist', "spec.podGroupTemplateRef: is no field of this version")
    ),
    "podgroups/kai-v2alpha2-minsubgroup.yaml": Expected(
        0, 3, 0, ('the sub-group "decode-leaders" is not imported',)
    ),
    "podgroups/kai-v2alpha2-subgroups-multilevel.yaml": Expected(
        3, 2, 2, (FOREIGN, "is in this input before, in document 2, line 22", '"subgroup-ab" is not imported')
    ),
    "podgroups/koordinator-networktopology-gang.yaml": Expected(
        0, 3, 1, ("there is no kind node; Node is written so", "annotations are not read here")
    ),
    "podgroups/volcano-v1beta1-network-topology-subgroup.yaml": Expected(
        0, 1, 0, ('the sub-group "task0" is not imported',)
    ),
    "podgroups/volcano-v1beta1-podgroup.yaml": Expected(0, 1, 0),
    "pods/effective-requests-cases.yaml": Expected(
        8, 0, 1, ('spec.overhead[nvidia.com/gpu]: "-1" must not be negative',)
    ),
    "pods/pod-level-resources-kep2837.yaml": Expected(1, 0, 0),
    "pods/podlist-phases-and-membership.yaml": Expected(9, 0, 0, (FOREIGN, "is the form of release 1.35")),
    "quantities/label-values-yaml-bait.yaml": Expected(
        0,
        0,
        1,
        (
            "metadata.labels[philly.example/vc]: must be a string, but is the number",
            "14 more values like this",
        ),
    ),
    "quantities/quantities.json": Expected(0, 0, 1, (NO_OBJECT,)),
    "workloads/k8s-job-schedulingGroup.yaml": Expected(0, 1, 0),
    "workloads/kueue-jobs__sample-jobset-tas-combined.yaml": Expected(0, 1, 0),
    "workloads/kueue-jobs__sample-jobset-tas-required.yaml": Expected(0, 1, 0),
    "workloads/kueue-jobs__sample-jobset-tas-sliced.yaml": Expected(0, 1, 0),
    "workloads/kueue-jobs__sample-pytorchjob.yaml": Expected(0, 1, 0),
    "workloads/kueue-kep2724-jobs-jobset-lws-mpi.yaml": Expected(0, 6, 0),
    "workloads/kueue-perf-tas-generator-15000-workloads.yaml": Expected(0, 0, 1, (NO_OBJECT,)),
    "workloads/kueue-pods-kueue__kueue-pod-group.yaml": Expected(
        2, 0, 0, (FOREIGN, 'generateName "sample-leader-"')
    ),
    "workloads/kueue-serving-workloads__sample-leaderworkerset-tas.yaml": Expected(0, 1, 0),
    "workloads/kueue-tas__sample-gpu-queues.yaml": Expected(0, 4, 0),
    "workloads/kueue-tas__sample-job-required.yaml": Expected(0, 1, 0),
    "workloads/kueue-workload-v1beta2.yaml": Expected(0, 1, 0),
}


@pytest.fixture
def inputs() -> Path:
    folder = os.environ.get("TAS_REAL_INPUTS")
    if not folder:
        pytest.skip("TAS_REAL_INPUTS names no folder with real inputs")
    return Path(folder)


def counts(manifests: Manifests) -> tuple[int, int, int]:
    lists = (manifests.nodes, manifests.pods, manifests.pod_groups, manifests.workloads)
    return sum(len(found) for found in lists), sum(manifests.ignored.values()), len(manifests.refused)


def test_the_table_names_every_file_of_the_folder(inputs):
    folder = inputs / "manifests"
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert present == TABLE.keys()


@pytest.mark.parametrize("name", [name for name, expected in TABLE.items() if expected])
def test_a_real_manifest_is_read_as_the_table_says(name, inputs):
    manifests = read((inputs / "manifests" / name).read_bytes())
    expected = TABLE[name]
    assert counts(manifests) == expected[:3], manifests.refused
    said = [f"{item.path}: {item.message}" for item in (*manifests.refused, *manifests.notices)]
    for sentence in expected.sentences:
        assert any(sentence in line for line in said), said


def test_the_dump_of_a_real_cluster_is_read_whole(inputs):
    manifests = read((inputs / "dumps/openb-70-gangs.json.gz").read_bytes())
    assert (len(manifests.nodes), len(manifests.pods), len(manifests.pod_groups)) == (1213, 1078, 70)
    assert not manifests.refused and not manifests.ignored
    assert manifests.kubernetes_version == "v1.36.2"
    assert all(pod.uid and pod.created for pod in manifests.pods)
    members = [pod for pod in manifests.pods if pod.group]
    assert {pod.group_key for pod in members} <= {read.group.key for read in manifests.pod_groups}
    assert {pod.node for pod in manifests.pods} - {""} <= {node.name for node in manifests.nodes}


def test_the_sixty_nodes_of_the_trace_are_read(inputs):
    [path] = (inputs / "traces").rglob("*.yaml")
    manifests = read(path.read_bytes())
    assert counts(manifests)[1:] == (0, 0)
    assert len(manifests.nodes) == 60


def test_a_cordon_in_a_real_manifest_is_a_cordon(inputs):
    manifests = read((inputs / "manifests/nodes/oke-gb300-nvl72-4nodes.yaml").read_bytes())
    assert [node.unschedulable for node in manifests.nodes] == [False, False, True, False]
    assert [bool(node.taints) for node in manifests.nodes] == [False, False, False, True]


def test_real_pods_keep_phase_membership_and_deletion(inputs):
    pods = {
        pod.name: pod
        for pod in read((inputs / "manifests/pods/podlist-phases-and-membership.yaml").read_bytes()).pods
    }
    assert pods["a-0"].group_key == "t/pg-a" and pods["a-1"].group == ""
    assert [name for name, pod in pods.items() if pod.finished] == ["b-0", "b-1"]
    assert pods["c-0"].terminating and pods["c-0"].scheduler_name == "vocalno"
    assert pods["d-0"].gated and pods["d-0"].node == ""
    assert pods["low-prio"].priority == -10 and pods["kube-proxy-x"].priority == 2000001000
