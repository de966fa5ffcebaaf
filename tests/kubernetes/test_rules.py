"""Rules of Kubernetes, Kueue and Volcano, each worked by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from rarmodel.kubernetes.gpus import demand_of
from rarmodel.kubernetes.network import is_read, network_of
from rarmodel.kubernetes.quantities import quantity, whole
from rarmodel.kubernetes.queues import queues_of
from rarmodel.kubernetes.schema import (
    ClusterQueue,
    Cohort,
    HyperNode,
    NodeTerms,
    PodSpec,
    Requirement,
    Taint,
    Toleration,
    Topology,
    VolcanoQueue,
)
from rarmodel.kubernetes.selection import UnreadableError, meets, refused, selects

GPU = "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("8", Fraction(8)),
        (8, Fraction(8)),
        ("500m", Fraction(1, 2)),
        ("1.5Gi", Fraction(3 * 2**29)),
        ("2k", Fraction(2000)),
        ("1e3", Fraction(1000)),
        ("1E", Fraction(10**18)),
        ("100u", Fraction(1, 10_000)),
        (".5", Fraction(1, 2)),
        ("0.1", Fraction(1, 10)),
    ],
)
def test_quantities_are_exact(text: str | int, number: Fraction) -> None:
    assert quantity(text) == number


@pytest.mark.parametrize("text", ["", "half", "1 2", "1e999999", "1KI", "9" * 99, "0x10", "True"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no quantity"):
        quantity(text)


@pytest.mark.parametrize("text", ["500m", "-1", "1.5"])
def test_gpus_come_in_pieces(text: str) -> None:
    with pytest.raises(ValueError, match="no whole number"):
        whole(text)
    assert whole("4000m") == 4


def _spec(*gpus: int, init: tuple[int, ...] = (), sidecar: int = 0) -> PodSpec:
    def container(number: int, restart: str = "") -> dict[str, Any]:
        return {"resources": {"limits": {GPU: str(number)}}, "restartPolicy": restart}

    before = [container(one) for one in init]
    if sidecar:
        before.insert(0, container(sidecar, "Always"))
    return PodSpec.model_validate(
        {"containers": [container(one) for one in gpus], "initContainers": before}
    )


def test_pod_asks_for_its_containers_or_for_one_that_runs_before() -> None:
    assert demand_of(_spec(2, 1)).gpus == 3
    assert demand_of(_spec(2, init=(4, 1))).gpus == 4
    assert demand_of(_spec(2, init=(4,), sidecar=1)).gpus == 5


def test_pod_with_two_kinds_of_gpus_is_refused() -> None:
    requests = {GPU: "1", "amd.com/gpu": "1"}
    spec = PodSpec.model_validate({"containers": [{"resources": {"requests": requests}}]})
    with pytest.raises(ValueError, match="two kinds"):
        demand_of(spec)


@pytest.mark.parametrize(
    ("taint", "toleration", "away"),
    [
        ({"key": "a", "effect": "NoSchedule"}, None, True),
        ({"key": "a", "effect": "PreferNoSchedule"}, None, False),
        ({"key": "a", "value": "1", "effect": "NoSchedule"}, {"key": "a", "value": "1"}, False),
        ({"key": "a", "value": "1", "effect": "NoSchedule"}, {"key": "a", "value": "2"}, True),
        ({"key": "a", "effect": "NoExecute"}, {"key": "a", "operator": "Exists"}, False),
        ({"key": "a", "effect": "NoExecute"}, {"operator": "Exists"}, False),
        (
            {"key": "a", "effect": "NoExecute"},
            {"key": "a", "operator": "Exists", "effect": "NoSchedule"},
            True,
        ),
    ],
)
def test_taints_keep_away_who_does_not_tolerate_them(
    taint: dict[str, str], toleration: dict[str, str] | None, away: bool
) -> None:
    tolerations = [] if toleration is None else [Toleration.model_validate(toleration)]
    assert refused([Taint.model_validate(taint)], tolerations, GPU) == (away, False)


def test_taint_for_gpus_is_forgiven_and_told() -> None:
    taint = Taint(key=GPU, value="present", effect="NoSchedule")
    assert refused([taint], [], GPU) == (False, True)
    assert refused([taint], [], "amd.com/gpu") == (True, False)


@pytest.mark.parametrize(
    ("operator", "values", "value", "met"),
    [
        ("In", ["a", "b"], "a", True),
        ("In", ["a"], None, False),
        ("NotIn", ["a"], None, True),
        ("NotIn", ["a"], "a", False),
        ("Exists", [], "", True),
        ("DoesNotExist", [], "a", False),
        ("Gt", ["3"], "10", True),
        ("Lt", ["3"], "10", False),
        ("Gt", ["x"], "10", False),
        ("Gt", [], "10", False),
    ],
)
def test_demands_on_labels(operator: str, values: list[str], value: str | None, met: bool) -> None:
    one = Requirement(key="k", operator=operator, values=tuple(values))
    assert meets(one, {} if value is None else {"k": value}) is met


def test_unknown_operator_is_told() -> None:
    with pytest.raises(UnreadableError, match="'Near'"):
        meets(Requirement(key="k", operator="Near"), {})


def test_one_term_of_an_affinity_must_be_met() -> None:
    terms = [
        {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]},
        {},
    ]
    required = NodeTerms.model_validate({"nodeSelectorTerms": terms})
    spec = PodSpec.model_validate(
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": required.model_dump(
                        by_alias=True
                    )
                }
            }
        }
    )
    assert selects(spec, "n", {})
    assert selects(spec, "m", {"a": ""})
    assert not selects(spec, "m", {})


# Queues ------------------------------------------------------------------------------------------


def _queue(
    name: str, nominal: int, cohort: str = "", borrow: int | None = None, lend: int | None = None
) -> ClusterQueue:
    quota = {"name": GPU, "nominalQuota": nominal, "borrowingLimit": borrow, "lendingLimit": lend}
    flavors = [{"name": "f", "resources": [quota]}]
    groups = [{"coveredResources": [GPU], "flavors": flavors}]
    spec = {"resourceGroups": groups, "cohortName": cohort}
    return ClusterQueue.model_validate({"metadata": {"name": name}, "spec": spec})


def _cohort(name: str, parent: str) -> Cohort:
    return Cohort.model_validate({"metadata": {"name": name}, "spec": {"parentName": parent}})


def _caps(queues: list[ClusterQueue], *cohorts: Cohort) -> dict[str, tuple[int | None, int | None]]:
    found = queues_of(queues, cohorts, [], [], [])
    return {name: (one.cap, one.guaranteed) for name, one in found.tenants.items()}


def test_queue_without_cohort_has_its_quota() -> None:
    assert _caps([_queue("a", 8)]) == {"a": (8, 8)}


def test_queues_of_a_cohort_borrow_up_to_their_limits() -> None:
    found = _caps([_queue("a", 8, "c", borrow=4), _queue("b", 16, "c")])
    assert found == {"a": (12, 8), "b": (24, 16), "c": (24, None)}


def test_what_is_not_lent_cannot_be_borrowed() -> None:
    found = _caps([_queue("a", 8, "c"), _queue("b", 16, "c", lend=4)])
    assert found == {"a": (12, 8), "b": (24, 16), "c": (24, None)}


def test_cohorts_borrow_from_the_cohort_above() -> None:
    found = _caps([_queue("a", 8, "c"), _queue("b", 16, "top")], _cohort("c", "top"))
    assert found == {"a": (24, 8), "b": (24, 16), "c": (24, None), "top": (24, None)}


def test_cohorts_above_themselves_are_cut() -> None:
    found = _caps([_queue("a", 8, "c")], _cohort("c", "d"), _cohort("d", "c"))
    assert found["a"] == (8, 8)


def test_queue_and_cohort_of_one_name_are_two_tenants() -> None:
    assert set(_caps([_queue("a", 8, "a")])) == {"a", "queue a"}


def test_volcano_queues_have_capability_as_cap() -> None:
    spec = {"capability": {GPU: "16"}, "deserved": {GPU: "20"}, "parent": "top"}
    queues = [
        VolcanoQueue.model_validate({"metadata": {"name": "a"}, "spec": spec}),
        VolcanoQueue.model_validate({"metadata": {"name": "top"}, "spec": {"parent": "a"}}),
    ]
    found = queues_of([], [], [], [], queues).tenants
    assert (found["a"].cap, found["a"].guaranteed) == (16, 16)
    assert found["top"].cap is None
    assert {found["a"].parent, found["top"].parent} == {None, "a"}  # A cycle is cut.


# Networks ----------------------------------------------------------------------------------------


def _hyper(name: str, tier: int, *selectors: dict[str, Any], kind: str = "Node") -> HyperNode:
    members = [{"type": kind, "selector": one} for one in selectors]
    return HyperNode.model_validate(
        {"metadata": {"name": name}, "spec": {"tier": tier, "members": members}}
    )


def test_hyper_nodes_choose_by_name_pattern_and_label() -> None:
    nodes: dict[str, dict[str, str]] = {"a-1": {}, "b-1": {}, "c-1": {"t": "c"}, "d-1": {}}
    found = network_of(
        nodes,
        [],
        [
            _hyper("a", 1, {"exactMatch": {"name": "a-1"}}),
            _hyper("b", 1, {"regexMatch": {"pattern": "^b-[0-9]+$"}}),
            _hyper("c", 1, {"labelMatch": {"matchLabels": {"t": "c"}}}),
            _hyper("top", 2, *({"exactMatch": {"name": n}} for n in "ab"), kind="HyperNode"),
        ],
    )
    assert found is not None
    assert {name: [part for _, part in path] for name, path in found.above.items()} == {
        "a-1": ["top", "a"],
        "b-1": ["top", "b"],
        "c-1": ["c"],
        "d-1": [],
    }
    parents, levels = found.tree("cluster")
    assert parents["a-1"] == "top/a"
    assert parents["d-1"] == "cluster"
    assert levels["top"] == "tier-2"


@pytest.mark.parametrize("pattern", ["(a+)+$", "a*b*c*d*", "x" * 300, "[", "(?P<n>a)"])
def test_patterns_that_may_take_for_ever_are_not_read(pattern: str) -> None:
    assert not is_read(pattern)


def test_topology_that_most_nodes_have_is_the_network() -> None:
    def topology(name: str, *labels: str) -> Topology:
        levels = [{"nodeLabel": one} for one in (*labels, "kubernetes.io/hostname")]
        return Topology.model_validate({"metadata": {"name": name}, "spec": {"levels": levels}})

    nodes = {"a": {"x": "1"}, "b": {"y": "1", "z": "1"}, "c": {"y": "1", "z": "1"}}
    found = network_of(nodes, [topology("one", "x"), topology("two", "y", "z")], [])
    assert found is not None
    assert found.levels == ("y", "z")
    assert found.above["a"] == ()


@pytest.mark.parametrize(
    ("labels", "levels"),
    [
        ([f"topology.k8s.aws/network-node-layer-{n}" for n in (3, 1, 2)], "1 2 3"),
        ([f"fabric.topograph.run/tier-{n}" for n in (0, 1, 10)], "10 1 0"),
        (
            [f"network.topology.nvidia.com/{n}" for n in ("leaf", "core", "spine")],
            "core spine leaf",
        ),
        (
            [f"cloud.google.com/gce-topology-{n}" for n in ("host", "subblock", "block")],
            "block subblock",
        ),
        (["nvidia.com/gpu.clique"], "clique"),
    ],
)
def test_known_labels_are_levels_from_the_top(labels: list[str], levels: str) -> None:
    found = network_of({"n": dict.fromkeys(labels, "v")}, [], [])
    assert found is not None
    assert [
        one.rpartition("-")[2].rpartition("/")[2].rpartition(".")[2] for one in found.levels
    ] == levels.split()


def test_parts_of_one_name_in_two_blocks_are_two() -> None:
    nodes = {"a": {"b": "1", "r": "1"}, "c": {"b": "2", "r": "1"}, "1": {"b": "1", "r": "2"}}
    found = network_of(nodes, [], [], ["b", "r"])
    assert found is not None
    parents, levels = found.tree("cluster")
    assert parents["a"] != parents["c"]
    assert levels[parents["a"]] == "r"
    assert parents["1"] == "1'/2" or parents["1"] == "1/2"
    assert len({*parents, "cluster"}) == len(parents) + 1
