"""Formulations with a user's additions as the engine of a matheuristic: restricted models.

A restricted model frees some jobs of the incumbent: each may take one of a few placements, and
start within a window. The others stay, or move by a few slots. The solver starts from the
incumbent; a better schedule takes its place. Sizes follow the solver: larger where it finishes,
smaller where it does not. Before there is an admissible schedule, models minimise by how much the
additions are violated. Every schedule is simulated, verified, and judged by the additions before it
counts. This proves nothing: bounds come from elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from time import perf_counter
from typing import Any

import pyomo.environ as pyo

from rarmodel.engine import Engine
from rarmodel.errors import VerificationError
from rarmodel.formulations import Plan, Scope
from rarmodel.formulations.restricted import load, plan, restricted_model, rules_of
from rarmodel.formulations.restriction import Choice, Restriction
from rarmodel.limits import Limits
from rarmodel.model import horizon_of
from rarmodel.schema import Schedule
from rarmodel.solvers import first_answer
from rarmodel.solvers.choice import preferred
from rarmodel.verifier import Report

from .admission import (
    ModelNeeded,
    built_on_constants,
    fixed_model,
    judge,
    judge_values,
    short_scope,
    takes_constants,
)
from .building import OutOfTime, built_until
from .freed_jobs import KINDS, Shape, Times, shape_of
from .known import Known
from .numbered_schedules import schedule_of
from .placement_pool import PlacementPool
from .settling import settle
from .thinned_schedules import STRETCHES, on_less
from .violation import added_constraints, drop_settled, excess, relax, violation

NAME = "restricted models"
"""The finder of a schedule, in results."""

SOLVE_SECONDS, MOST_SECONDS = 2.0, 10.0
"""Seconds that a solver has for a restricted model, or as many as it took to build it; and the most
where it does not even find the starting solution in that time."""

SMALL_SIZE = 1_500
"""Variables up to which HiGHS comes first, if there is a choice: it begins soonest."""

FIRST_SIZE, LEAST_SIZE, MOST_SIZE = 1_500, 60, 40_000
"""Variables of the first restricted model, and the least and most of one."""

LARGER, SMALLER = 1.25, 0.7
"""Factors of the size after a solve that finishes, and after one that does not."""

MOST_OFFERED = 40
"""Most schedules whose placements are in the pool."""

FIRST_SHARE = 0.04
"""Share of the time for each search on a part of the cluster."""

NEAR_ENOUGH = 1.2
"""Up to this multiple of the shortest schedule known, an admissible one is a good start."""

VIOLATION_SHARE = 0.5
"""Most of the time for a better first schedule where an admissible one is known."""

ROOM = 0.15
"""Share of the latest completion by which schedules may become longer, for objectives that may ask
for that."""

STALE = 8
"""Solves without a gain after which schedules may become longer, while additions are violated."""

MOST_REFUSED = 5
"""Models that could not be built, after which there is no use in others."""

BROKEN = 1e-6
"""Least excess of a constraint that is broken; less is noise."""

PUBLISH_AFTER = 5.0
"""Seconds of solves for each second of judging an improvement in all slots of the instance."""


@dataclass(frozen=True)
class Incumbent:
    """A verified schedule, and what it is worth.

    Attributes
    ----------
    schedule, report, times
        The schedule.
    violated
        By how much it violates what was added; 0 if it is admissible.
    value
        The value of the formulation's own objective.
    rank
        What it is compared by: violation, values, and the sum of completions.
    broken
        The constraint that it breaks, or None.
    """

    schedule: Schedule
    report: Report
    times: Times
    violated: float
    value: float
    rank: tuple[Any, ...]
    broken: str | None = None


def can_restrict(known: Known) -> bool:
    """Whether restricted models can take a formulation: its additions use what is documented."""
    if not known.formulation.restricts or not known.offered:
        return False
    return takes_constants(known.formulation, short_scope(known.instance, known.data))


class RestrictedModels:
    """A matheuristic for one solve.

    Parameters
    ----------
    known
        The request, and what is known so far; gets the schedules that are found.

    Attributes
    ----------
    solved
        Number of restricted models that were solved.
    """

    def __init__(self, known: Known) -> None:
        self.known, self.solved = known, 0
        self._random = Random(known.limits.seed)  # noqa: S311 - no secrets
        self._engine = Engine(known.instance)
        self._rules = rules_of(known.formulation)
        self._most = horizon_of(known.instance)
        self._pool = PlacementPool(self._scope(self._most))
        self._size, self._seconds = float(FIRST_SIZE), SOLVE_SECONDS
        self._judging, self._published = 0.0, perf_counter()
        self._pending: Incumbent | None = None
        self._whole = False
        self._extra = 0
        self._refused = 0

    def run(self, deadline: float) -> int:
        """Solve restricted models until a reading of `perf_counter`, or until the gap is closed.

        Returns
        -------
        int
            Number of models solved.
        """
        try:
            self._run(deadline)
        finally:
            self._publish()
        return self.solved

    def _run(self, deadline: float) -> None:
        admissible, first = self._first(deadline)
        if first is not None and first.violated:
            until = deadline
            if admissible is not None:
                now = perf_counter()
                until = now + VIOLATION_SHARE * (deadline - now)
            repaired = self._improve(first, until)
            if not repaired.violated and (admissible is None or repaired.rank < admissible.rank):
                admissible = repaired
            if not repaired.violated or admissible is None:
                first = repaired
        if admissible is not None:
            self._improve(admissible, deadline)

    def _first(self, deadline: float) -> tuple[Incumbent | None, Incumbent | None]:
        """The best admissible schedule known, and the one from which to begin."""
        known = self.known
        offered = [one for one in known.offered[-MOST_OFFERED:] if self._pool.add_schedule(one[0])]
        admissible = None
        if known.schedule is not None:
            self._pool.add_schedule(known.schedule)
            admissible = self._ranked(known.schedule)
            if admissible is not None and admissible.violated:
                admissible = None
        if offered:
            schedule, _ = min(offered, key=lambda one: one[1].makespan or self._most)
            shortest = self._ranked(schedule)
        else:  # The rules on placements allow none of the schedules of methods.
            shortest = self._in_a_row()
        if shortest is None:
            return admissible, admissible
        if admissible is not None and (
            admissible.times.latest <= NEAR_ENOUGH * shortest.times.latest
        ):
            return admissible, admissible
        candidates = [] if admissible is None else [admissible]
        for found in self._thinner(shortest, deadline):
            candidates.append(found)
            if perf_counter() > deadline or not found.violated:
                break
        best = min(candidates, key=lambda one: one.rank)
        if not best.violated and best is not admissible:
            admissible = best
            self._keep(best)
        broken = sorted((one for one in candidates if one.violated), key=lambda one: one.violated)
        if not broken:
            return admissible, best
        # Of the most violated one half the length is as good as no violation.
        worst = broken[-1].violated
        repaired = min(broken, key=lambda one: one.times.latest * (1 + one.violated / worst))
        self._extra = max(1, round(ROOM * repaired.times.latest))
        if admissible is not None and (
            admissible.times.latest <= NEAR_ENOUGH * repaired.times.latest
        ):
            return admissible, admissible
        return admissible, repaired

    def _in_a_row(self) -> Incumbent | None:
        """Jobs one after another, each in a placement that its rules allow."""
        starts, workers, end = list[int](), dict[str, Mapping[str, int]](), 0
        for job in self.known.instance.jobs:
            drawn = self._pool.draw(job.name, 1, self._random)
            if not drawn:
                return None
            workers[job.name] = drawn[0]
            starts.append(max(end, job.release))
            end = starts[-1] + self._pool.expected(job.name, drawn[0])
        return self._settled(starts, workers)

    def _thinner(self, found: Incumbent, deadline: float) -> Iterator[Incumbent]:
        """The shortest schedule, and schedules in which less and less runs at once."""
        yield found
        seconds = max(0.5, FIRST_SHARE * (deadline - perf_counter()))
        for schedule in on_less(self.known.instance, self.known.limits, seconds):
            thin = self._ranked(schedule) if self._pool.add_schedule(schedule) else None
            if thin is not None:
                yield thin
        jobs = [job.name for job in self.known.instance.jobs]
        for factor in STRETCHES:
            starts = [round(factor * found.times.starts[j]) for j in jobs]
            thin = self._settled(starts, found.times.workers)
            if thin is not None:
                yield thin

    def _scope(self, horizon: int) -> Scope:
        scope = self.known.scope(horizon)
        return replace(scope, allowed=(*scope.allowed, *self._rules))

    # How good is a schedule?

    def _settled(
        self, starts: list[int], workers: Mapping[str, Mapping[str, int]]
    ) -> Incumbent | None:
        """The schedule of a plan, ranked; None if it is none."""
        instance = self.known.instance
        index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
        placed = tuple(
            {index[s]: count for s, count in workers[job.name].items()} for job in instance.jobs
        )
        settled = settle(self._engine, starts, placed)
        if settled is None or max(settled.completions) > self._most:
            return None
        try:
            schedule = schedule_of(
                instance, Plan(settled.starts, placed), self.known.formulation.name
            )
            return self._ranked(schedule)
        except VerificationError:
            return None

    def _ranked(self, schedule: Schedule) -> Incumbent | None:
        """A schedule with its rank; None if its additions cannot be judged here."""
        known, formulation = self.known, self.known.formulation
        report = known.checked(schedule)
        times = _times_of(schedule, report)
        self._pool.learn(
            {j: (w, times.ends[j] - times.starts[j]) for j, w in times.workers.items()}
        )
        scope = known.scope(self._most if self._whole else times.latest)
        model = fixed_model(formulation, scope, schedule)
        if model is None:
            return None
        verdict = judge_values(model, known.solvers, known.brief(SOLVE_SECONDS))
        violated = 0.0
        if verdict.broken is not None:
            violated = max(1e-6, self._violation(model))
        values = known.values_of(report, verdict.value)[: known.stage + 1]
        total = sum(times.ends.values())
        rank = (violated, *values, total) if not violated else (violated, times.latest, total)
        return Incumbent(schedule, report, times, violated, verdict.value, rank, verdict.broken)

    def _violation(self, model: Any) -> float:
        """By how much a schedule violates the additions, with the best values of new variables."""
        constant = violation(model)
        if all(one.fixed for one in model.component_data_objects(pyo.Var)):
            return constant
        relax(model)
        answer = first_answer(self.known.solvers, model, self._limits(SOLVE_SECONDS))
        if not answer.has_solution:
            return constant + 1.0
        return constant + float(sum(pyo.value(one) for one in model.slack.values()))

    def _limits(self, seconds: float) -> Limits:
        """Limits of a solver for a restricted model, with a seed of its own."""
        return replace(
            self.known.limits,
            time_limit=seconds,
            gap=0.0,
            log=None,
            progress=None,
            stop=(),
            seed=self._random.randrange(2**31),
        )

    # Improvement.

    def _improve(self, begin: Incumbent, deadline: float) -> Incumbent:
        """Improve a schedule by restricted models; until it is admissible, if it is not."""
        best, stale, turn = begin, 0, 0
        repairing = best.violated > 0
        while perf_counter() < deadline and not self._closed() and self._refused < MOST_REFUSED:
            if repairing and not best.violated:
                return best
            if repairing and stale >= STALE:
                self._extra += max(1, round(ROOM * best.times.latest))
                stale = 0
            found, interrupted = self._solve(best, turn, deadline)
            turn += 1
            if found is not None and found.rank <= best.rank:
                stale = 0 if found.rank < best.rank else stale + 1
                best = found
                if not best.violated and not self._keep(best):
                    best = self._ranked(best.schedule) or best
                    repairing = best.violated > 0
            else:
                stale += 1
            if interrupted:
                raise KeyboardInterrupt
        return best

    def _closed(self) -> bool:
        return self.known.closed

    def _keep(self, found: Incumbent) -> bool:
        """Keep an admissible schedule; return False if it is not, in all slots of the instance.

        It is judged there now and then, and at the end.
        """
        before, self._pending = self._whole, found
        if perf_counter() - self._published >= PUBLISH_AFTER * self._judging:
            self._publish()
        return self._whole == before

    def _publish(self) -> None:
        """Judge the best schedule in all slots of the instance, and hand it over."""
        found, self._pending = self._pending, None
        if found is None:
            return
        known = self.known
        begun = perf_counter()
        scope = known.scope(self._most)
        verdict = judge(
            known.formulation, scope, found.schedule, known.solvers, known.brief(SOLVE_SECONDS)
        )
        if isinstance(verdict, ModelNeeded) or verdict.broken is not None:
            self._whole = True  # Something asks for more than the slots up to the last completion.
        else:
            known.improve(found.schedule, found.report, verdict.value, NAME)
        self._published = perf_counter()
        self._judging = self._published - begun

    def _solve(self, best: Incumbent, turn: int, deadline: float) -> tuple[Incumbent | None, bool]:
        """Solve one restricted model; return its schedule, and whether Ctrl-C was pressed."""
        known = self.known
        horizon = self._horizon(best)
        scope = self._scope(horizon)
        placements = max(self._pool.sizes().values())
        shape = shape_of(round(self._size), best.times, placements, self._random)
        freed = self._freed(best, turn, shape)
        restriction = self._restriction(best, set(freed), shape, scope)
        begun = perf_counter()
        try:
            model = built_until(deadline, lambda: self._built(scope, restriction, best))
        except OutOfTime:
            return None, False
        if model is None:
            self._refused += 1
            return None, False
        now = perf_counter()
        if now >= deadline:
            return None, False
        # Where building takes long, as on a busy machine, so may the solver.
        seconds = min(max(self._seconds, now - begun), deadline - now)
        terms = 0 if self._size <= SMALL_SIZE else math.inf
        solvers = preferred(known.solvers, known.formulation.model_class, terms)
        answer = first_answer(solvers, model, self._limits(seconds))
        self.solved += 1
        factor = LARGER if answer.termination in {"finished", "infeasible"} else SMALLER
        self._size = min(MOST_SIZE, max(LEAST_SIZE, factor * self._size))
        # A solver that has not even taken the starting solution needs more time.
        lost = answer.termination == "time-limit" and not answer.has_solution
        self._seconds = min(MOST_SECONDS, 1.5 * self._seconds) if lost else SOLVE_SECONDS
        interrupted = answer.termination == "interrupted"
        if not answer.has_solution:
            return None, interrupted
        made = plan(model, scope, restriction)
        names = list(scope.servers)
        workers = {
            j: {names[s]: count for s, count in ring.items()}
            for j, ring in zip(scope.jobs, made.workers, strict=True)
        }
        return self._settled(list(made.starts), workers), interrupted

    def _horizon(self, best: Incumbent) -> int:
        """Slots of a restricted model: no more than the incumbent's if the makespan counts."""
        if self._whole:
            return self._most
        if best.violated:
            return min(self._most, best.times.latest + self._extra)
        if self.known.by_makespan:
            return best.times.latest
        return min(self._most, best.times.latest + max(2, round(ROOM * best.times.latest)))

    def _freed(self, best: Incumbent, turn: int, shape: Shape) -> list[str]:
        """The jobs to free."""
        around = list(best.times.starts)
        if best.broken is not None and turn % 2 == 0:
            around = self._of_broken(best) or around
        return KINDS[turn % len(KINDS)](best.times, around, shape.jobs, self._random)

    def _of_broken(self, best: Incumbent) -> list[str]:
        """Jobs of a constraint that a schedule breaks, by its index: names of jobs, and slots."""
        model = fixed_model(
            self.known.formulation, self.known.scope(best.times.latest), best.schedule
        )
        if model is None:
            return []
        found: dict[str, None] = {}
        for one in added_constraints(model):
            if excess(one) <= BROKEN:
                continue
            index = one.index()
            parts = index if isinstance(index, tuple) else (index,)
            jobs = [part for part in parts if part in best.times.starts]
            slots = [part for part in parts if isinstance(part, int)]
            for j in jobs or best.times.starts:
                runs = best.times.starts[j], best.times.ends[j]
                if jobs or any(runs[0] <= t < runs[1] for t in slots):
                    found[j] = None
        return list(found)

    def _restriction(
        self, best: Incumbent, freed: set[str], shape: Shape, scope: Scope
    ) -> Restriction:
        """The choices of each job: those of freed jobs around the incumbent, its own first."""
        times, made = best.times, dict[str, tuple[Choice, ...]]()
        for j in scope.jobs:
            start, mine = times.starts[j], times.workers[j]
            reach = shape.reach if j in freed else shape.slack
            window = scope.windows[j]
            choices = []
            ways = [mine]
            if j in freed:
                drawn = self._pool.draw(j, shape.placements, self._random)
                ways += [way for way in drawn if way != mine]
            for way in ways:
                slots = times.ends[j] - start if way is mine else self._pool.expected(j, way)
                low = max(window.start, start - reach)
                high = min(window.end - slots, start + reach)
                if way is mine:
                    low, high = min(low, start), max(high, start)
                if low <= high:
                    choices.append(Choice(way, slots, range(low, high + 1)))
            made[j] = tuple(choices)
        return made

    def _built(self, scope: Scope, restriction: Restriction, best: Incumbent) -> Any:
        """A restricted model with the incumbent as starting solution; None if it cannot be made."""
        known = self.known
        model = built_on_constants(
            lambda variables: restricted_model(
                known.formulation, scope, restriction, variables=variables
            )
        )
        if model is None:
            return None
        load(model, scope, restriction, best.times.starts, best.times.workers)
        drop_settled(model)
        if best.violated:
            relax(model)
        elif known.by_makespan:
            _shorten(model, scope)
        return model


def _shorten(model: Any, scope: Scope) -> None:
    """Among schedules of equal makespan prefer those whose jobs end sooner."""
    total = sum(model.completion[j] for j in scope.jobs)
    model.objective.deactivate()
    weight = 1 + len(scope.jobs) * scope.horizon
    model.sooner = pyo.Objective(expr=weight * model.makespan + total)


def _times_of(schedule: Schedule, report: Report) -> Times:
    """When and where jobs run."""
    by_job = {one.job: one for one in schedule.assignments}
    return Times(
        {j: one.start for j, one in by_job.items()},
        {j: end or 0 for j, end in report.completion.items()},
        {
            j: {s: len(gpus) for s, gpus in one.segments[0].gpus.items() if gpus}
            for j, one in by_job.items()
        },
    )
