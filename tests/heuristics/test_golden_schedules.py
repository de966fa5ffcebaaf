"""The methods' schedules of the bundled instances, digested: to the last GPU they stay the same.

A faster rule or engine must not change them. Where a method is to choose otherwise,
`python tests/heuristics/test_golden_schedules.py` writes the digests anew.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from rarmodel import list_instances, load_instance
from rarmodel.heuristics.policies import installed_policies
from rarmodel.instances import EXAMPLES
from rarmodel.limits import Limits
from rarmodel.methods import Method
from rarmodel.schema import Instance
from rarmodel.schema.resources import CapacityWindow, Resource
from rarmodel.search import SEARCH

NAMES = [row["name"] for row in list_instances(EXAMPLES)]
LIMITS = Limits(iterations=20, threads=1, seed=1)
GOLDEN = Path(__file__).parent / "golden_schedules.json"


def digests(name: str) -> dict[str, str]:
    """Digest of the starts and GPUs that each method gives the jobs of an instance."""
    return digests_of(load_instance(name))


def digests_of(instance: Instance) -> dict[str, str]:
    """The same of an instance that has no name in the catalogue."""
    made = {}
    # A list of objectives: what decides between equal schedules is not what methods choose.
    instance = instance.model_copy(update={"objective": instance.objectives})
    methods: list[Method] = [*installed_policies(), SEARCH]
    for method in methods:
        schedule = method(instance, LIMITS).schedule
        text = schedule.model_dump_json(exclude={"placement", "services"}) if schedule else "none"
        made[method.name] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return made


@pytest.mark.parametrize("name", NAMES)
def test_schedules_are_the_golden_ones(name: str) -> None:
    assert digests(name) == json.loads(GOLDEN.read_text())[name]


@pytest.mark.parametrize("name", ["two-servers", "rack-tree"])
def test_resources_that_no_job_uses_change_nothing(name: str) -> None:
    bare, windows = (
        load_instance(name),
        (CapacityWindow.model_validate({"from": 2, "capacity": 0}),),
    )
    unused = (Resource(name="licence", capacity=0), Resource(name="power", capacity=windows))
    jobs = tuple(job.model_copy(update={"resources": {"licence": 0}}) for job in bare.jobs)
    listed = bare.model_copy(update={"resources": unused, "jobs": jobs})
    golden = json.loads(GOLDEN.read_text())[name]
    assert digests_of(listed) == digests_of(bare) == golden


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({name: digests(name) for name in NAMES}, indent=2) + "\n")
