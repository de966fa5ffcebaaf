"""How often dives into joined blocks find a packing, and whether its rings are slower than assumed.

`python tests/benchmarks/joined_blocks.py FAMILY SEED SLOTS [--seconds S] [--turn T]` for an
instance of `rarmodel generate`, and a makespan to meet. One thread dives. An even turn joins blocks
as wide as the narrowest jobs that are packed first, an odd one joins narrower blocks only.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np

import rarmodel
from rarmodel.engine import Engine, placements_of
from rarmodel.search.joined_dive import SECONDS, JoinedDive
from rarmodel.search.joined_packing import joined_programs_of


def main(options: argparse.Namespace) -> None:
    """Print a line for each dive."""
    instance = rarmodel.generate(options.family, seed=options.seed)
    programs = joined_programs_of(instance)
    if programs is None:
        print(f"{instance.name}: no job spreads at no cost on joined blocks")
        return
    program, engine = programs(options.slots, options.turn), Engine(instance)
    random, deadline = np.random.default_rng(options.seed), perf_counter() + options.seconds
    print(f"{instance.name}, {options.slots} slots, {len(program.sizes)} variables")
    for dive in range(1, 1000):
        begun = perf_counter()
        if begun >= deadline:
            break
        seconds = SECONDS * dive
        packed = JoinedDive(program, random, lambda: False, seconds, deadline).packing()
        text = "no packing"
        if packed is not None:
            makespan, _ = engine.evaluate(packed.starts, placements_of(packed.workers))
            servers = [len(workers) for workers in packed.workers if len(workers) > 1]
            text = f"makespan {makespan}, {len(servers)} rings spread, over up to "
            text += f"{max(servers, default=1)} servers"
        print(f"dive {dive}: {text}, {perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family")
    parser.add_argument("seed", type=int)
    parser.add_argument("slots", type=int)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--turn", type=int, default=0)
    main(parser.parse_args())
