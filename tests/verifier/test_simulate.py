"""Equations (6)–(9) against examples computed by hand."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from depth import examples
from documents import Data, instance_data, job_data, replaced, tree_data
from hypothesis import given
from hypothesis import strategies as st
from random_instances import instances, random_workers

from rarmodel.files import parse_instance
from rarmodel.model import timing
from rarmodel.schema import Instance
from rarmodel.verifier import Run, SimulationResult, simulate

RING: dict[str, Any] = {
    "gpus": 2,
    "gradient_mb": 125.0,
    "batch_size": 32,
    "forward_ms_per_sample": 0.5,
    "backward_ms": 63.0,
}
"""A ring of 2 with 2·125 MB·8e6·(1/2) = 1e9 bit to exchange, half as many to reduce, and
32·0.5 + 63 = 79 ms of forward and backward pass."""


def star(*jobs: Data, servers: tuple[int, ...] = (4, 4)) -> Data:
    """A star of 10 Gbit/s links with ξ1 = 1, α = 0.5, ξ2 = 10 ms, C = 500 and b^i = 200 Gbit/s."""
    data = instance_data(*jobs, servers=servers, horizon=1000)
    data["cluster"]["reduction_gbps"] = 500.0
    data["contention"]["degradation"]["alpha"] = 0.5
    data["contention"]["overhead_ms_per_server"] = 10.0
    return data


def run(data: Data, *runs: tuple[int, dict[int, int]]) -> tuple[Instance, SimulationResult]:
    """Simulate the jobs in order, each with its start and workers; both ways of stepping."""
    instance = parse_instance(data)
    given = [Run(job, start, y) for job, (start, y) in zip(instance.jobs, runs, strict=True)]
    result = simulate(instance, given)
    assert simulate(instance, given, slot_by_slot=True) == result
    return instance, result


def test_lone_ring_gets_the_whole_link() -> None:
    _, result = run(star(job_data("a", **RING, iterations=40)), (0, {0: 1, 1: 1}))
    (period,) = result.periods
    ring = period.rings["a"]
    assert ring.contention == 1  # p = 1: it shares with nobody. (6)
    assert ring.bandwidth_gbps == 10.0  # k = 1·1, f = 1 + 0.5·0 = 1, B = 10/1. (7)
    # τ = 1e9/10e9 + 0.5e9/500e9 + 2·0.010 + 0.079 = 0.1 + 0.001 + 0.020 + 0.079 = 0.2 s. (8)
    assert ring.iteration_seconds == pytest.approx(0.2, rel=1e-12)
    assert ring.speed == 5  # φ = ⌊1/0.2⌋, which float noise must not make 4.
    assert (period.start, period.end) == (0, 8)  # 40 iterations at 5 a slot. (9)
    assert period.links == {"s0": 1, "s1": 1}
    assert result.completion == (8,)
    assert result.stuck_since is None


def test_ring_within_one_server_uses_no_link() -> None:
    _, result = run(star(job_data("a", **RING, iterations=9)), (3, {1: 2}))
    (period,) = result.periods
    ring = period.rings["a"]
    assert ring.contention == 0
    assert ring.bandwidth_gbps == 200.0  # b^i
    # τ = 1e9/200e9 + 0.001 + 1·0.010 + 0.079 = 0.005 + 0.090 = 0.095 s: one server counts too.
    assert ring.iteration_seconds == pytest.approx(0.095, rel=1e-12)
    assert ring.speed == 10  # ⌊10.526⌋
    assert (period.start, period.end) == (3, 4)  # 9 iterations fit one slot.
    assert period.links == {}


def test_job_of_one_gpu_has_neither_exchange_nor_reduction() -> None:
    job = job_data("a", **{**RING, "gpus": 1}, iterations=12)
    _, result = run(star(job), (0, {0: 1}))
    ring = result.periods[0].rings["a"]
    # τ = 0 + 0 + 1·0.010 + 0.079 = 0.089 s, φ = ⌊11.2⌋ = 11, 12 iterations take 2 slots.
    assert ring.iteration_seconds == pytest.approx(0.089, rel=1e-12)
    assert ring.speed == 11
    assert result.completion == (2,)


def test_rings_that_share_links_slow_each_other_down_on_a_star() -> None:
    jobs = [job_data(name, **RING, iterations=n) for name, n in (("a", 25), ("b", 8))]
    _, result = run(star(*jobs), (0, {0: 1, 1: 1}), (2, {0: 1, 1: 1}))
    # Slots 0–1: a alone, τ = 0.2 s, φ = 5, 10 done.
    # From slot 2 both: p = 2, k = 2, f = 2 + 0.5·1 = 2.5, B = 10/2.5 = 4 Gbit/s,
    # τ = 1e9/4e9 + 0.001 + 0.020 + 0.079 = 0.35 s, φ = ⌊2.857⌋ = 2.
    # b needs ⌈8/2⌉ = 4 slots: slots 2–5, T_b = 6. By then a has done 10 + 4·2 = 18.
    # From slot 6 a alone: 7 left at 5 a slot take 2 slots, T_a = 8.
    assert [(p.start, p.end) for p in result.periods] == [(0, 2), (2, 6), (6, 8)]
    assert [sorted(p.rings) for p in result.periods] == [["a"], ["a", "b"], ["a"]]
    for ring in result.periods[1].rings.values():
        assert ring.contention == 2
        assert ring.bandwidth_gbps == 4.0
        assert ring.iteration_seconds == pytest.approx(0.35, rel=1e-12)
        assert ring.speed == 2
    assert [p.rings["a"].speed for p in result.periods] == [5, 2, 5]
    assert [p.links["s0"] for p in result.periods] == [1, 2, 1]
    assert result.completion == (8, 6)


def test_rings_communicate_at_the_same_moment_only_in_part() -> None:
    jobs = [job_data(name, **RING) for name in "ab"]
    data = replaced(star(*jobs), ("contention", "concurrency"), 0.75)
    _, result = run(data, (0, {0: 1, 1: 1}), (0, {0: 1, 1: 1}))
    ring = result.periods[0].rings["a"]
    # p = 2, k = 0.75·2 = 1.5, f = 1.5 + 0.5·0.5 = 1.75.
    assert ring.contention == 2
    assert ring.bandwidth_gbps == pytest.approx(10 / 1.75, rel=1e-12)


def test_no_ring_gets_more_than_its_link_has() -> None:
    jobs = [job_data(name, **RING) for name in "ab"]
    for concurrency, gbps in ((0.5, 10.0), (0.1, 10.0)):
        # p = 2: k = 1 gives f = 1; k = 0.2 would give 0.2 − 0.5·0.8 = −0.2, clamped to 1.
        data = replaced(star(*jobs), ("contention", "concurrency"), concurrency)
        _, result = run(data, (0, {0: 1, 1: 1}), (0, {0: 1, 1: 1}))
        assert result.periods[0].rings["a"].bandwidth_gbps == gbps


def test_ring_feels_its_most_crowded_link_only() -> None:
    # a: s0 s1, b: s1 s2, c: s1 s3. On s1 meet 3, elsewhere nobody: p = 3 for each of them.
    # d: s0 s4 meets a on s0: p = 2 for d. (6)
    jobs = [job_data(name, **RING) for name in "abcd"]
    data = star(*jobs, servers=(4, 4, 4, 4, 4))
    _, result = run(
        data, (0, {0: 1, 1: 1}), (0, {1: 1, 2: 1}), (0, {1: 1, 3: 1}), (0, {0: 1, 4: 1})
    )
    period = result.periods[0]
    assert {name: ring.contention for name, ring in period.rings.items()} == {
        "a": 3,
        "b": 3,
        "c": 3,
        "d": 2,
    }
    assert period.links == {"s0": 2, "s1": 3, "s2": 1, "s3": 1, "s4": 1}
    assert period.rings["a"].bandwidth_gbps == 10 / 4.0  # f = 3 + 0.5·2
    assert period.rings["d"].bandwidth_gbps == 10 / 2.5  # f = 2 + 0.5·1


def test_jobs_within_servers_do_not_count_as_contention() -> None:
    jobs = [job_data(name, **RING) for name in "abc"]
    _, result = run(star(*jobs), (0, {0: 1, 1: 1}), (0, {0: 2}), (0, {1: 2}))
    rings = result.periods[0].rings
    assert {name: ring.contention for name, ring in rings.items()} == {"a": 1, "b": 0, "c": 0}


def test_uneven_ring_on_three_servers() -> None:
    job = job_data("a", **{**RING, "gpus": 5}, iterations=3)
    _, result = run(star(job, servers=(4, 4, 4)), (0, {0: 3, 1: 1, 2: 1}))
    ring = result.periods[0].rings["a"]
    # w = 5, (w−1)/w = 0.8: exchange 2·1e9·0.8 = 1.6e9 bit at 10 Gbit/s: 0.16 s; reduction
    # 0.8e9/500e9 = 0.0016 s; overhead 3·0.010 s; compute 0.079 s. τ = 0.2706 s, φ = ⌊3.695⌋ = 3.
    assert ring.iteration_seconds == pytest.approx(0.2706, rel=1e-12)
    assert ring.speed == 3
    assert result.completion == (1,)


def racks(*jobs: Data) -> Data:
    """Two racks of two servers, 10 Gbit/s each, behind uplinks of 16 Gbit/s."""
    data = star(*jobs, servers=(4, 4, 4, 4))
    links = [("s0", "r0"), ("s1", "r0"), ("s2", "r1"), ("s3", "r1"), ("r0", "core"), ("r1", "core")]
    data["cluster"]["network"] = tree_data(*links)["cluster"]["network"]
    for link in data["cluster"]["network"]["links"]:
        link["gbps"] = 16.0 if link["parent"] == "core" else 10.0
    return data


def test_rings_that_share_only_an_uplink_slow_each_other_down_on_a_tree() -> None:
    jobs = [job_data(name, **RING, iterations=n) for name, n in (("a", 12), ("b", 30), ("c", 4))]
    _, result = run(racks(*jobs), (0, {0: 1, 2: 1}), (0, {1: 1, 3: 1}), (1, {0: 1, 1: 1}))
    # a: s0 r0 r1 s2, b: s1 r0 r1 s3, c: s0 s1 (within rack r0, so not r0 itself).
    first, second = result.periods[0], result.periods[1]
    # Slot 0: a and b share r0 and r1. Server links p = 1: 10. Uplinks p = 2, f = 2.5: 16/2.5 = 6.4.
    # B = min(10, 6.4) = 6.4, p = 2. τ = 1e9/6.4e9 + 0.1 = 0.25625 s, φ = ⌊3.90⌋ = 3.
    assert first.links == {"s0": 1, "s1": 1, "s2": 1, "s3": 1, "r0": 2, "r1": 2}
    for name in "ab":
        assert first.rings[name].contention == 2
        assert first.rings[name].bandwidth_gbps == pytest.approx(6.4)
        assert first.rings[name].iteration_seconds == pytest.approx(0.25625)
        assert first.rings[name].speed == 3
    # From slot 1 c, too: s0 and s1 have p = 2, f = 2.5: 10/2.5 = 4 Gbit/s for all three.
    # τ = 1e9/4e9 + 0.1 = 0.35 s, φ = 2.
    assert second.links == {"s0": 2, "s1": 2, "s2": 1, "s3": 1, "r0": 2, "r1": 2}
    for name in "abc":
        assert second.rings[name].contention == 2
        assert second.rings[name].bandwidth_gbps == 4.0
        assert second.rings[name].speed == 2
    # c: 4 iterations in slots 1–2, T_c = 3. a: 3 + 2·2 = 7 by slot 3, then 3 a slot: 5 left take
    # 2 slots, T_a = 5. b: 7 by slot 3, 13 by slot 5, then alone: B = min(10, 16) = 10, φ = 5,
    # 17 left take 4 slots, T_b = 9.
    assert result.completion == (5, 9, 3)
    assert [(p.start, p.end) for p in result.periods] == [(0, 1), (1, 3), (3, 5), (5, 9)]
    last = result.periods[-1].rings["b"]
    assert (last.contention, last.bandwidth_gbps, last.speed) == (1, 10.0, 5)


def test_bandwidth_is_the_least_share_and_not_that_of_the_most_crowded_link() -> None:
    # Uplinks of 100 Gbit/s with 2 rings give 40 each; server links of 10 with 1 ring give 10.
    jobs = [job_data(name, **RING) for name in "ab"]
    data = racks(*jobs)
    for link in data["cluster"]["network"]["links"][4:]:
        link["gbps"] = 100.0
    _, result = run(data, (0, {0: 1, 2: 1}), (0, {1: 1, 3: 1}))
    ring = result.periods[0].rings["a"]
    assert ring.contention == 2
    assert ring.bandwidth_gbps == 10.0


def test_ring_that_fills_a_rack_does_not_use_its_uplink() -> None:
    job = job_data("a", **{**RING, "gpus": 8})
    _, result = run(racks(job), (0, {2: 4, 3: 4}))
    assert result.periods[0].links == {"s2": 1, "s3": 1}


def test_tree_of_equal_links_to_one_switch_is_the_star() -> None:
    jobs = [job_data(name, **RING, iterations=17) for name in "abc"]
    runs = [(0, {0: 1, 1: 1}), (1, {0: 1, 1: 1}), (3, {0: 2})]
    data = star(*jobs)
    tree = {**data, "cluster": {**data["cluster"]}}
    tree["cluster"]["network"] = tree_data(("s0", "top"), ("s1", "top"))["cluster"]["network"]
    assert run(data, *runs)[1] == run(tree, *runs)[1]


def test_gap_without_jobs_is_no_period() -> None:
    jobs = [job_data("a"), job_data("b")]
    _, result = run(instance_data(*jobs), (2, {0: 1}), (7, {0: 1}))
    assert [(p.start, p.end) for p in result.periods] == [(2, 3), (7, 8)]
    assert result.completion == (3, 8)


def test_jobs_that_follow_without_gap_are_two_periods() -> None:
    _, result = run(instance_data(job_data("a"), job_data("b")), (0, {0: 1}), (1, {0: 1}))
    assert [(p.start, p.end, list(p.rings)) for p in result.periods] == [
        (0, 1, ["a"]),
        (1, 2, ["b"]),
    ]


def test_speed_of_an_iteration_just_longer_than_a_slot_is_0_and_never_ends() -> None:
    ring = {**RING, "forward_ms_per_sample": 0.0, "backward_ms": 0.0}
    data = replaced(star(job_data("a", **ring)), ("time", "slot_seconds"), 0.1209)
    # Within one server τ = 0.005 + 0.001 + 0.010 = 0.016 s; across two 0.1 + 0.001 + 0.020 = 0.121.
    _, result = run(data, (4, {0: 1, 1: 1}))
    assert result.completion == (None,)
    assert result.stuck_since == 4
    assert result.periods == ()


def test_nothing_to_run_is_an_empty_course() -> None:
    instance = parse_instance(instance_data())
    for slot_by_slot in (False, True):
        assert simulate(instance, [], slot_by_slot=slot_by_slot) == SimulationResult(
            (), (), None, ()
        )


def test_last_iteration_decides_whether_another_slot_is_needed() -> None:
    # 10 iterations a slot: 30 take 3 slots, 31 take 4.
    for iterations, end in ((1, 1), (10, 1), (11, 2), (30, 3), (31, 4)):
        _, result = run(instance_data(job_data("a", iterations=iterations)), (0, {0: 1}))
        assert result.completion == (end,)


def test_very_many_iterations_are_counted_exactly() -> None:
    data = instance_data(job_data("a", iterations=2**53 - 1), job_data("b"), horizon=2**53 - 1)
    instance = parse_instance(data)
    runs = [Run(instance.jobs[0], 0, {0: 1}), Run(instance.jobs[1], 2**40, {1: 1})]
    # ⌈(2^53 − 1)/10⌉, and the other job in between changes nothing.
    assert simulate(instance, runs).completion == (-(-(2**53 - 1) // 10), 2**40 + 1)


def test_very_fast_jobs_end_in_one_slot() -> None:
    job = job_data("a", iterations=2**53 - 1, backward_ms=1e-30)
    data = replaced(instance_data(job), ("time", "slot_seconds"), 1e30)
    _, result = run(data, (0, {0: 1}))
    assert result.completion == (1,)


def test_a_start_before_slot_0_is_refused() -> None:
    with pytest.raises(ValueError, match="numbered from 0"):
        run(star(job_data("a", **RING)), (-1, {0: 2}))


def test_ring_that_takes_anothers_place_in_the_same_slot_changes_nothing_for_a_third() -> None:
    jobs = [job_data(name, **RING, iterations=n) for name, n in (("a", 40), ("b", 8), ("c", 4))]
    _, result = run(star(*jobs), (0, {0: 1, 1: 1}), (0, {0: 1, 1: 1}), (4, {0: 1, 1: 1}))
    # Two rings share both links until slot 6: φ = 2, as above; b ends at slot 4, where c begins.
    assert [(p.start, p.end, list(p.rings)) for p in result.periods] == [
        (0, 4, ["b", "a"]),
        (4, 6, ["a", "c"]),
        (6, 12, ["a"]),
    ]
    assert result.periods[0].rings["a"] == result.periods[1].rings["a"]
    # a does 6·2 = 12 iterations by slot 6 and the other 28 alone, at 5 a slot, in 6 slots.
    assert result.completion == (12, 4, 6)


def test_ring_is_looked_at_only_when_its_links_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work grows with what changes, and not with how many rings there are."""
    jobs = [job_data(f"j{i}", **RING, iterations=10 * i + 10) for i in range(50)]
    instance = parse_instance(star(*jobs, servers=(2,) * 100))
    runs = [Run(job, i % 7, {2 * i: 1, 2 * i + 1: 1}) for i, job in enumerate(instance.jobs)]
    speeds: list[float] = []

    def speed(slot_seconds: float, seconds: float) -> int:
        speeds.append(seconds)
        return 5

    monkeypatch.setattr(timing, "speed", speed)
    result = simulate(instance, runs)
    assert result.completion == tuple(i % 7 + 2 * i + 2 for i in range(50))
    assert len(speeds) == 50


