"""What a solve returns: why it stopped, what it holds, and what is proven about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .bounds import relative_gap
from .schema import Schedule
from .verifier import Report

Status = Literal["optimal", "feasible", "infeasible", "unknown"]


@dataclass(frozen=True)
class Goal:
    """An objective other than the makespan, which is minimised.

    Attributes
    ----------
    name
        What it is, in words.
    value
        Its value for the schedule; None if there is none.
    bound
        A proven lower bound on it; None if there is none.
    """

    name: str
    value: float | None
    bound: float | None

    @property
    def gap(self) -> float | None:
        """The relative gap; None if value or bound is unknown."""
        if self.value is None or self.bound is None:
            return None
        return relative_gap(self.value, self.bound)


@dataclass(frozen=True)
class Result:
    """Outcome of one method or formulation on one instance.

    Attributes
    ----------
    instance
        Name of the instance.
    method, formulation
        What was used, by name; exactly one is not None.
    solver, solver_version
        The formulation's solver; None for methods.
    status
        `optimal`: the makespan equals a proven lower bound. `feasible`: there is a schedule.
        `infeasible`: proven that there is none within the horizon. `unknown`: none was found.
    schedule
        The best schedule known, verified; None if there is none.
    report
        The verifier's report on it.
    lower_bound
        A proven lower bound on every makespan in slots; None if there is none.
    bound_name
        What gave it.
    seconds
        Time taken.
    stopped
        Why it stopped, in words.
    goal
        What was minimised, if it is not the makespan; then `status` and `gap` are about it.
    restricted
        Whether the formulation asks for more than the instance does: the lower bound then need
        not hold for schedules in general.
    reasons
        If the status is `infeasible`: which jobs and constraints are in conflict, in lines.
    """

    instance: str
    method: str | None
    formulation: str | None
    solver: str | None
    solver_version: str | None
    status: Status
    schedule: Schedule | None
    report: Report | None
    lower_bound: int | None
    bound_name: str | None
    seconds: float
    stopped: str
    goal: Goal | None = None
    restricted: bool = False
    reasons: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the method, or of formulation and solver."""
        return self.method or f"{self.formulation}/{self.solver}"

    @property
    def makespan(self) -> int | None:
        """Makespan of the schedule in slots."""
        return self.report.makespan if self.report else None

    @property
    def gap(self) -> float | None:
        """The relative gap of the makespan, or of the other objective; None if it is unknown."""
        if self.goal is not None:
            return self.goal.gap
        if self.makespan is None or self.lower_bound is None:
            return None
        return relative_gap(self.makespan, self.lower_bound)

    def summary(self) -> dict[str, Any]:
        """The result as plain data, without the schedule; what `solve --json` prints."""
        return {
            "instance": self.instance,
            "method": self.method,
            "formulation": self.formulation,
            "solver": self.solver,
            "solver_version": self.solver_version,
            "status": self.status,
            "makespan": self.makespan,
            "mean_completion": self.report.mean_completion if self.report else None,
            "lower_bound": self.lower_bound,
            "bound_name": self.bound_name,
            "gap": self.gap,
            "seconds": self.seconds,
            "stopped": self.stopped,
            "objective": self.goal.name if self.goal else "makespan",
            "objective_value": self.goal.value if self.goal else self.makespan,
            "objective_bound": self.goal.bound if self.goal else self.lower_bound,
            "restricted": self.restricted,
            "reasons": list(self.reasons),
            "verified": self.report.feasible if self.report else None,
        }


def status_of(makespan: int | None, lower_bound: int | None, horizon: int) -> Status:
    """Status from whole numbers alone: no solver's word is taken for it."""
    if makespan is None:
        return "infeasible" if lower_bound is not None and lower_bound > horizon else "unknown"
    return "optimal" if lower_bound is not None and makespan <= lower_bound else "feasible"
