"""Mean completions and links of `search` with and without ties, beside SJF-BCO's.

Run with `python tests/benchmarks/ties.py [--seconds S] [INSTANCE...]`, by default on all
bundled instances and with the time that `search` takes if nothing is asked.
"""

from __future__ import annotations

import argparse
from typing import Any

import rarmodel
from rarmodel.methods import Result


def row(name: str, seconds: float | None) -> str:
    """One instance."""

    def solved(method: str, **options: Any) -> Result:
        return rarmodel.solve(name, method=method, **options)

    results = [
        solved("sjf-bco"),
        solved("search", time_limit=seconds, objective=["makespan"]),
        solved("search", time_limit=seconds),
    ]
    cells = []
    for result in results:
        if (
            result.schedule is None
            or result.report is None
            or result.report.mean_completion is None
        ):
            cells += ["-", "-", "-"]
            continue
        links = rarmodel.verify(name, result.schedule, objective="total-links").objective or {}
        cells += [f"{result.makespan}", f"{result.report.mean_completion:.1f}"]
        cells.append(f"{links['total-links']}")
    completion, bound = results[-1].ties[0], "-"
    if completion.bound is not None:
        jobs = sum(job.weight for job in rarmodel.load_instance(name).jobs)
        bound = f"{float(completion.bound) / jobs:.1f}"
    return f"| `{name}` | {' | '.join(cells)} | {bound} | {results[-1].seconds:.1f} |"


def main(options: argparse.Namespace) -> None:
    """Print a row for each instance."""
    names = options.instances or [entry["name"] for entry in rarmodel.list_instances("examples")]
    columns = " | ".join(f"{name} | mean | links" for name in ("SJF-BCO", "no ties", "search"))
    heads = f"{columns} | mean at least | seconds"
    print(f"| instance | {heads} |\n|---|{'---:|' * 11}")
    for name in names:
        print(row(name, options.seconds), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("instances", nargs="*")
    parser.add_argument("--seconds", type=float)
    main(parser.parse_args())
