"""Drawn features: what they are, that they combine, and that deadlines can be kept."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from resource_use import capacity, use

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.files import parse_instance, to_json
from rarmodel.model import features as model_features
from rarmodel.model import job_extremes, lone_options, used
from rarmodel.model.extremes import slots_alone
from rarmodel.model.features import DEPENDENCIES, DUTY, NETWORK_PRESSURES, OBJECTIVES, SERVICES
from rarmodel.model.gpu_assignment import assign_gpus
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import verify
from rarmodel.workloads import FAMILIES
from rarmodel.workloads.drawn import KNOWN, features_of, told
from rarmodel.workloads.drawn.feature import rough_makespan
from rarmodel.workloads.drawn.places import GpuTypes
from rarmodel.workloads.drawn.witness import contention_free

PLAIN = ("paper", "contention", "small")
OF_THE_MODEL = {feature.name for feature in model_features.FEATURES}
NAMES = st.lists(st.sampled_from(sorted(KNOWN)), unique=True)


def paper(*features: str, seed: int = 0, **knobs: Any) -> Instance:
    return rarmodel.generate("paper", seed=seed, features=features, **knobs)


def test_every_feature_of_jobs_and_cluster_can_be_drawn() -> None:
    drawable = OF_THE_MODEL & KNOWN.keys()
    assert OF_THE_MODEL - drawable == {OBJECTIVES.name, DUTY.name, SERVICES.name}
    assert KNOWN.keys() - drawable == {"due slots", "weights", "priorities", "prices", "sweeps"}


def with_needed(names: Collection[str]) -> set[str]:
    """Features, and those that they need: pressures are by duty, rungs wait for each other."""
    needed = {NETWORK_PRESSURES.name: DUTY.name, "sweeps": DEPENDENCIES.name}
    return {*names, *(more for name, more in needed.items() if name in names)}


@pytest.mark.parametrize("name", sorted(OF_THE_MODEL & KNOWN.keys()))
@pytest.mark.parametrize("family", PLAIN)
def test_feature_by_its_name_is_what_the_instance_then_uses(family: str, name: str) -> None:
    drawn = [rarmodel.generate(family, seed=seed, features=[name]) for seed in range(4)]
    assert with_needed([name]) in [set(used(instance)) for instance in drawn]
    assert all(set(used(instance)) <= with_needed([name]) for instance in drawn)


@given(family=st.sampled_from(PLAIN), seed=st.integers(0, 999), names=NAMES)
@examples(20)
def test_any_features_together_are_valid_and_the_same_for_the_same_seed(
    family: str, seed: int, names: list[str]
) -> None:
    one, two = (
        rarmodel.generate(family, jobs=12, seed=seed, features=asked)
        for asked in (names, dict.fromkeys(reversed(names)))
    )
    assert to_json(one) == to_json(two)
    assert parse_instance(to_json(one)) == one
    assert set(used(one)) <= with_needed(names)
    assert (one.time.horizon is None) == bool(used(one))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_feature_changes_no_random_number_of_another(family: str) -> None:
    few = rarmodel.generate(family, features=["releases:gap=3", "weights"])
    more = rarmodel.generate(family, features=["releases:gap=3", "weights", "quotas", "ring-sizes"])
    for one, other in zip(few.jobs, more.jobs, strict=True):
        assert (one.release, one.weight, one.iterations) == (
            *(other.release, other.weight),
            other.iterations,
        )


@given(family=st.sampled_from(PLAIN), seed=st.integers(0, 999), names=NAMES)
@examples(25)
def test_deadlines_are_kept_by_a_schedule_that_the_verifier_accepts(
    family: str, seed: int, names: list[str]
) -> None:
    asked = [*(name for name in names if name != "deadlines"), "deadlines:share=1,slack=0"]
    instance = rarmodel.generate(family, jobs=15, seed=seed, features=asked)
    runs = contention_free(instance)
    ends = [run.end for run in runs]
    assignments = assign_gpus(
        instance, [run.start for run in runs], ends, [run.workers for run in runs]
    )
    schedule = Schedule(
        schema_version=1, instance=instance.name, method="witness", assignments=assignments
    )
    report = verify(instance, schedule)
    assert report.feasible, report.violations
    assert [report.completion[job.name] for job in instance.jobs] == ends
    assert [job.deadline for job in instance.jobs] == ends


def test_releases_are_within_their_part_of_the_makespan_and_in_job_order() -> None:
    instance = paper("releases:within=0.5")
    releases = [job.release for job in instance.jobs]
    span = rough_makespan(rarmodel.generate("paper"))
    assert releases == sorted(releases)
    assert 0 <= releases[0] < 0.05 * span
    assert 0.45 * span < releases[-1] <= 0.5 * span


def test_poisson_arrivals_have_the_gap_asked_for() -> None:
    releases = [job.release for job in paper("releases:gap=10", jobs=2000).jobs]
    assert releases[0] == 0
    assert 9 < releases[-1] / 1999 < 11


def test_jobs_that_were_waiting_come_first_and_have_negative_releases() -> None:
    for form in ("releases:waiting=0.25", "releases:gap=2,waiting=0.25"):
        releases = [job.release for job in paper(form).jobs]
        assert releases == sorted(releases)
        assert sum(release < 0 for release in releases) == 40


def test_ring_sizes_halve_and_double_with_the_same_training_step() -> None:
    plain, instance = paper(), paper("ring-sizes:share=0.25,steps=2")
    moldable = [j for j, job in enumerate(instance.jobs) if len(job.sizes) > 1]
    assert len(moldable) == 40
    for j in moldable:
        own, job = plain.jobs[j], instance.jobs[j]
        assert {size / own.size for size in job.sizes} <= {0.25, 0.5, 1, 2, 4}
        assert job.global_batch_size == own.size * (own.batch_size or 0)
        assert job.iterations == own.iterations


def test_gpu_types_speed_up_and_servers_have_them_in_equal_numbers() -> None:
    instance = paper("gpu-types:types=K80+V100+A100,speedup=2,pinned=0.5")
    kinds = [server.gpu_type for server in instance.cluster.servers]
    assert sorted(kinds.count(kind) for kind in ("K80", "V100", "A100")) == [6, 7, 7]
    whole = [job for job in instance.jobs if len(job.times or {}) == 3]
    assert len(whole) >= 80
    assert all(len(job.times or {}) == 1 for job in instance.jobs if job not in whole)
    for job in whole:
        slow, _, fast = (job.milliseconds(kind) for kind in ("K80", "V100", "A100"))
        assert slow == pytest.approx([4 * fast[0], 4 * fast[1]], rel=1e-2, abs=1e-3)


def test_running_jobs_hold_the_part_asked_for_and_began_before_slot_0() -> None:
    instance = paper("running-jobs:fill=0.5")
    running = [job for job in instance.jobs if job.running]
    held = sum(job.running.size for job in running if job.running)
    assert 0.45 < held / instance.cluster.total_gpus <= 0.5
    assert all(job.release <= 0 for job in running)
    assert any(job.release < 0 for job in running)


def test_quotas_leave_room_for_every_job_in_its_smallest_size() -> None:
    instance = paper("quotas:share=0.01", "ring-sizes")
    caps = {tenant.name: tenant.gpus or 0 for tenant in instance.tenants}
    assert all(job.sizes[0] <= caps[job.tenant or ""] for job in instance.jobs)


def test_groups_of_tenants_leave_room_and_guarantee_what_their_tenants_are_guaranteed() -> None:
    asked = "quotas:tenants=5,share=0.1,groups=2,group_share=0.2,guaranteed=0.5"
    instance = paper(asked, "ring-sizes")
    found = {tenant.name: tenant for tenant in instance.tenants}
    assert [one.parent for one in instance.tenants] == [
        *("group0", "group1", "group0", "group1", "group0"),
        *(None, None),
    ]
    for group in ("group0", "group1"):
        parts = [one for one in instance.tenants if one.parent == group]
        sizes = [job.sizes[0] for job in instance.jobs if found[job.tenant or ""] in parts]
        cap = found[group].gpus or 0
        assert cap == max(*sizes, -(-instance.cluster.total_gpus // 5))
        own = sum(one.guaranteed or 0 for one in parts)
        assert found[group].guaranteed == min(cap, own)
    plain, grouped = paper("quotas"), paper("quotas:groups=3")
    assert plain.jobs == grouped.jobs
    assert plain.tenants == tuple(
        one.model_copy(update={"parent": None}) for one in grouped.tenants[:4]
    )


def test_priorities_lie_in_their_range() -> None:
    found = {job.priority for job in paper("priorities:values=-1..2").jobs}
    assert found == {-1, 0, 1, 2}


def test_resources_leave_power_for_every_job_and_licences_for_some() -> None:
    instance = paper("resources:power=0.01,licences=3,share=0.5", "ring-sizes")
    power, licence = instance.resources
    assert (licence.name, licence.capacity) == ("licence", 3)
    least = max(job.sizes[0] for job in instance.jobs)
    assert power.capacity == 300 * least
    assert all(job.resources_per_gpu == {"power_w": 300} for job in instance.jobs)
    assert sum(job.resources == {"licence": 1} for job in instance.jobs) == 80


def test_deadlines_can_be_kept_beside_resources() -> None:
    instance = rarmodel.generate(
        "paper", seed=2, features=["resources:power=0.3", "deadlines:share=1,slack=0"]
    )
    runs = contention_free(instance)
    assert all(
        job.deadline is None or run.end <= job.deadline
        for job, run in zip(instance.jobs, runs, strict=True)
    )
    for slot in {run.start for run in runs}:
        held = [
            (job, sum(run.workers.values()))
            for job, run in zip(instance.jobs, runs, strict=True)
            if run.start <= slot < run.end
        ]
        for one in instance.resources:
            assert sum(use(job, one.name, gpus) for job, gpus in held) <= (capacity(one, slot) or 0)


def test_server_lists_are_partitions() -> None:
    instance = paper("server-lists:share=1,partitions=4")
    lists = {job.servers for job in instance.jobs if job.servers}
    assert len(lists) == 4
    assert len({name for names in lists for name in names}) == 20


def test_spreads_ask_for_what_was_named() -> None:
    for kind, asks in (
        ("apart", lambda spread: spread.min_servers == 2),
        ("equal", lambda spread: spread.equal),
        ("together", lambda spread: spread.max_servers is not None),
    ):
        spreads = [job.spread for job in paper(f"spreads:share=1,kinds={kind}").jobs if job.spread]
        assert len(spreads) > 20
        assert all(map(asks, spreads))


def test_due_slots_follow_the_least_execution_time() -> None:
    instance = paper("due-slots:times=2", "releases")
    for job, alone in zip(instance.jobs, slots_alone(instance), strict=True):
        assert job.due == job.release + 2 * alone


def test_reservations_lie_where_jobs_run_and_end() -> None:
    instance = paper("reservations:share=0.5,gpus=1,length=0.25")
    span = rough_makespan(paper())
    assert len(instance.cluster.reservations) == 10
    for one in instance.cluster.reservations:
        assert one.start < span
        assert one.end is not None
        assert one.end - one.start == -(-span // 4)


def test_prices_are_no_higher_for_slower_types() -> None:
    prices = paper("prices", "gpu-types:types=K80+V100+A100").cluster.prices_per_gpu_hour
    assert isinstance(prices, dict)
    assert prices["K80"] <= prices["V100"] <= prices["A100"]
    assert isinstance(paper("prices:per_gpu_hour=2").cluster.prices_per_gpu_hour, float)


def test_some_jobs_are_never_interrupted_and_others_lose_work() -> None:
    plain = rarmodel.generate("small", seed=3, jobs=20, features="preemption")
    assert all(job.preemptible and job.checkpoint_iterations == 1 for job in plain.jobs)
    asked = "preemption:unpreemptible=0.2,checkpoints=0.1..0.5,requeued=0.25"
    jobs = rarmodel.generate("small", seed=3, jobs=20, features=asked).jobs
    assert sum(not job.preemptible for job in jobs) == 4
    others = [job for job in jobs if job.preemptible]
    assert sum(job.checkpoint_iterations is None for job in others) == 4
    for job in others:
        if job.checkpoint_iterations is not None:
            assert 0.09 < job.checkpoint_iterations / job.iterations < 0.51


def test_slow_rates_within_servers_leave_every_job_its_progress() -> None:
    for seed in range(20):
        drawn = rarmodel.generate(
            "small", seed=seed, features=["rates-within-servers:share=1,factor=0.001"]
        )
        assert all(extreme.best_speed for extreme in job_extremes(drawn))


def test_objectives_are_set_in_order() -> None:
    assert rarmodel.generate("small", objective="total-flow").objectives == ("total-flow",)
    several = rarmodel.generate("small", objective=["max-flow", "makespan"])
    assert several.objectives == ("max-flow", "makespan")
    with pytest.raises(UsageError, match="nope"):
        rarmodel.generate("small", objective="nope")


def test_wide_family_is_the_paper_with_what_real_clusters_have() -> None:
    wide = rarmodel.generate("wide", seed=3)
    plain = rarmodel.generate("paper", seed=3)
    assert used(wide).keys() == {"releases", "ring sizes", "GPU types"}
    assert [job.iterations for job in wide.jobs] == [job.iterations for job in plain.jobs]
    assert sum(len(job.sizes) > 1 for job in wide.jobs) == 40
    assert {server.gpu_type for server in wide.cluster.servers} == {"V100", "A100"}
    typed = rarmodel.generate("paper", seed=3, features=["gpu-types", "ring-sizes"])
    assert max(job.release for job in wide.jobs) <= rough_makespan(typed) / 2


def test_rough_makespan_is_the_longest_job_or_the_area() -> None:
    instance = rarmodel.generate("contention", contention=False)
    slots = [min(one.pace.slots(1, 1) or 0 for one in found) for found in lone_options(instance)]
    area = sum(s * job.size for s, job in zip(slots, instance.jobs, strict=True))
    assert rough_makespan(instance) == max(*slots, -(-area // instance.cluster.total_gpus))


def test_rough_makespan_with_types_is_between_that_of_the_slow_and_of_the_fast() -> None:
    plain = rarmodel.generate("contention", contention=False)
    asked = ["GPU types:speedup=4"]
    typed = rarmodel.generate("contention", contention=False, features=asked)
    assert rough_makespan(plain) / 4 < rough_makespan(typed) < rough_makespan(plain)


@pytest.mark.parametrize("name", KNOWN)
def test_feature_is_told_as_it_can_be_asked_for(name: str) -> None:
    (feature,) = features_of(name)
    every = KNOWN[name].model_validate(feature.model_dump(exclude_none=True))
    assert features_of(told(every)) == (every,)
    assert features_of(told(feature)) == (feature,)


def test_features_can_be_asked_for_in_several_ways() -> None:
    asked: list[Any] = [
        "GPU types:types=K80",
        ["gpu-types:types=K80"],
        {"gpu_types": {"types": ["K80"]}},
        {"GPU types": GpuTypes(types=("K80",))},
        GpuTypes(types=("K80",)),
    ]
    assert len({features_of(one) for one in asked}) == 1
    assert features_of({"weights": None}) == features_of("weights")


def test_description_says_which_features_were_drawn() -> None:
    assert (paper("releases:within=0.5", "weights").description or "").endswith(
        "with features releases:within=0.5 weights."
    )


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("nope", "no feature 'nope'; choose from GPU types, rates within servers"),
        (["weights", "weights"], "feature 'weights' is asked for twice"),
        ("releases:within", "feature 'releases:within': NAME[:PARAMETER=VALUE,…] is expected"),
        ("releases:within=2", "feature releases: within: 2; it must be at most 1"),
        ("releases:until=2", "feature releases: until: unknown field"),
        ({"releases": 3}, "feature releases: 3;"),
        ("due-slots:times=3..1", "feature due slots: times: 3..1; they must be in order"),
        ("spreads:kinds=near", "feature spreads: kinds[0]: 'near';"),
        (7, "features 7: an object, or a list of NAME"),
        ([["weights"]], "features a list: an object, or a list of NAME"),
    ],
)
def test_impossible_features_are_refused_in_one_line(features: Any, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        rarmodel.generate("small", features=features)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_all_that_is_wrong_with_features_is_said_at_once() -> None:
    with pytest.raises(UsageError, match=r"within: 2.*; no feature 'nope'.*; feature weights: "):
        rarmodel.generate("small", features=["releases:within=2", "nope", "weights:values=0"])
