"""Measure `rarmodel slurm` on real Slurm clusters with faked GPUs on this machine.

    python tests/benchmarks/slurm_clusters.py round-trip|queue|backfill|watch [SEED]

`round-trip`: 14 held jobs beside 3 running ones on 8 nodes, planned and handed back; placements
that differ, and seconds from planned to real starts. `queue`: 2,000 waiting jobs on 128 nodes;
seconds to read, plan and write the script. `backfill` and `watch`: the same 60 arrivals on 8 nodes
under Slurm's own backfilling, and under `slurm watch`; mean wait and makespan in seconds.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from threading import Thread

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from fake_slurm import FakeSlurm

from rarmodel import slurm
from rarmodel.slurm.records import lines
from rarmodel.slurm.values import moment
from rarmodel.workloads.slurm import expand


def jobs(cluster: FakeSlurm) -> dict[str, dict[str, str]]:
    """What Slurm says of every job."""
    text = cluster.run(["scontrol", "-o", "-d", "show", "job"])
    return {line.name: dict(line.values) for line in lines(text, "JobId")}


def seconds(job: dict[str, str], start: str, end: str) -> float:
    """Seconds from one moment of a job to another."""
    first, last = moment(job[start]), moment(job[end])
    return (last - first).total_seconds() if first and last else float("nan")


def marked(length: float) -> str:
    """A comment with a duration."""
    return f'--comment=rarmodel {{"seconds": {length:g}}}'


def round_trip() -> None:
    """Plan, hand back, compare."""
    with FakeSlurm(8) as cluster:
        for length in (4, 6, 8):
            cluster.submit("-N1", "--gres=gpu:8", marked(length), seconds=length, held=False)
        time.sleep(2)
        for _ in range(14):
            gpus, length = random.choice([2, 4, 8, 8, 16]), random.randint(2, 5)
            shape = [f"--gpus={gpus}", f"--ntasks={gpus}"]
            cluster.submit(*shape, marked(length + 1), seconds=length)
        plan = slurm.plan(slurm.read(run=cluster.run, slot_seconds=1.0), time_limit=2)
        begun = time.perf_counter()
        applied = slurm.apply(plan.schedule, carry_out=True, run=cluster.run, slot_seconds=1.0)
        print(f"handed back in {time.perf_counter() - begun:.2f} s: {applied.differences}")
        mine = {one.job for one in applied.plan}
        cluster.wait(
            lambda: {jobs(cluster)[job]["JobState"] for job in mine} == {"COMPLETED"}, 120, "end"
        )
        found = jobs(cluster)
        wrong = sum({*expand(found[one.job]["NodeList"])} != {*one.nodes} for one in applied.plan)
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


def day(*, watched: bool) -> None:
    """Sixty arrivals, a second apart on average, of 4 to 20 s each."""
    at, arrivals = 0.0, []
    for _ in range(60):
        at += random.expovariate(1.0)
        arrivals.append((at, random.choice([1, 2, 4, 8, 8, 16, 32]), random.randint(4, 20)))
    with FakeSlurm(8) as cluster:
        begun = time.monotonic()

        def arrive() -> None:
            for moment_of, gpus, length in arrivals:
                time.sleep(max(0.0, begun + moment_of - time.monotonic()))
                shape = [f"--gpus={gpus}", f"--ntasks={gpus}", "-t1", marked(length + 1)]
                cluster.submit(*shape, seconds=length, held=watched)

        arriving = Thread(target=arrive)
        arriving.start()
        limits = {"time_limit": 0.5, "threads": 1}
        watch = slurm.watch(
            every=2.0,
            looks=1,
            run=cluster.run,
            slot_seconds=1.0,
            tell=lambda _: None,
            limits=limits,
        )
        while arriving.is_alive() or {one["JobState"] for one in jobs(cluster).values()} != {
            "COMPLETED"
        }:
            if watched:
                watch.watch(2)
            else:
                time.sleep(1)
        found = jobs(cluster).values()
        waits = [seconds(one, "SubmitTime", "StartTime") for one in found]
        first = min(one["SubmitTime"] for one in found)
        last = max(one["EndTime"] for one in found)
        span = seconds({"a": first, "b": last}, "a", "b")
        print(f"mean wait {sum(waits) / len(waits):.1f} s, longest {max(waits):.0f} s", end=", ")
        print(f"makespan {span:.0f} s")


if __name__ == "__main__":
    what, *seed = sys.argv[1:]
    random.seed(int(seed[0]) if seed else 7)
    if what == "round-trip":
        round_trip()
    elif what == "queue":
        queue()
    else:
        day(watched=what == "watch")
