"""The decoder against the engine and the verifier."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from random_instances import instances, random_instance

from rarmodel import generate
from rarmodel.engine import NEVER, Engine, Placements, arrays_of, new_state
from rarmodel.model import horizon_of, topology
from rarmodel.packing import Solution, one_after_another
from rarmodel.schema import Instance
from rarmodel.search.decode import CUT_OFF, STOPPED, STUCK, decode
from rarmodel.search.decoder import decoded
from rarmodel.search.layout import (
    ANY_ALONE,
    FEWEST_PAIRED,
    MODES,
    PACK,
    Layout,
    Work,
    layout_of,
    new_work,
)
from rarmodel.search.starts import without_contention
from rarmodel.verifier import require_feasible


def decoded_at_random(
    instance: Instance, random: Random
) -> tuple[int, Solution | None, Layout, Work]:
    arrays, layout = arrays_of(instance), layout_of(instance)
    state, work = new_state(arrays), new_work(arrays, layout)
    jobs = len(instance.jobs)
    order = np.array(random.sample(range(jobs), jobs), np.int64)
    mode = np.array([random.randrange(most) for most in layout.most_modes], np.int64)
    earliest = np.array([random.choice([0, 0, 0, 1, 3, 9]) for _ in range(jobs)], np.int64)
    makespan = decode(arrays, state, layout, work, order, mode, earliest, NEVER)
    if makespan < 0:
        return makespan, None, layout, work
    solution = decoded(layout, work, state)
    assert (solution.starts >= earliest).all()
    spread = solution.used > 1
    assert (solution.used[(mode == PACK) & (layout.packed > 0)] == 1).all()
    few = spread & (mode <= FEWEST_PAIRED) & (mode != ANY_ALONE)
    assert (solution.used[few] == layout.fewest[few]).all()
    assert not (beside(instance, solution) & (mode <= ANY_ALONE)).any()
    return makespan, solution, layout, work


def beside(instance: Instance, solution: Solution) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether each job ever shares a link with another, by where and when they run."""
    paths = topology(instance.cluster).paths
    links = []
    for first, used in zip(solution.at[:-1], solution.used, strict=True):
        below = Counter(
            link for server in solution.server[first : first + used] for link in paths[server]
        )
        # A link above all servers of a ring carries nothing of it.
        links.append({link for link, servers in below.items() if servers < used})
    shares = np.zeros(len(links), np.bool_)
    for one, other in combinations(range(len(links)), 2):
        apart = (
            solution.completions[one] <= solution.starts[other]
            or solution.completions[other] <= solution.starts[one]
        )
        if not apart and links[one] & links[other]:
            shares[[one, other]] = True
    return shares


@settings(max_examples=200, deadline=None)
@given(instances(jobs=8), st.randoms(use_true_random=False))
def test_a_plan_is_what_the_engine_makes_of_it(instance: Instance, random: Random) -> None:
    makespan, solution, _, _ = decoded_at_random(instance, random)
    if solution is None:
        assert makespan == STUCK
        return
    placements = Placements(solution.at, solution.server, solution.workers)
    evaluation = Engine(instance).evaluate(solution.starts, placements)
    assert evaluation.makespan == makespan == solution.makespan
    assert evaluation.completion.tolist() == solution.completions.tolist()
    if makespan <= horizon_of(instance):
        report = require_feasible(instance, solution.schedule(instance, "test"))
        assert report.makespan == makespan


@settings(max_examples=100, deadline=None)
@given(instances())
def test_one_after_another_always_ends(instance: Instance) -> None:
    solution = one_after_another(instance)
    assert (
        require_feasible(instance, solution.schedule(instance, "test")).makespan
        == solution.makespan
    )


def test_servers_found_by_buckets_are_as_tight_as_by_looking_at_each() -> None:
    # From 65 servers on the decoder keeps them in buckets by idle GPUs.
    random = Random(3)
    for _ in range(20):
        instance = random_instance(random, jobs=90, servers=70, tree=False)
        makespan, solution, _, _ = decoded_at_random(instance, random)
        assert solution is not None
        report = require_feasible(instance, solution.schedule(instance, "test"))
        assert report.makespan == makespan


def test_a_cutoff_ends_the_schedule() -> None:
    instance = random_instance(Random(1), jobs=5, servers=2, tree=False)
    arrays, layout = arrays_of(instance), layout_of(instance)
    state, work = new_state(arrays), new_work(arrays, layout)
    zeros = np.zeros(5, np.int64)
    order = np.arange(5)
    makespan = decode(arrays, state, layout, work, order, zeros, zeros, NEVER)
    assert decode(arrays, state, layout, work, order, zeros, zeros, makespan) == makespan
    assert decode(arrays, state, layout, work, order, zeros, zeros, makespan - 1) == CUT_OFF


def test_modes_say_where_a_job_may_spread() -> None:
    layout = layout_of(random_instance(Random(2), jobs=6, servers=1, tree=False))
    assert (layout.most_modes == 1).all()  # There is nowhere to spread.
    layout = layout_of(random_instance(Random(2), jobs=6, servers=4, tree=False))
    assert set(layout.most_modes.tolist()) <= {1, MODES - 1, MODES}  # One GPU does not spread.


def test_rings_that_may_share_form_a_chain() -> None:
    # 5, 5 and 6 GPUs fill four servers of 4: each takes first what the one before it leaves.
    instance = generate("spread", jobs=3, servers=4, sizes=[(5, 1)], capacities=[4], seed=1)
    jobs = tuple(
        job.model_copy(update={"gpus": gpus})
        for job, gpus in zip(instance.jobs, (5, 5, 6), strict=True)
    )
    instance = instance.model_copy(update={"jobs": jobs})
    arrays, layout = arrays_of(instance), layout_of(instance)
    work = new_work(arrays, layout)
    genes = np.arange(3), np.full(3, FEWEST_PAIRED), np.zeros(3, np.int64)
    assert decode(arrays, new_state(arrays), layout, work, *genes, NEVER) > 0
    assert work.starts.tolist() == [0, 0, 0]
    workers = [work.workers[at : at + 2].tolist() for at in layout.place_at[:3]]
    assert workers == [[4, 1], [3, 2], [2, 4]]


def test_told_to_stop_it_does() -> None:
    instance = random_instance(Random(1), jobs=9, servers=3, tree=False)
    arrays, layout = arrays_of(instance), layout_of(instance)
    work = new_work(arrays, layout, np.ones(1, np.int64))
    genes = np.arange(9), np.zeros(9, np.int64), np.zeros(9, np.int64)
    assert decode(arrays, new_state(arrays), layout, work, *genes, NEVER) == STOPPED


@settings(max_examples=100, deadline=None)
@given(instances(jobs=12))
def test_a_plan_without_contention_is_feasible(instance: Instance) -> None:
    solution = without_contention(instance)
    report = require_feasible(instance, solution.schedule(instance, "test"))
    assert report.makespan == solution.makespan
