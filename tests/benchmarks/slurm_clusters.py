"""Measure `rarmodel slurm` on real Slurm clusters with faked GPUs on this machine.

    python tests/benchmarks/slurm_clusters.py round-trip [SEED]
    python tests/benchmarks/slurm_clusters.py queue [SEED]
    python tests/benchmarks/slurm_clusters.py day backfill|watch|limits|model [FASTER]

`round-trip`: 14 held jobs of several shapes beside 3 running ones on 8 nodes, planned and handed
back: placements that differ, and seconds from planned to real starts.

`queue`: 2,000 waiting jobs on 128 nodes: seconds to read, to plan and to write the script.

`day`: the busiest day of the arrivals of `docs/study`, 42 jobs on 8 nodes of 8 GPUs, FASTER (360)
times as fast: mean wait and makespan. Slurm's own backfilling places the jobs (`backfill`), or a
watch does that knows their durations (`watch`) or, as Slurm, only their time limits (`limits`).
`model` tells what the simulator predicts.
"""

from __future__ import annotations

import csv
import math
import random
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from threading import Thread
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from fake_slurm import SHAPES, FakeSlurm

import rarmodel
from rarmodel import slurm
from rarmodel.schema import Instance
from rarmodel.slurm.program_outputs import COMMANDS
from rarmodel.slurm.records import lines
from rarmodel.slurm.slurm_values import hosts, moment

TRACE = Path(__file__).parents[2] / "docs/study/philly-2869ce.csv"
FIRST_HOUR = 138


def jobs(cluster: FakeSlurm) -> dict[str, Mapping[str, str]]:
    """What Slurm says of every job."""
    return {line.name: line.values for line in lines(cluster.run(COMMANDS["job"]), "JobId")}


def seconds(start: str, end: str) -> float:
    """Seconds from one moment to another."""
    first, last = moment(start), moment(end)
    return (last - first).total_seconds() if first and last else math.nan


def marked(length: float) -> str:
    """A comment with a duration."""
    return f'--comment=rarmodel {{"seconds": {length:g}}}'


def round_trip() -> None:
    """Plan, hand back, compare."""
    with FakeSlurm(8) as cluster:
        for length in (4, 6, 8):
            cluster.submit("-N1", "--gres=gpu:8", marked(length), seconds=length, held=False)
        for shape in (*SHAPES, *SHAPES):
            length = random.randint(2, 5)
            cluster.submit(*shape, marked(length + 1), seconds=length)
        time.sleep(1.5)
        reading = slurm.read(run=cluster.run, slot_seconds=1.0)
        plan = slurm.plan(reading, time_limit=2)
        begun = time.perf_counter()
        applied = slurm.apply(plan.schedule, carry_out=True, run=cluster.run, slot_seconds=1.0)
        print(f"handed back in {time.perf_counter() - begun:.2f} s: {applied.differences}")
        mine = {one.job for one in applied.plan}
        again = slurm.read(run=cluster.run, slot_seconds=1.0)
        print(f"{len(mine & {*again.mine})} of {len(mine)} still held when read again")
        cluster.wait(
            lambda: {jobs(cluster)[job]["JobState"] for job in mine} == {"COMPLETED"}, 120, "end"
        )
        found = jobs(cluster)
        wrong = sum({*hosts(found[one.job]["NodeList"])} != {*one.nodes} for one in applied.plan)
        late = [
            (start - one.start).total_seconds()
            for one in applied.plan
            if (start := moment(found[one.job]["StartTime"]))
        ]
        print(f"{wrong} placements differ; starts are {min(late):.1f} to {max(late):.1f} s late")


def queue() -> None:
    """Read, plan and write a long queue."""
    with FakeSlurm(128) as cluster:
        for _ in range(40):
            cluster.submit("-N2", "--gres=gpu:8", "-t100", held=False, seconds=900)
        for _ in range(1000):
            gpus, limit = random.choice([1, 2, 4, 8, 16, 32]), random.randint(10, 300)
            shape = [f"--gpus={gpus}", f"--ntasks={gpus}", f"-t{limit}"]
            cluster.submit(*shape, "--comment=rarmodel")
        for _ in range(50):
            gpus, limit = random.choice([1, 2, 4, 8]), random.randint(10, 300)
            cluster.submit("--array=0-19", f"--gres=gpu:{gpus}", f"-t{limit}", "--comment=rarmodel")
        begun = time.perf_counter()
        reading = slurm.read(run=cluster.run)
        read = time.perf_counter()
        plan = slurm.plan(reading)
        planned = time.perf_counter()
        script = slurm.apply(plan.schedule, run=cluster.run).script()
        written = time.perf_counter()
        print(reading.lines()[0])
        print(f"read {read - begun:.1f} s, plan {planned - read:.1f} s", end=", ")
        print(f"script of {len(script.splitlines())} lines {written - planned:.1f} s")
        print("\n".join(f"{name}: {value}" for name, value in plan.lines().items()))


