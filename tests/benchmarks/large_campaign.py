"""A campaign of 100,000 runs, as it is when all of them are done: how long planning it takes.

No run is done: each gets the same outcome. `python tests/benchmarks/large_campaign.py`
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rarmodel.campaigns import export, plan_campaigns, run_campaigns, standing
from rarmodel.campaigns.driver import SCHEDULES
from rarmodel.campaigns.ledger import open_ledger
from rarmodel.campaigns.task import Outcome

CAMPAIGN = """\
name: large
instances: [two-servers]
methods:
  - method: sjf-bco
    vary: {{servers_factor: {factors}}}
seeds: 0..{last}
"""
FACTORS = 50
RUNS = 100_000


def main() -> None:
    """Print a line for each thing that takes longer the more runs there are."""
    os.chdir(tempfile.mkdtemp())
    for runs in (RUNS // 10, RUNS):
        factors = list(range(1, FACTORS + 1))
        text = CAMPAIGN.format(factors=factors, last=runs // FACTORS - 1)
        Path("campaign.yaml").write_text(text, encoding="utf-8")
        folder = f"with-{runs}"
        _fill(folder)
        seconds = {
            "status": _seconds(lambda: standing(folder)),  # noqa: B023 - called at once
            "export": _seconds(lambda: export(folder, "table.parquet")),  # noqa: B023
            "run, with nothing to do": _seconds(
                lambda: run_campaigns("campaign.yaml", folder)  # noqa: B023
            ),
        }
        shown = "; ".join(f"{what}: {taken:.1f} s" for what, taken in seconds.items())
        print(f"{runs} runs: {shown}", flush=True)
    if sys.platform != "win32":
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"most memory: {peak * 1024 / 1e6:.0f} MB")


def _fill(folder: str) -> None:
    """Leave what a campaign leaves that has done all of its runs."""
    Path(folder).mkdir()
    outcome = Outcome(
        result={"status": "optimal", "makespan": 7, "lower_bound": 7, "gap": 0.0, "seconds": 0.1},
        versions={"python": "3", "numpy": "2"},
        process_seconds=1.0,
        peak_memory_mb=100.0,
        host="host",
    ).to_json()
    with open_ledger(Path(folder) / "ledger.sqlite", writes=True) as ledger:
        ledger.plan(plan_campaigns(["campaign.yaml"]).runs)
        with ledger._connection as connection:
            connection.executemany(
                "INSERT INTO outcomes (run, failed, outcome) VALUES (?, 0, ?)",
                ((run, outcome) for run in ledger.states()),
            )
        (Path(folder) / SCHEDULES).mkdir()
        for run in ledger.states():  # Or the runs would be done again.
            (Path(folder) / SCHEDULES / f"{run}.json").touch()


def _seconds(function: Callable[[], object]) -> float:
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
