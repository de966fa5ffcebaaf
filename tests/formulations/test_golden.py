"""Each constraint family written out for a small instance, so that its changes can be reviewed.

`python tests/formulations/test_golden.py` writes the files anew.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from golden import families_of

from rarmodel.files import parse_instance
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.compact import COMPACT
from rarmodel.formulations.rar_ddls import RAR_DDLS
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.formulations.time_indexed_preemptive import TIME_INDEXED_PREEMPTIVE
from rarmodel.model import job_extremes, topology
from rarmodel.model.features import PREEMPTION, RING_SIZES
from rarmodel.schema import Instance

GOLDEN = Path(__file__).parent / "golden"
FORMULATIONS = (TIME_INDEXED, COMPACT, RAR_DDLS, TIME_INDEXED_PREEMPTIVE)


def families(formulation: Formulation) -> dict[str, str]:
    """Text of each constraint family of the model, and of the variables' bounds."""
    instance = example()
    scope = Scope(instance, topology(instance.cluster), job_extremes(instance), 4, 1)
    return families_of(formulation.build(scope))


def wide_families(formulation: Formulation) -> dict[str, str]:
    """The same of an instance with most features that it handles, and two objectives."""
    plain = example()
    data = plain.model_dump(mode="json", exclude_unset=True)
    a, b, c = data["jobs"]
    a |= {"running": {"gpus": {"s0": [0, 1]}, "iterations_done": 1}, "due": 1}
    b |= {"after": ["a"], "tenant": "t", "release": 1, "weight": 2, "due": 3}
    c |= {"deadline": 1, "tenant": "t"}
    if RING_SIZES.name in formulation.handles:
        c |= {"gpus": [1, 3], "global_batch_size": 3}
        del c["batch_size"]
    data["tenants"] = [{"name": "t", "gpus": 2}]
    data["cluster"]["reservations"] = [{"server": "s0", "gpus": 1, "from": 1, "to": 3}]
    if formulation is not TIME_INDEXED:  # Its placements have other numbers, and no other families.
        data["cluster"]["servers"][2]["intra_server_gbps"] = 2.0
    if formulation is COMPACT:
        slow = {"forward_ms_per_sample": 100.0, "backward_ms": 300.0}
        b |= {"spread": {"min_servers": 2, "equal": True}, "times": {"A": times(b), "V": slow}}
        for server, kind in zip(data["cluster"]["servers"], "AAV", strict=True):
            server["gpu_type"] = kind
    if PREEMPTION.name in formulation.handles:
        data["preemption"] = {"restore_seconds": 2 * data["time"]["slot_seconds"]}
    data["objective"] = ["total-tardiness", "max-stretch"]
    instance = parse_instance(data)
    scope = Scope(instance, topology(instance.cluster), job_extremes(instance), 4, 1)
    scope = replace(scope, stage=1, at_most=(3, Fraction(3)), every_schedule=True)
    texts = families_of(formulation.build(scope))
    # What the plain instance shows may be empty here.
    known = MODELS[formulation.name]
    return {name: text for name, text in texts.items() if text.strip() or name not in known}


def times(job: dict[str, Any]) -> dict[str, float]:
    """The two plain fields of a job, moved."""
    return {field: job.pop(field) for field in ("forward_ms_per_sample", "backward_ms")}


def example() -> Instance:
    """Three jobs on three servers of a tree."""
    job = {
        "iterations": 2,
        "gradient_mb": 100.0,
        "batch_size": 1,
        "forward_ms_per_sample": 100.0,
        "backward_ms": 100.0,
    }
    links = [("s0", "rack", 4.0), ("s1", "rack", 4.0), ("rack", "core", 2.0), ("s2", "core", 4.0)]
    return parse_instance(
        {
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
            },
            "jobs": [
                {"name": name, "gpus": gpus, **job}
                for name, gpus in zip("abc", [2, 2, 3], strict=True)
            ],
        }
    )


MODELS = {formulation.name: families(formulation) for formulation in FORMULATIONS}
MODELS |= {f"{formulation.name}-wide": wide_families(formulation) for formulation in FORMULATIONS}
FAMILIES = {
    (name, family): text for name, texts in MODELS.items() for family, text in texts.items()
}


@pytest.mark.parametrize(("formulation", "family"), sorted(FAMILIES))
def test_constraint_family_is_as_reviewed(formulation: str, family: str) -> None:
    path = GOLDEN / formulation / f"{family}.txt"
    assert path.read_text(encoding="utf-8") == FAMILIES[formulation, family]


def test_every_golden_file_belongs_to_a_family() -> None:
    assert {(path.parent.name, path.stem) for path in GOLDEN.rglob("*.txt")} == set(FAMILIES)


def test_the_instance_shows_every_family() -> None:
    assert [family for family, text in FAMILIES.items() if not text.strip()] == []


if __name__ == "__main__":
    for old in GOLDEN.rglob("*.txt"):
        old.unlink()
    for (name, family), text in FAMILIES.items():
        (GOLDEN / name).mkdir(parents=True, exist_ok=True)
        (GOLDEN / name / f"{family}.txt").write_text(text, encoding="utf-8")