def test_many_changes_of_many_speeds_are_followed_to_the_end() -> None:
    # Each of 40 rings changes the speed of all that run: hundreds of completions are foreseen that
    # do not come true.
    jobs = [job_data(f"j{i}", **RING, iterations=400 + 70 * (i % 5)) for i in range(40)]
    jobs.insert(0, job_data("bystander", iterations=200_000))
    data = replaced(star(*jobs, servers=(40, 40, 1)), ("time", "slot_seconds"), 20.0)
    _, result = run(data, (0, {2: 1}), *((i, {0: 1, 1: 1}) for i in range(40)))
    assert None not in result.completion
    # The bystander's is foreseen at its start and never again: 20 s hold 181 times 0.11 s.
    assert result.completion[0] == 1105 == max(end for end in result.completion if end is not None)
    assert len({ring.speed for period in result.periods for ring in period.rings.values()}) > 10


@st.composite
def crowded_runs(draw: st.DrawFn) -> tuple[Instance, list[Run]]:
    """Runs that start together or apart, some of a job twice; no server's size holds them back."""
    instance = draw(instances(jobs=8))
    random: Random = draw(st.randoms(use_true_random=False))
    starts = st.sampled_from([0, 1, 2, 3, 5, 5, 8, 40])
    times = draw(st.integers(1, 2))
    jobs = [job for job in instance.jobs for _ in range(times)]
    workers = [y for _ in range(times) for y in random_workers(random, instance)]
    per_job = [
        workers[j + k * len(instance.jobs)] for j in range(len(instance.jobs)) for k in range(times)
    ]
    return instance, [Run(job, draw(starts), y) for job, y in zip(jobs, per_job, strict=True)]


@examples(50)
@given(crowded_runs())
def test_steps_from_change_to_change_are_those_of_the_naive_slot_by_slot(
    given_runs: tuple[Instance, list[Run]],
) -> None:
    instance, runs = given_runs
    result, naive = simulate(instance, runs), simulate(instance, runs, slot_by_slot=True)
    assert result == naive
    assert isinstance(naive.periods, tuple)
    for period, same in zip(result.periods, naive.periods, strict=True):
        assert list(period.rings) == list(same.rings)  # Rings stand in the same order, too.
