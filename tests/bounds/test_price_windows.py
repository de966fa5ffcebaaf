"""Windows from prices of GPUs: no schedule that is good enough leaves them, and they are short."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from wide_instances import OBJECTIVES, WIDE, every_wide_report, random_wide

from rarmodel import generate
from rarmodel.bounds import windows_by_prices
from rarmodel.bounds.gpu_prices import outcome
from rarmodel.model import Window, horizon_of, job_extremes, windows
from rarmodel.model.objectives import Value, objective, objectives_of
from rarmodel.schema import Instance

NAMES = [feature.name for feature in WIDE]
SUMS = [one for one in OBJECTIVES if objective(one).of_completions and not objective(one).greatest]


@pytest.mark.parametrize("name", SUMS)
def test_good_schedules_keep_the_windows(name: str) -> None:
    kept = 0
    for seed in range(4):
        random = Random(seed)
        features = set(random.sample(NAMES, random.randint(0, 2)))
        other = random.choice([one for one in SUMS if one != name])
        objectives = [name] if seed % 3 else [name, other]
        instance = random_wide(
            random, features, jobs=2, servers=2, objectives=objectives, most_slots=2
        )
        made = list(every_wide_report(instance, min(4, horizon_of(instance))))
        found = [tuple((report.objective or {}).values()) for _, report in made]
        for at_most in {*found[:1], *sorted(set(found))[:3]}:
            allowed = windows_by_prices(instance, at_most)
            if allowed is None:
                continue
            for (schedule, report), values in zip(made, found, strict=True):
                if any(value > most for value, most in zip(values, at_most, strict=True)):
                    continue
                kept += 1
                starts = {one.job: one.start for one in schedule.assignments}
                for job, window in zip(instance.jobs, allowed, strict=True):
                    assert window.start <= starts[job.name], (seed, at_most, job.name)
                    end = report.completion[job.name]
                    assert end is not None
                    assert end <= window.end, (seed, at_most, job.name)
    assert kept > 20


def arriving() -> Instance:
    return generate(
        "paper",
        jobs=20,
        servers=8,
        capacities=(4,),
        seed=1,
        contention=False,
        features=("releases:within=0.5",),
        objective="total-flow",
    )


def room(instance: Instance, at_most: Value, known: Sequence[Window] | None) -> int:
    """Slots in which jobs may start, all together."""
    found = windows(instance, horizon_of(instance), (at_most,), known)
    least = (extreme.least_slots for extreme in job_extremes(instance))
    return sum(end - start - slots for (start, end), slots in zip(found, least, strict=True))


def test_prices_leave_less_than_half_of_the_starts_where_the_gap_is_small() -> None:
    instance = arriving()
    best = 2827  # As CP-SAT proves.
    known = windows_by_prices(instance, (best,))
    assert room(instance, best, known) < 0.5 * room(instance, best, None)


def test_below_the_bound_some_job_has_no_start() -> None:
    instance = arriving()
    found = outcome(instance, objectives_of(instance)[0])
    assert found is not None
    allowed = windows_by_prices(instance, (found.value - 1,))
    assert allowed is not None
    assert any(window.start == window.end for window in allowed)


def test_prices_say_nothing_of_the_greatest_term() -> None:
    instance = arriving().model_copy(update={"objective": "max-flow"})
    assert windows_by_prices(instance, (10**6,)) is None
