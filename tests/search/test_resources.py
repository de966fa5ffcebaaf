"""Search on instances with resources: power, and jobs that must not overlap."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from wide_instances import OBJECTIVES, WIDE, random_wide, steady
from wide_optimum import optimum

import rarmodel
from rarmodel.model import horizon_of
from rarmodel.model.features import RELEASES, RESERVATIONS, RESOURCES, RUNNING_JOBS
from rarmodel.schema import Instance
from rarmodel.verifier import verify

TWO_RACKS = Path(__file__).parents[2] / "docs" / "examples" / "two-racks.json"


def test_fourteen_jobs_keep_the_power_and_two_do_not_overlap() -> None:
    instance = rarmodel.load_instance(str(TWO_RACKS))
    result = rarmodel.solve(instance, method="search", iterations=20, seed=1, threads=1)
    assert result.schedule is not None
    report = verify(instance, result.schedule, slot_by_slot=True)
    assert report.feasible
    assert result.lower_bound == 23
    assert result.makespan is not None
    assert result.makespan <= 25
    starts = {one.job: one.start for one in result.schedule.assignments}
    first, second = sorted(("j01", "j07"), key=starts.__getitem__)
    end = report.completion[first]
    assert end is not None
    assert end <= starts[second]


@pytest.mark.parametrize("seed", range(12))
def test_search_finds_the_optimum_of_tiny_instances(seed: int) -> None:
    random = Random(seed)
    others = random.sample([RELEASES.name, RESERVATIONS.name, RUNNING_JOBS.name], seed % 3)
    instance = random_wide(
        random, {RESOURCES.name, *others}, objectives=[OBJECTIVES[seed % 9]], most_slots=3
    )
    best = optimum(instance, horizon_of(instance) + 1)
    result = rarmodel.solve(instance, method="search", iterations=20, seed=seed, threads=1)
    if best is None:
        assert result.schedule is None
        return
    assert result.schedule is not None
    assert result.objective is not None
    value = result.objective[0].value
    assert value is not None
    # No list schedule waits for nothing, which costs may ask for.
    assert value >= best[0]
    if instance.objectives[0] != "cost":
        assert value == best[0]


def more_of_all(instance: Instance) -> Instance:
    """The same with twice as much of each resource."""
    resources = (
        one.model_copy(update={"capacity": 2 * float(one.windows[0].capacity)})
        for one in steady(instance).resources
    )
    return instance.model_copy(update={"resources": tuple(resources)})


@pytest.mark.parametrize("seed", range(20))
def test_more_of_a_resource_or_a_job_less_breaks_nothing(seed: int) -> None:
    """With starts, sizes and GPUs kept, jobs only complete earlier, and use as much or less."""
    random = Random(seed)
    features = [one.name for one in WIDE if random.random() < 0.4]
    instance = steady(random_wide(random, [*features, RESOURCES.name], jobs=4, stall=True))
    found = rarmodel.solve(instance, method="fifo-backfill").schedule
    if found is None:
        pytest.skip("no schedule to begin with")
    before = verify(instance, found)
    assert verify(more_of_all(instance), found).feasible
    for gone in instance.jobs:
        left = tuple(job for job in instance.jobs if job.name != gone.name)
        if not left or any(gone.name in job.after for job in left):
            continue
        rest = instance.model_copy(update={"jobs": left})
        kept = [one for one in found.assignments if one.job != gone.name]
        after = verify(rest, found.model_copy(update={"assignments": tuple(kept)}))
        assert after.feasible
        for job in left:
            end, longer = after.completion[job.name], before.completion[job.name]
            assert end is not None
            assert longer is not None
            assert end <= longer
