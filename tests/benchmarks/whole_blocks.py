"""Whether wide jobs alone rule out a packing on buddy blocks, and if not, how much room they leave.

`python tests/benchmarks/whole_blocks.py FAMILY SEED SLOTS GPUS [--seconds S]` for an instance of
`rarmodel generate`, and a makespan to meet. Rings and blocks of GPUS or more are whole; narrower
jobs run in parts. HiGHS leaves as many single GPUs idle as it can, from slot 0 to the makespan. No
packing of whole jobs leaves more.
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import numpy as np

import rarmodel
from rarmodel.highs_library import highspy, silent_highs
from rarmodel.search.block_packing import programs_of


def main(options: argparse.Namespace) -> None:
    """Print the solver's verdicts."""
    instance = rarmodel.generate(options.family, seed=options.seed)
    program = programs_of(instance, options.slots)(options.slots, bundled=False)
    model, highs = program.relaxed(), silent_highs()
    for option, value in (("threads", 1), ("time_limit", options.seconds)):
        highs.setOptionValue(option, value)
    print(f"{instance.name}, {options.slots} slots")
    highs.passModel(model)
    print(f"all in parts: {verdict(highs, options.slots)}", flush=True)
    kinds = np.full(program.size, highspy().HighsVarType.kContinuous)
    for level in program.levels:
        if level.size == 0 or level.size >= options.gpus:
            kinds[level.columns] = highspy().HighsVarType.kInteger
    model.integrality_ = kinds.tolist()
    highs.passModel(model)
    print(f"whole from {options.gpus} GPUs: {verdict(highs, options.slots)}")


def verdict(highs: Any, slots: int) -> str:
    """The verdict on a program, with the GPUs that it leaves idle for so many slots."""
    begun = perf_counter()
    highs.run()
    status, info = highs.getModelStatus(), highs.getInfo()
    text = f"{highs.modelStatusToString(status)} in {perf_counter() - begun:.0f} s"
    if info.primal_solution_status != highspy().SolutionStatus.kSolutionStatusFeasible:
        return text
    idle = -info.objective_function_value
    return f"{text}, {idle:.3f} idle GPUs, or {idle * slots:.0f} GPU slots"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family")
    parser.add_argument("seed", type=int)
    parser.add_argument("slots", type=int)
    parser.add_argument("gpus", type=int)
    parser.add_argument("--seconds", type=float, default=300.0)
    main(parser.parse_args())
