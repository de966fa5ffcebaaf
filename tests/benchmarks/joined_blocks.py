"""How often dives into joined blocks meet a makespan, as packed and with servers dealt anew.

`python tests/benchmarks/joined_blocks.py FAMILY SEED SLOTS [--seconds S] [--random R]` for an
instance of `rarmodel generate`, and a makespan to meet. One thread dives, with random numbers R.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np

import rarmodel
from rarmodel.engine import Engine, placements_of
from rarmodel.search.joined_dive import JoinedDive
from rarmodel.search.joined_packing import joined_packing_of


def main(options: argparse.Namespace) -> None:
    """Print a line for each packing."""
    instance = rarmodel.generate(options.family, seed=options.seed)
    joined = joined_packing_of(instance)
    if joined is None:
        print(f"{instance.name}: no job spreads at no cost on joined blocks")
        return
    program, engine = joined.by(options.slots).program, Engine(instance)
    random, begun = np.random.default_rng(options.random), perf_counter()
    deadline = begun + options.seconds
    print(f"{instance.name}, {options.slots} slots, {len(program.sizes)} variables")
    for dive in range(1, 1000):
        if perf_counter() >= deadline:
            break
        print(f"dive {dive}", flush=True)
        for packed in JoinedDive(program, random, lambda: False, dive, deadline).packings():
            found = list[str]()
            for again in joined.dealt(packed, options.slots, random, lambda: False):
                makespan, _ = engine.evaluate(again.starts, placements_of(again.workers))
                rings = sum(len(workers) > 1 for workers in again.workers)
                slots = str(makespan) if makespan > 0 else "none"
                found.append(f"{slots} with {rings} rings spread")
            print(f"  {', '.join(found)} after {perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family")
    parser.add_argument("seed", type=int)
    parser.add_argument("slots", type=int)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--random", type=int, default=1)
    main(parser.parse_args())
