"""Gap of `search` to its bound on every family, and when it found its best schedule.

`python tests/benchmarks/regret.py [--families NAME...] [--seeds N] [--first N] [--seconds S]
[--output FILE.json] [--against FILE.json]`

One thread searches each instance for S seconds of processor time, so that other work on the machine
does not count. `--against` names the output of an earlier run, say of another checkout. Then a row
for each family has both runs, over the instances that both have, and the mean change of the value.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest.mock import patch

# Modules of rarmodel take the clock when they are loaded, some only when they are needed.
patch.object(time, "perf_counter", time.process_time).start()
import rarmodel  # noqa: E402

WIDE = ("total-flow", "total-tardiness", "max-stretch", "makespan")
FAMILIES: dict[str, dict[str, Any]] = {
    **{name: {"family": name} for name in ("paper", "contention", "spread", "stars")},
    **{f"wide-{objective}": {"family": "wide", "objective": objective} for objective in WIDE},
    "paper-1000": {"family": "paper", "jobs": 1000, "servers": 40},
}
"""What `rarmodel.generate` makes of each family."""
Row = dict[str, Any]
"""Family, seed, value, bound, gap, seconds to the best value, and seconds in all."""


def row(family: str, seed: int, seconds: float) -> Row:
    """What becomes of one instance."""
    best, at, begun = float("inf"), 0.0, time.process_time()

    def progress(value: float | None, bound: float | None) -> None:
        nonlocal best, at
        if value is not None and value < best:
            best, at = value, time.process_time() - begun

    found = solved(family, seed, seconds, progress)
    (goal,) = found.objective
    assert goal.value is not None
    assert goal.gap is not None
    return {
        "family": family,
        "seed": seed,
        "value": float(goal.value),
        "bound": float(goal.bound or 0),
        "gap": goal.gap,
        "best_at": at,
        "seconds": found.seconds,
    }


def solved(
    family: str,
    seed: int,
    seconds: float,
    progress: Callable[[float | None, float | None], None] | None = None,
) -> rarmodel.Result:
    """The result of the search for the objective alone, on one thread."""
    instance = rarmodel.generate(**FAMILIES[family], seed=seed)
    return rarmodel.solve(
        instance,
        method="search",
        time_limit=seconds,
        threads=1,
        objective=instance.objectives,
        progress=progress,
    )


def by_family(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each family, in the order in which they were measured."""
    return {name: list(some) for name, some in groupby(rows, key=lambda one: one["family"])}


def cells(rows: list[Row]) -> list[str]:
    """Mean gap, proofs, and mean seconds to the best value and in all, of one family."""
    proven = sum(one["gap"] == 0 for one in rows)
    means = [fmean(one[name] for one in rows) for name in ("best_at", "seconds")]
    gap = fmean(one["gap"] for one in rows)
    return [f"{gap:.3%}", f"{proven} of {len(rows)}", *(f"{mean:.1f}" for mean in means)]


def alone(rows: Iterable[Row]) -> None:
    """Print a row for each family."""
    print("| family | mean gap | met | s to best | s |\n|---|---:|---:|---:|---:|")
    for name, some in by_family(rows).items():
        print(f"| {name} | {' | '.join(cells(some))} |")


def compared(earlier: Iterable[Row], rows: Iterable[Row]) -> None:
    """Print a row for each family, with both runs: before → now."""
    known = {(one["family"], one["seed"]): one for one in earlier}
    print("| family | mean gap | met | s to best | s | better, worse | change of value |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, some in by_family(rows).items():
        now = [one for one in some if (name, one["seed"]) in known]
        if not now:
            continue
        before = [known[name, one["seed"]] for one in now]
        both = [f"{a} → {b}" for a, b in zip(cells(before), cells(now), strict=True)]
        ratios = [b["value"] / a["value"] for a, b in zip(before, now, strict=True)]
        better, worse = sum(ratio < 1 for ratio in ratios), sum(ratio > 1 for ratio in ratios)
        print(f"| {name} | {' | '.join(both)} | {better}, {worse} | {fmean(ratios) - 1:+.3%} |")


def main(options: argparse.Namespace) -> None:
    """Measure, print a line for each instance, and a table."""
    seeds, rows = range(options.first, options.first + options.seeds), list[Row]()
    for family in options.families:
        solved(family, options.first, 1.0)  # What it loads and compiles does not count.
        for seed in seeds:
            rows.append(row(family, seed, options.seconds))
            value, bound = rows[-1]["value"], rows[-1]["bound"]
            print(
                f"{family} {seed}: {value:g} ≥ {bound:g}, {rows[-1]['best_at']:.1f} s", flush=True
            )
            if options.output:
                options.output.write_text(json.dumps(rows, indent=1) + "\n")
    if options.against is None:
        alone(rows)
    else:
        compared(json.loads(options.against.read_text()), rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=[*FAMILIES])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--against", type=Path)
    main(parser.parse_args())
