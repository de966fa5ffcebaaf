"""How often tempering meets a makespan, from a schedule that is longer.

`python tests/benchmarks/tempering.py FAMILY SEED SLOTS [--tries N] [--seconds S]` for an instance
of `rarmodel generate`. `search` first finds a schedule at most a slot longer, with one thread. Each
try then tempers for at most S seconds, with one thread and its own random numbers.
"""

from __future__ import annotations

import argparse
from functools import partial
from time import perf_counter

import numpy as np

import rarmodel
from rarmodel.search.block_packing import most_servers
from rarmodel.search.layout import layout_of
from rarmodel.search.server_tempering import temper
from rarmodel.search.solution import solution_of_schedule


def past(end: float) -> bool:
    """Whether it is later than a reading of `perf_counter`."""
    return perf_counter() > end


def main(options: argparse.Namespace) -> None:
    """Print a line for each try."""
    instance = rarmodel.generate(options.family, seed=options.seed)
    known = rarmodel.solve(
        instance, method="search", time_limit=60, threads=1, gap=1 / options.slots, second_aim=False
    )
    assert known.schedule is not None
    print(f"search: {known.makespan} slots", flush=True)
    layout, solution = layout_of(instance), solution_of_schedule(instance, known.schedule)
    most = most_servers(instance, solution)
    temper(layout, solution, options.slots, most, np.random.default_rng(0), lambda: True)
    for attempt in range(options.tries):
        begun = perf_counter()
        over = partial(past, begun + options.seconds)
        found = temper(layout, solution, options.slots, most, np.random.default_rng(attempt), over)
        met = "met" if found is not None else "not met"
        print(f"{met} after {perf_counter() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family")
    parser.add_argument("seed", type=int)
    parser.add_argument("slots", type=int)
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30.0)
    main(parser.parse_args())
