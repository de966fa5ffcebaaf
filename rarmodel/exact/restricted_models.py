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
from time import perf_counter
from typing import Any

import pyomo.environ as pyo

from rarmodel.formulations import Scope
from rarmodel.formulations.restricted import load, plan, restricted_model
from rarmodel.formulations.restriction import Choice, Restriction
from rarmodel.solvers import first_answer
from rarmodel.solvers.choice import preferred

from .admission import ModelNeeded, built_on_constants, judge, short_scope, takes_constants
from .building import OutOfTime, built_until
from .first_incumbents import first_incumbents
from .freed_jobs import KINDS, Shape, shape_of
from .known import Known
from .ranking import SOLVE_SECONDS, Incumbent, Ranking
from .violation import drop_settled, relax

NAME = "restricted models"
"""The finder of a schedule, in results."""

MOST_SECONDS = 10.0
"""Most seconds that a solver has for a restricted model, where it does not even find the starting
solution in less. As a rule it has `SOLVE_SECONDS`, or as many as it took to build the model."""

SMALL_SIZE = 1_500
"""Variables up to which HiGHS comes first, if there is a choice: it begins soonest."""

FIRST_SIZE, LEAST_SIZE, MOST_SIZE = 1_500, 60, 40_000
"""Variables of the first restricted model, and the least and most of one."""

LARGER, SMALLER = 1.25, 0.7
"""Factors of the size after a solve that finishes, and after one that does not."""

VIOLATION_SHARE = 0.5
"""Most of the time for a better first schedule where an admissible one is known."""

ROOM = 0.15
"""Share of the latest completion by which schedules may become longer, for objectives that may ask
for that."""

STALE = 8
"""Solves without a gain after which schedules may become longer, while additions are violated."""

MOST_REFUSED = 5
"""Models that could not be built, after which there is no use in others."""

