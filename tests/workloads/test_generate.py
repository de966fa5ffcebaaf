"""Random instances of families: what they are drawn from, and that a seed says it all."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.files import parse_instance, to_json
from rarmodel.model import instance_digest, job_extremes, timing
from rarmodel.schema import Instance, TreeNetwork
from rarmodel.workloads import FAMILIES

SEEDS = range(3)


def mix_of(instance: Instance) -> dict[int, int]:
    return dict(Counter(job.size for job in instance.jobs))


def test_paper_with_seed_2022_is_the_bundled_instance() -> None:
    drawn, bundled = rarmodel.generate("paper", seed=2022), rarmodel.load_instance("paper-160")
    assert drawn.jobs == bundled.jobs
    assert drawn.cluster == bundled.cluster
    assert (drawn.time, drawn.contention) == (bundled.time, bundled.contention)


@pytest.mark.parametrize("seed", SEEDS)
def test_paper_has_the_distribution_of_section_8(seed: int) -> None:
    instance = rarmodel.generate("paper", seed=seed)
    assert mix_of(instance) == {1: 80, 2: 14, 4: 26, 8: 30, 16: 8, 32: 2}
    assert len(instance.cluster.servers) == 20
    assert {server.gpus for server in instance.cluster.servers} <= {4, 8, 16, 32}
    assert instance.time.horizon == 1200
    assert instance.contention.concurrency == instance.contention.overhead_ms_per_server
    slot, cluster = instance.time.slot_seconds, instance.cluster
    for job in instance.jobs:
        assert 1000 <= job.iterations <= 6000
        within = timing.iteration_seconds(
            timing.exchange_bits(job.gradient_mb, job.size),
            cluster.intra_server_gbps,
            0.0,
            timing.reduction_seconds(job.gradient_mb, job.size, cluster.reduction_gbps),
            timing.overhead_seconds(instance.contention.overhead_ms_per_server, 1),
            timing.compute_seconds(job, job.size),
            1.0,
        )
        assert 0.0099 <= within / slot <= 0.0501
        assert 50 <= timing.slots_needed(job.iterations, timing.speed(slot, within)) <= 300


@pytest.mark.parametrize("seed", SEEDS)
def test_paper_contention_and_overhead_take_at_most_15_percent_of_execution(seed: int) -> None:
    instance = rarmodel.generate("paper", seed=seed)
    compute = {job.name: timing.compute_seconds(job, job.size) for job in instance.jobs}
    gradient = {
        job.name: timing.exchange_bits(job.gradient_mb, job.size) / 1000e9
        + timing.reduction_seconds(job.gradient_mb, job.size, 1000.0)
        for job in instance.jobs
    }
    report = rarmodel.solve(instance, method="sjf-bco").report
    assert report
    parts = [
        1 - (compute[job] + gradient[job]) / ring.iteration_seconds
        for period in report.periods
        for job, ring in period.rings.items()
    ]
    assert 0 < max(parts) <= 0.15


def test_contention_family_has_large_gradients_slow_links_and_mixed_servers() -> None:
    instance = rarmodel.generate("contention")
    assert len(instance.cluster.servers) == 12
    assert len({server.gpus for server in instance.cluster.servers}) > 1
    assert instance.contention.concurrency == 1
    assert instance.contention.degradation.alpha == 0.5
    assert instance.cluster.network.kind == "star"
    assert instance.cluster.network.gbps == 10
    gradients = [job.gradient_mb for job in instance.jobs]
    assert 100 <= min(gradients) < 300
    assert 1200 < max(gradients) <= 1500


def test_contention_family_leaves_no_ring_without_progress() -> None:
    slowest = min(e.worst_speed for e in job_extremes(rarmodel.generate("contention")))
    assert slowest >= 1


def test_spread_is_contention_where_nearly_no_ring_fits_a_server() -> None:
    instance = rarmodel.generate("spread", seed=1)
    assert {server.gpus for server in instance.cluster.servers} == {4}
    assert mix_of(instance) == {size: 2 + (size <= 11) for size in range(2, 17)}
    sizes = [(size, 1) for size in range(2, 17)]
    same = rarmodel.generate(
        "contention", seed=1, jobs=40, servers=10, capacities=(4,), sizes=sizes
    )
    assert instance_digest(instance) == instance_digest(same)


STARS = {
    (6, 3): "093d4a417543d04c",
    (20, 5): "b3bd632099ac97ee",
}
"""The first digits of the digests of stars with seed 4: they must not change."""


@pytest.mark.parametrize("shape", STARS)
def test_stars_stay_the_same(shape: tuple[int, int]) -> None:
    jobs, servers = shape
    instance = rarmodel.generate("stars", jobs=jobs, servers=servers, seed=4)
    assert instance_digest(instance)[:16] == STARS[shape]


def test_stars_draw_each_job_by_itself_in_the_order_of_the_file() -> None:
    random = Random(3)
    servers = [random.choice([2, 4]) for _ in range(4)]
    instance = rarmodel.generate("stars", seed=3)
    assert [server.gpus for server in instance.cluster.servers] == servers
    for job in instance.jobs:
        assert job.gpus == random.randint(1, 6)
        assert job.iterations == random.randint(100, 800)
        assert job.gradient_mb == round(random.uniform(10, 200), 1)
        assert job.batch_size == random.randint(1, 16)
        assert job.forward_ms_per_sample == round(random.uniform(1, 5), 2)
        assert job.backward_ms == round(random.uniform(5, 60), 1)


def test_stars_have_only_rings_that_fit_the_cluster() -> None:
    knobs: dict[str, Any] = {"servers": 2, "capacities": (1, 3), "jobs": 20}
    instance = rarmodel.generate("stars", seed=1, sizes=((2, 1), (6, 5)), **knobs)
    assert instance.cluster.total_gpus == 2
    assert mix_of(instance) == {2: 20}
    with pytest.raises(UsageError, match="sizes: none fits the 2 GPUs of the cluster"):
        rarmodel.generate("stars", seed=1, sizes=((6, 1),), **knobs)


def test_small_family_is_solved_exactly() -> None:
    result = rarmodel.solve(rarmodel.generate("small", seed=1), formulation="time-indexed")
    assert result.status == "optimal"


@pytest.mark.parametrize("family", FAMILIES)
def test_same_seed_gives_the_same_file_and_another_seed_another(family: str) -> None:
    texts = [to_json(rarmodel.generate(family, seed=seed)) for seed in (7, 7, 8)]
    assert texts[0] == texts[1]
    first, third = (parse_instance(text) for text in (texts[0], texts[2]))
    assert first.jobs != third.jobs


@pytest.mark.parametrize("family", FAMILIES)
def test_drawing_leaves_numpys_global_state_alone(family: str) -> None:
    np.random.seed(1)  # noqa: NPY002
    before = np.random.random()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    rarmodel.generate(family)
    assert np.random.random() == before  # noqa: NPY002


@pytest.mark.parametrize(
    ("jobs", "mix"),
    [
        (320, {1: 160, 2: 28, 4: 52, 8: 60, 16: 16, 32: 4}),
        (16, {1: 8, 2: 1, 4: 3, 8: 3, 16: 1}),
        (1, {1: 1}),
    ],
)
def test_number_of_jobs_keeps_the_mix_by_largest_remainders(jobs: int, mix: dict[int, int]) -> None:
    assert mix_of(rarmodel.generate("paper", jobs=jobs)) == mix


def test_safe_horizon_is_the_jobs_one_after_another() -> None:
    instance = rarmodel.generate("contention", seed=3)
    assert instance.time.horizon == sum(e.least_slots for e in job_extremes(instance))


@pytest.mark.parametrize(
    ("knobs", "horizon"),
    [({}, 1200), ({"alpha": 0.3}, 1200), ({"servers": 20}, 1200), ({"servers": 10}, None)],
)
def test_horizon_of_the_paper_goes_with_its_jobs_and_servers(
    knobs: dict[str, Any], horizon: int | None
) -> None:
    instance = rarmodel.generate("paper", **knobs)
    safe = sum(e.least_slots for e in job_extremes(instance))
    assert instance.time.horizon == (horizon or safe)


def test_horizon_asked_for_is_kept() -> None:
    assert rarmodel.generate("paper", servers=10, horizon=1500).time.horizon == 1500


def test_knobs_arrive_in_the_instance() -> None:
    instance = rarmodel.generate(
        "small",
        servers=2,
        capacities=[3],
        sizes=[[3, 1]],
        batch_sizes=[7],
        gradient_mb=(5.0, 5.0),
        network_gbps=25.0,
        intra_server_gbps=100.0,
        reduction_gbps=300.0,
        alpha=0.1,
        concurrency=0.5,
        overhead_ms_per_server=1.5,
        slot_seconds=2.0,
        name="mine",
    )
    assert instance.name == "mine"
    assert [server.gpus for server in instance.cluster.servers] == [3, 3]
    assert mix_of(instance) == {3: 6}
    assert {(job.batch_size, job.gradient_mb) for job in instance.jobs} == {(7, 5.0)}
    assert instance.cluster.network.model_dump() == {"kind": "star", "gbps": 25.0}
    assert (instance.cluster.intra_server_gbps, instance.cluster.reduction_gbps) == (100, 300)
    contention = instance.contention
    assert (contention.degradation.alpha, contention.concurrency) == (0.1, 0.5)
    assert contention.overhead_ms_per_server == 1.5
    assert instance.time.slot_seconds == 2
    assert "network_gbps=25.0" in (instance.description or "")
    assert "None" not in (instance.description or "")


def test_racks_make_a_tree_with_oversubscribed_uplinks() -> None:
    instance = rarmodel.generate("paper", servers=5, racks=2, oversubscription=4.0)
    assert isinstance(instance.cluster.network, TreeNetwork)
    links = {link.node: (link.parent, link.gbps) for link in instance.cluster.network.links}
    assert links == {
        "s00": ("rack0", 100.0),
        "s01": ("rack1", 100.0),
        "s02": ("rack0", 100.0),
        "s03": ("rack1", 100.0),
        "s04": ("rack0", 100.0),
        "rack0": ("core", 75.0),
        "rack1": ("core", 50.0),
    }


def test_without_contention_nothing_depends_on_placement() -> None:
    instance = rarmodel.generate("contention", contention=False)
    for extreme in job_extremes(instance):
        assert extreme.best_seconds == extreme.worst_seconds


def test_without_contention_iterations_need_no_time_for_overhead() -> None:
    with pytest.raises(UsageError, match="they must leave time to compute"):
        rarmodel.generate("paper", slot_seconds=0.01)
    instance = rarmodel.generate("paper", slot_seconds=0.01, contention=False)
    assert {job.gradient_mb for job in instance.jobs} == {0}


def test_what_is_0_without_contention_cannot_be_chosen_as_well() -> None:
    with pytest.raises(UsageError, match="gradient_mb, overhead_ms_per_server: 0 without cont"):
        rarmodel.generate(contention=False, gradient_mb=(1, 2), overhead_ms_per_server=1)


def test_servers_are_drawn_until_they_hold_the_widest_job() -> None:
    for seed in range(20):
        instance = rarmodel.generate("paper", servers=2, seed=seed)
        assert instance.cluster.total_gpus >= 32


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"jobs": 0}, "jobs 0: it must be a whole number from 1"),
        ({"jobs": 2.5}, "jobs 2.5: it must be a whole number from 1"),
        ({"seed": -1}, "seed -1: it must be a whole number from 0"),
        ({"horizon": 0}, "horizon 0: it must be a whole number from 1"),
        ({"racks": 21}, "racks 21: it must be a whole number from 0 to 20"),
        ({"capacities": ()}, "capacities []: whole numbers of at least 1 are expected"),
        ({"capacities": (0,)}, "capacities [0]: whole numbers of at least 1 are expected"),
        ({"sizes": ((1, 0),)}, "weights of sizes [0]: whole numbers of at least 1"),
        ({"sizes": ((2, 1), (2, 3))}, "sizes: a number of GPUs occurs twice"),
        ({"sizes": 3}, "sizes=3: a value of the wrong type"),
        ({"iterations": (9, 3)}, "iterations 9..3: they must be in order"),
        ({"iterations": (1.5, 3000)}, "iterations 1.5..3000: they must be whole numbers"),
        ({"iteration_slots": (0.1, 2)}, "iteration slots 0.1..2: they must be in order, from"),
        ({"alpha": float("nan")}, "alpha nan: it must be from 0"),
        ({"network_gbps": 0}, "network_gbps 0: it must be above 0"),
        ({"concurrency": 0}, "concurrency 0: it must be above 0 and at most 1"),
        ({"sizes": ((900, 1),)}, "jobs of 900 GPUs: 20 servers have at most 640"),
        ({"execution_slots": (1, 2)}, "execution slots 1..2: iterations and iteration slots give"),
        ({"gradient_mb": (1e5, 1e6)}, "they must leave time to compute"),
        ({"servers": 12, "sizes": ((384, 1),)}, "are too small in each of"),
        (
            {"iterations": (1000, 60000), "execution_slots": (10, 10)},
            "execution slots 10..10: no such job in",
        ),
        ({"colour": 1}, "no setting colour; choose from alpha,"),
    ],
)
def test_impossible_settings_are_refused_in_one_line(knobs: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        rarmodel.generate("paper", **knobs)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"forward_ms_per_sample": (3, 1)}, "forward ms per sample 3..1: they must be in order"),
        ({"backward_ms": (-1, 1)}, "backward ms -1..1: they must be in order, from 0"),
        ({"iteration_slots": (0.1, 0.2)}, "no setting iteration_slots; choose from alpha, back"),
    ],
)
def test_impossible_settings_of_stars_are_refused(knobs: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        rarmodel.generate("stars", **knobs)
    assert message in str(refused.value)


def test_unknown_family_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="no family 'nope'; choose one of paper, contention"):
        rarmodel.generate("nope")


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(UsageError, match=r"jobs 0: .*; seed -1: .*; alpha -1: "):
        rarmodel.generate("paper", jobs=0, seed=-1, alpha=-1)
    with pytest.raises(UsageError, match="jobs True: it must be a whole number from 1 to"):
        rarmodel.generate("paper", jobs=True)
