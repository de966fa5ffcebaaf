"""Schedules on joined blocks: where they are tried, and that they meet the bound."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pytest
from documents import instance_of, job_data

from rarmodel import generate
from rarmodel.bounds import LowerBound
from rarmodel.engine import Engine, placements_of
from rarmodel.limits import Limits
from rarmodel.schema import Instance
from rarmodel.search import Session
from rarmodel.search.block_dive import BlockDive
from rarmodel.search.block_packing import pack
from rarmodel.search.block_sizes import kinds_of
from rarmodel.search.joined_dive import JoinedDive
from rarmodel.search.joined_packing import joined_packing_of
from rarmodel.search.layout import layout_of
from rarmodel.search.solution import Solution
from rarmodel.verifier import verify

LARGE = 20.0
"""A gradient in MB with which jobs of 85 ms lose no iteration on one server, but do on two."""


def instance(*gradients_mb: float) -> Instance:
    """Three jobs of 2 GPUs and one of 1; the server of 2 has room for two in the time of two."""
    jobs = [
        job_data(f"job-{j}", 2, gradient_mb=gradient, iterations=110, backward_ms=85.0)
        for j, gradient in enumerate(gradients_mb)
    ]
    return instance_of(*jobs, job_data("one", 1), servers=[2, 1, 1], horizon=200)


EASY = instance(0.0, 0.0, 0.0)


@pytest.mark.parametrize(("threads", "few_idle"), [(1, 0.0), (2, 0.0), (2, 10.0)])
def test_joined_blocks_meet_a_bound_that_buddies_do_not(
    threads: int, few_idle: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rarmodel.search.joined_packing.FEW_IDLE", few_idle)
    monkeypatch.setattr(BlockDive, "packing", lambda _: (None, False))
    monkeypatch.setattr("rarmodel.search.block_packing.MOST_GAP", 1.0)
    slots = kinds_of(layout_of(EASY))[0].slots
    session = Session(EASY, Limits(threads=threads))
    placements = placements_of([{0: 2}, {0: 2}, {1: 1, 2: 1}, {1: 1}])
    starts = np.array([0, slots + 1, 0, slots])
    makespan, completions = Engine(EASY).evaluate(starts, placements)
    session.take(Solution(makespan, starts, completions, *placements))
    assert session.makespan == 2 * slots + 1
    session.bound = LowerBound(2 * slots, "two after one another")
    pack(session, Limits(threads=threads), perf_counter() + 60)
    schedule = session.schedule("search")
    assert schedule is not None
    report = verify(EASY, schedule)
    assert (report.feasible, report.makespan) == (True, 2 * slots)


def test_dealing_keeps_hard_jobs_on_one_server() -> None:
    """As packed, narrow hard jobs spread, and last too long; dealt anew, none does."""
    paper = generate("paper", seed=7, jobs=60, servers=8)
    joined, target = joined_packing_of(paper), 400
    assert joined is not None
    random, engine = np.random.default_rng(0), Engine(paper)
    program, tight = joined.by(target)
    assert joined.by(target).program is program
    assert not tight
    met = 0
    for packed in JoinedDive(program, random, lambda: False).packings():
        first, *others = joined.dealt(packed, target, random, lambda: False)
        assert first is packed
        for again in others:
            assert again.starts is packed.starts
            makespan, _ = engine.evaluate(again.starts, placements_of(again.workers))
            assert 0 < makespan <= target
            met += 1
    assert met


@pytest.mark.parametrize(
    "hard",
    [
        instance(LARGE, LARGE, LARGE),
        instance(LARGE, 0.0, 0.0),
        instance_of(job_data("wide", 4), job_data("one", 1), servers=[2, 2]),
        instance_of(*(job_data(f"job-{size}", size) for size in (6, 2, 1, 3)), servers=[6, 2]),
        instance_of(job_data("two", 2), servers=[2, 2]),
    ],
    ids=[
        "slow when they spread",
        "one of a kind is slow",
        "wider than servers",
        "odd sizes",
        "nothing to join",
    ],
)
def test_others_have_no_such_program(hard: Instance) -> None:
    assert joined_packing_of(hard) is None
