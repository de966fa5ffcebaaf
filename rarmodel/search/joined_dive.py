"""Packings that keep to a target, found by one integer program after another.

The first program packs the widest jobs, in whole numbers, and leaves room for the others, which run
in parts. The next one packs the jobs of the next size, and so on. Where the linear program says
that a step is far from any optimum, the integer program first does without it: it then has some
hundred steps of that size instead of thousands. A program ends with its first packing.

The first program takes most of the time, and some of its packings leave no room for the next jobs.
So for each packing, the dive asks at once whether the jobs of the next size can be packed, too. If
not, the first program goes on to a better one. From the packing that can be continued, the dive
goes on several times, each time to another packing of all jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import Floats
from rarmodel.highs_library import highspy, silent_highs

from .block_program import Packed, refuted
from .block_sizes import Kind
from .joined_program import JoinedProgram

Flags = npt.NDArray[np.bool_]
Asked = Callable[[Floats], bool]
"""Whether a flow will do."""

FIRST_JOBS = 40
"""Most jobs of the first program, unless those of the greatest size are more."""
SECONDS = 20.0
"""Most seconds of the first program in the first dive. In the second dive it may take twice as long
and ask about two packings, and so on."""
LATER_SHARE, LATER_LEAST = 0.33, 2.0
"""Each of the other programs may take this share of the time of the first one, but at least so many
seconds."""
PACKINGS = 6
"""Packings that a dive looks for from the outcome of its first program."""
FAR_IN_PARTS = 0.05
"""A reduced cost above this is far from an optimum, of a step that may run in parts."""


class Costs(NamedTuple):
    """Costs of a program, where an idle block is worth 1."""

    join: float
    """Of a join."""
    random: float
    """The most that a unit of flow costs at random."""
    far: float
    """A reduced cost above this is far from an optimum, of a step that is whole."""


FIRST, LATER = Costs(0.0003, 0.0001, 0.005), Costs(0.001, 0.002, 0.02)
"""Those of the first program and of the others."""


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
    number
        Number of the dive, from 1. Later dives may take longer.
    deadline
        The reading of `time.perf_counter` at which to stop.
    """

    def __init__(
        self,
        program: JoinedProgram,
        random: np.random.Generator,
        stop: Callable[[], bool],
        number: int = 1,
        deadline: float = inf,
    ) -> None:
        self._program, self._random, self._stop = program, random, stop
        self._seconds, self._questions = SECONDS * number, number
        self._deadline = deadline
        self._model = program.model()
        self._set(FIRST)

    def packings(self) -> Iterator[Packed]:
        """Packings that meet the target if no ring is slower than the program assumes."""
        program, model = self._program, self._model
        first = first_size(program.nested, program.kinds)
        later = [size for size in program.nested if size < first]
        if not self._fix(first, self._can_be_continued(first, later)):
            return
        lower, upper = np.array(model.col_lower_), np.array(model.col_upper_)
        for _ in range(PACKINGS):
            if self._stop():
                return
            self._set(LATER)
            model.col_lower_, model.col_upper_ = lower, upper
            if all(self._fix(size) for size in later):
                yield program.packed(np.rint(model.col_lower_).astype(int).tolist())

    def _set(self, costs: Costs) -> None:
        """Set the costs of the program."""
        program, self._costs = self._program, costs
        noise = costs.random * self._random.random(len(program.sizes))
        self._model.col_cost_ = noise + costs.join * program.joins - program.rests

    def _can_be_continued(self, first: int, later: Sequence[int]) -> Asked:
        """Ask whether the jobs of the next size can be packed beside those of the first program."""
        begun, model = perf_counter(), self._model

        def asked(units: Floats) -> bool:
            if not later:
                return True
            self._questions -= 1
            self._seconds = max(LATER_LEAST, LATER_SHARE * (perf_counter() - begun))
            costs, lower, upper = map(
                np.array, (model.col_cost_, model.col_lower_, model.col_upper_)
            )
            self._set(LATER)
            self._keep(first, units)
            found = self._fix(later[0])
            model.col_cost_, model.col_lower_, model.col_upper_ = costs, lower, upper
            return found

        return asked

    def _fix(self, least: int, asked: Asked | None = None) -> bool:
        """Fix all steps of a size and wider ones to a whole flow; False if none is found."""
        units = self._whole(self._program.sizes >= least, asked)
        if units is None:
            return False
        self._keep(least, units)
        return True

    def _keep(self, least: int, units: Floats) -> None:
        """Fix all steps of a size and wider ones to those of a flow."""
        model, whole = self._model, self._program.sizes >= least
        model.col_lower_ = np.where(whole, np.rint(units), model.col_lower_)
        model.col_upper_ = np.where(whole, np.rint(units), model.col_upper_)

    def _whole(self, whole: Flags, asked: Asked | None) -> Floats | None:
        """(steps) A flow that is whole in some steps; None if the solver finds none."""
        far = self._far(whole)
        units, surely_none = self._without(far, whole, asked)
        if surely_none and far.any():
            units, _ = self._without(np.zeros_like(far), whole, asked)
        return units

    def _without(self, far: Flags, whole: Flags, asked: Asked | None) -> tuple[Floats | None, bool]:
        """(steps) Such a flow without some steps, and whether there is surely none.

        If somebody is to be asked, the solver goes on until the answer is yes, or there may be no
        more questions.
        """
        model, types = self._model, highspy().HighsVarType
        upper = np.array(model.col_upper_)
        model.col_upper_ = np.where(far, model.col_lower_, upper)
        model.integrality_ = np.where(whole, types.kInteger, types.kContinuous).tolist()
        highs = _solver(self._left())
        highs.setOptionValue("random_seed", int(self._random.integers(2**31 - 1)))
        highs.passModel(model)
        model.col_upper_ = upper
        found = list[Floats]()

        def over() -> bool:
            return bool(found) or self._stop() or (asked is not None and not self._questions)

        def improved(event: Any) -> None:
            units = np.array(event.data_out.mip_solution)
            if not over() and asked is not None and asked(units):
                found.append(units)

        if asked is None:
            highs.setOptionValue("mip_max_improving_sols", 1)
        else:
            highs.cbMipImprovingSolution.subscribe(improved)
        highs.cbMipInterrupt.subscribe(lambda event: event.interrupt(over()))
        highs.run()
        feasible = highspy().SolutionStatus.kSolutionStatusFeasible
        if asked is None and highs.getInfo().primal_solution_status == feasible:
            found.append(np.array(highs.getSolution().col_value))
        if found and not self._stop():
            return found[0], False
        return None, refuted(highs)

    def _far(self, whole: Flags) -> Flags:
        """(steps) Steps that are far from an optimum; none if the solver finds no optimum."""
        highs = _relaxed(self._model, self._left())
        if highs is None:
            return np.zeros_like(whole)
        far = np.where(whole, self._costs.far, FAR_IN_PARTS)
        return np.array(highs.getSolution().col_dual) > far

    def _left(self) -> float:
        """Seconds that a program may take now."""
        return min(self._seconds, self._deadline - perf_counter())


def idle(program: JoinedProgram) -> float:
    """How many of the smallest blocks the linear program leaves idle; 0 without a flow."""
    model = program.model()
    model.col_cost_ = -program.rests
    highs = _relaxed(model, inf)
    return -highs.getObjectiveValue() if highs else 0.0


def _relaxed(model: Any, seconds: float) -> Any | None:
    """A solver with the solution of the linear program; None if it has none."""
    model.integrality_ = []
    highs = _solver(seconds)
    # Within the optimal face, not at a corner: so few steps only seem to be far.
    for option, value in (("solver", "ipm"), ("run_crossover", "off")):
        highs.setOptionValue(option, value)
    highs.passModel(model)
    highs.run()
    optimal = highs.getModelStatus() == highspy().HighsModelStatus.kOptimal
    return highs if optimal else None


def _solver(seconds: float) -> Any:
    """A new solver on one thread, for at most so many seconds."""
    highs = silent_highs()
    for option, value in (("threads", 1), ("time_limit", max(0.0, seconds))):
        highs.setOptionValue(option, value)
    return highs
