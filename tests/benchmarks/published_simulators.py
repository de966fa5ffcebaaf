"""Jobs of Gavel's and Tiresias' simulators in `simulate`: published_simulators.py GAVEL TIRESIAS.

GAVEL and TIRESIAS are clones of https://github.com/stanford-futuredata/gavel (c4fa400) and
https://github.com/SymbioticLab/Tiresias (959f9b0). Each row has seconds of makespan and of mean
completion time, rarmodel's beside those of the simulator, which docs/published-figures.md says how
to run. `gavel_changed.py` beside this file runs Gavel's with the changes that the rows name.
"""

from __future__ import annotations

import csv
import json
import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import rarmodel
from rarmodel import Instance
from rarmodel.bounds import best_bound
from rarmodel.online import Decision, Policy, State, ranked
from rarmodel.online.policies.attained import make_las

ROUND_SECONDS = 360.0
"""A round of Gavel's."""
TRACE = Path("traces", "physical_cluster", "minimize_makespan.trace")
"""100 jobs on up to four GPUs, all there from the start."""
LIMITS = (3250.0, 7200.0)
"""GPU seconds at which the queues of Tiresias' simulator end."""
SHORT = (325.0, 720.0)
"""A tenth of that, so that jobs reach it."""


def whole_rounds(gavel: Path) -> Iterator[tuple[int, float]]:
    """GPUs and seconds of Gavel's jobs, if a round does whole steps and the last is waited for."""
    measured = json.loads((gavel / "simulation_throughputs.json").read_text("utf-8"))["v100"]
    for line in (gavel / TRACE).read_text("utf-8").splitlines():
        cells = line.split("\t")
        steps, gpus = int(cells[-5]), int(cells[-4])
        rate = measured[str((cells[0], gpus))]["null"]
        yield gpus, math.ceil(steps / int(rate * ROUND_SECONDS)) * ROUND_SECONDS


def instance(trace: Path, servers: int, gpus: int, slot_seconds: float) -> Instance:
    """The jobs of a trace without contention, which may be interrupted at no cost."""
    return rarmodel.import_trace(
        trace,
        servers=servers,
        gpus_per_server=gpus,
        contention=False,
        slot_seconds=slot_seconds,
        restore_seconds=0.0,
    ).instance


def with_pairs(gavel: Path, played: Instance) -> Instance:
    """The same jobs; those of one GPU share it by twos, and lose what Gavel measured.

    Pairs that did not fit into memory lose so much that nobody is in one.
    """
    measured = json.loads((gavel / "simulation_throughputs.json").read_text("utf-8"))["v100"]
    kinds = [line.split("\t")[0] for line in (gavel / TRACE).read_text("utf-8").splitlines()]
    data = played.model_dump(mode="json", exclude_unset=True)
    data["cluster"]["gpu_slices"] = 2
    alone = [job["gpus"] == 1 for job in data["jobs"]]
    for job, kind, is_alone in zip(data["jobs"], kinds, alone, strict=True):
        if is_alone:
            job |= {"slices": 1, "kind": kind}
    few = sorted({kind for kind, is_alone in zip(kinds, alone, strict=True) if is_alone})
    data["colocation"] = [
        {
            "kind": kind,
            "beside": beside,
            "slowdown": max(1.0, own["null"] / speed) if speed else 1e6,
        }
        for kind in few
        for beside in few
        for own in (measured[str((kind, 1))],)
        for speed, _ in (own[str((beside, 1))],)
    ]
    return Instance.model_validate(data)


