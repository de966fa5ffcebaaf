"""The styles of placement: what each promises, against the engine and the verifier."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random

import numpy as np
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from random_instances import instances, random_instance

from rarmodel import generate
from rarmodel.engine import Engine, Placements
from rarmodel.lists.list_schedules import ListSchedules
from rarmodel.lists.partial_schedule import STOPPED, STUCK
from rarmodel.lists.placement_options import (
    ANY,
    ANY_ALONE,
    EMPTIEST,
    FEWEST_ALONE,
    FEWEST_PAIRED,
    NEVER_PACKS,
    PACK,
    PACKS_FIRST,
    PACKS_LAST,
    option_of_style,
)
from rarmodel.model import horizon_of, least_slots_by_placement, topology
from rarmodel.packing import Solution
from rarmodel.schema import Instance
from rarmodel.search.starts import decoded
from rarmodel.verifier import require_feasible


def decoded_at_random(instance: Instance, random: Random) -> tuple[int, Solution | None]:
    lists, jobs = ListSchedules(instance), len(instance.jobs)
    options = lists.arrays.options
    order = random.sample(range(jobs), jobs)
    option = np.array([random.randrange(count) for count in np.diff(options.at)], np.int64)
    earliest = np.array([random.choice([0, 0, 0, 1, 3, 9]) for _ in range(jobs)], np.int64)
    makespan = lists.makespan(order, option, earliest)
    if makespan < 0:
        return makespan, None
    solution = decoded(lists)
    assert (solution.starts >= earliest).all()
    spread, row = solution.used > 1, options.at[:-1] + option
    style, packs = options.style[row], options.packs[row]
    assert (solution.used[style == PACK] == 1).all()
    assert spread[(style != PACK) & (packs == NEVER_PACKS)].all()
    few = spread & np.isin(style, (FEWEST_ALONE, FEWEST_PAIRED))
    assert (solution.used[few] == options.fewest[row][few]).all()
    alone = spread & np.isin(style, (ANY_ALONE, FEWEST_ALONE))
    assert not (beside(instance, solution) & alone).any()
    return makespan, solution


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


@examples(60)
@given(instances(jobs=8), st.randoms(use_true_random=False))
def test_a_plan_is_what_the_engine_makes_of_it(instance: Instance, random: Random) -> None:
    makespan, solution = decoded_at_random(instance, random)
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


def test_schedules_on_many_servers_pass_the_verifier() -> None:
    # From 65 servers on a set of servers has several words.
    random = Random(3)
    for _ in range(20):
        instance = random_instance(random, jobs=90, servers=70, tree=False)
        makespan, solution = decoded_at_random(instance, random)
        assert solution is not None
        report = require_feasible(instance, solution.schedule(instance, "test"))
        assert report.makespan == makespan


def test_options_say_where_a_job_may_spread() -> None:
    alone = ListSchedules(random_instance(Random(2), jobs=6, servers=1, tree=False))
    assert (alone.arrays.options.style == PACK).all()  # There is nowhere to spread.
    instance = random_instance(Random(2), jobs=6, servers=4, tree=False)
    options = ListSchedules(instance).arrays.options
    for j, slots in enumerate(least_slots_by_placement(instance)):
        rows = range(options.at[j], options.at[j + 1])
        styles = {(int(options.style[row]), int(options.packs[row])) for row in rows}
        assert ((PACK, NEVER_PACKS) in styles) == bool(slots.packed)
        either = bool(slots.packed and slots.spread)
        faster = bool(slots.packed and slots.spread and slots.spread < slots.packed)
        # A job that gains nothing by it spreads only while no server has room.
        spreads = bool(slots.spread) and (faster or not either)
        for style in (EMPTIEST, ANY, ANY_ALONE, FEWEST_ALONE, FEWEST_PAIRED):
            assert ((style, NEVER_PACKS) in styles) == spreads
        for style in (ANY, ANY_ALONE, FEWEST_ALONE, FEWEST_PAIRED):
            assert ((style, PACKS_FIRST) in styles) == either
        assert ((ANY, PACKS_LAST) in styles) == faster


def test_rings_that_may_share_form_a_chain() -> None:
    # 5, 5 and 6 GPUs fill four servers of 4: each takes first what the one before it leaves.
    instance = generate("spread", jobs=3, servers=4, sizes=[(5, 1)], capacities=[4], seed=1)
    jobs = tuple(
        job.model_copy(update={"gpus": gpus})
        for job, gpus in zip(instance.jobs, (5, 5, 6), strict=True)
    )
    lists = ListSchedules(instance.model_copy(update={"jobs": jobs}))
    paired = option_of_style(lists.arrays.options, FEWEST_PAIRED, NEVER_PACKS)
    assert lists.makespan(range(3), paired) > 0
    assert lists.partial.starts.tolist() == [0, 0, 0]
    places = lists.arrays.place_at[:3]
    workers = [lists.partial.workers[at : at + 2].tolist() for at in places]
    assert workers == [[4, 1], [3, 2], [2, 4]]


def test_told_to_stop_it_does() -> None:
    instance = random_instance(Random(1), jobs=9, servers=3, tree=False)
    lists = ListSchedules(instance, stop=np.ones(1, np.int64))
    assert lists.makespan(range(9)) == STOPPED
