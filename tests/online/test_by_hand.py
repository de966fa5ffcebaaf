"""Each policy on cases worked by hand: the slots in which jobs complete, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from by_hand import worked

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.online.policies.attained import gittins_indices, make_las
from rarmodel.online.policies.lucid import make_lucid, scores
from rarmodel.online.policies.muri import make_muri
from rarmodel.online.policies.replan import make_replan
from rarmodel.schema import Instance


def ends(instance: Instance, policy: Any, **options: Any) -> dict[str, int]:
    """Completion time by job; the schedule is verified."""
    found = rarmodel.simulate(instance, policy, **options)
    assert found.report is not None
    assert found.verified, found.reasons
    return dict(found.report.completion)


WIDE_IN_BETWEEN = [
    {"slots": 4, "gpus": 3},
    {"slots": 2, "gpus": 4},
    {"slots": 3, "gpus": 1},
]
"""On 4 GPUs: b does not fit beside a, and c does."""


def test_fifo_waits_behind_the_head_of_the_queue() -> None:
    assert ends(worked(WIDE_IN_BETWEEN), "fifo") == {"a": 4, "b": 6, "c": 9}


def test_fifo_with_backfilling_starts_each_that_fits() -> None:
    # c fills the GPU that a leaves; b has all four after both.
    assert ends(worked(WIDE_IN_BETWEEN), "fifo-backfill") == {"a": 4, "b": 6, "c": 3}


def test_order_of_arrival_is_by_release_and_then_input() -> None:
    jobs = [{"slots": 2, "gpus": 4, "release": 1}, {"slots": 2, "gpus": 4, "release": -5}]
    assert ends(worked(jobs), "fifo") == {"a": 4, "b": 2}


def test_sjf_starts_the_shortest_and_never_stops_a_job() -> None:
    jobs = [
        {"slots": 9, "gpus": 4},
        {"slots": 5, "gpus": 4, "release": 1},
        {"slots": 2, "gpus": 4, "release": 2},
    ]
    assert ends(worked(jobs, restore=0), "sjf") == {"a": 9, "b": 16, "c": 11}


def test_srtf_stops_a_job_for_one_with_less_left() -> None:
    # At 1 b needs 3 and a 8 more; a goes on when b is complete, after a restoration of 2 slots.
    jobs = [{"slots": 9, "gpus": 4}, {"slots": 3, "gpus": 4, "release": 1}]
    instance = worked(jobs, restore=2)
    assert ends(instance, "srtf") == {"a": 14, "b": 4}
    found = rarmodel.simulate(instance, "srtf")
    assert (found.preemptions, found.metrics.restore_slots) == (1, 2)


def test_srtf_without_preemption_is_sjf() -> None:
    jobs = [{"slots": 9, "gpus": 4}, {"slots": 3, "gpus": 4, "release": 1}]
    assert ends(worked(jobs), "srtf") == {"a": 9, "b": 12}


def test_srsf_counts_gpus_too() -> None:
    # a has 4 · 3 = 12 GPU slots, b 5 · 1: b is first, and a needs all GPUs.
    jobs = [{"slots": 3, "gpus": 4}, {"slots": 5, "gpus": 1}]
    assert ends(worked(jobs, restore=0), "srsf") == {"a": 8, "b": 5}
    assert ends(worked(jobs, restore=0), "srtf") == {"a": 3, "b": 8}


def test_equal_jobs_go_by_release_and_then_input() -> None:
    jobs = [{"slots": 3, "gpus": 4}, {"slots": 3, "gpus": 4}]
    assert ends(worked(jobs, restore=0), "srtf") == {"a": 3, "b": 6}


def test_edf_takes_the_earliest_due_and_then_those_without() -> None:
    jobs = [
        {"slots": 4, "gpus": 4},
        {"slots": 3, "gpus": 4, "due": 9},
        {"slots": 3, "gpus": 4, "due": 4, "release": 1},
    ]
    assert ends(worked(jobs, restore=0), "edf") == {"a": 10, "b": 6, "c": 4}


def test_las_lets_a_new_job_pass_one_that_had_its_share() -> None:
    # The queue ends at 8 GPU seconds. When b comes, a had 12, and gives way; without a threshold
    # it would go on.
    jobs = [{"slots": 5, "gpus": 4}, {"slots": 2, "gpus": 4, "release": 3}]
    instance = worked(jobs, restore=0)
    assert ends(instance, make_las(thresholds=(8.0,))) == {"a": 7, "b": 5}
    assert ends(instance, "las") == {"a": 5, "b": 7}


def test_las_within_a_queue_is_in_order_of_arrival() -> None:
    jobs = [{"slots": 5, "gpus": 4}, {"slots": 2, "gpus": 4, "release": 1}]
    assert ends(worked(jobs, restore=0), make_las(thresholds=(8.0,))) == {"a": 5, "b": 7}


def test_gittins_index_is_that_of_the_definition() -> None:
    # S is 2, 4 or 10. From 0, Δ = 4 is best: 2/3 by (2 + 4 + 4)/3. From 3, Δ = 1: 1/2 by 1.
    services = np.array([4, 10, 2])
    found = gittins_indices(np.array([0, 3, 9, 10]), services)
    assert found == pytest.approx([0.2, 0.5, 1.0, 0.0])


def test_gittins_prefers_the_job_that_is_likely_to_end() -> None:
    jobs = [
        {"slots": 1, "gpus": 4},
        {"slots": 9, "gpus": 4, "release": 1},
        {"slots": 1, "gpus": 4, "release": 1},
    ]
    # At 1, a is complete with a service of 4. b and c have had nothing: equal, so b is first.
    assert ends(worked(jobs, restore=0), "gittins") == {"a": 1, "b": 10, "c": 11}
    # Asked each slot, b has outlasted all services after one slot, and c is first then.
    assert ends(worked(jobs, restore=0), "gittins", round_slots=1) == {"a": 1, "b": 11, "c": 3}


def test_themis_gives_gpus_to_the_job_that_sharing_hurts_most() -> None:
    # At 2, alone a takes 8 slots, as nobody else was there so far, and b 1 · 2 on half of the
    # cluster: ρ is (2 + 6)/8 and (0 + 1)/2, and a goes on. At 3, b has (1 + 1)/2, and a
    # (3 + 5)/(8 · 4/3), as there were 4/3 jobs in the mean.
    jobs = [{"slots": 8, "gpus": 4}, {"slots": 1, "gpus": 4, "release": 2}]
    instance = worked(jobs, restore=0)
    found = ends(instance, "finish-time-fairness", round_slots=1)
    assert found == {"a": 9, "b": 4}
    # Without rounds of a slot nobody asks at 3.
    assert ends(instance, "finish-time-fairness", round_slots=100) == {"a": 8, "b": 9}


def test_themis_counts_jobs_in_the_mean_of_a_job_s_life() -> None:
    # At 3, a has (3 + 5)/(8 · 4/3) = 0.75 and b (1 + 4)/(4 · 2) = 0.625; with the 2 jobs that are
    # there now, a would have 0.5. At 4, 0.67 and 0.75. b goes on at 5. At 6 both have 0.75: a. Then
    # b has 0.875 until it is complete.
    jobs = [{"slots": 8, "gpus": 4}, {"slots": 4, "gpus": 4, "release": 2}]
    found = ends(worked(jobs, restore=0), "finish-time-fairness", round_slots=1)
    assert found == {"a": 12, "b": 9}


def test_themis_interrupts_nobody_before_the_lease_ends() -> None:
    # c comes at 3, when b is worse off than a; but a keeps its GPUs until the round ends. At 8, b
    # has (6 + 1)/(17/6), as 17/6 jobs were there in the mean, and c (5 + 1)/3.
    jobs = [
        {"slots": 8, "gpus": 4},
        {"slots": 1, "gpus": 4, "release": 2},
        {"slots": 1, "gpus": 4, "release": 3},
    ]
    instance = worked(jobs, restore=0)
    found = ends(instance, "finish-time-fairness", round_slots=100)
    assert found == {"a": 8, "b": 9, "c": 10}


ELASTIC = {"gpus": [1, 2, 4], "global_batch_size": 8, "forward_ms_per_sample": 125.0}
"""An iteration takes 8 / w · 0.125 s: w GPUs do w iterations in a slot."""


def elastic(**fields: Any) -> dict[str, Any]:
    """A job that is w times as fast on w GPUs."""
    return {**ELASTIC, "backward_ms": 0.0, **fields}


def test_optimus_gives_the_next_gpu_to_the_greatest_gain() -> None:
    # Each gets 1 of 4 GPUs. From 1 to 2, a saves 8/2 slots and b 4/2: a has 2, and then its step to
    # 4 does not fit; b takes the last one. a ends after 4 slots, b after 2.
    jobs = [elastic(slots=8), elastic(slots=4)]
    found = rarmodel.simulate(worked(jobs), "optimus")
    assert found.schedule is not None
    sizes = {one.job: sum(map(len, one.gpus.values())) for one in found.schedule.assignments}
    assert sizes == {"a": 2, "b": 2}
    assert ends(worked(jobs), "optimus") == {"a": 4, "b": 2}


def test_optimus_resizes_at_rounds_only() -> None:
    # At 2 b is complete. With rounds of 1 slot a takes all 4 GPUs for its last 4 iterations.
    jobs = [elastic(slots=8), elastic(slots=4)]
    assert ends(worked(jobs, restore=0), "optimus", round_slots=1) == {"a": 3, "b": 2}
    assert ends(worked(jobs, restore=0), "optimus", round_slots=50) == {"a": 4, "b": 2}


def test_elastic_deadline_takes_the_smallest_ring_that_is_in_time() -> None:
    # a needs 2 GPUs to be done by 4, b one. The GPU that is left lets b have 2, as a would need 2
    # more. At 2, a takes all 4 for its last 4 iterations.
    jobs = [elastic(slots=8, due=4), elastic(slots=4, due=4)]
    assert ends(worked(jobs, restore=0), "elastic-deadline") == {"a": 3, "b": 2}


def test_elastic_deadline_runs_others_after_those_it_admits() -> None:
    # b cannot be done by 2 beside a, which needs all 4 GPUs until 2; c has no due slot.
    jobs = [elastic(slots=8, due=2), elastic(slots=8, due=2), elastic(slots=4)]
    found = ends(worked(jobs, restore=0), "elastic-deadline")
    assert found["a"] == 2
    assert found["b"] > 2
    assert found["c"] > 2


@pytest.mark.parametrize("policy", ["optimus", "elastic-deadline"])
def test_elastic_policies_refuse_instances_without_sizes(policy: str) -> None:
    with pytest.raises(UsageError, match="no job has a list of them"):
        rarmodel.simulate(worked([{"slots": 1}]), policy)


def test_sjf_bco_places_small_jobs_on_the_least_used_gpus() -> None:
    # a has GPU 0 of s0 and leaves at 2. b, at 3, takes a GPU that was not in use: one of s0 still.
    jobs = [{"slots": 2}, {"slots": 2, "release": 3}, {"slots": 1, "release": 3}]
    found = rarmodel.simulate(worked(jobs, servers=[2, 1]), "sjf-bco")
    assert found.schedule is not None
    servers = {one.job: [*one.gpus] for one in found.schedule.assignments}
    # Least accumulated time: GPU 1 of s0, and then the one of s1; GPU 0 of s0 has had 2 slots.
    assert servers == {"a": ["s0"], "b": ["s0"], "c": ["s1"]}


def test_sjf_bco_goes_by_size_and_waits_for_the_head() -> None:
    jobs = [{"slots": 3, "gpus": 3}, {"slots": 2, "gpus": 2}, {"slots": 1, "gpus": 4}]
    # b first; a does not fit beside it, and blocks c.
    assert ends(worked(jobs), "sjf-bco") == {"a": 5, "b": 2, "c": 6}


def test_replanning_is_as_good_as_the_plan() -> None:
    # In order of arrival a and c would wait for b; the plan for total flow begins with the others.
    jobs = [{"slots": 1, "gpus": 2}, {"slots": 9, "gpus": 4}, {"slots": 1, "gpus": 2}]
    found = ends(worked(jobs), "replan", objective="total-flow")
    assert found == {"a": 1, "b": 10, "c": 1}


def test_replanning_keeps_running_jobs_and_takes_new_ones_in() -> None:
    jobs = [
        {"slots": 4, "gpus": 4},
        {"slots": 9, "gpus": 4, "release": 1},
        {"slots": 2, "gpus": 4, "release": 2},
    ]
    found = ends(worked(jobs), "replan", objective="total-flow")
    assert found == {"a": 4, "b": 15, "c": 6}


def test_replanning_by_an_exact_model_follows_its_plan() -> None:
    exact = make_replan("exact", formulation="time-indexed", time_limit=30.0)
    jobs = [
        {"slots": 4, "gpus": 4},
        {"slots": 9, "gpus": 4, "release": 1},
        {"slots": 2, "gpus": 4, "release": 2},
    ]
    found = ends(worked(jobs, restore=1), exact, objective="total-flow")
    assert found == {"a": 4, "b": 15, "c": 6}


TWO_TYPES = {
    "times": {
        "fast": {"forward_ms_per_sample": 0.0, "backward_ms": 250.0},
        "slow": {"forward_ms_per_sample": 0.0, "backward_ms": 1000.0},
    }
}
"""4 iterations in a slot on the fast type, 1 on the slow one."""
ALIKE = {
    "times": {
        "fast": {"forward_ms_per_sample": 0.0, "backward_ms": 500.0},
        "slow": {"forward_ms_per_sample": 0.0, "backward_ms": 1000.0},
    }
}
"""2 iterations in a slot on the fast type."""


def test_gavel_makespan_gives_each_job_the_type_it_needs() -> None:
    # a on fast for 8 slots, b on slow for 8: the only way to be done by 8.
    jobs = [{"slots": 32, **TWO_TYPES}, {"slots": 8, **ALIKE}]
    instance = worked(jobs, servers=[1, 1], types=["fast", "slow"], restore=0)
    assert ends(instance, "gavel-makespan", round_slots=1) == {"a": 8, "b": 8}


def test_gavel_max_min_takes_turns_in_rounds() -> None:
    # Two equal jobs on one GPU: half of the time each. Without rounds, b waits for a.
    jobs = [{"slots": 4}, {"slots": 4}]
    instance = worked(jobs, servers=[1], restore=0)
    assert ends(instance, "gavel-max-min", round_slots=1) == {"a": 7, "b": 8}
    assert ends(instance, "gavel-max-min", round_slots=100) == {"a": 4, "b": 8}


def test_gavel_max_min_is_by_weight() -> None:
    # b is to have 3/4 of the time, a 1/4. The greater part begins, and then a, which had nothing.
    # X over slots had: b at 2 (3/4 by 1), 3 (3/4 by 2), and 4 (3/4 by 3 is as much as a's).
    jobs = [{"slots": 4}, {"slots": 4, "weight": 3}]
    instance = worked(jobs, servers=[1], restore=0)
    assert ends(instance, "gavel-max-min", round_slots=1) == {"a": 8, "b": 5}


def test_gavel_fairness_runs_the_job_that_waited() -> None:
    # Alone in half of the cluster, each would take twice as long: both keep ratio 1 by turns.
    jobs = [{"slots": 3}, {"slots": 3}]
    instance = worked(jobs, servers=[1], restore=0)
    assert ends(instance, "gavel-fairness", round_slots=1) == {"a": 5, "b": 6}


def test_gavel_cost_prefers_the_cheap_type() -> None:
    # The fast type does twice as much for ten times the price.
    prices = {"prices_per_gpu_hour": {"fast": 10.0, "slow": 1.0}}
    jobs = [{"slots": 8, **ALIKE}]
    instance = worked(jobs, servers=[1, 1], types=["fast", "slow"], restore=0, cluster=prices)
    assert ends(instance, "gavel-cost") == {"a": 8}
    due = worked([{**jobs[0], "due": 4}], [1, 1], types=["fast", "slow"], restore=0, cluster=prices)
    assert ends(due, "gavel-cost") == {"a": 4}


def sharing(*jobs: dict[str, Any], gpus: int = 2, slices: int = 2, **more: Any) -> Instance:
    """Jobs of one slice that do 10 iterations in a slot alone, on one server unless given."""
    return worked(
        [{"slices": 1, "backward_ms": 100.0, **job} for job in jobs],
        more.pop("servers", [gpus]),
        cluster={"gpu_slices": slices},
        **more,
    )


LOUD = {"sensitivity": 1.0, "pressure": 0.0}
"""Score 2: beside one of pressure 1 it keeps half of its speed."""
QUIET = {"sensitivity": 0.04, "pressure": 0.25}
"""Score 0: it keeps 1/1.04."""


@pytest.mark.parametrize(
    ("iterations", "expected"),
    [
        # c and b start alone: their scores are 4. c of 5 slots is first, and a joins it: 10 slots
        # are no more than twice as long. c does 8 in a slot, since it is 1.25 times as slow.
        (100, {"a": 10, "b": 9, "c": 7}),
        # 11 slots are more than twice as long as c, so a joins b.
        (110, {"a": 11, "b": 12, "c": 5}),
    ],
)
def test_lucid_joins_the_first_job_that_both_bear(
    iterations: int, expected: dict[str, int]
) -> None:
    jobs = (
        {"slots": iterations, **QUIET},
        {"slots": 90, **LOUD},
        {"slots": 50, **LOUD},
    )
    assert ends(sharing(*jobs), "lucid") == expected


def test_lucid_shares_only_while_more_wait_than_there_is_room_for() -> None:
    jobs = {"slots": 100, **QUIET}, {"slots": 90, **LOUD}, {"slots": 50, **LOUD}
    assert ends(sharing(*jobs, gpus=3), "lucid") == {"a": 10, "b": 9, "c": 5}


def test_lucid_keeps_jobs_apart_whose_scores_are_too_high() -> None:
    jobs = {"slots": 100, **LOUD}, {"slots": 90, **LOUD}, {"slots": 50, **LOUD}
    # Nobody would lose anything, since nobody presses; but the scores say so.
    assert ends(sharing(*jobs), "lucid") == {"a": 15, "b": 9, "c": 5}
    assert ends(sharing(*jobs), make_lucid(limit=4)) == {"a": 10, "b": 9, "c": 5}


def test_lucid_shares_in_one_server_by_two_at_most() -> None:
    jobs = [{"slots": 40, "gpus": 2, **QUIET, "pressure": 0.0} for _ in range(3)]
    # a and b are on both GPUs; c waits, though there is a third slice.
    assert ends(sharing(*jobs, slices=3), "lucid") == {"a": 4, "b": 4, "c": 8}
    # Over two servers nobody joins a.
    apart = sharing(*jobs, servers=[1, 1])
    assert ends(apart, "lucid") == {"a": 4, "b": 8, "c": 12}


def test_lucid_scores_are_those_of_its_labels() -> None:
    assert scores(np.array([0.96, 0.95, 0.94, 0.85, 0.84])).tolist() == [0, 0, 1, 1, 2]


def test_muri_matches_those_that_gain_most_in_sum() -> None:
    """a and b gain nothing together, c and d the most: 2. But both with a and b gain 3.6."""
    one, other = {"sensitivity": 1.0, "pressure": 1.0}, {"sensitivity": 0.0, "pressure": 0.25}
    jobs = [{"slots": 40, **one}] * 2 + [{"slots": 40, **other}] * 2
    assert ends(sharing(*jobs, restore=0), "muri") == {"a": 5, "b": 5, "c": 4, "d": 4}


def test_muri_makes_groups_no_larger_than_the_cluster_needs() -> None:
    # Three quiet jobs: on one GPU all of them are together, on three nobody is.
    jobs = [{"slots": 40, "sensitivity": 0.25, "pressure": 0.5}] * 3
    # 1.25 times as slow: 8 in a slot.
    assert ends(sharing(*jobs, gpus=1, slices=3, restore=0), "muri") == {"a": 5, "b": 5, "c": 5}
    assert ends(sharing(*jobs, gpus=3, slices=3, restore=0), "muri") == {"a": 4, "b": 4, "c": 4}
    pairs = ends(sharing(*jobs, gpus=1, slices=3, restore=0), make_muri(most=2))
    assert sorted(pairs.values()) == [5, 5, 9]


def test_muri_stops_a_job_for_one_with_less_left() -> None:
    jobs = {"slots": 100, "slices": None}, {"slots": 20, "release": 1}
    # At 1 a has 90 left, and b needs 2 slots.
    assert ends(sharing(*jobs, gpus=1, restore=0), "muri") == {"a": 12, "b": 3}


def test_muri_without_preemption_joins_a_running_job() -> None:
    quiet = {"slots": 40, "sensitivity": 0.0}
    jobs = quiet, {**quiet, "release": 1}, {**quiet, "release": 2}
    # b joins a at 1, and c joins b when a is complete, if groups are made anew in these slots.
    assert ends(sharing(*jobs, gpus=1), "muri", round_slots=1) == {"a": 4, "b": 5, "c": 8}
    # Otherwise groups are made at slot 0 and after 6 minutes.
    assert ends(sharing(*jobs, gpus=1), "muri") == {"a": 4, "b": 8, "c": 12}


@pytest.mark.parametrize("seed", range(3))
def test_muri_s_pairs_are_the_best_of_all(seed: int) -> None:
    """Six jobs on three GPUs: the pairs that run at slot 0 beside all fifteen ways to pair them."""
    random = Random(seed)
    losses = [(random.uniform(0, 0.7), random.uniform(0, 0.7)) for _ in range(6)]
    jobs = [
        {"slots": 90_000, "backward_ms": 1.0, "sensitivity": own, "pressure": on_others}
        for own, on_others in losses
    ]
    found = rarmodel.simulate(sharing(*jobs, gpus=3, restore=0), "muri")
    assert found.schedule is not None
    at: dict[int, list[int]] = {}
    for j, one in enumerate(found.schedule.assignments):
        assert one.start == 0
        at.setdefault(one.gpus["s0"][0], []).append(j)

    def gain(pairs: Iterable[Sequence[int]]) -> float:
        both = [(pair, pair[::-1]) for pair in pairs]
        return sum(1 / (1 + losses[j][0] * losses[i][1]) for pair in both for j, i in pair)

    def pairings(some: Sequence[int]) -> Iterator[list[Sequence[int]]]:
        if not some:
            yield []
        for other in some[1:]:
            rest = [j for j in some[1:] if j != other]
            yield from ([(some[0], other), *more] for more in pairings(rest))

    # The policy reads whole iterations: a thousandth of each speed at most.
    assert gain(at.values()) == pytest.approx(max(map(gain, pairings(range(6)))), abs=0.006)
