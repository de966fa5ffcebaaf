"""Size of `time-indexed` and time to build it, on instances of the library and without contention.

Run with `python tests/benchmarks/time_indexed_sizes.py [INSTANCE...]`; the table is in
docs/notes/formulations.md. The horizon is the makespan of `fifo-backfill`. Models of more
than two million terms by the formulation's own estimate are not built. Instances `… quiet` are the
same without gradients and overhead. Seconds are of the processor.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import process_time

import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

import rarmodel
from rarmodel.exact.formulate import scope_for
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.schema import Instance

NAMES = (
    *("two-servers", "fragmented-leftovers", "rack-tree", "stars-6x3-0", "stars-12x4-0"),
    *("stars-20x5-0", "stars-40x10-0", "philly-2869ce", "spread-0", "paper-160"),
)
MOST_TERMS = 2_000_000


def quiet(instance: Instance) -> Instance:
    """The instance without gradients and overhead."""
    contention = instance.contention.model_copy(update={"overhead_ms_per_server": 0.0})
    jobs = tuple(job.model_copy(update={"gradient_mb": 0.0}) for job in instance.jobs)
    name = f"{instance.name} quiet"
    return instance.model_copy(update={"name": name, "contention": contention, "jobs": jobs})


def instances() -> Iterator[Instance]:
    """The instances of the table."""
    for name in sys.argv[1:] or NAMES:
        instance = rarmodel.load_instance(name)
        yield instance
        yield quiet(instance)


def main() -> None:
    """Print a row for each instance."""
    print("| instance | slots | estimate of terms | variables | constraints | terms | seconds |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for instance in instances():
        found = rarmodel.solve(instance, method="fifo-backfill")
        horizon = found.makespan or 0
        scope = scope_for(instance, TIME_INDEXED, horizon)
        row = f"| {instance.name} | {horizon} |"
        if TIME_INDEXED.unfit(scope) is not None:
            print(row, "too many placements | | | | |")
            continue
        estimate = TIME_INDEXED.size(scope)
        if estimate > MOST_TERMS:
            print(row, f"{estimate:,} | not built | | | |")
            continue
        begun = process_time()
        model = TIME_INDEXED.build(scope)
        seconds = process_time() - begun
        constraints = list(model.component_data_objects(pyo.Constraint))
        terms = sum(len(generate_standard_repn(one.body).linear_vars) for one in constraints)
        variables = sum(1 for _ in model.component_data_objects(pyo.Var))
        print(
            row,
            f"{estimate:,} | {variables:,} | {len(constraints):,} | {terms:,} | {seconds:.1f} |",
        )


if __name__ == "__main__":
    main()