PUBLISH_AFTER = 5.0
"""Seconds of solves for each second of judging an improvement in all slots of the instance."""


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
    obstacle
        Why there is no admissible schedule, as far as that is known; else empty.
    """

    def __init__(self, known: Known) -> None:
        self.known, self.solved, self.obstacle = known, 0, ""
        self._ranking = Ranking(known)
        self._random, self._pool = self._ranking.random, self._ranking.pool
        self._size, self._seconds = float(FIRST_SIZE), SOLVE_SECONDS
        self._judging, self._published = 0.0, perf_counter()
        self._pending: Incumbent | None = None
        self._extra = 0
        self._refused = 0

    def run(self, deadline: float) -> int:
        """Solve restricted models until a reading of `perf_counter`, or until the gap is closed.

        Later objectives have their turn after earlier ones, whose values are kept.

        Returns
        -------
        int
            Number of models solved.
        """
        before, stages = self.known.stage, len(self.known.bounds)
        try:
            self.known.stage = 0
            best = self._admissible(deadline)
            for stage in range(stages):
                self.known.stage = stage
                if best is None or self.known.closed_at(stage):
                    continue
                now = perf_counter()
                best = self._ranking.ranked(best.schedule) or best
                best = self._improve(best, now + (deadline - now) / (stages - stage))
                self._publish()  # The next models keep what it is worth.
        finally:
            self._publish()
            self.known.stage = before
        return self.solved

    def _admissible(self, deadline: float) -> Incumbent | None:
        """The best admissible schedule to begin with."""
        admissible, broken, needed = first_incumbents(self._ranking, deadline)
        if admissible is not None:
            self._keep(admissible)
        if broken is None:
            return admissible
        now = perf_counter()
        share = 1.0 if admissible is None else VIOLATION_SHARE
        self._extra = max(1, round(ROOM * broken.times.latest))
        repaired = self._improve(broken, now + share * (deadline - now), until_admissible=True)
        if repaired.violated:
            self.obstacle = f"the nearest schedule breaks {repaired.broken}"
            if needed > self._ranking.most:
                self.obstacle = (
                    f"the additions ask for about {needed:,} slots, and the instance has "
                    f"{self._ranking.most:,}"
                )
            return admissible
        return min((admissible or repaired, repaired), key=lambda one: one.rank)

    # Improvement.

    def _improve(
        self, begin: Incumbent, deadline: float, *, until_admissible: bool = False
    ) -> Incumbent:
        """Improve a schedule by restricted models."""
        best, stale, turn = begin, 0, 0
        while perf_counter() < deadline and not self._closed() and self._refused < MOST_REFUSED:
            if until_admissible and not best.violated:
                return best
            if best.violated and stale >= STALE:
                self._extra += max(1, round(ROOM * best.times.latest))
                stale = 0
            found, interrupted = self._solve(best, turn, deadline)
            turn += 1
            if found is not None and found.rank <= best.rank:
                stale = 0 if found.rank < best.rank else stale + 1
                best = found
                if not best.violated and not self._keep(best):
                    best = self._ranking.ranked(best.schedule) or best
            else:
                stale += 1
            if interrupted:
                raise KeyboardInterrupt
        return best

    def _closed(self) -> bool:
        return self.known.closed_at(self.known.stage)

    def _keep(self, found: Incumbent) -> bool:
        """Keep an admissible schedule; return False if it is not, in all slots of the instance.

        It is judged there now and then, and at the end.
        """
        before, self._pending = self._ranking.whole, found
        if perf_counter() - self._published >= PUBLISH_AFTER * self._judging:
            self._publish()
        return self._ranking.whole == before

    def _publish(self) -> None:
        """Judge the best schedule in all slots of the instance, and hand it over."""
        found, self._pending = self._pending, None
        if found is None:
            return
        known = self.known
        begun = perf_counter()
        scope = known.scope(self._ranking.most)
        verdict = judge(
            known.formulation, scope, found.schedule, known.solvers, known.brief(SOLVE_SECONDS)
        )
        if isinstance(verdict, ModelNeeded) or verdict.broken is not None:
            # Something asks for more than the slots up to the last completion.
            self._ranking.whole = True
        else:
            known.improve(found.schedule, found.report, verdict.value, NAME)
        self._published = perf_counter()
        self._judging = self._published - begun

    def _solve(self, best: Incumbent, turn: int, deadline: float) -> tuple[Incumbent | None, bool]:
        """Solve one restricted model; return its schedule, and whether Ctrl-C was pressed."""
        known = self.known
        horizon = self._horizon(best)
        scope = self._ranking.scope(horizon)
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
        answer = first_answer(solvers, model, self._ranking.limits(seconds))
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
        return self._ranking.settled(list(made.starts), workers), interrupted

    def _horizon(self, best: Incumbent) -> int:
        """Slots of a restricted model: no more than the incumbent's if the makespan counts."""
        if self._ranking.whole:
            return self._ranking.most
        if best.violated:
            return min(self._ranking.most, best.times.latest + self._extra)
        if self.known.by_makespan:
            return best.times.latest
        return min(self._ranking.most, best.times.latest + max(2, round(ROOM * best.times.latest)))

    def _freed(self, best: Incumbent, turn: int, shape: Shape) -> list[str]:
        """The jobs to free."""
        around = list(best.times.starts)
        if best.broken is not None and turn % 2 == 0:
            around = self._in_conflict(best) or around
        return KINDS[turn % len(KINDS)](best.times, around, shape.jobs, self._random)

    def _in_conflict(self, best: Incumbent) -> list[str]:
        """The jobs of constraints that a schedule breaks."""
        conflicts = self._ranking.conflicts(best)
        return list(dict.fromkeys(j for one in conflicts for j in one.jobs))

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
                if starts := self._ranking.slot_rules.starts(j, way, slots, low, high):
                    choices.append(Choice.within(way, slots, starts))
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
