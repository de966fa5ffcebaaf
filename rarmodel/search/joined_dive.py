"""Packings that keep to a target, found by one integer program after another.

The first program packs the widest jobs, in whole numbers, and leaves room for the others, which run
in parts. The next one packs the jobs of the next size, and so on. Where the linear program says
that a step is far from any optimum, the integer program first does without it: it then has some
hundred steps of that size instead of thousands. It ends with its first packing.

Only the first program may go on. It takes most of the time, and some of its packings leave no room
for the next jobs. So for each packing, the dive asks at once whether the jobs of the next size can
be packed, too. If not, the program looks for a better packing. The first dive asks once, the second
one twice, and so on. From a packing that can be continued, the dive goes on several times, each
time to another packing of all jobs.
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
Bounds = tuple[Floats, Floats]
Question = Callable[[Floats], bool]
"""Whether a flow will do."""

FIRST_JOBS = 40
"""Most jobs of the first program, unless those of the greatest size are more."""
SECONDS = 20.0
"""Most seconds of the first program in the first dive, in which it asks about one packing. In the
second dive it may take twice as long and ask about two, and so on."""
LATER_SHARE, LATER_SECONDS = 0.33, 3.0
"""Each of the other programs may take this share of the time since the first one began, or so many
seconds, if that is longer."""
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
        self._number, self._deadline = number, deadline
        self._model = program.model()
        self._next: Bounds | None = None
        self._set(FIRST)

    def packings(self) -> Iterator[Packed]:
        """Packings that meet the target if no ring is slower than the program assumes."""
        program, model, begun = self._program, self._model, perf_counter()
        first = first_size(program.nested, program.kinds)
        later = [size for size in program.nested if size < first]
        question = self._question(first, later[0], begun) if later else None
        if not self._pack(first, SECONDS * self._number, question):
            return
        wide, seconds = self._bounds(), _later_seconds(begun)
        for _ in range(PACKINGS):
            if self._stop():
                return
            self._set(LATER)
            # The question has packed the next size already, once.
            known, self._next = self._next, None
            self._set_bounds(known or wide)
            if all(self._pack(size, seconds) for size in (later[1:] if known else later)):
                yield program.packed(np.rint(model.col_lower_).astype(int).tolist())

    def _set(self, costs: Costs) -> None:
        """Set the costs of the program."""
        program, self._costs = self._program, costs
        noise = costs.random * self._random.random(len(program.sizes))
        self._model.col_cost_ = noise + costs.join * program.joins - program.rests

    def _bounds(self) -> Bounds:
        """(steps) The least and the most units of flow."""
        return np.array(self._model.col_lower_), np.array(self._model.col_upper_)

    def _set_bounds(self, bounds: Bounds) -> None:
        """Set the least and the most units of flow."""
        self._model.col_lower_, self._model.col_upper_ = bounds

    def _question(self, first: int, following: int, begun: float) -> Question:
        """The question whether jobs of the next size can be packed beside those of a flow."""

        def can_be_continued(units: Floats) -> bool:
            costs, bounds = self._costs, self._bounds()
            self._set(LATER)
            self._fix(first, units)
            packed = self._pack(following, _later_seconds(begun))
            self._next = self._bounds() if packed else None
            self._set(costs)
            self._set_bounds(bounds)
            return packed

        return can_be_continued

    def _pack(self, least: int, seconds: float, question: Question | None = None) -> bool:
        """Pack the jobs of a size and fix all steps of that size; return whether that is done.

        Wider steps are whole, too. A question must be answered with yes for the flow.
        """
        whole, end = self._program.sizes >= least, min(perf_counter() + seconds, self._deadline)
        far = self._far(whole, end)
        if far is None or self._stop():
            return False
        units, surely_none = self._without(far, whole, end, question)
        if surely_none and far.any() and not self._stop():
            units, _ = self._without(np.zeros_like(far), whole, end, question)
        if units is None:
            return False
        self._fix(least, units)
        return True

    def _fix(self, least: int, units: Floats) -> None:
        """Fix all steps of a size and wider ones to those of a flow."""
        whole, (lower, upper) = self._program.sizes >= least, self._bounds()
        units = np.rint(units)
        self._set_bounds((np.where(whole, units, lower), np.where(whole, units, upper)))

    def _without(
        self, far: Flags, whole: Flags, end: float, question: Question | None
    ) -> tuple[Floats | None, bool]:
        """(steps) A flow without some steps, and whether there is surely none.

        With a question, the solver goes on until the answer is yes or no question is left.
        """
        model, types = self._model, highspy().HighsVarType
        lower, upper = self._bounds()
        model.col_upper_ = np.where(far, lower, upper)
        model.integrality_ = np.where(whole, types.kInteger, types.kContinuous).tolist()
        highs = _solver(end)
        highs.setOptionValue("random_seed", int(self._random.integers(2**31 - 1)))
        highs.passModel(model)
        model.col_upper_ = upper
        found, left = list[Floats](), self._number

        def over() -> bool:
            return bool(found) or left == 0 or self._stop()

        def improved(event: Any) -> None:
            nonlocal left
            if question is None or over():
                return
            left -= 1
            units = np.array(event.data_out.mip_solution)
            if question(units):
                found.append(units)

        if question is None:
            highs.setOptionValue("mip_max_improving_sols", 1)
        else:
            highs.cbMipImprovingSolution.subscribe(improved)
        highs.cbMipInterrupt.subscribe(lambda event: event.interrupt(over()))
        highs.run()
        feasible = highspy().SolutionStatus.kSolutionStatusFeasible
        if question is None and highs.getInfo().primal_solution_status == feasible:
            found.append(np.array(highs.getSolution().col_value))
        if found and not self._stop():
            return found[0], False
        return None, refuted(highs)

    def _far(self, whole: Flags, end: float) -> Flags | None:
        """(steps) Steps that are far from an optimum; None if there is surely no flow."""
        highs = _relaxed(self._model, end)
        if refuted(highs):
            return None
        if not _optimal(highs):
            return np.zeros_like(whole)
        far = np.where(whole, self._costs.far, FAR_IN_PARTS)
        return np.array(highs.getSolution().col_dual) > far


def idle(program: JoinedProgram) -> float:
    """How many of the smallest blocks the linear program leaves idle; 0 without a flow."""
    model = program.model()
    model.col_cost_ = -program.rests
    highs = _relaxed(model, inf)
    return -highs.getObjectiveValue() if _optimal(highs) else 0.0


def _later_seconds(begun: float) -> float:
    """Most seconds of a program that follows the first one, which began then."""
    return max(LATER_SECONDS, LATER_SHARE * (perf_counter() - begun))


def _relaxed(model: Any, end: float) -> Any:
    """A solver that has solved the linear program, unless it had to end before."""
    model.integrality_ = []
    highs = _solver(end)
    # Within the optimal face, not at a corner: so few steps only seem to be far.
    for option, value in (("solver", "ipm"), ("run_crossover", "off")):
        highs.setOptionValue(option, value)
    highs.passModel(model)
    highs.run()
    return highs


def _optimal(highs: Any) -> bool:
    """Whether the solver has found an optimum."""
    return bool(highs.getModelStatus() == highspy().HighsModelStatus.kOptimal)


def _solver(end: float) -> Any:
    """A new solver on one thread, which ends at that reading of `time.perf_counter`."""
    highs = silent_highs()
    for option, value in (("threads", 1), ("time_limit", max(0.0, end - perf_counter()))):
        highs.setOptionValue(option, value)
    return highs
