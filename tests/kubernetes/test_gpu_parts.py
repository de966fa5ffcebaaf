"""Parts of GPUs in Kubernetes: slices of MIG, and GPUs shared by turns, where they are equal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rarmodel import kubernetes, solve
from rarmodel.kubernetes.choices import Choices
from rarmodel.kubernetes.objects import objects_of
from rarmodel.kubernetes.reading import reading_of
from rarmodel.schema import Job

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
MIG, SHARED, GPU = "nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared", "nvidia.com/gpu"


def node(name: str, amounts: Mapping[str, int], **labels: str) -> dict[str, Any]:
    """A node; of labels of NVIDIA the last word is enough."""
    own = {f"nvidia.com/{key.replace('_', '.')}": value for key, value in labels.items()}
    some = {"cpu": "64", "memory": "512Gi", **{key: str(n) for key, n in amounts.items()}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **own}},
        "spec": {},
        "status": {"capacity": some, "allocatable": some},
    }


def spec(resource: str, pieces: int = 1, **more: Any) -> dict[str, Any]:
    limits = {resource: str(pieces), "cpu": "1"}
    return {
        "containers": [{"name": "main", "resources": {"limits": limits}}],
        "restartPolicy": "Never",
        **more,
    }


def job(name: str, resource: str, pods: int = 1, **more: Any) -> dict[str, Any]:
    """A Job of equal pods."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "a", "uid": f"uid-{name}"},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "template": {"spec": spec(resource, **more)},
        },
    }


def pod(name: str, resource: str, on: str, owner: str = "", **more: Any) -> dict[str, Any]:
    """A pod that runs on a node."""
    owners = [{"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": f"uid-{owner}"}]
    metadata = {"name": name, "namespace": "a", "uid": f"uid-{name}"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata | ({"ownerReferences": owners} if owner else {}),
        "spec": spec(resource, nodeName=on, **more),
        "status": {"phase": "Running"},
    }


def read(*items: Mapping[str, Any], **choices: Any) -> kubernetes.Reading:
    document = {"apiVersion": "v1", "kind": "List", "items": [*items]}
    return reading_of(objects_of([("cluster.json", document)]), Choices(**choices), "cluster")


def jobs_of(reading: kubernetes.Reading) -> dict[str, Job]:
    return {one.name: one for one in reading.instance.jobs}


def held(reading: kubernetes.Reading) -> dict[str, tuple[int | None, dict[str, tuple[int, ...]]]]:
    """Slices and GPUs of running jobs."""
    return {
        one.name: (one.slices, dict(one.running.gpus))
        for one in reading.instance.jobs
        if one.running
    }


def reason(reading: kubernetes.Reading, called: str) -> str:
    """Why an object was left out."""
    (found,) = [why for why, names in reading.account.left_out.items() if called in names]
    return found


@pytest.mark.parametrize(
    ("there", "resource", "gpus", "slices"),
    [
        (node("n", {MIG: 14, GPU: 0}, mig_strategy="mixed"), MIG, 2, 7),
        (node("n", {GPU: 14}, gpu_product="NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"), GPU, 2, 7),
        (node("n", {SHARED: 8}, gpu_replicas="4"), SHARED, 2, 4),
        (node("n", {GPU: 8}, gpu_replicas="4", gpu_product="T4-SHARED"), GPU, 2, 4),
    ],
)
def test_equal_parts_are_slices(
    there: dict[str, Any], resource: str, gpus: int, slices: int
) -> None:
    reading = read(there, job("j", resource, pods=2), job("k", resource), job("l", resource, 3))
    (server,) = reading.instance.cluster.servers
    assert (server.gpus, server.gpu_slices) == (gpus, slices)
    found = jobs_of(reading)
    assert {name: (one.gpus, one.slices) for name, one in found.items()} == {
        "a/j": (2, 1),
        "a/k": (1, 1),
    }
    assert {one.sensitivity for one in found.values()} == {0}
    assert "more GPUs" in reason(reading, "Job a/l")  # No two workers share a GPU.
    made = solve(reading.instance, iterations=20)
    assert made.schedule is not None
    assert {one.start for one in made.schedule.assignments} == {0}


@pytest.mark.parametrize(
    ("there", "why"),
    [
        (node("n", {MIG: 6}), "fill no whole GPUs"),
        (node("n", {MIG: 7, "nvidia.com/mig-2g.10gb": 3}), "not equal"),
        (node("n", {SHARED: 8}), "no equal parts"),
        (node("n", {GPU: 9}, gpu_replicas="4"), "no equal parts"),
        (node("n", {GPU: 28}, gpu_replicas="2", gpu_product="A100-MIG-1g.5gb"), "MIG are shared"),
        (node("n", {f"{MIG}.shared": 14}), "not equal"),
        (node("n", {"nvidia.com/gpucores": 100}), "not equal"),
    ],
)
def test_other_parts_leave_the_node_out(there: dict[str, Any], why: str) -> None:
    reading = read(there, node("w", {GPU: 2}), job("j", GPU))
    assert why in reason(reading, "Node n")


