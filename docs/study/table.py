"""Print the tables of the study from a campaign's folder.

    rarmodel campaign run docs/study/study.yaml --output study
    python docs/study/table.py study

Mean flow times in slots. `alone` is at ξ1 near 0: rings do not slow each other. The loss is what
the same policy takes more at ξ1 = 1 with `consolidate`. The part of it that is avoided is what the
best placement takes less than `consolidate`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

SETTING = ("source_window", "source_cluster")
CONCURRENCY = "source_contention.concurrency"
ALONE, FULL = 1e-6, 1.0
FIRST = "consolidate"
PLACEMENTS = (FIRST, "first-fit", "contention-aware")


def main(folder: Path) -> None:
    """Print a table for each window and cluster."""
    rows = pq.read_table(folder / "table.parquet").to_pylist()
    for setting in dict.fromkeys(tuple(row[name] for name in SETTING) for row in rows):
        own = [row for row in rows if tuple(row[name] for name in SETTING) == setting]
        # The bound is proven by the same relaxation in every row; mean flow is per job.
        ratio = {key(row): row["ratios_total-flow"] for row in own}
        flow = {key(row): row["mean_flow"] for row in own}
        some = next(iter(flow))
        print(f"{', '.join(setting)}: proven bound {flow[some] / ratio[some]:,.0f}")
        print("policy | alone | " + " | ".join(PLACEMENTS) + " | loss | avoided | best / bound")
        for policy in dict.fromkeys(row["policy"] for row in own):
            alone = flow[ALONE, policy, FIRST]
            full = {p: flow[FULL, policy, p] for p in PLACEMENTS if (FULL, policy, p) in flow}
            loss, best = full[FIRST] - alone, min(full, key=lambda name: full[name])
            avoided = "–"
            if len(full) > 1 and loss > 0:
                avoided = f"{(full[FIRST] - full[best]) / loss:.0%}"
            told = " | ".join(f"{full[p]:,.0f}" if p in full else "–" for p in PLACEMENTS)
            print(
                f"{policy} | {alone:,.0f} | {told} | {loss / alone:.0%} | {avoided} | "
                f"{ratio[FULL, policy, best]:.2f}"
            )
        print()


def key(row: dict[str, Any]) -> tuple[float, str, str]:
    """Contention, policy and placement of a run."""
    return row[CONCURRENCY], row["policy"], row["option_placement"]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
