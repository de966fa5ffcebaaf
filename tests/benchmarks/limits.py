"""Time asked for and time taken, by every command and method: `python tests/benchmarks/limits.py`.

Each row runs in a process of its own. It first runs on a tiny instance, so that compiling does not
count. Reading the instance is measured apart: no limit is about it. `taken` is wall-clock time of
the rest, verification and output included. `work` is the processor time of the main thread:
where a machine is busy, a limit is kept if `work` keeps it. A row is marked if it took more than a
second, and more than a tenth, too long.

Sizes are numbers of jobs, `gpus` for ten million GPUs on a hundred servers, and `servers` for as
many on a hundred thousand. `--rows solve:sjf-bco describe` runs only rows whose names begin so, and
`--profile` shows where their time goes.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import os
import pstats
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, NamedTuple

from scale import instance_data

SIZES = ("4", "160", "10000", "gpus", "servers")
LIMITS = (1.0, 10.0)
RECORDED = Path(__file__).parents[1] / "slurm/recorded/queue"
CAMPAIGN_METHODS = ("sjf-bco", "list-scheduling", "search")
SLACK, SHARE = 1.0, 0.1
"""Seconds, or the share of the limit, that a command may take longer."""
NO_ANSWER = 900.0
"""Seconds after which a row counts as never ending."""


class Row(NamedTuple):
    """A command, how often its limit counts, and whether it has one at all.

    `before` is a command of which the time does not count. `seconds` reads what was taken from the
    command's output; by default it is measured here. `sizes` are those that make a difference.
    """

    name: str
    arguments: Callable[[Path, float], list[str]]
    times: int = 1
    limited: bool = True
    before: Callable[[Path], list[str]] | None = None
    seconds: Callable[[Path], float] | None = None
    sizes: tuple[str, ...] = SIZES


def rows(threads: int = 2) -> Iterator[Row]:
    """All rows; a further command is one more line here."""
    from rarmodel import registry
    from rarmodel.instances import entries
    from rarmodel.library import read_library

    def solve(kind: str, name: str) -> Row:
        return Row(
            f"solve:{name}",
            lambda path, limit: [
                *("solve", str(path), f"--{kind}", name, "--time-limit", str(limit)),
                *("--threads", str(threads)),
            ],
        )

    for name in sorted(registry.names("methods")):
        yield solve("method", name)
    for name in sorted(registry.names("formulations")):
        yield solve("formulation", name)
    methods = ("sjf-bco", "fifo-backfill", "list-scheduling", "search")
    yield Row(
        "compare",
        lambda path, limit: [
            *("compare", str(path), "--time-limit", str(limit), "--threads", str(threads)),
            *(word for name in methods for word in ("--method", name)),
        ],
        times=len(methods),
    )
    yield Row("campaign", campaign, len(CAMPAIGN_METHODS), seconds=seconds_of_runs)
    yield Row(
        "slurm:plan",
        lambda path, limit: [
            *("slurm", "plan", str(queue(path)), "--time-limit", str(limit)),
            *("--threads", str(threads)),
        ],
        before=recorded_queue,
        sizes=("4", "160", "10000"),
    )
    instances = len(list(entries(read_library())))
    yield Row(
        "instances:check",
        lambda _, limit: ["instances", "check", "--bounds", "--time-limit", str(limit)],
        times=instances,
        sizes=("4",),
    )
    yield Row("audit", lambda path, limit: ["audit", str(path), "--time-limit", str(limit)])
    for name in ("describe", "verify"):
        yield Row(name, lambda path, _, name=name: [name, str(path)], limited=False)  # type: ignore[misc]
    for name in ("fifo", "replan"):
        yield Row(
            f"simulate:{name}",
            lambda path, _, name=name: ["simulate", str(path), "--policy", name],  # type: ignore[misc]
            limited=False,
        )


def campaign(path: Path, limit: float) -> list[str]:
    """Write a campaign of one instance, and say how to run it."""
    file, output = path.with_suffix(".campaign.json"), path.with_suffix(".results")
    shutil.rmtree(output, ignore_errors=True)
    options = {"time_limit": limit}
    described = {
        "name": "limits",
        "instances": [path.name],
        "methods": [{"method": name, "options": options} for name in CAMPAIGN_METHODS],
        "seeds": [0],
    }
    file.write_text(json.dumps(described), encoding="utf-8")
    return ["campaign", "run", str(file), "--output", str(output), "--workers", "1"]


def seconds_of_runs(path: Path) -> float:
    """Seconds of all runs of the campaign."""
    import pyarrow.parquet as pq

    table = pq.read_table(path.with_suffix(".results") / "table.parquet")
    return float(sum(table["seconds"].to_pylist()))


def queue(path: Path) -> Path:
    """Where the instance of a queue is."""
    return path.with_suffix(".queue.json")


def recorded_queue(path: Path) -> list[str]:
    """Record as many waiting jobs as an instance has, and say how to read them."""
    folder = path.with_suffix(".slurm")
    shutil.copytree(RECORDED, folder, dirs_exist_ok=True)
    jobs = (RECORDED / "job.txt").read_text(encoding="utf-8").splitlines()
    waits = next(job for job in jobs if "JobState=PENDING" in job and "Comment=rarmodel" in job)
    many = len(json.loads(path.read_text(encoding="utf-8"))["jobs"])
    lines = [job for job in jobs if "JobState=PENDING" not in job]
    lines += [
        re.sub(r"^JobId=\d+ JobName=\S+", f"JobId={i} JobName=j{i}", waits)
        for i in range(1000, 1000 + many)
    ]
    (folder / "job.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ["slurm", "read", "--from", str(folder), "--output", str(queue(path))]


def instance_of(size: str) -> dict[str, Any]:
    """An instance of a size."""
    if size.isdigit():
        jobs = int(size)
        return instance_data(jobs, max(2, jobs // 8), "star")
    data = instance_data(160, 100, "star")
    servers, gpus = (100, 99_999) if size == "gpus" else (100_000, 99)
    data["cluster"]["servers"] = [{"name": f"s{i}", "gpus": gpus} for i in range(servers)]
    return data


def run(row: Row, path: Path, limit: float) -> tuple[int, float, float]:
    """The exit code of a command, and how long it took: by the clock, and by its thread's work."""
    from rarmodel.cli.process import _code

    arguments = row.arguments(path, limit)
    if row.name == "verify":
        plan = path.with_suffix(".plan.json")
        if not plan.exists():
            command(["solve", str(path), "--method", "fifo-backfill", "--output", str(plan)], _code)
        arguments.append(str(plan))
    if row.before is not None:
        command(row.before(path), _code)
    begun, worked = perf_counter(), thread_time()
    code = command(arguments, _code)
    taken, work = perf_counter() - begun, thread_time() - worked
    if row.seconds is not None:
        taken = work = row.seconds(path)
    return code, taken, work


