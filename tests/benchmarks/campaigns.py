"""A campaign of 200 runs: speed-up of two workers, a killed driver, a killed Dask worker.

Each time the table must equal that of an uninterrupted campaign.
`python tests/benchmarks/campaigns.py`
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from rarmodel.campaigns import Standing, run_campaigns
from rarmodel.campaigns.results_table import MEASURED

CAMPAIGN = """\
name: two-hundred
instances:
  - generate: paper
    parameters: {jobs: 40, servers: 8, horizon: 1200}
methods: [sjf-bco, sjf-bco-occupied-first, list-scheduling, first-fit, random]
seeds: 0..39
"""
KILLED_AFTER = 80


def main() -> None:
    """Print a line for each way to do the runs."""
    folder = Path(tempfile.mkdtemp())
    os.chdir(folder)
    Path("campaign.yaml").write_text(CAMPAIGN, encoding="utf-8")
    run_campaigns("campaign.yaml", "warm", workers=2)  # compiles what is not compiled yet
    seconds = {workers: _timed(f"with-{workers}", workers=workers) for workers in (1, 2)}
    print(f"1 worker: {seconds[1]:.0f} s; 2 workers: {seconds[2]:.0f} s", flush=True)
    print(f"speed-up: {seconds[1] / seconds[2]:.2f}", flush=True)
    _kill_driver()
    _use_dask()


def _timed(output: str, **options: Any) -> float:
    begun = time.perf_counter()
    found = run_campaigns("campaign.yaml", output, **options)
    seconds = time.perf_counter() - begun
    if found.done != 200 or not _equal(output):
        raise SystemExit(f"{output}: {found}, or another table")
    return seconds


def _equal(output: str) -> bool:
    tables = [
        pq.read_table(f"{name}/table.parquet").drop_columns(list(MEASURED))
        for name in ("warm", output)
    ]
    return bool(tables[0].equals(tables[1]))


def _kill_driver() -> None:
    command = [sys.executable, "-m", "rarmodel", "campaign", "run", "campaign.yaml"]
    driver = subprocess.Popen([*command, "--output", "killed", "--workers", "2"])
    while (before := _recorded("killed")) < KILLED_AFTER:
        time.sleep(0.05)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    told: list[Standing] = []
    found = run_campaigns("campaign.yaml", "killed", workers=2, tell=told.append)
    print(
        f"driver killed after {before} runs: {len(told)} done after it, {found.done} in all, "
        f"table equal: {_equal('killed')}",
        flush=True,
    )


def _recorded(output: str) -> int:
    try:
        connection = sqlite3.connect(f"file:{output}/ledger.sqlite?mode=ro", uri=True)
        try:
            return int(connection.execute("SELECT count(*) FROM outcomes").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.OperationalError:
        return 0  # not made yet, or locked for a moment


def _use_dask() -> None:
    from distributed import LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with LocalCluster(n_workers=2, **options) as cluster:
        seconds = _timed("dask", scheduler=cluster.scheduler_address)
        print(f"2 Dask workers: {seconds:.0f} s", flush=True)
        victim = cluster.workers[0].pid

        def kill(far: Standing) -> None:
            if far.done == KILLED_AFTER:
                os.kill(victim, signal.SIGKILL)

        found = run_campaigns(
            "campaign.yaml", "dask-killed", scheduler=cluster.scheduler_address, tell=kill
        )
        print(
            f"Dask worker killed after {KILLED_AFTER} runs: {found.done} done, "
            f"{found.failed} failed, table equal: {_equal('dask-killed')}",
            flush=True,
        )


if __name__ == "__main__":
    main()
