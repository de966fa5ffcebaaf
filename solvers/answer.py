"""The interface of solver adapters, and their answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, get_args

from rarmodel import registry
from rarmodel.errors import PartError, UsageError
from rarmodel.limits import Limits

if TYPE_CHECKING:
    import pyomo.environ as pyo

Termination = Literal["finished", "infeasible", "time-limit", "interrupted", "error"]
"""Why a solver stopped: it reached the gap; it proved that there is no solution; time was up;
Ctrl-C; anything else.
"""


@dataclass(frozen=True)
class Answer:
    """Why a solver stopped, and what it found. The two are independent.

    Attributes
    ----------
    termination
        Why the solver stopped.
    has_solution
        Whether the model's variables now hold a solution.
    bound
        A valid lower bound on the objective, or None.
    seconds
        Time for transferring and solving the model.
    message
        The solver's own reason for stopping.
    value
        The objective of the solution, or None.
    nodes
        Nodes of the search tree that the solver visited, of CP-SAT its branches; None if unknown.
    """

    termination: Termination
    has_solution: bool
    bound: float | None
    seconds: float
    message: str
    value: float | None = None
    nodes: int | None = None


def finite(value: float) -> float | None:
    """A solver's number; None if it stands for infinity."""
    return value if math.isfinite(value) and abs(value) < 1e30 else None


class Solver(Protocol):
    """A solver adapter. Adapters are stateless."""

    @property
    def name(self) -> str:
        """Name for `--solver`."""

    @property
    def model_classes(self) -> frozenset[str]:
        """Classes of models that it solves: see `rarmodel.formulations.ModelClass`."""

    def version(self) -> str | None:
        """Version of the solver; None if it is not installed. This takes no licence."""

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
        """Minimise the model's objective.

        The values of the variables are a starting solution for the solver. The adapter writes the
        solver's solution to the variables.

        Raises
        ------
        UsageError
            If the solver is not installed, or does not solve this class of models.
        """


class _Guarded:
    def __init__(self, solver: Solver) -> None:
        self._solver = solver

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_solver"], name)

    def version(self) -> str | None:
        with registry.calling("solvers", self._solver):
            version: object = self._solver.version()
        if version is None or isinstance(version, str):
            return version
        raise registry.nonsense("solvers", self._solver, version, "a version, or None")

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
        with registry.calling("solvers", self._solver):
            answer: object = self._solver.solve(model, limits)
        if isinstance(answer, Answer) and _is_sound(answer):
            return answer
        expected = "an Answer with a termination that there is, and finite numbers or None,"
        raise registry.nonsense("solvers", self._solver, answer, expected)


def _is_sound(answer: Answer) -> bool:
    numbers: list[object] = [answer.bound, answer.value]
    fit = all(n is None or (isinstance(n, int | float) and math.isfinite(n)) for n in numbers)
    return answer.termination in get_args(Termination) and fit


def guarded(solver: Solver) -> Solver:
    """The solver; it raises a PartError where it fails or returns nonsense."""
    return solver if isinstance(solver, _Guarded) else cast("Solver", _Guarded(solver))


def first_answer(solvers: list[Solver], model: pyo.ConcreteModel, limits: Limits) -> Answer:
    """The answer of the first solver that accepts a model; solvers that refuse it are dropped.

    Raises
    ------
    UsageError
        If the last solver refuses it too, or one fails.
    """
    while True:
        try:
            return guarded(solvers[0]).solve(model, limits)
        except PartError:
            raise
        except UsageError:
            if len(solvers) == 1:
                raise
            solvers.pop(0)
