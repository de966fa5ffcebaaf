"""Neighbourhoods of `search`: ways to make a schedule better.

The registry decides which of them run. One of a user is a plain function of a schedule, and has
its turns between iterations. Those built in act on arrays within the iterations, thread by thread.
Each room that lets such neighbourhoods run has a record for them, with a function beside the
fields of `Neighbourhood`, and asks `installed` which there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import cycle
from time import perf_counter
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np

from rarmodel import registry
from rarmodel.errors import UsageError
from rarmodel.limits import Limits, processors
from rarmodel.model import unhandled
from rarmodel.model.features import OBJECTIVES
from rarmodel.model.objectives import Objective, objectives_of
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import Report, verify

from .sound_answers import require_each_job, returned_schedule

SHARE = 0.25
"""Part of the time that neighbourhoods of users get, all together."""
TURN_SECONDS = 1.0
"""How long one turn should take at most."""
NOTHING_TO_TRY = "no registered neighbourhood supports the instance"
"""Why a search stops that has nothing but its starts."""
_IN_A_TURN = ContextVar("in a turn", default=False)


class Turn(NamedTuple):
    """What a neighbourhood may use in one turn.

    Attributes
    ----------
    random
        Random numbers of this turn: the same ones for the same seed and number of the turn.
    seconds
        How long the turn should take at most; None where iterations are counted.
    threads
        How many threads it may use.
    """

    random: np.random.Generator
    seconds: float | None
    threads: int


Improve = Callable[[Instance, Schedule, Turn], Schedule | None]
"""A better schedule than the best one known, or any other; None if there is none."""


def _suits(instance: Instance) -> bool:
    return True


@dataclass(frozen=True)
class Neighbourhood(registry.Part):
    """A way to make a schedule better.

    Attributes
    ----------
    name
        Its name.
    description
        What it changes, in a line.
    improve
        Makes a better schedule; None for those that act on arrays.
    objectives
        Names of the objectives that it is for; None for all.
    handles
        Names of the features that it handles; see `rarmodel.model.features`.
    suits
        Whether it is for an instance, beyond that.
    runs
        When `search` lets it run, in words.
    """

    kind = "neighbourhoods"
    runs: ClassVar[str] = "between iterations"

    name: str
    description: str = ""
    improve: Improve | None = None
    objectives: frozenset[str] | None = None
    handles: frozenset[str] = frozenset()
    suits: Callable[[Instance], bool] = _suits

    def __post_init__(self) -> None:
        """Refuse one of a user's that does nothing."""
        if type(self) is Neighbourhood and not callable(self.improve):
            raise UsageError(f"neighbourhood {self.name!r} needs improve, a function")

    def supports(self, instance: Instance, objectives: Sequence[Objective]) -> bool:
        """Whether it can better the objectives of schedules of an instance."""
        known = self.objectives
        aimed = known is None or all(one.name in known for one in objectives)
        return (
            aimed
            and unhandled(instance, self.handles | {OBJECTIVES.name}, "") is None
            and self._suits(instance)
        )

    def _suits(self, instance: Instance) -> bool:
        with registry.calling("neighbourhoods", self):
            return self.suits(instance)


_N = TypeVar("_N", bound=Neighbourhood)


def installed(record: type[_N], instance: Instance) -> list[_N]:
    """The registered neighbourhoods that support an instance, of those made as such a record.

    Threads of a pool do not see what is registered for a while only, so ask before they begin.
    """
    aims = objectives_of(instance)
    found = (one for one in registry.parts("neighbourhoods") if isinstance(one, record))
    return [one for one in found if one.supports(instance, aims)]


class Better(NamedTuple):
    """A feasible schedule from a turn, with the verifier's report."""

    schedule: Schedule
    report: Report


class Turns:
    """The neighbourhoods of users that support an instance, by turns.

    A neighbourhood may itself solve smaller problems; in those, no others take turns.

    Parameters
    ----------
    instance
        The problem.
    limits
        Of these it respects `threads` and `seed`.
    """

    def __init__(self, instance: Instance, limits: Limits) -> None:
        aims = objectives_of(instance)
        self._some = [
            one
            for one in registry.parts("neighbourhoods")
            if one.improve is not None and not _IN_A_TURN.get() and one.supports(instance, aims)
        ]
        self._instance, self._limits = instance, limits
        self._next = cycle(self._some)
        self._counts: Counter[tuple[str, str]] = Counter()
        self._seconds = 0.0
        self._begun: float | None = None

    def __bool__(self) -> bool:
        return bool(self._some)

    def take(self, incumbent: Callable[[], Schedule | None], deadline: float) -> Better | None:
        """Let the next neighbourhood have a turn, unless all have had their share of the time.

        Parameters
        ----------
        incumbent
            Gives the best schedule known; None if there is none.
        deadline
            The reading of `time.perf_counter` at which to stop; infinite for none.

        Raises
        ------
        PartError
            If the neighbourhood raises an exception, or returns anything but None and schedules
            with every job.
        """
        begun = perf_counter()
        self._begun = begun if self._begun is None else self._begun
        seconds = None
        if deadline < float("inf"):
            seconds = min(TURN_SECONDS, SHARE * (deadline - begun))
            if seconds <= 0 or self._seconds > SHARE * (begun - self._begun):
                return None
        best = incumbent()
        if best is None:
            return None
        one = next(self._next)
        number = self._counts[one.name, "turns"]
        random = np.random.default_rng([self._limits.seed, self._some.index(one), number])
        turn = Turn(random, seconds, self._limits.threads or processors())
        outside = _IN_A_TURN.set(True)
        try:
            with registry.calling("neighbourhoods", one):
                found = one.improve(self._instance, best, turn)
        finally:
            _IN_A_TURN.reset(outside)
        self._counts[one.name, "turns"] += 1
        better = None
        if found is not None:
            found = returned_schedule(found, f"neighbourhood {one.name!r}")
            require_each_job(self._instance, found, f"neighbourhood {one.name!r}")
            report = verify(self._instance, found)
            self._counts[one.name, "faulty"] += not report.feasible
            better = Better(found, report) if report.feasible else None
        self._seconds += perf_counter() - begun
        return better

    def told(self) -> str:
        """What came of the turns, in words; empty if there were none."""
        words = []
        for one in self._some:
            if turns := self._counts[one.name, "turns"]:
                faulty = self._counts[one.name, "faulty"]
                bad = f", of which {faulty:,} broke a constraint" if faulty else ""
                words.append(f"; {one.name} had {turns:,} turns{bad}")
        return "".join(words)
