"""One small model of each formulation written out, component by component, for people to review.

`python tests/formulations/test_golden.py` writes the files anew. They are no LP files, because the
paper's program has products of three variables; but they read like them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pyomo.environ as pyo
import pytest
from golden import constraints_of, text_of, variables_of
from pyomo.core.expr.visitor import identify_variables

from rarmodel import registry
from rarmodel.files import parse_instance
from rarmodel.formulations import Component, Formulation, Scope
from rarmodel.formulations.intervals import cumulatives_of
from rarmodel.limits import Limits
from rarmodel.model import job_extremes, topology
from rarmodel.model.features import PREEMPTION, RESOURCES, RING_SIZES, SERVICES, SHARED_GPUS
from rarmodel.model.sharing_rule import COUNT, RULES, SharingRule
from rarmodel.schema import Instance, Schedule
from rarmodel.solvers.highs import HIGHS

GOLDEN = Path(__file__).parent / "golden"
BY_RULE = ("time-indexed", "time-indexed-compact", "time-indexed-preemptive", "rar-ddls")
"""Formulations whose models differ by the sharing rule."""
WIDE = (*BY_RULE, "interval")
"""Formulations whose golden model is that of the wide example."""
OF_AN_OBJECTIVE = ("within_", "most_links_", "tardy_", "late_")
"""How names of variables begin of which there is one for each objective that needs them."""


class Case(NamedTuple):
    """A formulation, the rule by which rings share links, and what is beside plain jobs."""

    formulation: Formulation
    rule: SharingRule
    on_shared_gpus: bool = False
    beside_services: bool = False
    slices: bool = False

    @property
    def name(self) -> str:
        """Name of the file."""
        name = self.formulation.name
        name = name if self.rule is COUNT else f"{name}-by-{self.rule.name}"
        name = f"{name}-on-shared-gpus" if self.on_shared_gpus else name
        name = f"{name}-beside-services" if self.beside_services else name
        return f"{name}-in-slices" if self.slices else name


def cases() -> Iterator[Case]:
    for name in registry.names("formulations"):
        formulation = registry.find("formulations", name)
        for rule in RULES.values() if name in BY_RULE else [COUNT]:
            yield Case(formulation, rule)
            if name in BY_RULE and SHARED_GPUS.name in formulation.handles:
                yield Case(formulation, rule, on_shared_gpus=True)
            if name in BY_RULE and SERVICES.name in formulation.handles:
                yield Case(formulation, rule, beside_services=True)
            if name == "time-indexed":
                yield Case(formulation, rule, beside_services=True, slices=True)
                yield Case(formulation, rule, on_shared_gpus=True, beside_services=True)


CASES = {case.name: case for case in cases()}


def example(rule: SharingRule = COUNT) -> dict[str, Any]:
    """Three jobs on three servers of a tree; two jobs and two servers are equal."""
    job = {
        "iterations": 2,
        "gradient_mb": 100.0,
        "batch_size": 1,
        "forward_ms_per_sample": 50.0,
        "backward_ms": 50.0,
    }
    # With weights, not every formulation takes links of several rates.
    uplink = 2.0 if rule is COUNT else 4.0
    links = [("s0", "rack", 4.0), ("s1", "rack", 4.0), ("rack", "core", uplink)]
    links.append(("s2", "core", 4.0))
    return {
        "schema_version": 1,
        "name": "golden",
        "time": {"slot_seconds": 1.0, "horizon": 10},
        "cluster": {
            "servers": [{"name": f"s{i}", "gpus": gpus} for i, gpus in enumerate([2, 2, 3])],
            "network": {
                "kind": "tree",
                "links": [{"node": n, "parent": p, "gbps": gbps} for n, p, gbps in links],
            },
            "intra_server_gbps": 100.0,
            "reduction_gbps": 100.0,
        },
        "contention": {
            "concurrency": 1.0,
            "degradation": {"kind": "linear", "alpha": 0.2},
            "overhead_ms_per_server": 10.0,
            "model": rule.name,
        },
        "jobs": [
            {"name": name, "gpus": gpus, **job} for name, gpus in zip("abc", [2, 3, 3], strict=True)
        ],
    }


def wide_example(formulation: Formulation, rule: SharingRule) -> Instance:
    """The example with most features that a formulation handles, and four objectives."""
    data = example(rule)
    if PREEMPTION.name in formulation.handles:  # Two jobs make a large model.
        del data["jobs"][2]
    a, *others = data["jobs"]
    a |= {"running": {"gpus": {"s2": [0, 1]}, "iterations_done": 1}, "due": 1}
    for job in others:
        job |= {"after": ["a"], "tenant": "t", "release": 1, "weight": 2, "due": 3}
        if RING_SIZES.name in formulation.handles:
            job |= {"gpus": [2, 3], "global_batch_size": 6}
            del job["batch_size"]
    data["tenants"] = [{"name": "t", "gpus": 3}]
    if RESOURCES.name in formulation.handles:
        windows = [{"from": 0, "to": 2, "capacity": 0.3}, {"from": 3, "to": 5, "capacity": 0.7}]
        data["resources"] = [{"name": "power", "capacity": windows}]
        for job in data["jobs"]:
            job |= {"resources": {"power": 0.2}, "resources_per_gpu": {"power": 0.1}}
    data["cluster"]["reservations"] = [{"server": "s2", "gpus": 2, "from": 1, "to": 3}]
    data["cluster"]["servers"][2]["intra_server_gbps"] = 2.0
    if formulation.name == "time-indexed-compact" or (formulation.name, rule) == (
        "rar-ddls",
        COUNT,
    ):
        data["cluster"]["servers"][1]["network_cards"] = 2
    if formulation.name == "time-indexed-compact":  # In others these change only the placements.
        slow = {"forward_ms_per_sample": 100.0, "backward_ms": 300.0}
        plain = {field: others[0].pop(field) for field in slow}
        others[0] |= {
            "spread": {"min_servers": 2, "equal": True},
            "times": {"A": plain, "V": slow},
        }
        for server, kind in zip(data["cluster"]["servers"], "AAV", strict=True):
            server["gpu_type"] = kind
        others[1]["spread"] = {"within": "rack"}
        for link in data["cluster"]["network"]["links"]:
            if link["parent"] == "core":  # The third server is a rack of its own.
                link["level"] = "rack"
    if PREEMPTION.name in formulation.handles:
        data["preemption"] = {"restore_seconds": 2 * data["time"]["slot_seconds"]}
        a["checkpoint_iterations"], others[0]["checkpoint_iterations"] = 2, None
    data["objective"] = ["total-tardiness", "max-stretch", "makespan", "total-links"]
    return parse_instance(data)


def shared_example(rule: SharingRule) -> Instance:
    """The example on one rack whose GPUs have two slices; a job runs where GPUs are reserved."""
    data = example(rule)
    del data["cluster"]["servers"][1]
    data["cluster"]["network"]["links"] = [
        {"node": f"s{i}", "parent": "core", "gbps": 4.0} for i in (0, 2)
    ]
    data["cluster"] |= {"gpu_slices": 2, "gpu_memory_gb": 40}
    data["cluster"]["servers"][1]["gpus"] = 1
    data["cluster"]["reservations"] = [{"server": "s0", "gpus": 1, "from": 0, "to": 2}]
    for job in data["jobs"]:
        # Others on the links and on the GPUs are too much only together.
        job |= {"backward_ms": 350.0, "gradient_mb": 100.0 if rule is COUNT else 150.0}
    a, b, c = data["jobs"]
    a |= {"gpus": 1, "slices": 1, "running": {"gpus": {"s0": [1]}, "iterations_done": 1}}
    b |= {"gpus": 2, "slices": 1, "memory_gb": 30, "kind": "vision"}
    c |= {"gpus": 2, "slices": 1, "memory_gb": 20, "kind": "vision"}
    data["colocation"] = [{"kind": "vision", "beside": "vision", "slowdown": 1.5}]
    return parse_instance(data)


def serving_example(rule: SharingRule = COUNT, *, slices: bool = True) -> Instance:
    """The example with a service of three variants, whose tenant has a cap."""
    data = example(rule)
    data["cluster"] |= {"gpu_slices": 2, "prices_per_gpu_hour": 3600}
    data["tenants"] = [{"name": "t", "gpus": 3}]
    rates = enumerate([80, 0, 40])
    entries = [{"from": 2 * i, "to": 2 * i + 2, "requests_per_second": r} for i, r in rates]
    kinds = [{"name": "large", "gpus": 2, "accuracy": 0.9, "startup_seconds": 1}]
    kinds.append({"name": "small", "accuracy": 0.5})
    kinds.append({"name": "half", "slices": 1, "accuracy": 0.7} if slices else {"name": "poor"})
    kinds[-1].setdefault("accuracy", 0.4)
    batches = {"batches": [{"size": 1, "latency_ms": 25}]}
    served = {"name": "chat", "demand": entries, "latency_ms": 50, "min_accuracy": 0.6}
    served |= {"variants": [kind | batches for kind in kinds], "servers": ["s0", "s1"]}
    data["services"] = [served | {"tenant": "t"}]
    return parse_instance(data)


def shared_serving_example() -> Instance:
    """The shared example with a service, for which one replica is nearly enough."""
    data = shared_example(COUNT).model_dump(mode="json", exclude_unset=True, by_alias=True)
    batches: dict[str, Any] = {"batches": [{"size": 1, "latency_ms": 25}]}
    kinds: list[dict[str, Any]] = [
        {"name": "whole"},
        {"name": "half", "slices": 1, "memory_gb": 15},
    ]
    asked = {"from": 0, "to": 3, "requests_per_second": 40.0001}
    served: dict[str, Any] = {"name": "chat", "demand": [asked], "latency_ms": 50}
    data["services"] = [served | {"variants": [kind | batches for kind in kinds]}]
    return parse_instance(data)


def pooled() -> dict[str, Any]:
    """A limit, and a pool of two schedules of the example."""
    pool = [
        [("a", 0, {"s0": [0, 1]}), ("b", 0, {"s2": [0, 1, 2]}), ("c", 3, {"s2": [0, 1, 2]})],
        [("a", 4, {"s0": [0, 1]}), ("b", 0, {"s2": [0, 1, 2]}), ("c", 4, {"s2": [0, 1, 2]})],
    ]
    schedules = [
        Schedule.model_validate(
            {
                "schema_version": 1,
                "instance": "golden",
                "method": "by hand",
                "assignments": [{"job": j, "start": t, "gpus": held} for j, t, held in made],
            }
        )
        for made in pool
    ]
    return {"schedules": schedules, "limit": 7}


def scope_of(case: Case) -> Scope:
    """The scope of the golden model of a formulation."""
    if case.formulation.name == "cheapest-mix":
        instance = serving_example()
        return Scope(instance, topology(instance.cluster), job_extremes(instance), 10, 1)
    if case.on_shared_gpus and case.beside_services:
        instance = shared_serving_example()
        return Scope(instance, topology(instance.cluster), job_extremes(instance), 2, 1)
    if case.on_shared_gpus:
        instance = shared_example(case.rule)
        return Scope(instance, topology(instance.cluster), job_extremes(instance), 3, 1)
    if case.beside_services:
        instance = serving_example(case.rule, slices=case.slices)
        return Scope(instance, topology(instance.cluster), job_extremes(instance), 3, 1)
    if case.formulation.name not in WIDE:
        instance = parse_instance(example())
        parts = topology(instance.cluster), job_extremes(instance)
        return Scope(instance, *parts, 10, 1, pooled())
    instance = wide_example(case.formulation, case.rule)
    scope = Scope(instance, topology(instance.cluster), job_extremes(instance), 4, 1)
    return replace(scope, stage=3, at_most=(30, Fraction(30), 4, 30))


def written(case: Case) -> str:
    """The model of a case, component by component."""
    composition = case.formulation.composition
    assert composition is not None
    scope = composition.scope_of(scope_of(case))
    model = pyo.ConcreteModel(case.name)
    texts = [f"{case.name}: {case.formulation.description}\n"]
    for component in composition.chosen(scope):
        before = set(model.component_map())
        declared = len(cumulatives_of(model))
        component.build(model, scope)
        names = [name for name in model.component_map() if name not in before]
        texts.append(f"\n# {component.name}\n")
        texts += (variables_of(model.component(name)) for name in names)
        texts += (constraints_of(model.component(name)) for name in names)
        texts += (text_of(one) for one in cumulatives_of(model)[declared:])
    return "".join(texts)


@pytest.mark.parametrize("name", CASES)
def test_a_model_is_as_reviewed(name: str) -> None:
    path = GOLDEN / f"{name}.txt"
    assert path.read_text(encoding="utf-8") == written(CASES[name])


def test_every_golden_file_belongs_to_a_model() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(CASES)


def components() -> Iterator[tuple[str, Component]]:
    for case in CASES.values():
        if case.on_shared_gpus or case.beside_services:
            continue  # Its components are those of the same formulation elsewhere.
        assert case.formulation.composition is not None
        for component in case.formulation.composition.components:
            if component.holds_by(case.rule):
                yield case.name, component


@pytest.mark.parametrize(
    ("name", "component"), list(components()), ids=lambda one: getattr(one, "name", one)
)
def test_every_component_is_shown_and_states_its_mathematics(
    name: str, component: Component
) -> None:
    case = CASES[name]
    alike = [name for name, one in CASES.items() if one[:2] == case[:2]]
    texts = [(GOLDEN / f"{name}.txt").read_text(encoding="utf-8") for name in alike]
    parts = [part for text in texts for part in text.split(f"\n# {component.name}\n")[1:]]
    assert parts, "no golden instance has it"
    if component.name not in {"pool", "starting_solution"}:
        assert parts[0].split("\n# ")[0].strip(), "it adds nothing to the golden instance"
    assert component.mathematics


def names_in(expression: Any) -> set[str]:
    """The families of variables in an expression."""
    return {variable.parent_component().local_name for variable in identify_variables(expression)}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("every", [False, True], ids=["in order", "every schedule"])
def test_a_component_needs_and_gives_what_it_says(name: str, every: bool) -> None:
    case = CASES[name]
    composition = case.formulation.composition
    assert composition is not None
    scope = composition.scope_of(replace(scope_of(case), every_schedule=every))
    model = pyo.ConcreteModel()
    behind: dict[str, set[str]] = {}  # By name: the families of variables that it stands for.
    for component in composition.chosen(scope):
        before = set(model.component_map()) | set(vars(model))
        component.build(model, scope)
        added = [one for one in model.component_objects() if one.local_name not in before]
        for one in added:
            if one.ctype is pyo.Var:
                behind[one.local_name] = {one.local_name}
            elif one.ctype is pyo.Expression:
                behind[one.local_name] = {n for data in one.values() for n in names_in(data.expr)}
        made = {one.local_name for one in added if one.ctype in {pyo.Var, pyo.Expression}}
        made = {name for name in made if not name.startswith(OF_AN_OBJECTIVE)}
        assert made <= set(component.gives), component.name
        known = {name for name in behind if name.startswith(OF_AN_OBJECTIVE)}
        for given in (*component.needs, *component.gives):
            known |= behind.get(given, set())
        for one in added:
            if one.ctype in {pyo.Constraint, pyo.Objective}:
                for data in one.values():
                    used = names_in(data.body if one.ctype is pyo.Constraint else data.expr)
                    assert used <= known, (component.name, data.name)


STRONG, COMPACT, PREEMPTIVE = (18 / 7, 22 / 3), (9 / 4, 20 / 3), (17 / 8, 19 / 3)
RELAXED = {
    "time-indexed": STRONG,
    "time-indexed-by-duty": STRONG,
    "time-indexed-compact": COMPACT,
    "time-indexed-compact-by-duty": COMPACT,
    "time-indexed-preemptive": PREEMPTIVE,
    "time-indexed-preemptive-by-duty": PREEMPTIVE,
}
"""Optima of the linear relaxations, without a lower bound: makespan and total completion."""


@pytest.mark.parametrize("objective", [0, 1], ids=["makespan", "total-completion"])
@pytest.mark.parametrize("name", RELAXED)
def test_the_linear_relaxation_is_as_strong_as_it_was(name: str, objective: int) -> None:
    case = CASES[name]
    data = example(case.rule)
    for job in data["jobs"]:
        job |= {"iterations": 6, "forward_ms_per_sample": 100.0, "backward_ms": 100.0}
    data["objective"] = ("makespan", "total-completion")[objective]
    instance = parse_instance(data)
    scope = Scope(instance, topology(instance.cluster), job_extremes(instance), 9, 0)
    model = case.formulation.build(scope)
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    answer = HIGHS.solve(model, Limits())
    assert answer.bound == pytest.approx(RELAXED[name][objective], abs=1e-5)


if __name__ == "__main__":
    for old in GOLDEN.iterdir():
        old.unlink()
    for case in CASES.values():
        (GOLDEN / f"{case.name}.txt").write_text(written(case), encoding="utf-8")
