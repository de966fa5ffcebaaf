"""The request of a formulation's solve, and its state so far."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import perf_counter

from rarmodel.bounds import LowerBound, relative_gap
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.entries import Entries
from rarmodel.limits import Limits
from rarmodel.model import horizon_of, job_extremes, topology
from rarmodel.results import Goal
from rarmodel.schema import Instance, Schedule
from rarmodel.search import Session, Solution
from rarmodel.solvers import Solver
from rarmodel.verifier import Report, require_feasible

from .admission import ModelNeeded, judge

SEARCH_SHARE = 0.1
"""Least share of the time limit for `search`, unless the optimum is proven before."""


@dataclass
class Known:
    """The request, the best schedule so far, and what is proven.

    Attributes
    ----------
    instance, formulation, limits, data
        The request.
    solvers
        Solvers for the models, the preferred one first; solvers that refuse a model are dropped.
    session
        The search for short schedules. Its bound holds for every schedule of the instance.
    begun
        Start of the solve, as a reading of the clock.
    bound
        The lower bound on the makespan. If the formulation restricts, it may hold only there.
    schedule, report
        The best schedule that satisfies the formulation, verified.
    unjudged
        Verified schedules that only the model can judge, with their reports.
    model_needed
        Why only the model can judge them, if not for every schedule of the formulation.
    seen
        Solutions of `search` that were judged.
    value, value_bound
        Value and bound of the objective, if it is not the makespan.
    infeasible
        Whether it is proven that no schedule satisfies the formulation.
    solved
        Whether a solver has finished with the last model.
    searched
        Seconds that `search` has used.
    stopped
        Why the solve ended, in words.
    """

    instance: Instance
    formulation: Formulation
    solvers: list[Solver]
    limits: Limits
    data: Entries
    session: Session
    begun: float
    bound: LowerBound
    schedule: Schedule | None = None
    report: Report | None = None
    unjudged: list[tuple[Schedule, Report]] = field(default_factory=list)
    model_needed: str = ""
    seen: list[Solution] = field(default_factory=list)
    value: float | None = None
    value_bound: float | None = None
    infeasible: bool = False
    solved: bool = False
    searched: float = 0.0
    stopped: str = ""

    @property
    def solver(self) -> Solver:
        """The preferred solver."""
        return self.solvers[0]

    @property
    def by_makespan(self) -> bool:
        """Whether the makespan is the objective."""
        return self.formulation.objective == "makespan"

    @property
    def makespan(self) -> int | None:
        """Makespan of the best schedule in slots."""
        return self.report.makespan if self.report else None

    @property
    def gap(self) -> float:
        """Relative gap; 1 if nothing is known."""
        if not self.by_makespan:
            goal = self.goal()
            return 1.0 if goal is None or goal.gap is None else goal.gap
        return 1.0 if self.makespan is None else relative_gap(self.makespan, self.bound.slots)

    @property
    def closed(self) -> bool:
        """Whether there is a schedule within the requested gap."""
        return self.schedule is not None and self.gap <= self.limits.gap

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time limit; None without one."""
        if self.limits.time_limit is None:
            return None
        return max(0.0, self.limits.time_limit - (perf_counter() - self.begun))

    @property
    def seconds_for_models(self) -> float | None:
        """Seconds until the time limit, without the time reserved for `search`."""
        left = self.seconds_left
        if left is None or self.formulation.restricts or self.limits.time_limit is None:
            return left
        return max(0.0, left - max(0.0, SEARCH_SHARE * self.limits.time_limit - self.searched))

    def goal(self) -> Goal | None:
        """The objective, if it is not the makespan."""
        if self.by_makespan:
            return None
        return Goal(self.formulation.objective, self.value, self.value_bound)

    def scope(self, horizon: int) -> Scope:
        """The scope of a model with this many slots."""
        return Scope(
            instance=self.instance,
            tree=topology(self.instance.cluster),
            extremes=job_extremes(self.instance),
            horizon=horizon,
            lower_bound=self.bound.slots,
            data=self.data,
            every_schedule=self.formulation.restricts,
        )

    def brief(self) -> Limits:
        """Limits for a small problem."""
        return replace(self.limits, time_limit=self.seconds_left)

    def collect(self, schedule: Schedule) -> None:
        """Verify a schedule of the instance, and keep it if it is the best admissible one."""
        report = require_feasible(self.instance, schedule)
        self.session.take(schedule)
        if not self.formulation.restricts:
            self.improve(schedule, report)
            return
        scope = self.scope(horizon_of(self.instance))
        verdict = judge(self.formulation, scope, schedule, self.solver, self.brief())
        if isinstance(verdict, ModelNeeded):
            self.unjudged.append((schedule, report))
            self.model_needed = verdict.why
        elif verdict.broken is None:
            self.improve(schedule, report, verdict.value)

    def improve(self, schedule: Schedule, report: Report, value: float | None = None) -> None:
        """Keep a schedule that satisfies the formulation if it is better than the current one."""
        if report.makespan is None:
            return
        if self.by_makespan:
            better = self.makespan is None or report.makespan < self.makespan
        else:
            better = self.value is None or (value is not None and value < self.value)
        if better:
            self.schedule, self.report = schedule, report
            self.value = None if self.by_makespan else value

    def raise_bound(self, bound: LowerBound) -> None:
        """Keep a greater bound; pass it to `search` if it holds for every schedule."""
        if bound.slots > self.bound.slots:
            self.bound = bound
        if not self.formulation.restricts:
            self.session.raise_bound(self.bound)