class Arrival(NamedTuple):
    """A job of the day: when it arrives, its GPUs, and how long it runs; in seconds."""

    at: float
    gpus: int
    length: float


def arrivals(faster: float) -> list[Arrival]:
    """The day's jobs; none is shorter than a second."""
    with TRACE.open() as file:
        rows = [*csv.DictReader(file)]
    found = [
        Arrival(
            (float(row["submitted"]) - FIRST_HOUR * 3600) / faster,
            int(row["gpus"]),
            max(1.0, float(row["seconds"]) / faster),
        )
        for row in rows
    ]
    return [one for one in found if 0 <= one.at < 86_400 / faster]


def day(mode: str, faster: float = 360.0) -> None:
    """Replay the day."""
    if mode == "model":
        predict(arrivals(faster))
        return
    with FakeSlurm(8, extra="MinJobAge=90000") as cluster:  # It remembers every job.
        begun = time.monotonic()

        def arrive() -> None:
            for one in arrivals(faster):
                time.sleep(max(0.0, begun + one.at - time.monotonic()))
                minutes = math.ceil((one.length + 5) / 60)  # Slurm knows no seconds.
                shape = [f"--gpus={one.gpus}", f"--ntasks={one.gpus}", f"-t{minutes}"]
                comment = marked(one.length) if mode == "watch" else "--comment=rarmodel"
                cluster.submit(*shape, comment, seconds=one.length, held=mode != "backfill")

        arriving = Thread(target=arrive)
        arriving.start()
        watch = slurm.watch(
            every=2.0,
            looks=1,
            run=cluster.run,
            slot_seconds=1.0,
            tell=lambda _: None,
            limits={"time_limit": 0.5, "threads": 1},
        )
        while arriving.is_alive() or {one["JobState"] for one in jobs(cluster).values()} != {
            "COMPLETED"
        }:
            if mode == "backfill":
                time.sleep(2)
            else:
                watch.watch(2)
        found = jobs(cluster).values()
        waits = [seconds(one["SubmitTime"], one["StartTime"]) for one in found]
        first = min(one["SubmitTime"] for one in found)
        span = seconds(first, max(one["EndTime"] for one in found))
        print(f"{mode}: {len(waits)} jobs, mean wait {fmean(waits):.1f} s", end=", ")
        print(f"longest {max(waits):.0f} s, makespan {span:.0f} s, {len(watch.commands)} commands")


def predict(of_day: list[Arrival]) -> None:
    """What the simulator says of the day, with slots of a second."""
    work = {"gradient_mb": 0.0, "batch_size": 1, "forward_ms_per_sample": 0.0, "backward_ms": 990.0}
    instance = Instance.model_validate(
        {
            "schema_version": 1,
            "name": "day",
            "time": {"slot_seconds": 1.0},
            "cluster": {
                "servers": [{"name": f"node{i}", "gpus": 8} for i in range(1, 9)],
                "network": {"kind": "star", "gbps": 25.0},
                "intra_server_gbps": 120.0,
                "reduction_gbps": 400.0,
            },
            "contention": {
                "concurrency": 1.0,
                "degradation": {"kind": "linear", "alpha": 0.2},
                "overhead_ms_per_server": 1.0,
            },
            "objective": "total-flow",
            "jobs": [
                {
                    "name": f"j{i}",
                    "gpus": one.gpus,
                    "iterations": math.ceil(one.length),
                    "release": math.ceil(one.at),
                    **work,
                }
                for i, one in enumerate(of_day)
            ],
        }
    )
    for one in rarmodel.simulate(instance, ["fifo", "fifo-backfill", "sjf", "replan"]):
        metrics = one.metrics
        print(f"{one.policy}: mean wait {metrics.mean_queueing:.1f} s", end=", ")
        print(f"makespan {metrics.makespan} s")


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "day":
        day(rest[0], *map(float, rest[1:]))
    else:
        random.seed(int(rest[0]) if rest else 7)
        {"round-trip": round_trip, "queue": queue}[what]()