def command(arguments: list[str], code: Callable[[], int]) -> int:
    """Run a command in this process, and say nothing."""
    sys.argv = ["rarmodel", *arguments]
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        return code()


def child(name: str, size: str, limit: float, threads: int, *, profile: bool) -> dict[str, Any]:
    """One row, in this process."""
    from rarmodel.cli.process import GARBAGE_AFTER
    from rarmodel.files import read_instance

    gc.set_threshold(GARBAGE_AFTER)
    row = next(row for row in rows(threads) if row.name == name)
    with tempfile.TemporaryDirectory() as folder:
        tiny, path = Path(folder) / "tiny.json", Path(folder) / "instance.json"
        tiny.write_text(json.dumps(instance_data(6, 3, "star")), encoding="utf-8")
        path.write_text(json.dumps(instance_of(size)), encoding="utf-8")
        run(row, tiny, 2.0)
        begun = perf_counter()
        read_instance(path)
        read = perf_counter() - begun
        if profile:
            profiler = cProfile.Profile()
            profiler.enable()
        code, taken, work = run(row, path, limit)
        if profile:
            profiler.disable()
            pstats.Stats(profiler, stream=sys.stderr).sort_stats("cumulative").print_stats(45)
    if row.seconds is not None or row.before is not None:
        read = 0.0
    return {"code": code, "read": read, "taken": taken - read, "work": work - read}


def in_child(
    row: Row, size: str, limit: float, threads: int, *, profile: bool
) -> dict[str, Any] | None:
    """The same in a process of its own; None if it does not end."""
    words = [sys.executable, __file__, "--child", row.name, size, str(limit)]
    words += ["--threads", str(threads)]
    try:
        ran = subprocess.run(
            [*words, *(["--profile"] if profile else [])],
            stdout=subprocess.PIPE,
            text=True,
            timeout=NO_ANSWER,
            check=True,
        )
    except subprocess.SubprocessError:
        return None
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", nargs="*", default=[""], help="beginnings of names of rows")
    parser.add_argument("--sizes", nargs="*", default=SIZES, choices=SIZES)
    parser.add_argument("--limits", nargs="*", type=float, default=LIMITS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        name, size, limit = asked.child
        print(json.dumps(child(name, size, float(limit), asked.threads, profile=asked.profile)))
        return
    print(f"| {'command':28} | {'size':>7} | asked | read | taken | work | exit |   |")
    print(f"|:{'-' * 28} | {'-' * 6}: | ----: | ---: | ----: | ---: | ---: | - |")
    for row in rows():
        if not row.name.startswith(tuple(asked.rows)):
            continue
        for size in (size for size in asked.sizes if size in row.sizes):
            for limit in asked.limits if row.limited else asked.limits[:1]:
                found = in_child(row, size, limit, asked.threads, profile=asked.profile)
                line(row, size, limit, found)


def line(row: Row, size: str, limit: float, found: dict[str, Any] | None) -> None:
    """Print a row of the table."""
    start = f"| {row.name:28} | {size:>7} | {limit * row.times if row.limited else '':>5} |"
    if found is None:
        print(f"{start} failed, or took more than {NO_ANSWER:g} seconds |", flush=True)
        return
    most = limit * row.times
    late = row.limited and found["work"] > most + row.times * max(SLACK, SHARE * limit)
    slow = row.limited and found["taken"] > most + row.times * max(SLACK, SHARE * limit)
    mark = "late" if late else "slow" if slow else ""
    print(
        f"{start} {found['read']:4.1f} | {found['taken']:5.1f} | {found['work']:4.1f} |"
        f" {found['code']:4} | {mark} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
