"""What a solver adapter is, and the one kind of answer that all of them give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from rarmodel.errors import UsageError
from rarmodel.limits import Limits

if TYPE_CHECKING:
    import pyomo.environ as pyo

Termination = Literal["finished", "infeasible", "time-limit", "interrupted", "error"]
"""Why a solver stopped: it reached the gap it was to reach; it proved that there is no solution;
time was up; Ctrl-C; anything else."""


@dataclass(frozen=True)
class Answer:
    """Why a solver stopped, and what it holds. The two are independent.

    Attributes
    ----------
    termination
        Why it stopped.
    has_solution
        Whether the model's variables now hold a solution.
    bound
        A true lower bound on the objective; None if there is none.
    seconds
        Time spent on handing the model over and solving it.
    message
        The solver's own word for why it stopped.
    """

    termination: Termination
    has_solution: bool
    bound: float | None
    seconds: float
    message: str


def finite(value: float) -> float | None:
    """A solver's number, or None for what it means to be infinite."""
    return value if math.isfinite(value) and abs(value) < 1e30 else None


class Solver(Protocol):
    """A solver adapter. Adapters are stateless."""

    @property
    def name(self) -> str:
        """What `--solver` calls it."""

    @property
    def model_classes(self) -> frozenset[str]:
        """The classes of models that it solves: see `rarmodel.formulations.ModelClass`."""

    def version(self) -> str | None:
        """Version of the solver; None if it is not installed. Takes no licence."""

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
        """Minimise the model's objective.

        Values that the variables hold are offered to the solver as a starting solution. A
        solution found is written to them.

        Raises
        ------
        UsageError
            If the solver cannot take the model: not installed, or not of a class it solves.
        """


def first_answer(solvers: list[Solver], model: pyo.ConcreteModel, limits: Limits) -> Answer:
    """The answer of the first solver that takes a model; those that refuse it are dropped.

    Raises
    ------
    UsageError
        If the last one refuses it too.
    """
    while True:
        try:
            return solvers[0].solve(model, limits)
        except UsageError:
            if len(solvers) == 1:
                raise
            solvers.pop(0)
