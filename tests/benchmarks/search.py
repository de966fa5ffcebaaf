"""How good `search` is beside the paper's policies: makespans, gaps to the best bound, and time.

`python tests/benchmarks/search.py FAMILY [--seeds N]` for a family of `rarmodel generate`, with
`--alone` if rings that share a link are to stand still, or
`python tests/benchmarks/search.py TRACE --servers N --gpus-per-server K [--slot-seconds S]` for a
trace that `rarmodel import` reads, without contention.
"""

from __future__ import annotations

import argparse
import os

import rarmodel
from rarmodel.methods import Result
from rarmodel.schema import Instance
from rarmodel.schema.instance import LinearDegradation

POLICIES = (
    *("fifo-backfill", "shortest-first"),
    *("sjf-bco", "first-fit", "list-scheduling", "random"),
)


def instances(options: argparse.Namespace) -> list[Instance]:
    """What to solve."""
    if not os.path.exists(options.what):  # noqa: PTH110
        seeds = range(options.first, options.first + options.seeds)
        made = [rarmodel.generate(options.what, seed=seed) for seed in seeds]
        return [rings_alone(instance) for instance in made] if options.alone else made
    imported = rarmodel.import_trace(
        options.what,
        servers=options.servers,
        gpus_per_server=options.gpus_per_server,
        slot_seconds=options.slot_seconds,
        contention=False,
    )
    return [imported.instance]


def rings_alone(instance: Instance) -> Instance:
    """The instance with contention that leaves no speed to rings that share a link."""
    steep = LinearDegradation(kind="linear", alpha=1e6)
    contention = instance.contention.model_copy(update={"degradation": steep})
    return instance.model_copy(update={"contention": contention})


def row(instance: Instance, options: argparse.Namespace) -> tuple[Result, list[int | None]]:
    """Outcome of `search`, and the makespans of the policies."""
    found = rarmodel.solve(
        instance, method="search", time_limit=options.seconds, threads=options.threads
    )
    others = [
        rarmodel.solve(instance, method=policy, time_limit=options.seconds).makespan
        for policy in POLICIES
    ]
    return found, others


def gap(makespan: int | None, bound: int) -> float | None:
    """Relative gap of a makespan to a bound."""
    return None if makespan is None else (makespan - bound) / makespan


def main(options: argparse.Namespace) -> None:
    """Print a row for each instance, and the means."""
    print("| instance | bound | by | search | gap | seconds | " + " | ".join(POLICIES) + " |")
    print("|---|" + "---|" * (5 + len(POLICIES)))
    gaps: list[list[float | None]] = []
    for instance in instances(options):
        found, others = row(instance, options)
        assert found.lower_bound is not None
        gaps.append([gap(m, found.lower_bound) for m in (found.makespan, *others)])
        cells = [
            instance.name,
            str(found.lower_bound),
            str(found.bound_name),
            str(found.makespan),
            f"{gaps[-1][0]:.2%}",
            f"{found.seconds:.1f}",
            *("-" if makespan is None else str(makespan) for makespan in others),
        ]
        print("| " + " | ".join(cells) + " |", flush=True)
    for name, column in zip(("search", *POLICIES), zip(*gaps, strict=True), strict=True):
        known = [value for value in column if value is not None]
        if known:
            mean = sum(known) / len(known)
            print(f"{name}: gap {mean:.2%} on average, at most {max(known):.2%}", end="")
            print(f"; {len(column) - len(known)} without a schedule")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--servers", type=int)
    parser.add_argument("--gpus-per-server", type=int)
    parser.add_argument("--slot-seconds", type=float, default=60.0)
    main(parser.parse_args())
