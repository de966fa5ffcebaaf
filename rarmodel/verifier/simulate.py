"""Simulate rings by equations (6)–(9), from one change of the active set to the next.

This module shares nothing with the engine except the model's plain functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from rarmodel.model import timing
from rarmodel.model.topology import topology
from rarmodel.schema import Instance

from .periods import Periods
from .simulation_result import Run, SimulationResult
from .slot_by_slot import simulate_slot_by_slot
from .traffic import Placed, Traffic, placed


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
    rings = [placed(run, tree) for run in runs]
    ups = [run.start + run.restore for run in runs]
    completion, ends, stuck_since = _completions(instance, rings, runs, ups)
    up = [i for i, end in enumerate(ends) if end is None or end > ups[i]]
    periods = Periods(instance, [rings[i] for i in up], [ups[i] for i in up], [ends[i] for i in up])
    return SimulationResult(tuple(completion), tuple(ends), stuck_since, periods)


def _completions(
    instance: Instance, rings: Sequence[Placed], runs: Sequence[Run], ups: Sequence[int]
) -> tuple[list[int | None], list[int | None], int | None]:
    """When jobs complete and runs end, and the slot after which nothing changes if some never do.

    `ups` has the slot from which on each ring exchanges gradients.
    """
    traffic = Traffic(instance, rings)
    slot_seconds = instance.time.slot_seconds
    completion: list[int | None] = [None] * len(rings)
    left_at: list[int | None] = [None] * len(rings)
    waiting = sorted(range(len(rings)), key=ups.__getitem__, reverse=True)
    running: set[int] = set()
    # Each ring's speed φ_j since a slot, the iterations it had done by then, and where that leads:
    # None while the speed is 0.
    speed, since, done = [0] * len(rings), list(ups), [0] * len(rings)
    finish: list[int | None] = [None] * len(rings)
    gbps: list[float] = [0.0] * len(rings)
    ends: list[tuple[int, int]] = []  # A heap of (finish, ring); out of date if `finish` differs.
    stops = [(run.end, i) for i, run in enumerate(runs) if run.end is not None]
    heapify(stops)
    slot = 0
    while waiting or running:
        while ends and finish[ends[0][1]] != ends[0][0]:
            heappop(ends)
        while stops and left_at[stops[0][1]] is not None:
            heappop(stops)
        if not ends and not waiting and not stops:
            return completion, left_at, slot
        following = [end for end, _ in ends[:1]] + [end for end, _ in stops[:1]]
        slot = min(following + [ups[i] for i in waiting[-1:]])
        ended = []
        while ends and ends[0][0] == slot:
            _, i = heappop(ends)
            if finish[i] == slot:
                completion[i], left_at[i], finish[i] = slot, slot, None  # (9)
                ended.append(i)
        while stops and stops[0][0] == slot:
            _, i = heappop(stops)
            if i in running:
                done[i] += speed[i] * (slot - since[i])
                left_at[i], finish[i] = slot, None
                ended.append(i)
            elif left_at[i] is None:  # Interrupted while it was restored.
                left_at[i] = slot
                _take_over(i, runs, completion, left_at, done)
        begun = []
        while waiting and ups[waiting[-1]] == slot:
            i = waiting.pop()
            if left_at[i] is None and _take_over(i, runs, completion, left_at, done):
                begun.append(i)
        running.difference_update(ended)
        running.update(begun)
        changed = traffic.change(ended, begun).items()
        slowed_or_sped = {
            i for link, least in changed for i in traffic.rings_on[link] if gbps[i] >= least
        }
        for i in slowed_or_sped.union(begun):
            bandwidth = traffic.bandwidth_gbps(i)
            if bandwidth == gbps[i]:
                continue
            gbps[i] = bandwidth
            new_speed = timing.speed(slot_seconds, traffic.iteration_seconds(i, bandwidth))
            if new_speed == speed[i]:
                continue
            done[i] += speed[i] * (slot - since[i])
            speed[i], since[i], finish[i] = new_speed, slot, None
            if new_speed > 0:
                left = rings[i].job.iterations_left - done[i]
                end = slot + timing.slots_needed(left, new_speed)
                finish[i] = end
                heappush(ends, (end, i))
        if len(ends) > 2 * len(running) + 64:  # Mostly out of date.
            ends = [(at, i) for i in running if (at := finish[i]) is not None]
            heapify(ends)
    return completion, left_at, None


def _take_over(
    i: int,
    runs: Sequence[Run],
    completion: Sequence[int | None],
    left_at: list[int | None],
    done: list[int],
) -> bool:
    """Give a run the iterations of its job's segments before; False if nothing is left to do."""
    before = runs[i].follows
    if before is None:
        return True
    done[i] = done[before]
    if completion[before] is None and left_at[before] != runs[before].start:
        return True
    left_at[i] = runs[i].start
    return False
