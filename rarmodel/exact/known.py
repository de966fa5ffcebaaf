"""The request of a formulation's solve, and its state so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from rarmodel.bounds import (
    LowerBound,
    ValueBound,
    require_true,
    value_bounds,
    windows_by_prices,
)
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.entries import Entries
from rarmodel.limits import Limits
from rarmodel.methods import Goal, ModelRun, Recorder, gap_of, goals_of, in_full
from rarmodel.model import Window, horizon_of, job_extremes, topology, windows
from rarmodel.model.objectives import MAKESPAN, Value
from rarmodel.schema import Instance, Schedule
from rarmodel.search import AnySession, Session, Solution
from rarmodel.solvers import Solver
from rarmodel.verifier import Report, require_feasible

from .admission import SECONDS, ModelNeeded, Verdict, judge

if TYPE_CHECKING:
    import pyomo.environ as pyo

MODELS_OWN = "the model's objective"
"""Name of an objective that a user has put into a model after it was built."""

SEARCH_SHARE = 0.1
"""Least share of the time limit for `search`, unless the optimum is proven before."""
AT_ONCE_SHARE = 0.02
"""Most of the time limit for judging a long schedule at once."""
CHECK_SECONDS_PER_JOB = 25e-6
"""Approximate time of the check of a schedule, for as long as none has been checked."""
NO_BOUND = LowerBound(0, "")
"""The bound where none is known."""
FINISH_CHECKS, FINISH_SHARE = 2.0, 0.25
"""Time kept for the end of a solve, to make, check and describe the last schedule: as a multiple of
the longest check so far, and the greatest share of the time limit."""
OWN_GAP = 1e-6
"""Relative gap up to which an objective of a formulation's own, a float, counts as proven."""


