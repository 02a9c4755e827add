"""A pod is charged what kube-scheduler charges it."""

import os
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.kube.documents import read_documents
from scheduling.kube.fields import FieldError
from scheduling.kube.quantity import to_request
from scheduling.kube.requests import effective_requests


def container(cpu=None, **more):
    return {"name": "c", "resources": {"requests": {"cpu": cpu} if cpu else {}}, **more}


def charged(spec):
    return dict(effective_requests(spec))


def test_the_listed_cases_are_charged_as_listed():
    folder = os.environ.get("TAS_REAL_INPUTS")
    if not folder:
        pytest.skip("TAS_REAL_INPUTS names no folder with real inputs")
    found = read_documents((Path(folder) / "manifests/pods/effective-requests-cases.yaml").read_bytes())
    assert len(found.objects) == 9
    for case in found.objects:
        expected = {
            key.removeprefix("expect/"): value for key, value in case.body["metadata"]["annotations"].items()
        }
        if "result" in expected:
            with pytest.raises(FieldError, match=r"spec.overhead\[nvidia.com/gpu\]"):
                effective_requests(case.body["spec"])
            continue
        requests = charged(case.body["spec"])
        expected.pop("why", None)
        for resource, text in expected.items():
            assert requests.get(resource, 0) == to_request(resource, text), case.body["metadata"]["name"]


def test_a_sidecar_declared_before_an_init_container_runs_beside_it():
    sidecar = container("100m", restartPolicy="Always")
    spec = {"containers": [container("100m")], "initContainers": [sidecar, container("200m")]}
    assert charged(spec)["cpu"] == 300
    spec["initContainers"].reverse()
    assert charged(spec)["cpu"] == 200


def test_fractions_are_rounded_up_once_after_the_sum():
    spec = {"containers": [container("0.4m"), container("0.4m"), container("0.1m")]}
    assert charged(spec)["cpu"] == 1


def test_a_pod_without_requests_counts_as_one_pod():
    assert effective_requests({"containers": [{"name": "c"}]}) == (("pods", 1),)


@pytest.mark.parametrize(
    ("resources", "containers", "expected"),
    [
        ({"requests": {"cpu": "2"}}, ["1", "3"], 2000),
        ({"limits": {"cpu": "4"}}, ["500m"], 500),
        ({"limits": {"cpu": "4"}}, [None], 4000),
        ({"limits": {"cpu": "4"}, "requests": {"cpu": "1"}}, ["3"], 1000),
    ],
)
def test_pod_level_resources_stand_in_the_place_of_the_containers_sum(resources, containers, expected):
    spec = {"resources": resources, "containers": [container(cpu) for cpu in containers]}
    assert charged(spec)["cpu"] == expected


def test_overhead_comes_on_top_of_pod_level_requests():
    spec = {
        "resources": {"requests": {"cpu": "2"}},
        "overhead": {"cpu": "250m"},
        "containers": [container("1")],
    }
    assert charged(spec)["cpu"] == 2250


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({}, "spec.containers"),
        ({"containers": []}, "spec.containers"),
        ({"containers": [container("-1")]}, "spec.containers[0].resources.requests[cpu]"),
        ({"containers": [container("1"), container("one")]}, "spec.containers[1].resources.requests[cpu]"),
        (
            {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "0.5"}}}]},
            "spec.containers[0].resources.limits[nvidia.com/gpu]",
        ),
        (
            {"containers": [{"resources": {"requests": {"gpu": 1}}}]},
            "spec.containers[0].resources.requests[gpu]",
        ),
        (
            {"containers": [{}], "initContainers": [container("x")]},
            "spec.initContainers[0].resources.requests[cpu]",
        ),
        (
            {"containers": [{}], "resources": {"requests": {"nvidia.com/gpu": 1}}},
            "spec.resources.requests[nvidia.com/gpu]",
        ),
    ],
)
def test_a_wrong_request_is_refused_at_its_field(spec, path):
    with pytest.raises(FieldError) as raised:
        effective_requests(spec)
    assert raised.value.problem.path == path


MILLI = st.integers(0, 5000)


@given(st.lists(MILLI, min_size=1, max_size=4), st.lists(st.tuples(MILLI, st.booleans()), max_size=4))
def test_the_charge_is_the_most_of_all_moments_of_the_pods_life(apps, inits):
    spec = {
        "containers": [container(f"{cpu}m") for cpu in apps],
        "initContainers": [
            container(f"{cpu}m", **({"restartPolicy": "Always"} if sidecar else {})) for cpu, sidecar in inits
        ],
    }
    moments = [sum(apps) + sum(cpu for cpu, sidecar in inits if sidecar)]
    for number, (cpu, _) in enumerate(inits):
        moments.append(cpu + sum(other for other, sidecar in inits[:number] if sidecar))
    assert Fraction(charged(spec).get("cpu", 0)) == max(moments)
