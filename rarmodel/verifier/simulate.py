"""Simulate rings by equations (6)–(9), from one change of the active set to the next.

This module shares nothing with the engine except the model's plain functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from rarmodel.model import timing
from rarmodel.model.interruptions import checkpoint_interval, kept_iterations
from rarmodel.model.topology import topology
from rarmodel.schema import Instance

from .periods import Periods
from .simulation_result import Run, SimulationResult
from .slot_by_slot import simulate_slot_by_slot
from .traffic import Placed, placed, traffic_of


def simulate(
    instance: Instance, runs: Sequence[Run], *, slot_by_slot: bool = False
) -> SimulationResult:
    """Run jobs from their starts to their completions, past the horizon if need be.

    Speeds are constant while the active set is constant (reading 7), so the simulation steps from
    one change of the active set to the next. `slot_by_slot` instead recomputes everything in every
    slot, with the same result. If every active job has speed 0 and no job is still to start, the
    active jobs never complete (reading 3).

    Raises
    ------
    ValueError
        If a start is below 0.
    """
    if any(run.start < 0 for run in runs):
        raise ValueError("slots are numbered from 0; a run starts before that")
    if slot_by_slot:
        return simulate_slot_by_slot(instance, runs)
    tree = topology(instance.cluster)
    rings = placed(runs, tree)
    completion, ends, lost, stuck_since = _completions(instance, rings, runs)
    ups = [run.start + run.restore for run in runs]
    up = [i for i, end in enumerate(ends) if end is None or end > ups[i]]
    periods = Periods(
        instance,
        [rings[i] for i in up],
        [ups[i] for i in up],
        [ends[i] for i in up],
        stuck_since,
    )
    return SimulationResult(tuple(completion), tuple(ends), stuck_since, periods, tuple(lost))


def _completions(
    instance: Instance, rings: Sequence[Placed], runs: Sequence[Run]
) -> tuple[list[int | None], list[int | None], list[int], int | None]:
    """When jobs complete and runs end, iterations lost, and when nothing changes any more.

    The last is None if all jobs complete.
    """
    traffic = traffic_of(instance, rings)
    on_gpus = traffic.gpus
    slot_seconds = instance.time.slot_seconds
    completion: list[int | None] = [None] * len(rings)
    left_at: list[int | None] = [None] * len(rings)
    waiting = sorted(range(len(rings)), key=lambda i: runs[i].start, reverse=True)
    running: set[int] = set()
    # Each ring's speed φ_j since a slot, the iterations its job had done by then, and where that
    # leads: None while the speed is 0.
    speed, since = [0] * len(rings), [0] * len(rings)
    done = [run.job.iterations - run.iterations for run in runs]
    lost = [run.iterations - run.job.iterations_left for run in runs]
    finish: list[int | None] = [None] * len(rings)
    gbps: list[float] = [0.0] * len(rings)
    load = [0] * len(rings)  # Of others on its GPUs.
    ends: list[tuple[int, int]] = []  # A heap of (finish, ring); out of date if `finish` differs.
    stops = [(run.end, i) for i, run in enumerate(runs) if run.end is not None]
    heapify(stops)
    restored: list[tuple[int, int]] = []  # A heap of (slot, ring), as `stops`.
    slot = 0
    while True:
        while ends and finish[ends[0][1]] != ends[0][0]:
            heappop(ends)
        while stops and left_at[stops[0][1]] is not None:
            heappop(stops)
        while restored and left_at[restored[0][1]] is not None:
            heappop(restored)
        if not (running or waiting or restored):
            return completion, left_at, lost, None
        following = [heap[0][0] for heap in (ends, stops, restored) if heap]
        following += [runs[i].start for i in waiting[-1:]]
        if not following:
            return completion, left_at, lost, slot
        slot = min(following)
        ended, begun = [], []
        while ends and ends[0][0] == slot:
            _, i = heappop(ends)
            if finish[i] == slot:
                completion[i], left_at[i], finish[i] = slot, slot, None  # (9)
                done[i] = runs[i].job.iterations
                ended.append(i)
        while stops and stops[0][0] == slot:
            _, i = heappop(stops)
            if left_at[i] is not None:
                continue
            left_at[i] = slot
            if i in running:
                done[i] += speed[i] * (slot - since[i])
                kept = kept_iterations(done[i], checkpoint_interval(runs[i].job))
                lost[i], done[i] = lost[i] + done[i] - kept, kept
                finish[i] = None
                ended.append(i)
        while waiting and runs[waiting[-1]].start == slot:
            i = waiting.pop()
            before, restore = runs[i].follows, runs[i].restore
            if before is not None:
                done[i] = done[before]
            if done[i] >= runs[i].job.iterations:
                left_at[i] = slot
            elif restore:
                heappush(restored, (slot + restore, i))
            else:
                begun.append(i)
        while restored and restored[0][0] == slot:
            _, i = heappop(restored)
            if left_at[i] is None:
                begun.append(i)
        running.difference_update(ended)
        running.update(begun)
        changed = traffic.change(ended, begun).items()
        slowed_or_sped = {
            i for link, least in changed for i in traffic.rings_on[link] if gbps[i] >= least
        }
        for i in begun:
            since[i] = slot
        slowed_or_sped.update(begun)
        if on_gpus is not None:
            slowed_or_sped |= on_gpus.beside(ended) | on_gpus.beside(begun)
        for i in slowed_or_sped:
            bandwidth = traffic.bandwidth_gbps(i)
            beside = 0 if on_gpus is None else on_gpus.greatest(i)
            if bandwidth == gbps[i] and beside == load[i]:
                continue
            gbps[i], load[i] = bandwidth, beside
            new_speed = timing.speed(slot_seconds, traffic.iteration_seconds(i, bandwidth))
            if new_speed == speed[i]:
                continue
            done[i] += speed[i] * (slot - since[i])
            speed[i], since[i], finish[i] = new_speed, slot, None
            if new_speed > 0:
                left = runs[i].job.iterations - done[i]
                end = slot + timing.slots_needed(left, new_speed)
                finish[i] = end
                heappush(ends, (end, i))
        if len(ends) > 2 * len(running) + 64:  # Mostly out of date.
            ends = [(at, i) for i in running if (at := finish[i]) is not None]
            heapify(ends)