def test_each_part_that_a_job_of_several_holds_is_a_job() -> None:
    pods = [pod(f"j-{i}", MIG, "n", owner="j") for i in range(8)]
    single = pod("one", MIG, "n")
    reading = read(node("n", {MIG: 14}), job("j", MIG, pods=8), *pods, single)
    found = held(reading)
    assert {slices for slices, _ in found.values()} == {1}
    loads = [0, 0]
    for _, gpus in found.values():
        (gpu,) = gpus["n"]
        loads[gpu] += 1
    assert loads == [7, 2]
    assert {f"a/j (part {i})" for i in range(1, 9)} | {"a/one"} == found.keys()


def test_a_job_that_may_have_whole_gpus_gets_no_parts() -> None:
    nodes = (
        node("m", {GPU: 14}, gpu_product="A100-MIG-1g.5gb"),
        node("w", {GPU: 2}, gpu_product="A100"),
    )
    on_parts: dict[str, Any] = {"nodeSelector": {"kubernetes.io/hostname": "m"}}
    reading = read(*nodes, job("j", GPU), job("k", GPU, **on_parts))
    found = jobs_of(reading)
    assert (found["a/j"].slices, found["a/j"].servers) == (None, ("w",))
    assert (found["a/k"].slices, found["a/k"].servers) == (1, ("m",))
    several = read(*nodes, job("j", GPU), job("k", GPU, pieces=2, **on_parts))
    assert "several parts" in reason(several, "Job a/k")


def test_parts_that_services_hold_take_whole_gpus() -> None:
    serving = [pod(f"s-{i}", MIG, "n", restartPolicy="Always") for i in range(3)]
    reading = read(node("n", {MIG: 14}), *serving, pod("one", MIG, "n"))
    assert reading.instance.cluster.total_gpus == 1
    assert held(reading) == {"a/one": (1, {"n": (0,)})}
    mixed = read(
        node("n", {MIG: 7}), node("w", {GPU: 1}), *serving, pod("one", MIG, "n"), job("j", GPU)
    )
    assert "services and jobs" in reason(mixed, "Node n")
    assert reason(mixed, "Pod a/one") == "runs on 'n', which is left out or not in the files"


def test_parts_beside_whole_gpus_are_not_in_the_instance() -> None:
    reading = read(node("n", {GPU: 4, MIG: 28}), pod("one", MIG, "n"), job("j", GPU))
    assert reading.instance.cluster.total_gpus == 4
    assert "a part of a GPU of 'n'" in reason(reading, "Pod a/one")
    assert held(reading) == {}


def test_without_parts_the_instance_has_whole_gpus_alone() -> None:
    reading = read(
        *(node("m", {MIG: 14}), node("w", {GPU: 2})),
        *(job("j", GPU), job("k", MIG), pod("one", MIG, "m")),
        parts=False,
    )
    assert [server.name for server in reading.instance.cluster.servers] == ["w"]
    assert jobs_of(reading).keys() == {"a/j"}
    assert "not wanted" in reason(reading, "Node m")


def test_a_profile_tells_how_jobs_on_parts_slow_each_other_down() -> None:
    own = job("j", MIG)
    own["metadata"]["annotations"] = {"rarmodel/profile": '{"seconds": 60, "sensitivity": 0.5}'}
    (found,) = read(node("n", {MIG: 7}), own).instance.jobs
    assert (found.sensitivity, found.pressure) == (0.5, 1)


def test_jobs_of_queues_with_quotas_have_no_tenant_on_parts() -> None:
    reading = kubernetes.read(EXAMPLES / "kubernetes-kueue")
    assert all(one.tenant for one in reading.instance.jobs)
    cloud = kubernetes.read(EXAMPLES / "kubernetes-cloud")
    one = jobs_of(cloud)["apps/slice"]
    assert (one.slices, one.tenant) == (1, "apps")  # Of a namespace, without a quota.
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "ClusterQueue",
        "metadata": {"name": "q"},
        "spec": {
            "resourceGroups": [
                {
                    "coveredResources": [MIG],
                    "flavors": [{"name": "f", "resources": [{"name": MIG, "nominalQuota": "3"}]}],
                }
            ]
        },
    }
    local = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "LocalQueue",
        "metadata": {"name": "l", "namespace": "a"},
        "spec": {"clusterQueue": "q"},
    }
    own = job("j", MIG)
    own["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "l"}
    found = read(node("n", {MIG: 7}), queue, local, own)
    assert [(one.slices, one.tenant) for one in found.instance.jobs] == [(1, None)]
