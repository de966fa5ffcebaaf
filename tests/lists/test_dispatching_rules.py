"""Dispatching rules on wider instances: what they make keeps every demand, or they say why not."""

from __future__ import annotations

from random import Random

import pytest
from depth import examples
from documents import instance_data, job_data
from hypothesis import given
from hypothesis import strategies as st
from rules import RULES
from wide_instances import WIDE, random_wide

from rarmodel import solve
from rarmodel.files import parse_instance
from rarmodel.limits import Limits
from rarmodel.verifier import verify


@examples(40)
@given(
    st.randoms(use_true_random=False),
    st.sets(st.sampled_from([feature.name for feature in WIDE])),
    st.integers(1, 8),
    st.integers(1, 4),
    st.sampled_from(RULES),
)
def test_what_a_rule_makes_passes_the_verifier(
    random: Random, features: set[str], jobs: int, servers: int, rule: object
) -> None:
    instance = random_wide(random, features, jobs=jobs, servers=servers)
    schedule, stopped, *_ = rule(instance, Limits())  # type: ignore[operator]
    if schedule is None:
        assert stopped
        return
    report = verify(instance, schedule)
    assert report.violations == ()


@pytest.mark.parametrize("deadline", [4, 5])
def test_jobs_that_run_already_may_slow_each_other_past_a_deadline(deadline: int) -> None:
    rings = [{"gpus": {"s0": [i], "s1": [i]}, "iterations_done": 0} for i in range(2)]
    jobs = [
        job_data(f"j{i}", gpus=2, iterations=10, gradient_mb=200.0, running=ring)
        for i, ring in enumerate(rings)
    ]
    jobs[0]["deadline"] = deadline
    instance = parse_instance(instance_data(*jobs, servers=(2, 2), horizon=50))
    for method in ("fifo-backfill", "search"):
        result = solve(instance, method=method, iterations=3 if method == "search" else None)
        assert (result.schedule is None) == (deadline == 4)
