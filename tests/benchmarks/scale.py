"""How everything grows: `python tests/benchmarks/scale.py`, or with `--policy search`.

Each size runs in a process of its own, so that its peak of memory is its own. Jobs have the
paper's mix of sizes, and gang after gang spreads over the least busy GPUs: most rings cross
servers and share links. The cluster grows with the jobs, so that on a star links are equally
crowded at each size. `--network tree` puts every 40 servers into a rack; there the rings of a rack
share its uplink, and one start or completion changes the bandwidth of more rings the more racks
there are, until no ring is in all of them.

`--servers-per-job 0.1` with `--sizes 10000` is 10,000 jobs on 1,000 servers.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from rarmodel.bounds import best_bound
from rarmodel.files import read_instance, read_schedule, to_json, write_text
from rarmodel.heuristics import first_fit, list_scheduling, run_policy
from rarmodel.limits import Limits
from rarmodel.search import SEARCH
from rarmodel.verifier import verify

SIZES = [1] * 80 + [2] * 14 + [4] * 26 + [8] * 30 + [16] * 8 + [32] * 2
"""The paper's mix of jobs."""

POLICIES = {policy.name: policy for policy in (list_scheduling, first_fit)}
SEARCH_SECONDS, THREADS = 60.0, 2
RACK = 40


def instance_data(jobs: int, servers: int, network: str, seed: int = 0) -> dict[str, Any]:
    """Servers of 8 GPUs, and jobs of hundreds to thousands of slots: few begin or end together."""
    draw = np.random.default_rng(seed)
    names = [f"s{i}" for i in range(servers)]
    star: dict[str, Any] = {"kind": "star", "gbps": 10.0}
    racks = -(-servers // RACK)
    uplinks = [{"node": s, "parent": f"r{i // RACK}", "gbps": 10.0} for i, s in enumerate(names)]
    uplinks += [{"node": f"r{i}", "parent": "core", "gbps": 100.0} for i in range(racks)]
    return {
        "schema_version": 1,
        "name": f"{jobs}-jobs",
        "time": {"slot_seconds": 1.0, "horizon": 10_000_000},
        "cluster": {
            "servers": [{"name": name, "gpus": 8} for name in names],
            "network": star if network == "star" else {"kind": "tree", "links": uplinks},
            "intra_server_gbps": 200.0,
            "reduction_gbps": 400.0,
        },
        "contention": {
            "concurrency": 0.5,
            "degradation": {"kind": "linear", "alpha": 0.2},
            "overhead_ms_per_server": 0.1,
        },
        "jobs": [
            {
                "name": f"j{i}",
                "gpus": min(int(draw.choice(SIZES)), 8 * servers),
                "iterations": int(draw.integers(10_000, 60_000, endpoint=True)),
                "gradient_mb": float(draw.uniform(2.0, 10.0)),
                "batch_size": 1,
                "forward_ms_per_sample": 0.0,
                "backward_ms": float(draw.uniform(10, 50)),
            }
            for i in range(jobs)
        ],
    }


def row(jobs: int, servers: int, network: str, policy: str) -> dict[str, float]:
    """Seconds of each step, and peak memory in MB; a further step is one more line here."""
    seconds: dict[str, float] = {}

    def timed(step: str, work: Callable[[], Any]) -> Any:
        begun = perf_counter()
        result = work()
        seconds[step] = perf_counter() - begun
        return result

    with tempfile.TemporaryDirectory() as folder:
        problem, answer = Path(folder) / "instance.json", Path(folder) / "schedule.json"
        problem.write_text(json.dumps(instance_data(jobs, servers, network)), encoding="utf-8")
        instance = timed("load", lambda: read_instance(problem))
        if policy == SEARCH.name:
            SEARCH.prepare(instance)
            one = Limits(iterations=1, threads=THREADS)
            timed("construct", lambda: SEARCH(instance, one))
            limits = Limits(time_limit=SEARCH_SECONDS, threads=THREADS)
            attempt = timed("improve", lambda: SEARCH(instance, limits))
            made, makespan, bound = attempt.schedule, None, attempt.bound
        else:
            single = replace(POLICIES[policy], bisect=False)
            single.prepare(instance)
            found = timed("schedule", lambda: run_policy(instance, single))
            made, makespan, bound = found.schedule, found.makespan, best_bound(instance)
        timed("write", lambda: write_text(answer, to_json(made)))
        schedule = timed("read", lambda: read_schedule(answer))
        report = timed("verify", lambda: verify(instance, schedule))
    if not report.feasible or makespan not in {None, report.makespan}:
        raise AssertionError("the verifier and the engine disagree")
    gap = (report.makespan - bound.slots) / report.makespan
    # In KB; macOS counts in bytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"jobs": jobs, "servers": servers, **seconds, "MB": peak / 1e3, "gap %": 100 * gap}


def in_child(arguments: list[str]) -> dict[str, float]:
    """A row, made by a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", *arguments], check=True, stdout=subprocess.PIPE
    )
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def growth(rows: list[dict[str, float]], column: str) -> float:
    """The exponent b of the fit `a·jobs^b`."""
    points = [(math.log(row["jobs"]), math.log(max(row[column], 1e-9))) for row in rows]
    return float(np.polyfit([x for x, _ in points], [y for _, y in points], 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description="Growth of loading, writing and verifying.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--servers-per-job", type=float, default=1 / 80)
    parser.add_argument("--network", choices=["star", "tree"], default="star")
    parser.add_argument("--policy", choices=[*POLICIES, SEARCH.name], default=list_scheduling.name)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        (jobs,) = given.sizes
        servers = max(4, round(jobs * given.servers_per_job))
        print(json.dumps(row(jobs, servers, given.network, given.policy)))
        return
    rows: list[dict[str, float]] = []
    for jobs in given.sizes:
        arguments = ["--sizes", str(jobs), "--servers-per-job", str(given.servers_per_job)]
        rows.append(in_child([*arguments, "--network", given.network, "--policy", given.policy]))
        if len(rows) == 1:
            print("".join(f"{name:>10}" for name in rows[0]))
        decimals = {"jobs": 0, "servers": 0, "MB": 0}
        shown = (f"{value:>10,.{decimals.get(name, 2)}f}" for name, value in rows[-1].items())
        print("".join(shown), flush=True)
    if len(rows) > 1:
        for column in list(rows[0])[2:-1]:
            print(f"{column} grows as jobs^{growth(rows, column):.2f}")


if __name__ == "__main__":
    main()
