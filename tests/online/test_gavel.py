"""Gavel's programs with one type of GPU, and what its fairness counts, beside other ways."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st

from rarmodel.online.gavel_programs import Demand, Gavel
from rarmodel.online.policies import gavel

PROGRAM = Gavel("shares")


def demand(speed: Any, gpus: Any, need: Any, there: Any) -> Demand:
    """A demand, with all prices 1."""
    one, two, three, four = (np.array(one, np.float64) for one in (speed, gpus, need, there))
    return Demand(one, two, three, four, np.ones(len(there)))


JOB = st.tuples(st.integers(1, 9), st.integers(1, 8), st.integers(0, 30))


@examples(25)
@given(jobs=st.lists(JOB, min_size=1, max_size=8), there=st.integers(8, 20))
def test_one_type_has_the_optimum_of_the_program(
    jobs: list[tuple[int, int, int]], there: int
) -> None:
    speed, gpus, need = zip(*jobs, strict=True)
    known = PROGRAM(demand([[one] for one in speed], gpus, need, [there]))
    # A second type on which nobody runs goes to the solver.
    solved = PROGRAM(demand([[one, 0] for one in speed], gpus, need, [there, 1]))
    if not any(need):
        assert known is solved is None
        return
    assert known is not None
    assert solved is not None
    assert known.level == pytest.approx(solved.level, rel=1e-6)
    parts = known.parts[:, 0]
    assert (parts * speed >= np.array(need) * known.level - 1e-9).all()
    assert parts @ np.array(gpus) <= there + 1e-9
    assert parts.max() <= 1


@pytest.mark.parametrize("types", [1, 2])
def test_a_job_that_runs_nowhere_takes_nothing_from_the_others(types: int) -> None:
    rows = [[2.0] * types, [0.0] * types]
    found = PROGRAM(demand(rows, [1, 9], [2, 2], [1] + [0] * (types - 1)))
    assert found is not None
    assert found.level == pytest.approx(1)
    assert found.parts[0, 0] == pytest.approx(1)


def test_a_model_with_more_room_than_jobs_asks_nothing_for_the_rest() -> None:
    program = Gavel("shares")
    many = demand([[1.0, 1.0]] * 5, [1] * 5, [1] * 5, [1, 1])
    few = demand([[1.0, 1.0]] * 2, [1] * 2, [1] * 2, [1, 1])
    levels = [found.level for one in (many, few, many) if (found := program(one)) is not None]
    assert levels == pytest.approx([0.4, 1.0, 0.4])
    assert program.built == 1


def test_alone_a_job_has_been_there_for_as_long_as_its_work_takes_alone() -> None:
    memory: dict[str, Any] = {}

    def isolated(left: list[int]) -> list[float]:
        jobs = len(left)

        class Seen(SimpleNamespace):
            def __len__(self) -> int:
                return jobs

        state: Any = Seen(
            cluster=SimpleNamespace(total_gpus=1),
            number=np.arange(jobs),
            iterations=np.array(left),
            memory=memory,
        )
        one = np.ones(1)
        known = gavel.Known([None], np.ones((jobs, 1)), np.ones(jobs), one, one)
        found: list[float] = gavel._isolated(state, known).tolist()
        return found

    # Half a GPU each: 4 iterations take 8 slots.
    assert isolated([4, 4]) == [8, 8]
    # The first did 3 iterations, in 6 slots of its half, and does one in 4 slots of its quarter.
    # The second waited, which takes no time alone.
    assert isolated([1, 4, 4, 4]) == [10, 16, 16, 16]
