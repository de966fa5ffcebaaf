"""Drawn sweeps: their rungs, and a tiny one whose optimum is that of enumeration."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from wide_optimum import optimum

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.files import parse_instance, to_json
from rarmodel.schema import Instance, Job

NAME = re.compile(r"(sweep\d+)-rung(\d+)-trial(\d+)")


def drawn(seed: int, **sweeps: Any) -> Instance:
    return rarmodel.generate("small", seed=seed, features={"sweeps": sweeps})


def rungs_of(instance: Instance) -> dict[str, list[dict[int, Job]]]:
    """By sweep: the trials of each rung."""
    found: dict[str, list[dict[int, Job]]] = defaultdict(list)
    for job in instance.jobs:
        if named := NAME.fullmatch(job.name):
            sweep, rung, trial = named[1], int(named[2]), int(named[3])
            if rung == len(found[sweep]):
                found[sweep].append({})
            found[sweep][rung][trial] = job
    return found


@examples(20)
@given(
    seed=st.integers(0, 999),
    count=st.integers(1, 3),
    trials=st.integers(2, 30),
    eta=st.integers(2, 5),
    rungs=st.integers(1, 6),
    iterations=st.integers(1, 50),
)
def test_each_rung_keeps_one_of_eta_trials_and_waits_for_all_before(
    seed: int, count: int, trials: int, eta: int, rungs: int, iterations: int
) -> None:
    instance = drawn(
        seed, count=count, trials=trials, eta=eta, rungs=rungs, iterations=iterations, gpus=2
    )
    assert parse_instance(to_json(instance)) == instance
    sweeps = rungs_of(instance)
    assert len(sweeps) == count
    for made in sweeps.values():
        assert [*made[0]] == list(range(trials))
        for k, (before, rung) in enumerate(pairwise(made), 1):
            assert len(rung) == len(before) // eta
            assert rung.keys() <= before.keys()
            assert {job.after for job in rung.values()} == {
                tuple(job.name for job in before.values())
            }
            # With those of its rungs before, a trial has done η^k times the first iterations.
            done = [sum(one[trial].iterations for one in made[: k + 1]) for trial in rung]
            assert set(done) == {iterations * eta**k}
        last = len(made[-1])
        assert last < eta or len(made) == rungs
        jobs = [job for rung in made for job in rung.values()]
        assert {job.size for job in jobs} == {2}
        assert len({(job.gradient_mb, job.backward_ms, job.batch_size) for job in jobs}) == 1


def test_which_trials_are_kept_is_drawn() -> None:
    kept = {tuple(rungs_of(drawn(seed))["sweep0"][1]) for seed in range(10)}
    assert len(kept) > 5


def test_the_optimum_of_a_tiny_sweep_is_that_of_enumeration() -> None:
    plain = rarmodel.generate("small", seed=4, jobs=1, servers=1)
    made = rarmodel.generate(
        "small",
        seed=4,
        jobs=1,
        servers=1,
        features={"sweeps": {"trials": 4, "eta": 2, "rungs": 2, "iterations": 3, "gpus": 2}},
    )
    assert len(made.jobs) == len(plain.jobs) + 4 + 2
    sweep = made.model_copy(update={"jobs": made.jobs[1:]})
    found = rarmodel.solve(sweep, formulation="time-indexed", time_limit=60)
    assert found.status == "optimal"
    assert found.makespan is not None
    assert (found.makespan,) == optimum(sweep, found.makespan + 1, found.schedule)


@pytest.mark.parametrize(
    ("sweeps", "message"),
    [
        ({"gpus": 99}, "feature sweeps: gpus: 99; the cluster has "),
        ({"eta": 1, "trials": 0}, "feature sweeps: "),
    ],
)
def test_a_sweep_that_cannot_be_is_a_usage_error(sweeps: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        drawn(0, **sweeps)


def test_all_wrong_parameters_are_told_at_once() -> None:
    with pytest.raises(UsageError) as error:
        drawn(0, eta=1, trials=0)
    assert {"eta", "trials"} <= set(re.findall(r"feature sweeps: (\w+)", str(error.value)))
