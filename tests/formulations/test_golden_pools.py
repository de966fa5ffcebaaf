"""The constraint families of the formulations of section 5, as `test_golden` has the others.

`python tests/formulations/test_golden_pools.py` writes the files anew.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from golden import families_of

from rarmodel.files import parse_instance
from rarmodel.formulations import Scope
from rarmodel.formulations.busy_time import BUSY_TIME
from rarmodel.formulations.busy_time_selection import BUSY_TIME_SELECTION
from rarmodel.formulations.schedule_selection import SCHEDULE_SELECTION
from rarmodel.model import job_extremes, topology
from rarmodel.schema import Schedule

GOLDEN = Path(__file__).parent / "golden_pools"


def golden_scope() -> Scope:
    """Three jobs on two servers, two of them equal, and a pool of two schedules."""
    job = {"gradient_mb": 10.0, "batch_size": 1, "forward_ms_per_sample": 1.0, "backward_ms": 99.0}
    instance = parse_instance(
        {
            "schema_version": 1,
            "name": "golden",
            "time": {"slot_seconds": 1.0, "horizon": 20},
            "cluster": {
                "servers": [{"name": "s0", "gpus": 2}, {"name": "s1", "gpus": 1}],
                "network": {"kind": "star", "gbps": 10.0},
                "intra_server_gbps": 100.0,
                "reduction_gbps": 100.0,
            },
            "contention": {
                "concurrency": 1.0,
                "degradation": {"kind": "linear", "alpha": 0.2},
                "overhead_ms_per_server": 0.1,
            },
            "jobs": [
                {"name": name, "gpus": gpus, "iterations": iterations, **job}
                for name, gpus, iterations in (("a", 2, 40), ("b", 1, 20), ("c", 1, 20))
            ],
        }
    )
    pool = [
        [("a", 0, {"s0": [0, 1]}), ("b", 0, {"s1": [0]}), ("c", 3, {"s1": [0]})],
        [("a", 4, {"s0": [0, 1]}), ("b", 0, {"s0": [0]}), ("c", 0, {"s0": [1]})],
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
    data = {"schedules": schedules, "limit": 7}
    return Scope(instance, topology(instance.cluster), job_extremes(instance), 10, 1, data)


CASES = {
    "schedule-selection": (SCHEDULE_SELECTION, golden_scope()),
    "schedule-selection-empty": (
        SCHEDULE_SELECTION,
        replace(golden_scope(), data={"schedules": []}),
    ),
    "busy-time-selection": (BUSY_TIME_SELECTION, golden_scope()),
    "busy-time": (BUSY_TIME, golden_scope()),
    "busy-time-every-schedule": (BUSY_TIME, replace(golden_scope(), every_schedule=True)),
}
FAMILIES = {
    (case, family): text
    for case, (formulation, scope) in CASES.items()
    for family, text in families_of(formulation.build(scope)).items()
}


@pytest.mark.parametrize(("case", "family"), sorted(FAMILIES))
def test_constraint_family_is_as_reviewed(case: str, family: str) -> None:
    path = GOLDEN / case / f"{family}.txt"
    assert path.read_text(encoding="utf-8") == FAMILIES[case, family]


def test_every_golden_file_belongs_to_a_family() -> None:
    assert {(path.parent.name, path.stem) for path in GOLDEN.rglob("*.txt")} == set(FAMILIES)


def test_the_instance_shows_every_family() -> None:
    empty = {(case, family) for (case, family), text in FAMILIES.items() if not text.strip()}
    assert empty == {("schedule-selection-empty", "same_schedule")}


if __name__ == "__main__":
    for old in GOLDEN.rglob("*.txt"):
        old.unlink()
    for (name, family), text in FAMILIES.items():
        (GOLDEN / name).mkdir(parents=True, exist_ok=True)
        (GOLDEN / name / f"{family}.txt").write_text(text, encoding="utf-8")
