"""SJF-BCO on arrival: the paper's placement, one job after another as they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial

import numpy as np

from rarmodel.engine.arrays import Ints

from ..placement import Asked
from ..policy import Decision, Policy, ranked
from ..state import DURATIONS, State

Gpu = tuple[int, int]
"""Server and GPU; only this policy numbers GPUs, to know how long each has been in use."""


def make_sjf_bco(name: str = "sjf-bco", *, kappa: int = 1, servers_factor: float = 1.0) -> Policy:
    """SJF-BCO (Algorithms 1 to 3) for jobs that arrive.

    Jobs of fewest GPUs first; one that cannot be placed keeps the others waiting. A job of at most
    κ GPUs is placed by FA-FFP, on the idle GPUs of least accumulated time; a wider one by LBSGF, on
    the least busy idle GPUs of the servers of least time per GPU that have `λ·G_j` GPUs in all.
    Readings: without the jobs to come there is no makespan by which to choose κ and the limit θ, so
    κ is given, and there is no limit. The estimate of a job is its time alone. Where a job asks for
    another spread of its ring, the simulation's placement puts it.

    Parameters
    ----------
    name
        Its name.
    kappa
        κ; with 1 only rings are kept together.
    servers_factor
        λ, the same for all jobs.
    """
    decide = partial(_by_least_time, kappa, servers_factor)
    return Policy(name, decide, "SJF-BCO: fewest GPUs first, on the least busy ones", DURATIONS)


def _by_least_time(kappa: int, servers_factor: float, state: State) -> Decision:
    order = ranked(state.gpus, among=~state.running)
    used: dict[Gpu, int] = state.memory.setdefault("used", {})
    held: dict[int, list[Gpu]] = state.memory.setdefault("held", {})
    worked: dict[int, int] = state.memory.setdefault("worked", {})
    running = dict(zip(state.number.tolist(), state.running.tolist(), strict=True))
    there_are = dict(zip(state.number.tolist(), state.places, strict=True))
    for number, gpus in [*held.items()]:
        if number in there_are and Counter(s for s, _ in gpus) != there_are[number]:
            for gpu in gpus:  # It did not start, or the simulation put it elsewhere.
                used[gpu] -= worked.get(number, 0)
        elif running.get(number):
            continue
        del held[number]
    taken = {gpu for gpus in held.values() for gpu in gpus}
    room = state.idle.copy()
    idle = [
        (server, gpu)
        for server, one in enumerate(state.cluster.servers)
        for gpu in range(one.gpus)
        if (server, gpu) not in taken
    ]
    places = {}
    for position in order.tolist():
        asks, size = state.asks[position], int(state.gpus[position])
        there = _reachable(idle, room, asks, used)
        if size > kappa:
            few = _least_busy_servers(state, asks, used, servers_factor * size)
            there = [gpu for gpu in there if gpu[0] in few]
        chosen = there[:size]
        ring: dict[int, int] = {}
        for server, _ in chosen:
            ring[server] = ring.get(server, 0) + 1
        if len(chosen) < size or not asks.kept_by(ring):
            break
        places[position] = ring
        number = int(state.number[position])
        held[number], worked[number] = chosen, int(state.length[position])
        idle = [gpu for gpu in idle if gpu not in chosen]
        for gpu in chosen:
            used[gpu] = used.get(gpu, 0) + worked[number]
            room[gpu[0]] -= 1
    return Decision(order, blocks=True, places=places)


def _reachable(idle: list[Gpu], room: Ints, asks: Asked, used: Mapping[Gpu, int]) -> list[Gpu]:
    """Idle GPUs that a job may use, the least used first; of a server only as many as are left."""
    counts = np.zeros(len(room), np.int64)
    found = []
    for gpu in sorted(idle, key=lambda gpu: (used.get(gpu, 0), gpu)):
        if asks.allowed[-1][gpu[0]] and counts[gpu[0]] < room[gpu[0]]:
            counts[gpu[0]] += 1
            found.append(gpu)
    return found


def _least_busy_servers(
    state: State, asks: Asked, used: Mapping[Gpu, int], gpus: float
) -> set[int]:
    """The servers of least time per GPU that have so many GPUs together."""
    servers = state.cluster.servers
    load = [0] * len(servers)
    for (server, _), slots in used.items():
        load[server] += slots
    found: set[int] = set()
    for server in sorted(range(len(servers)), key=lambda s: (load[s] / servers[s].gpus, s)):
        if asks.allowed[-1][server]:
            found.add(server)
            gpus -= servers[server].gpus
            if gpus <= 0:
                break
    return found


SJF_BCO = make_sjf_bco()
