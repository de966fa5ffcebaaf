"""The search over servers: packings stay schedules, and less and less is late."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from random_instances import random_instance
from solutions import late, solution_to_start_from

from rarmodel.packing.layout import layout_of
from rarmodel.packing.server_annealing import anneal_servers
from rarmodel.packing.server_orders import jobs_of, packing_of, place_jobs, settle, solution_of
from rarmodel.verifier import verify


@pytest.mark.parametrize("seed", range(30))
def test_a_packing_stays_a_schedule(seed: int) -> None:
    random = Random(seed)
    instance = random_instance(random, jobs=25, servers=4, tree=seed % 2 == 1, most_slots=20)
    layout = layout_of(instance)
    generator = np.array([seed], np.uint64)
    solution = solution_to_start_from(instance, random)
    packing = packing_of(layout, solution)
    target = int(solution.makespan * 0.8)
    anneal_servers(layout, packing, target, 0, 1.0, 1.0, generator, np.zeros(1, np.int64))
    settle(layout, packing, target)
    first = solution_of(layout, solution, packing)
    done = anneal_servers(
        layout, packing, target, 20_000, 0.5, 0.9998, generator, np.zeros(1, np.int64)
    )
    settle(layout, packing, target)
    better = solution_of(layout, solution, packing)
    assert late(better, layout.size, target) <= late(first, layout.size, target)
    assert done == (late(better, layout.size, target) == 0)
    for made in (first, better):
        report = verify(instance, made.schedule(instance, "test"))
        assert not [v for v in report.violations if v.constraint not in {"horizon", "progress"}]
        assert report.makespan == made.makespan


def test_told_to_stop_it_changes_nothing() -> None:
    random = Random(3)
    instance = random_instance(random, jobs=25, servers=4, tree=False, most_slots=20)
    layout = layout_of(instance)
    solution = solution_to_start_from(instance, random)
    packing = packing_of(layout, solution)
    first, after = packing.first.copy(), packing.after.copy()
    generator, stop = np.zeros(1, np.uint64), np.ones(1, np.int64)
    assert not anneal_servers(layout, packing, 1, 20_000, 1e9, 1.0, generator, stop)
    assert (packing.first == first).all()
    assert (packing.after == after).all()


def test_placing_ends_once_the_excess_is_too_great() -> None:
    random = Random(4)
    instance = random_instance(random, jobs=14, servers=4, tree=False, most_slots=20)
    layout = layout_of(instance)
    packing = packing_of(layout, solution_to_start_from(instance, random))
    row = packing.lists[0]
    for server in range(len(layout.server_gpus)):
        count = jobs_of(packing, server, row, packing.lists[1])
        all_ = place_jobs(layout, packing, server, row, count, 1, 1e9)
        for most in range(0, int(all_) + 2, 3):
            some = place_jobs(layout, packing, server, row, count, 1, float(most))
            assert (some == all_) if all_ <= most else (most < some <= all_)
