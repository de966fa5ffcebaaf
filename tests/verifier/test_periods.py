"""The course of time as a sequence that is made when it is asked for."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from documents import instance_data, job_data
from hypothesis import given
from hypothesis import strategies as st

from rarmodel.files import parse_instance
from rarmodel.schema import Instance
from rarmodel.verifier import Period, Ring, Run, simulate
from rarmodel.verifier.periods import Periods

SPANS = [(0, 2), (2, 4), (4, 5), (9, 12), (12, 15)]
"""When a (4 slots) and b (3 slots) run from slots 0 and 2, and c (3) and d (6) from slot 9."""


def staggered() -> tuple[Instance, list[Run]]:
    ring: dict[str, Any] = {"gpus": 2, "gradient_mb": 1.0, "backward_ms": 90.0}
    lengths = {"a": 40, "b": 30, "c": 30, "d": 60}
    jobs = [job_data(name, **ring, iterations=n) for name, n in lengths.items()]
    instance = parse_instance(instance_data(*jobs))
    starts = (0, 2, 9, 9)
    return instance, [Run(j, s, {0: 1, 1: 1}) for j, s in zip(instance.jobs, starts, strict=True)]


@pytest.fixture
def periods() -> Sequence[Period]:
    return simulate(*staggered()).periods


def test_periods_are_a_sequence(periods: Sequence[Period]) -> None:
    assert isinstance(periods, Periods)
    assert len(periods) == len(SPANS)
    assert [(p.start, p.end) for p in periods] == SPANS
    assert [(periods[i].start, periods[i].end) for i in range(len(SPANS))] == SPANS
    assert periods[-1] == list(periods)[-1]
    assert list(reversed(periods)) == list(periods)[::-1]
    assert periods[2] in periods
    assert periods.index(periods[2]) == 2


def test_index_out_of_range_says_how_many_there_are(periods: Sequence[Period]) -> None:
    for index in (5, -6):
        with pytest.raises(IndexError, match=f"period {index} of 5"):
            periods[index]


@given(st.slices(8))
def test_slice_is_that_of_a_tuple(wanted: slice) -> None:
    periods = simulate(*staggered()).periods
    assert periods[wanted] == tuple(periods)[wanted]


def test_periods_equal_a_tuple_of_the_same_and_nothing_else(periods: Sequence[Period]) -> None:
    assert periods == tuple(periods)
    assert tuple(periods) == periods
    assert periods == simulate(*staggered()).periods
    assert periods != tuple(periods)[:-1]
    assert periods != (*tuple(periods)[:-1], periods[0])
    no_tuple: object = list(periods)
    assert periods != no_tuple
    instance, runs = staggered()
    assert periods != simulate(instance, runs[:-1]).periods


def test_periods_are_immutable(periods: Sequence[Period]) -> None:
    with pytest.raises(TypeError):
        periods[0] = periods[1]  # type: ignore[index]
    with pytest.raises(TypeError):
        hash(periods)


def test_what_is_done_to_a_period_or_a_run_afterwards_changes_nothing() -> None:
    instance, runs = staggered()
    workers = {0: 1, 1: 1}
    periods = simulate(instance, [run._replace(workers=workers) for run in runs]).periods
    before = tuple(periods)
    workers.clear()
    periods[1].rings.clear()  # type: ignore[attr-defined]
    periods[1].links.clear()  # type: ignore[attr-defined]
    assert tuple(periods) == before
    assert before[1].links == {"s0": 2, "s1": 2}


def test_periods_survive_pickling(periods: Sequence[Period]) -> None:
    assert pickle.loads(pickle.dumps(periods)) == periods  # noqa: S301 - our own


def test_periods_are_shown_by_their_number(periods: Sequence[Period]) -> None:
    assert repr(periods) == "<5 periods>"
    assert repr(simulate(staggered()[0], staggered()[1][:1]).periods) == "<1 period>"


def test_no_period_is_kept() -> None:
    def kept() -> int:
        gc.collect()
        # Not isinstance: it would ask a weak proxy whose object is gone.
        return sum(type(thing) in {Period, Ring} for thing in gc.get_objects())

    before = kept()
    periods = simulate(*staggered()).periods
    assert sum(len(period.rings) for period in periods) == 7
    assert kept() == before
