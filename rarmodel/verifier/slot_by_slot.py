"""Simulate rings in the most naive way: recompute everything in every slot.

This is slow, and hard to get wrong. It checks the faster simulation, and shares nothing with it
except the model's plain functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rarmodel.model import timing
from rarmodel.model.gpu_sharing import loss_units, measured_slowdowns, slowdown
from rarmodel.model.interruptions import checkpoint_interval, kept_iterations
from rarmodel.model.link_shares import bandwidths
from rarmodel.model.sharing_rule import RingOnLinks, pressure_of, sensitivity_of
from rarmodel.model.topology import topology
from rarmodel.schema import Cluster, Instance

from .report import Period, Ring
from .simulation_result import Run, SimulationResult


def simulate_slot_by_slot(instance: Instance, runs: Sequence[Run]) -> SimulationResult:
    """Simulate jobs that start at slot 0 or later; see `simulate`."""
    done = [run.job.iterations - run.iterations for run in runs]
    lost = [run.iterations - run.job.iterations_left for run in runs]
    completion: list[int | None] = [None] * len(runs)
    ends: list[int | None] = [None] * len(runs)
    periods: list[Period] = []
    active_before: set[int] = set()
    begun: set[int] = set()
    slot = 0
    while None in ends:
        for i, run in enumerate(runs):
            if run.start == slot:
                begun.add(i)
                if run.follows is not None:
                    done[i] = done[run.follows]
                if run.end == slot or done[i] >= run.job.iterations:
                    ends[i] = slot
        coming = any(
            i not in begun or (ends[i] is None and (run.end or run.start + run.restore) > slot)
            for i, run in enumerate(runs)
        )
        active = {i for i in begun if ends[i] is None and runs[i].start + runs[i].restore <= slot}
        states, links = _states(instance, runs, active)
        if not coming and all(ring.speed == 0 for ring in states.values()):
            return SimulationResult(
                tuple(completion), tuple(ends), slot, tuple(periods), tuple(lost)
            )
        if active and active == active_before:
            last = periods.pop()
            periods.append(Period(last.start, slot + 1, last.rings, last.links))
        elif active:
            by_name = {runs[i].job.name: ring for i, ring in states.items()}
            periods.append(Period(slot, slot + 1, by_name, links))
        active_before = active
        slot += 1
        for i, ring in states.items():
            done[i] += ring.speed
            if done[i] >= runs[i].job.iterations:  # (9)
                completion[i] = ends[i] = slot
        for i, run in enumerate(runs):
            if run.end == slot and ends[i] is None:
                ends[i] = slot
                kept = kept_iterations(done[i], checkpoint_interval(run.job))
                lost[i] += done[i] - kept
                done[i] = kept
    return SimulationResult(tuple(completion), tuple(ends), None, tuple(periods), tuple(lost))


def _states(
    instance: Instance, runs: Sequence[Run], active: set[int]
) -> tuple[dict[int, Ring], dict[str, int]]:
    """State of each active ring, (6)–(8), and the number of rings on each link used."""
    cluster, contention = instance.cluster, instance.contention
    tree = topology(cluster)
    gbps = [link.gbps for link in tree.links]
    # In the order in which they began, for readers.
    in_order = sorted(active, key=lambda i: (runs[i].start + runs[i].restore, -i))
    on_link = Counter(link for i in in_order for link in tree.links_used(runs[i].workers))  # p_ℓ
    terms = {i: _terms(instance, runs[i]) for i in in_order}
    used = {i: tree.links_used(runs[i].workers) for i in in_order}
    rings = {
        i: RingOnLinks(
            *(used[i], bits, reduction + overhead, compute, latency, contention.overlap),
            _most_of_cards(cluster, runs[i].workers),
            *(pressure_of(runs[i].job), sensitivity_of(runs[i].job)),
        )
        for i, (bits, latency, reduction, overhead, compute) in terms.items()
        if used[i]
    }
    shares = bandwidths(contention, gbps, [*rings.values()])  # (7), by the sharing rule
    rates = dict(zip(rings, shares, strict=True))
    states = {}
    for i in in_order:
        bandwidth = rates[i] if used[i] else _within(cluster, runs[i].workers)
        bits, latency, reduction, overhead, compute = terms[i]
        seconds = timing.iteration_seconds(  # (8)
            *(bits, bandwidth, latency, reduction, overhead),
            compute * _slowdown(instance, runs, active, i),
            contention.overlap,
        )
        states[i] = Ring(
            contention=max((on_link[k] for k in used[i]), default=0),  # (6)
            bandwidth_gbps=bandwidth,
            iteration_seconds=seconds,
            speed=timing.speed(instance.time.slot_seconds, seconds),
        )
    return states, {tree.links[k].node: rings for k, rings in on_link.items()}


def _slowdown(instance: Instance, runs: Sequence[Run], active: set[int], i: int) -> float:
    """How many times as long the passes of an active job take, g_j, beside those on its GPUs."""
    measured = measured_slowdowns(instance)
    on_gpus = [
        sum(
            loss_units(runs[i].job, runs[k].job, measured)
            for k in active
            if k != i and gpu in runs[k].gpus
        )
        for gpu in runs[i].gpus
    ]
    return slowdown(max(on_gpus, default=0))


def _terms(instance: Instance, run: Run) -> tuple[float, float, float, float, float]:
    """The parts of (8): bits, and seconds of latency, reduction, overhead, and of the passes."""
    job, workers, cluster = run.job, run.workers, instance.cluster
    size = sum(workers.values())
    types = {cluster.servers[s].gpu_type for s in workers}
    return (
        timing.exchange_bits(job.gradient_mb, size),
        timing.latency_seconds(instance.contention.latency_ms, size),
        timing.reduction_seconds(job.gradient_mb, size, cluster.reduction_gbps),
        timing.overhead_seconds(instance.contention.overhead_ms_per_server, len(workers)),
        max(timing.compute_seconds(job, size, kind) for kind in types),
    )


def _most_of_cards(cluster: Cluster, workers: Mapping[int, int]) -> float:
    """The most in Gbit/s that network cards let a ring on several servers have (section 20)."""
    uplink = {link.node: link.gbps for link in topology(cluster).links}
    found = []
    for s, count in workers.items():
        gbps, cards = uplink[cluster.servers[s].name], cluster.servers[s].network_cards
        found.append(gbps * count / cards if count < cards else gbps)
    return min(found)


def _within(cluster: Cluster, workers: Mapping[int, int]) -> float:
    """Bandwidth of a ring within its one server."""
    (server,) = workers
    own = cluster.servers[server].intra_server_gbps
    return cluster.intra_server_gbps if own is None else own
