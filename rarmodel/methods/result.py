"""The result of a solve: why it stopped, the schedule, and what is proven about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from rarmodel.bounds import LowerBound
from rarmodel.errors import NoScheduleError
from rarmodel.model.objectives import MAKESPAN, Value
from rarmodel.schema import Instance, Schedule, SlotTime
from rarmodel.tabular import frame, html_lines, number
from rarmodel.verifier import Report

from .goals import Goal, gap_of, goals_of, ties_in
from .incumbent_log import IncumbentLog

if TYPE_CHECKING:
    import pandas as pd

STARTED = "start"
"""Finder of a schedule that the user gave, and that nothing has made better."""

Status = Literal["optimal", "feasible", "infeasible", "unknown", "skipped"]


@dataclass(frozen=True)
class ModelRun:
    """The models that a formulation's solve built, and what a solver made of them.

    None stands for what did not happen.

    Attributes
    ----------
    built
        Whether a model was built.
    horizon, variables, constraints
        Of the last model: its slots, and its size.
    solver
        Name of the solver that had it.
    solver_seconds, nodes
        Time of the solver, and nodes of its search trees (CP-SAT: branches), over all models.
    solver_value, solver_bound
        Incumbent and bound of the last model as the solver states them: of the model's own
        objective, which may count in other units than the instance's.
    """

    built: bool = False
    horizon: int | None = None
    variables: int | None = None
    constraints: int | None = None
    solver: str | None = None
    solver_seconds: float | None = None
    solver_value: float | None = None
    solver_bound: float | None = None
    nodes: int | None = None


def in_full(solver: str | None, version: str | None) -> str:
    """A solver with its version, as the finder of a schedule or the prover of a bound."""
    return f"{solver} {version}"


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
        The solver that had a model of the formulation; None if none ran.
    status
        `optimal`: every objective equals a proven lower bound. `feasible`: there is a schedule.
        `infeasible`: it is proven that none fits the horizon. `unknown`: none was found.
        `skipped`: the method or formulation does not handle what the instance uses.
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
    objective
        What was minimised, the most important first; `status` and `gap` refer to it.
    ties
        What decided between schedules that are equal in `objective`: total completion, then total
        links. None are there if the instance has a list of objectives, or the formulation its own.
        Their bounds hold for every schedule. `status` and `gap` do not refer to them.
    restricted
        Whether the formulation adds constraints or another objective. The lower bound then need
        not hold for schedules in general.
    reasons
        If the status is `infeasible`: the jobs and constraints in conflict, as lines of text.
    schedule_by
        What has found the schedule: a method's name, a solver with its version, or `start` if it
        is the one that the solve was given; None without a schedule.
    chosen_solver
        Name of the solver that was to solve the formulation, whether it ran or not.
    model
        The models of the formulation; None for methods.
    log
        Incumbents and bounds of the most important objective over time.
    formulated
        The last model of the formulation with its values and its scope, a
        `rarmodel.exact.FormulatedModel`, if it was asked for and a model was built. It stays in
        this process: a pickled result has None.
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
    objective: tuple[Goal, ...] = ()
    ties: tuple[Goal, ...] = ()
    restricted: bool = False
    reasons: tuple[str, ...] = ()
    schedule_by: str | None = None
    chosen_solver: str | None = None
    model: ModelRun | None = None
    log: IncumbentLog = field(default=IncumbentLog(), compare=False, repr=False)
    formulated: Any = field(default=None, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """All but the Pyomo model, which may be large and may have functions of the user's."""
        return self.__dict__ | {"formulated": None}

    def __repr__(self) -> str:
        bound, seconds = self.lower_bound, round(self.seconds, 2)
        return (
            f"Result(instance={self.instance!r}, name={self.name!r}, status={self.status!r}, "
            f"makespan={self.makespan}, lower_bound={bound}, seconds={seconds})"
        )

    @property
    def name(self) -> str:
        """Name of the method, or of formulation and solver."""
        return self.method or f"{self.formulation}/{self.solver or self.chosen_solver}"

    @property
    def proved_by(self) -> str | None:
        """What has proven the bound on the most important objective; see `Goal.proved_by`."""
        return self.objective[0].proved_by if self.objective else None

    @property
    def by_others(self) -> str:
        """Whose answer it is, in words, if not the formulation's own; empty if it is its own.

        It is the formulation's own if a solver found the schedule in a model, and proved its bound.
        Methods answer for themselves.
        """
        if self.formulation is None or self.status == "skipped":
            return ""
        ran = None if self.solver is None else in_full(self.solver, self.solver_version)
        parts = []
        if self.schedule is not None and self.schedule_by != ran:
            parts.append(f"schedule by {self.schedule_by}")
        if self.proved_by is not None and self.proved_by != ran:
            parts.append(f"bound by {self.proved_by}")
        return ", ".join(parts)

    @property
    def makespan(self) -> int | None:
        """Makespan of the schedule in slots."""
        return self.report.makespan if self.report else None

    @property
    def gap(self) -> float | None:
        """The relative gap of the first objective that is not proven; None if unknown."""
        return gap_of(self.objective)

    @property
    def by_makespan(self) -> bool:
        """Whether the makespan alone was minimised."""
        return [goal.name for goal in self.objective] == ["makespan"]

    def lines(self) -> dict[str, str]:
        """The result as a dictionary of names and formatted values."""
        told = self.time.told
        source = self.method or f"{self.formulation}, {self._solved}"
        mean = self.report.mean_completion if self.report else None
        found = {
            "instance": self.instance,
            "method" if self.method else "formulation": source,
            "status": f"{self.status} ({self.stopped})",
        }
        found |= self._whose
        # The makespan has its bound in a line of its own, and is no aim unless it was asked for.
        others = {g.name: g.told(self.time) for g in self.objective if g.name != MAKESPAN.name}
        aimed = not self.objective or len(others) < len(self.objective)
        if not aimed:
            found |= others
        found["makespan"] = told(self.makespan)
        if end := self.time.end(self.makespan):
            found["end"] = f"{end}"
        if aimed:
            found["lower bound"] = told(self.lower_bound, self.bound_name or "proven")
        found |= others | {"gap": number(self.gap, ".2%")}
        found |= {tie.name: tie.told(self.time) for tie in self.ties}
        return found | {
            "mean completion": told(mean, form=".2f"),
            "seconds": number(self.seconds, ".2f"),
        }

    @property
    def _whose(self) -> dict[str, str]:
        """What has found the schedule and proven its bound, where the first lines do not say."""
        if self.schedule_by == STARTED:
            found: dict[str, str | None] = {"found by": f"{STARTED}: the schedule that was given"}
        else:
            found = {"found by": self.schedule_by if self.by_others else None}
        found["proven by"] = self.proved_by if self.by_others else None
        return {name: by for name, by in found.items() if by is not None}

    @property
    def _solved(self) -> str:
        """Which solver had a model of the formulation, in words."""
        if self.solver is None:
            return f"{self.chosen_solver} not used"
        return f"solved by {in_full(self.solver, self.solver_version)}"

    def to_frame(self) -> pd.DataFrame:
        """The schedule as a pandas data frame: job, start, completion, GPUs, servers, placement.

        If the instance has releases, `release` and `flow` time are there, too; if it has due slots,
        `tardiness`. If it has an origin, `begins` and `ends` are clock times.

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
            waiting = self.report.waiting_of(row["job"])
            placed = {"job": row.pop("job"), "start": start, "completion": end}
            rows.append(placed | waiting | row)
            if self.time.origin is not None and end is not None:
                rows[-1] |= {"begins": self.time.moment(start), "ends": self.time.moment(end)}
        return frame(rows)

    def _repr_html_(self) -> str:
        return html_lines(f"Result of {self.name}", self.lines())

    def summary(self, *, log: bool = False) -> dict[str, Any]:
        """The result as plain data, without the schedule: the output of `solve --json`.

        Parameters
        ----------
        log
            Whether the log of incumbents and bounds is part of it.
        """
        return {
            "instance": self.instance,
            "method": self.method,
            "formulation": self.formulation,
            "solver": self.solver,
            "solver_version": self.solver_version,
            "chosen_solver": self.chosen_solver,
            "status": self.status,
            "makespan": self.makespan,
            **self.time.by_clock(self.makespan),
            "mean_completion": self.report.mean_completion if self.report else None,
            "lower_bound": self.lower_bound,
            "bound_name": self.bound_name,
            "gap": self.gap,
            "seconds": self.seconds,
            "stopped": self.stopped,
            "schedule_by": self.schedule_by,
            "proved_by": _one_or_all([goal.proved_by for goal in self.objective]),
            "by_others": self.by_others or None,
            "model": None if self.model is None else asdict(self.model),
            "objective": _one_or_all([goal.name for goal in self.objective]),
            "objective_value": _one_or_all([_plain(goal.value) for goal in self.objective]),
            "objective_bound": _one_or_all([_plain(goal.bound) for goal in self.objective]),
            "ties": [
                {
                    "objective": tie.name,
                    "value": _plain(tie.value),
                    "bound": _plain(tie.bound),
                    "proved_by": tie.proved_by,
                }
                for tie in self.ties
            ],
            "restricted": self.restricted,
            "reasons": list(self.reasons),
            "verified": self.report.feasible if self.report else None,
            **({"log": self.log.rows()} if log else {}),
        }


def skipped(
    instance: Instance,
    why: str,
    *,
    method: str | None = None,
    formulation: str | None = None,
    solver: str | None = None,
    bound: LowerBound | None = None,
) -> Result:
    """The result of a method or formulation that does not take an instance, and why."""
    return Result(
        instance=instance.name,
        time=instance.time,
        method=method,
        formulation=formulation,
        solver=None,
        solver_version=None,
        chosen_solver=solver,
        status="skipped",
        schedule=None,
        report=None,
        lower_bound=None if bound is None else bound.slots,
        bound_name=None if bound is None else bound.name,
        seconds=0.0,
        stopped=why,
        objective=goals_of(instance, None, []),
        model=None if formulation is None else ModelRun(),
        ties=ties_in(instance, None),
    )


def _one_or_all(items: list[Any]) -> Any:
    """What a list of one holds; otherwise the list."""
    return items[0] if len(items) == 1 else items


def _plain(value: Value | float | None) -> float | None:
    """A value as JSON has it."""
    return float(value) if isinstance(value, Fraction) else value


def status_of(goals: Sequence[Goal], *, found: bool, infeasible: bool = False) -> Status:
    """The status, computed from exact values and bounds and not from a solver's report.

    Parameters
    ----------
    goals
        The objectives.
    found
        Whether there is a schedule.
    infeasible
        Whether it is proven that there is none.
    """
    if not found:
        return "infeasible" if infeasible else "unknown"
    return "optimal" if gap_of(goals) == 0 else "feasible"
