"""A packing that keeps to a target, found by one integer program after another.

The first program packs the widest jobs, in whole numbers, and leaves room for the others, which run
in parts. The next one packs the jobs of the next size, and so on. Where the linear program says
that a step is far from any optimum, the integer program first does without it: it then has some
hundred steps of that size instead of thousands. A program ends with the first packing that leaves
about half as many blocks idle as it could. Its proof would take longer than to pack on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import Floats
from rarmodel.highs_library import highspy, silent_highs

from .block_program import Packed, refuted
from .block_sizes import Kind
from .joined_program import JoinedProgram

Flags = npt.NDArray[np.bool_]

FIRST_JOBS = 40
"""Most jobs of the first program, unless those of the greatest size are more."""
SECONDS = 40.0
"""Most seconds of a program in the first dive; later ones may take longer."""
JOIN_COST, MOST_COST = 0.0003, 0.0003
"""What a join costs, and the most that a unit of flow costs at random, where an idle block is worth
1."""
FAR, FAR_IN_PARTS = 0.005, 0.05
"""Reduced costs above this are far from an optimum: of steps that are whole, and of others."""
ENOUGH = 0.9
"""Relative gap with which a program ends."""


def first_size(nested: Sequence[int], kinds: Sequence[Kind]) -> int:
    """The least size of the jobs that the first program packs; sizes of blocks descend."""
    many = {size: sum(kind.size >= size for kind in kinds) for size in nested}
    return min((size for size in nested if many[size] <= FIRST_JOBS), default=nested[0])


class JoinedDive:
    """A dive into one program.

    Parameters
    ----------
    program
        The program.
    random
        Random numbers.
    stop
        Asked again and again; if it returns True, the dive ends.
    seconds
        Most seconds of each integer program.
    deadline
        The reading of `time.perf_counter` at which to stop.
    """

    def __init__(
        self,
        program: JoinedProgram,
        random: np.random.Generator,
        stop: Callable[[], bool],
        seconds: float = SECONDS,
        deadline: float = inf,
    ) -> None:
        self._program, self._random, self._stop = program, random, stop
        self._seconds, self._deadline = seconds, deadline
        self._model = program.model()
        costs = MOST_COST * random.random(len(program.sizes)) + JOIN_COST * program.joins
        self._model.col_cost_ = costs - program.rests

    def idle(self) -> float:
        """How many blocks the linear program leaves idle, less some costs; 0 without a flow."""
        highs = self._relaxed()
        return -highs.getObjectiveValue() if highs else 0.0

    def packing(self) -> Packed | None:
        """A packing that meets the target if no ring is slower than the program assumes."""
        program, model = self._program, self._model
        first = first_size(program.nested, program.kinds)
        for least in (size for size in program.nested if size <= first):
            whole = program.sizes >= least
            units = self._whole(whole)
            if units is None:
                return None
            model.col_lower_ = np.where(whole, np.rint(units), model.col_lower_)
            model.col_upper_ = np.where(whole, np.rint(units), model.col_upper_)
        return program.packed(np.array(model.col_lower_, np.int64).tolist())

    def _whole(self, whole: Flags) -> Floats | None:
        """(steps) A flow that is whole in some steps; None if the solver finds none."""
        far = self._far(whole)
        if far is None:
            return None
        units, surely_none = self._without(far, whole)
        return self._without(np.zeros_like(far), whole)[0] if surely_none and far.any() else units

    def _without(self, far: Flags, whole: Flags) -> tuple[Floats | None, bool]:
        """(steps) Such a flow without some steps, and whether there is surely none."""
        model, types = self._model, highspy().HighsVarType
        upper = np.array(model.col_upper_)
        model.col_upper_ = np.where(far, model.col_lower_, upper)
        model.integrality_ = np.where(whole, types.kInteger, types.kContinuous).tolist()
        highs = self._solver()
        highs.setOptionValue("mip_rel_gap", ENOUGH)
        highs.setOptionValue("random_seed", int(self._random.integers(2**31 - 1)))
        highs.passModel(model)
        model.col_upper_ = upper
        highs.cbMipInterrupt.subscribe(lambda event: event.interrupt(self._stop()))
        highs.run()
        feasible = highspy().SolutionStatus.kSolutionStatusFeasible
        if self._stop() or highs.getInfo().primal_solution_status != feasible:
            return None, refuted(highs)
        return np.array(highs.getSolution().col_value), False

    def _far(self, whole: Flags) -> Flags | None:
        """(steps) Steps that are far from an optimum; None if there is no flow."""
        highs = self._relaxed()
        if highs is None:
            return None
        return np.array(highs.getSolution().col_dual) > np.where(whole, FAR, FAR_IN_PARTS)

    def _relaxed(self) -> Any | None:
        """A solver with the solution of the linear program; None if it has none."""
        self._model.integrality_ = []
        highs = self._solver()
        # Within the optimal face, not at a corner: so few steps only seem to be far.
        for option, value in (("solver", "ipm"), ("run_crossover", "off")):
            highs.setOptionValue(option, value)
        highs.passModel(self._model)
        highs.run()
        optimal = highs.getModelStatus() == highspy().HighsModelStatus.kOptimal
        return highs if optimal else None

    def _solver(self) -> Any:
        """A new solver on one thread."""
        highs = silent_highs()
        seconds = max(0.0, min(self._seconds, self._deadline - perf_counter()))
        for option, value in (("threads", 1), ("time_limit", seconds)):
            highs.setOptionValue(option, value)
        return highs