class Start(NamedTuple):
    """A feasible schedule, and values for variables that a user has added to the model."""

    schedule: Schedule
    values: Mapping[str, float] = {}


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
        The search for good schedules. If the formulation restricts a plain instance, the search is
        for short ones. Its bound holds for every schedule of the instance. None if the search
        cannot take the instance.
    recorder
        Notes values and bounds; the limits tell it about progress.
    begun
        Start of the solve, as a reading of the clock.
    bound
        The lower bound on the makespan. If the formulation restricts, it may hold only there.
    alone
        Whether the formulation's models must do without search, proof, bounds of rarmodel's and
        starting solutions: `model_only`.
    stands
        Whether there is one model, which is solved as it stands: users may have changed it.
    changed
        Whether that model has another objective than the formulation.
    keep
        Makes of a model and its scope what the user keeps; None if that is nothing.
    start
        The schedule that the user starts from, and values of variables; None if there is none.
    schedule, report
        The best schedule that satisfies the formulation, verified.
    schedule_by
        What has found the schedule: a method's name, or a solver with its version.
    unjudged
        Verified schedules that only the model can judge, with their reports.
    offered
        Verified schedules of the instance, with their reports, whether they satisfy the formulation
        or not.
    model_needed
        Why only the model can judge them, if not for every schedule of the formulation.
    seen
        Solutions of `search` that were judged.
    values
        Values of the objectives in the schedule, the most important first.
    bounds
        Proven bounds on them; see `Goal`.
    stage
        Place of the objective that is minimised at present.
    provers
        By bound: the name of what has proven it.
    model
        What became of the models.
    infeasible
        Whether it is proven that no schedule satisfies the formulation.
    solved
        Whether a solver has finished with the last model.
    kept
        What the user keeps of the last model.
    searched
        Seconds that `search` has used.
    checking
        Seconds of the longest check of a schedule so far; an estimate before the first.
    judging
        Most seconds for each slot in which a schedule was judged so far.
    last_resort
        A long schedule that is judged at the end, if there is no other: that takes too long.
    stopped
        Why the solve ended, in words.
    """

    instance: Instance
    formulation: Formulation
    solvers: list[Solver]
    limits: Limits
    data: Entries
    session: AnySession | None
    recorder: Recorder
    begun: float
    bound: LowerBound
    alone: bool = False
    stands: bool = False
    changed: bool = False
    keep: Callable[[pyo.ConcreteModel, Scope], Any] | None = None
    start: Start | None = None
    schedule: Schedule | None = None
    report: Report | None = None
    schedule_by: str | None = None
    unjudged: list[tuple[Schedule, Report]] = field(default_factory=list)
    offered: list[tuple[Schedule, Report]] = field(default_factory=list)
    model_needed: str = ""
    seen: list[Solution] = field(default_factory=list)
    values: tuple[Value | float, ...] = ()
    bounds: list[Value | float | None] = field(default_factory=list)
    provers: list[str | None] = field(default_factory=list)
    stage: int = 0
    model: ModelRun = field(default_factory=ModelRun)
    infeasible: bool = False
    solved: bool = False
    kept: Any = None
    searched: float = 0.0
    checking: float = field(init=False)
    judging: float = 0.0
    last_resort: tuple[Schedule, Report] | None = None
    stopped: str = ""

    def __post_init__(self) -> None:
        """Begin with the bounds that take milliseconds, unless the models are to do alone."""
        self.checking = CHECK_SECONDS_PER_JOB * len(self.instance.jobs)
        if self.own or self.alone:
            self.bounds = [None] * (1 if self.own else len(self.instance.objectives))
            self.provers = [None] * len(self.bounds)
            return
        found = value_bounds(self.instance)
        self.bounds = [bound.value for bound in found]
        self.provers = [bound.name for bound in found]

    @property
    def solver(self) -> Solver:
        """The preferred solver."""
        return self.solvers[0]

    @property
    def versions(self) -> dict[str | None, str | None]:
        """The solvers' versions by name."""
        return {solver.name: solver.version() for solver in self.solvers}

    @property
    def own(self) -> bool:
        """Whether the formulation has its own objective, whatever the instance asks for."""
        return self.changed or self.formulation.objective != "makespan"

    @property
    def restricts(self) -> bool:
        """Whether bounds and proofs of the models may hold for these models only."""
        return self.stands or self.formulation.restricts

    @property
    def by_makespan(self) -> bool:
        """Whether the makespan is minimised, and nothing else."""
        return not self.own and self.instance.objectives == ("makespan",)

    @property
    def makespan(self) -> int | None:
        """Makespan of the best schedule in slots."""
        return self.report.makespan if self.report else None

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The objectives, the most important first."""
        if self.own:
            value = self.values[0] if self.values else None
            by = self._in_full(self.provers[0])
            name = MODELS_OWN if self.changed else self.formulation.objective
            return (Goal(name, value, self.bounds[0], proved_by=by),)
        goals = goals_of(self.instance, self.report, self.proven)
        return tuple(replace(goal, proved_by=self._in_full(goal.proved_by)) for goal in goals)

    @property
    def proven(self) -> tuple[ValueBound | None, ...]:
        """The bounds on the instance's objectives, where there are."""
        found: list[ValueBound | None] = []
        for name, bound, by in zip(
            self.instance.objectives, self.bounds, self.provers, strict=True
        ):
            one = None
            if isinstance(bound, int | Fraction) and by is not None:
                one = ValueBound(bound, by)
            if name == MAKESPAN.name and self.bound.slots > 0:
                length = ValueBound(*self.bound)
                one = length if one is None or length.value > one.value else one
            found.append(one)
        return tuple(found)

    def _in_full(self, name: str | None) -> str | None:
        """The name of what has proven a bound; a solver's with its version."""
        versions = self.versions
        return in_full(name, versions[name]) if name in versions else name

    def gap(self, stage: int | None = None) -> float:
        """Relative gap of all objectives, or of one; 1 where nothing is known."""
        gap = gap_of(self.goals) if stage is None else self.goals[stage].gap
        return 1.0 if gap is None else gap

    @property
    def closed(self) -> bool:
        """Whether there is a schedule within the gap asked for, in every objective."""
        return all(map(self.closed_at, range(len(self.bounds))))

    def closed_at(self, stage: int) -> bool:
        """The same of one objective."""
        gap = max(self.limits.gap, OWN_GAP) if self.own else self.limits.gap
        return self.schedule is not None and self.gap(stage) <= gap

    @property
    def reached(self) -> str:
        """What a method's schedule is beside the bound, once it is within the gap asked for."""
        near = "meets" if self.gap() == 0 else "is within the gap of"
        return f"the schedule of a method {near} the lower bound"

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time limit, without those that the end takes; None without a limit."""
        limit = self.limits.time_limit
        if limit is None:
            return None
        return max(0.0, limit - self.finish - (perf_counter() - self.begun))

    @property
    def finish(self) -> float:
        """Seconds that are kept for the end: a check of 10,000 jobs alone takes tenths of one."""
        limit = self.limits.time_limit
        return 0.0 if limit is None else min(FINISH_CHECKS * self.checking, FINISH_SHARE * limit)

    @property
    def seconds_for_models(self) -> float | None:
        """The same without what `search` and the objectives after this one are still to get."""
        left = self.seconds_left
        if left is None or self.limits.time_limit is None:
            return left
        if self.searches:
            left = max(0.0, left - max(0.0, SEARCH_SHARE * self.limits.time_limit - self.searched))
        return left / (len(self.bounds) - self.stage)

    @property
    def searches(self) -> bool:
        """Whether there is a search that aims at what is asked for."""
        return self.session is not None and not self.formulation.restricts and not self.own

    @property
    def enough(self) -> int:
        """Slots that are enough for a schedule that is no worse than the best one known."""
        horizon = horizon_of(self.instance)
        if self.own:
            return horizon
        found = windows(self.instance, horizon, self._at_most, self._known_windows)
        return max(window.end for window in found)

    @property
    def has_schedules(self) -> bool:
        """Whether there is a schedule, be it one that only the model can judge."""
        return self.schedule is not None or bool(self.unjudged)

    @property
    def _at_most(self) -> tuple[Value, ...]:
        """What a schedule that is no worse has at most, in the objectives up to this stage."""
        if self.own or self.by_makespan or self.report is None or self.report.objective is None:
            return ()
        return tuple(self.report.objective.values())[: self.stage + 1]

    @property
    def _known_windows(self) -> tuple[Window, ...] | None:
        """Windows that such a schedule keeps, by rarmodel's bounds; None if none are known."""
        if self.alone or self.instance.services:
            return None
        return windows_by_prices(self.instance, self._at_most)

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
            stage=self.stage,
            at_most=self._at_most,
            known_windows=self._known_windows,
        )

    def brief(self, least: float = 0.0) -> Limits:
        """Limits for a small problem, which has some time even where none is left."""
        left = self.seconds_left
        return replace(self.limits, time_limit=None if left is None else max(least, left))

    def checked(self, schedule: Schedule) -> Report:
        """The verifier's report on a schedule, which must be feasible; remember how long it took.

        Raises
        ------
        VerificationError
            If the schedule breaks any constraint.
        """
        begun = perf_counter()
        report = require_feasible(self.instance, schedule)
        self.checking = max(self.checking, perf_counter() - begun)
        return report

    def collect(self, schedule: Schedule) -> None:
        """Verify a schedule of the instance, and keep it if it is the best admissible one."""
        report = self.checked(schedule)
        # A search that keeps one schedule only must not keep one that the formulation rules out.
        if isinstance(self.session, Session):
            self.session.take(schedule)
        if not self.formulation.restricts:
            self.improve(schedule, report)
            return
        self.offered.append((schedule, report))
        self._judge(schedule, report)

    def collect_at_last(self, schedule: Schedule) -> None:
        """Verify a schedule, and judge it at once only if that takes little of the time.

        Judging takes about as long for each slot as it did for others.
        """
        report = self.checked(schedule)
        limit = self.limits.time_limit
        if not self.formulation.restricts or limit is None:
            self.collect(schedule)
            return
        self.offered.append((schedule, report))
        self.last_resort = schedule, report
        if self.seconds_at_last <= AT_ONCE_SHARE * limit:
            self.fall_back()

    @property
    def seconds_at_last(self) -> float:
        """About how long it takes to judge the schedule that is kept for the end; 0 without one."""
        if self.last_resort is None:
            return 0.0
        return self.judging * (self.last_resort[1].makespan or 0)

    def fall_back(self) -> None:
        """Judge the schedule that is kept for the end, if there is one."""
        if self.last_resort is None:
            return
        schedule, report = self.last_resort
        self.last_resort = None
        self._judge(schedule, report, SECONDS)

    def _judge(self, schedule: Schedule, report: Report, least: float = 0.0) -> None:
        """Keep a schedule that the formulation admits, if it is the best one."""
        begun = perf_counter()
        verdict = self.judged(schedule, report, least)
        if report.makespan:
            self.judging = max(self.judging, (perf_counter() - begun) / report.makespan)
        if isinstance(verdict, ModelNeeded):
            self.unjudged.append((schedule, report))
            self.model_needed = verdict.why
        elif verdict.broken is None:
            self.improve(schedule, report, verdict.value)

    def judged(
        self, schedule: Schedule, report: Report, least: float = 0.0
    ) -> Verdict | ModelNeeded:
        """Whether a schedule satisfies the formulation, and its value.

        It is judged in the slots up to its last completion, and in all slots of the instance if it
        is the best one then: an instance may have ten times as many. A solver that looks for values
        of added variables has `least` seconds, also where no time is left.
        """
        most = horizon_of(self.instance)
        verdict: Verdict | ModelNeeded = Verdict(None)
        for slots in sorted({report.makespan or most, most}):
            if self.formulation.extension is None and slots < most:
                continue
            verdict = judge(
                self.formulation, self.scope(slots), schedule, self.solvers, self.brief(least)
            )
            if isinstance(verdict, ModelNeeded) or verdict.broken is not None:
                return verdict
            if self.values and self.values_of(report, verdict.value) >= self.values:
                return verdict
        return verdict

    def improve(
        self,
        schedule: Schedule,
        report: Report,
        value: float | None = None,
        by: str | None = None,
    ) -> None:
        """Keep a schedule that satisfies the formulation if it is better than the current one.

        Where the formulation has its own objective, its value comes with the schedule. A schedule
        is by its method unless it comes with another finder.
        """
        if not self.alone:
            others = () if self.session is None else (self.session.bound,)
            require_true(self.instance, report, *others)
        values = self.values_of(report, value)
        if values and (not self.values or values < self.values):
            self.schedule, self.report, self.values = schedule, report, values
            self.schedule_by = by or schedule.method
            self.note()

    def note(self) -> None:
        """Note the value and the bound of the first objective, and pass them on."""
        first = self.goals[0]
        self.recorder(first.value, first.bound)

    def values_of(self, report: Report, value: float | None) -> tuple[Value | float, ...]:
        """What the objectives are worth, most important first; nothing if that is unknown."""
        if self.own:
            return () if value is None else (value,)
        return () if report.objective is None else tuple(report.objective.values())

    def raise_bound(self, bound: LowerBound) -> None:
        """Keep a greater bound; pass it to `search` if it holds for every schedule."""
        if bound.slots > self.bound.slots:
            self.bound = bound
        if not self.formulation.restricts and self.session is not None:
            self.session.raise_bound(self.bound)


def recorder_of(
    instance: Instance, formulation: Formulation, limits: Limits, begun: float
) -> Recorder:
    """A recorder for a solve; makespans past the horizon are none of schedules."""
    by_makespan = instance.objectives[0] == MAKESPAN.name and formulation.objective == "makespan"
    return Recorder(begun, limits.progress, horizon_of(instance) if by_makespan else None)
