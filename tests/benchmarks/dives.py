"""How often dives find a packing: with idle blocks as their objective, and with random costs alone.

`python tests/benchmarks/dives.py FAMILY SEED SLOTS [--seconds S]` for an instance of `rarmodel
generate`, and a makespan to meet. One thread dives for S seconds in each way. Rings that slow each
other down do not count as a failure here.
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import numpy as np

import rarmodel
from rarmodel.search.block_dive import BlockDive
from rarmodel.search.block_packing import programs_of
from rarmodel.search.block_program import BlockProgram


class RandomCosts:
    """A program whose linear program has no objective of its own."""

    def __init__(self, program: BlockProgram) -> None:
        self._program = program

    def __getattr__(self, name: str) -> Any:
        return getattr(self._program, name)

    def relaxed(self) -> Any:
        """The linear program."""
        model = self._program.relaxed()
        model.col_cost_ = np.zeros(self._program.size)
        return model


def packings(program: Any, seconds: float) -> tuple[int, int]:
    """Number of dives in so many seconds, and of the packings that they found."""
    random, begun = np.random.default_rng(0), perf_counter()
    dives = found = 0
    while perf_counter() < begun + seconds:
        packed, _ = BlockDive(program, random, lambda: False).packing()
        dives, found = dives + 1, found + (packed is not None)
    return dives, found


def main(options: argparse.Namespace) -> None:
    """Print a line for each way."""
    instance = rarmodel.generate(options.family, seed=options.seed)
    program = programs_of(instance, options.slots)(options.slots, bundled=True)
    for name, way in (("idle blocks", program), ("random costs", RandomCosts(program))):
        dives, found = packings(way, options.seconds)
        print(f"{name}: {found} packings in {dives} dives", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family")
    parser.add_argument("seed", type=int)
    parser.add_argument("slots", type=int)
    parser.add_argument("--seconds", type=float, default=60.0)
    main(parser.parse_args())