def in_whole_rounds(gavel: Path) -> Instance:
    """Gavel's jobs, as long as they take in whole rounds."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "gavel.csv"
        with trace.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(("job_id", "num_gpus", "submit_s", "duration_s"))
            rows.writerows((j, n, 0, seconds) for j, (n, seconds) in enumerate(whole_rounds(gavel)))
        return instance(trace, 4, 4, ROUND_SECONDS)


def _least_service_latest_first(state: State) -> Decision:
    return Decision(ranked(state.remaining * state.gpus, -state.release))


def _fewest_gpus(state: State) -> Decision:
    return Decision(ranked(state.gpus))


def _places_kept(state: State) -> Decision:
    """Queues as Tiresias' simulator has them: jobs that wait go behind those that run.

    A job that reaches the limit of its queue goes to the end of the next one.
    """
    queues: list[list[int]] = state.memory.setdefault(
        "queues", [[] for _ in range(len(LIMITS) + 1)]
    )
    place = {number: j for j, number in enumerate(state.number.tolist())}
    for queue in queues:
        queue[:] = sorted(
            (n for n in queue if n in place), key=lambda n: not state.running[place[n]]
        )
    known = {number for queue in queues for number in queue}
    queues[0] += [number for number in place if number not in known]
    for q in reversed(range(len(LIMITS))):
        limit = LIMITS[q] / state.slot_seconds
        reached = [n for n in queues[q] if state.attained[place[n]] >= limit]
        queues[q] = [n for n in queues[q] if n not in reached]
        queues[q + 1] += reached
    order = [place[number] for queue in queues for number in queue]
    return Decision(ranked(np.argsort(order)))


LATEST = Policy(
    "srsf, ties to the latest", _least_service_latest_first, knows="durations", interrupts=True
)
FEWEST = Policy("fewest GPUs first", _fewest_gpus, interrupts=True)
KEPT = Policy("las, places kept", _places_kept, interrupts=True)
SHORT_QUEUES = make_las("las, short queues", SHORT)


def row(theirs: str, figures: tuple[float, float], played: Instance, policy: str | Policy) -> None:
    """Print both simulators' makespan and mean completion time, and the differences."""
    found = rarmodel.simulate(played, policy)
    assert found.verified
    assert found.metrics.makespan is not None
    assert found.metrics.mean_flow is not None
    seconds = played.time.slot_seconds
    ours = (seconds * found.metrics.makespan, seconds * found.metrics.mean_flow)
    cells = (
        f"{one:11,.1f} {other:11,.1f} {100 * (one / other - 1):+6.1f} %"
        for one, other in zip(ours, figures, strict=True)
    )
    print(f"{theirs:48} {found.policy:26}", *cells, flush=True)


def main(gavel: Path, tiresias: Path) -> None:
    """Print a row for each policy, and for each experiment that explains a difference."""
    print(
        f"{'simulator':48} {'rarmodel':26}    makespan      theirs               mean      theirs"
    )
    scheduler = gavel / "scheduler"
    rounds = instance(scheduler / TRACE, 4, 4, ROUND_SECONDS)
    row("fifo", (147_958.343, 70_711.571), rounds, "fifo")
    row("max_min_fairness", (138_236.203, 72_999.635), rounds, "gavel-max-min")
    row("finish_time_fairness", (137_520.029, 77_014.409), rounds, "gavel-fairness")
    row("min_total_duration", (135_501.241, 134_849.669), rounds, "gavel-makespan")
    print()
    row("fifo, strict", (159_478.276, 71_978.784), rounds, "fifo")
    row("fifo, strict, each round", (155_518.333, 70_405.611), rounds, "fifo")
    whole = in_whole_rounds(scheduler)
    row("fifo, strict, each round; whole steps", (155_518.333, 70_405.611), whole, "fifo")
    row("fifo, fill, each round; whole steps", (146_878.395, 56_455.727), whole, "fifo-backfill")
    fine = instance(scheduler / TRACE, 4, 4, 10.0)
    row("fifo, strict, rounds of 36 s", (153_850.306, 69_436.557), fine, "fifo")
    since = "since arrival; whole steps"
    row(f"max_min_fairness, {since}", (137_517.598, 77_391.648), whole, "gavel-max-min")
    row(f"finish_time_fairness, {since}", (137_877.838, 78_047.633), whole, "gavel-fairness")
    row(f"min_total_duration, {since}", (136_701.444, 133_592.694), whole, "gavel-makespan")
    print()
    shared = with_pairs(scheduler, rounds)
    row("max_min_fairness_packed, pairs", (118_800.949, 68_373.960), shared, "gavel-max-min-packed")
    vertex = (118_078.303, 52_041.813)
    row(f"max_min_fairness_packed, vertex, {since[:13]}", vertex, shared, "gavel-max-min-packed")
    total = (117_475.669, 115_724.010)
    row("min_total_duration_packed, pairs", total, shared, "gavel-makespan-packed")
    bound = best_bound(shared)
    print(f"no schedule takes less than {ROUND_SECONDS * bound.slots:,.1f} s: {bound.name}")
    print()
    jobs = instance(tiresias / "simulator" / "60_job.csv", 2, 8, 1.0)
    row("fifo", (3_335, 200.8167), jobs, "fifo")
    row("fjf", (3_271, 190.6833), jobs, "fifo-backfill")
    row("shortest", (3_271, 192.1167), jobs, "srtf")
    row("shortest-gpu", (3_315, 195.9), jobs, "srsf")
    row("shortest-gpu", (3_315, 195.9), jobs, LATEST)
    row("sjf", (3_271, 198.2), jobs, FEWEST)
    row("dlas, dlas-gpu", (3_271, 190.6833), jobs, "las")
    row("dlas, dlas-gpu", (3_271, 190.6833), jobs, KEPT)
    row("dlas-gpu, short queues", (3_271, 213.0), jobs, SHORT_QUEUES)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
