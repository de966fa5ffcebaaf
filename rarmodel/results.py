"""The result of a solve: why it stopped, the schedule, and what is proven about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .bounds import relative_gap
from .errors import NoScheduleError
from .schema import Schedule, SlotTime
from .tabular import frame, html_lines, number
from .verifier import Report

if TYPE_CHECKING:
    import pandas as pd

Status = Literal["optimal", "feasible", "infeasible", "unknown"]


@dataclass(frozen=True)
class Goal:
    """An objective other than the makespan; rarmodel minimises it.

    Attributes
    ----------
    name
        Name of the objective, in words.
    value
        Value of the schedule; None without a schedule.
    bound
        A proven lower bound on the value; None if unknown.
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
    """The result of one method or formulation on one instance.

    Attributes
    ----------
    instance
        Name of the instance.
    time
        The instance's slots: their length, and when slot 0 begins.
    method, formulation
        Name of the method or the formulation; exactly one of the two is not None.
    solver, solver_version
        The formulation's solver; None for methods.
    status
        `optimal`: the makespan equals a proven lower bound. `feasible`: there is a schedule.
        `infeasible`: it is proven that none fits the horizon. `unknown`: none was found.
    schedule
        The best known schedule, which is verified; None if there is none.
    report
        The verifier's report on the schedule.
    lower_bound
        A proven lower bound on every makespan, in slots; None if unknown.
    bound_name
        Name of the bound.
    seconds
        Computing time.
    stopped
        Why the solve stopped, in words.
    goal
        The objective, if it is not the makespan; `status` and `gap` then refer to it.
    restricted
        Whether the formulation adds constraints or another objective. The lower bound then need
        not hold for schedules in general.
    reasons
        If the status is `infeasible`: the jobs and constraints in conflict, as lines of text.
    """

    instance: str
    time: SlotTime
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

    def __repr__(self) -> str:
        bound, seconds = self.lower_bound, round(self.seconds, 2)
        return (
            f"Result(instance={self.instance!r}, name={self.name!r}, status={self.status!r}, "
            f"makespan={self.makespan}, lower_bound={bound}, seconds={seconds})"
        )

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
        """The relative gap of the makespan or of the other objective; None if unknown."""
        if self.goal is not None:
            return self.goal.gap
        if self.makespan is None or self.lower_bound is None:
            return None
        return relative_gap(self.makespan, self.lower_bound)

    def lines(self) -> dict[str, str]:
        """The result as a dictionary of names and formatted values."""
        told = self.time.told
        source = self.method or f"{self.formulation} on {self.solver} {self.solver_version}"
        mean = self.report.mean_completion if self.report else None
        found = {
            "instance": self.instance,
            "method" if self.method else "formulation": source,
            "status": f"{self.status} ({self.stopped})",
            "makespan": told(self.makespan),
        }
        if end := self.time.end(self.makespan):
            found["end"] = f"{end}"
        found["lower bound"] = told(self.lower_bound, self.bound_name or "proven")
        if goal := self.goal:
            found[goal.name] = f"{number(goal.value, 'g')} (at least {number(goal.bound, 'g')})"
        return found | {
            "gap": number(self.gap, ".2%"),
            "mean completion": told(mean, form=".2f"),
            "seconds": number(self.seconds, ".2f"),
        }

    def to_frame(self) -> pd.DataFrame:
        """The schedule as a pandas data frame: job, start, completion, GPUs, servers, placement.

        If the instance has an origin, `begins` and `ends` are clock times.

        Raises
        ------
        NoScheduleError
            If there is no schedule.
        UsageError
            If pandas is not installed.
        """
        if self.schedule is None or self.report is None:
            raise NoScheduleError(f"{self.instance}: no schedule: {self.status} ({self.stopped})")
        rows = []
        for row in self.schedule.rows():
            start, end = row.pop("start"), self.report.completion[row["job"]]
            rows.append({"job": row.pop("job"), "start": start, "completion": end, **row})
            if self.time.origin is not None and end is not None:
                rows[-1] |= {"begins": self.time.moment(start), "ends": self.time.moment(end)}
        return frame(rows)

    def _repr_html_(self) -> str:
        return html_lines(f"Result of {self.name}", self.lines())

    def summary(self) -> dict[str, Any]:
        """The result as plain data, without the schedule: the output of `solve --json`."""
        return {
            "instance": self.instance,
            "method": self.method,
            "formulation": self.formulation,
            "solver": self.solver,
            "solver_version": self.solver_version,
            "status": self.status,
            "makespan": self.makespan,
            **self.time.by_clock(self.makespan),
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
    """The status, computed from whole numbers and not from a solver's report."""
    if makespan is None:
        return "infeasible" if lower_bound is not None and lower_bound > horizon else "unknown"
    return "optimal" if lower_bound is not None and makespan <= lower_bound else "feasible"
