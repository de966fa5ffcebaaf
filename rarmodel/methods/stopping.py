"""Stopping criteria: small functions of a search's progress, any of which stops it.

A criterion is asked between iterations, and now and then while `search` proves or packs jobs anew.
It returns the reason to stop, in words, or True; an empty text, False or None lets the search go
on. The keywords `time_limit`, `gap`, `iterations` and `patience` are short forms of those here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock
from time import perf_counter
from typing import Any, NamedTuple

from rarmodel import registry
from rarmodel.argument_checks import require, scalar
from rarmodel.bounds import relative_gap
from rarmodel.culprits import shown
from rarmodel.errors import PartError, UsageError, one_line
from rarmodel.limits import CHECKS, TIME_LIMIT

SECONDS_BETWEEN = 0.1
"""Least seconds between two times that criteria are asked within a phase without iterations."""


class Progress(NamedTuple):
    """How far a search is.

    Attributes
    ----------
    seconds
        Since the search began.
    iterations
        Iterations so far: short turns of all threads.
    since_gain
        Iterations since the last one that found a better schedule or a better bound.
    values
        Values of the objectives in the best schedule, the most important first; empty without one.
    bound
        A lower bound on the first of them; None if none is known.
    """

    seconds: float
    iterations: int
    since_gain: int
    values: tuple[float, ...] = ()
    bound: float | None = None

    @property
    def value(self) -> float | None:
        """Value of the first objective; None without a schedule."""
        return self.values[0] if self.values else None

    @property
    def gap(self) -> float | None:
        """Relative gap of the first objective; None without a schedule or a bound."""
        if self.value is None or self.bound is None:
            return None
        return relative_gap(self.value, self.bound)


Criterion = Callable[[Progress], str | bool | None]
"""The reason to stop, in words, or True; an empty text, False or None to go on."""


def _checked(keyword: str, value: Any) -> Any:
    """A value that is right for a keyword, and not None.

    Raises
    ------
    UsageError
        If it is wrong.
    """
    value = scalar(value)
    if value is None:
        raise UsageError(f"{keyword.replace('_', ' ')} None: a number is expected")
    require({keyword: value}, CHECKS)
    return value


@dataclass(frozen=True)
class TimeLimit:
    """Stop after some seconds: as `time_limit`."""

    seconds: float

    def __post_init__(self) -> None:
        """Refuse what `time_limit` refuses."""
        object.__setattr__(self, "seconds", _checked("time_limit", self.seconds))

    def __call__(self, progress: Progress) -> str:
        """Whether the time is over."""
        return TIME_LIMIT if progress.seconds >= self.seconds else ""


@dataclass(frozen=True)
class Gap:
    """Stop at a relative gap of the first objective: as `gap`, which is for all objectives."""

    gap: float

    def __post_init__(self) -> None:
        """Refuse what `gap` refuses."""
        object.__setattr__(self, "gap", _checked("gap", self.gap))

    def __call__(self, progress: Progress) -> str:
        """Whether the gap is small enough."""
        close = progress.gap is not None and progress.gap <= self.gap
        return "the value is within the gap of the lower bound" if close else ""


@dataclass(frozen=True)
class Iterations:
    """Stop after so many iterations: as `iterations`."""

    most: int

    def __post_init__(self) -> None:
        """Refuse what `iterations` refuses."""
        object.__setattr__(self, "most", _checked("iterations", self.most))

    def __call__(self, progress: Progress) -> str:
        """Whether there were as many."""
        return "iteration limit" if progress.iterations >= self.most else ""


@dataclass(frozen=True)
class Patience:
    """Stop after so many iterations without a better schedule or bound: as `patience`."""

    most: int

    def __post_init__(self) -> None:
        """Refuse what `patience` refuses."""
        object.__setattr__(self, "most", _checked("patience", self.most))

    def __call__(self, progress: Progress) -> str:
        """Whether there were as many in a row."""
        over = progress.since_gain >= self.most
        return f"no improvement in {self.most} iterations" if over else ""


class ShortForms(NamedTuple):
    """The keywords that stand for criteria, and the criteria that have none."""

    time_limit: float | None
    gap: float
    iterations: int | None
    patience: int | None
    stop: tuple[Criterion, ...]


def short_forms(
    time_limit: float | None,
    gap: float,
    iterations: int | None,
    patience: int | None,
    stop: Criterion | Iterable[Criterion],
) -> ShortForms:
    """Keywords, with the criteria that are the same: any of them stops, so the strictest counts."""
    given: dict[type, list[Any]] = {TimeLimit: [], Gap: [], Iterations: [], Patience: []}
    own: list[Criterion] = []
    for one in [stop] if callable(stop) else stop:
        match one:
            case TimeLimit(value) | Gap(value) | Iterations(value) | Patience(value):
                given[type(one)].append(value)
            case _:
                own.append(one)

    def least(asked: Any, kind: type) -> Any:
        return min([*given[kind], *([] if asked is None else [asked])], default=None)

    return ShortForms(
        least(time_limit, TimeLimit),
        max([gap, *given[Gap]]),
        least(iterations, Iterations),
        least(patience, Patience),
        tuple(own),
    )


def run_criteria(iterations: int | None, patience: int | None) -> list[Criterion]:
    """The criteria of a run that has so many iterations, in all and without a gain."""
    return [
        *([] if iterations is None else [Iterations(iterations)]),
        *([] if patience is None else [Patience(patience)]),
    ]


def first_reason(some: Iterable[Criterion], progress: Progress) -> str:
    """The first reason of criteria to stop; empty if there is none."""
    return next(filter(None, (_said(one, progress) for one in some)), "")


class Criteria:
    """The criteria of one search. Once one has stopped it, it stays stopped.

    Parameters
    ----------
    some
        The criteria.

    Attributes
    ----------
    reason
        Why it is stopped; empty while it is not.
    """

    def __init__(self, some: Iterable[Criterion] = ()) -> None:
        self._some = tuple(some)
        self.reason = ""
        self._asking = Lock()
        self._asked = 0.0

    def ask(self, progress: Progress) -> str:
        """Ask all of them; the first reason to stop, and empty if there is none.

        Raises
        ------
        PartError
            If one raises an exception, or returns anything else than it should.
        """
        if not self._some:
            return ""
        with self._asking:
            for one in self._some:
                if not self.reason:
                    self.reason = _said(one, progress)
            self._asked = perf_counter()
        return self.reason

    def poll(self, progress: Callable[[], Progress]) -> str:
        """Ask them if it was long ago that they were asked; the reason that is known then."""
        if self._some and not self.reason and perf_counter() - self._asked >= SECONDS_BETWEEN:
            self.ask(progress())
        return self.reason


def _said(criterion: Criterion, progress: Progress) -> str:
    """The reason of a criterion; empty if it has none."""
    label = f"stopping criterion {_name(criterion)!r}"
    with registry.blaming(label):
        answer = scalar(criterion(progress))
    if answer is None or isinstance(answer, bool):
        return label if answer else ""
    if not isinstance(answer, str):
        words = "a reason in words, True or False is expected"
        raise PartError(f"{label} returned {shown(answer)}; {words}")
    return one_line(answer)


def _name(criterion: Criterion) -> str:
    for owner in (criterion, type(criterion)):
        name = getattr(owner, "name", None) or getattr(owner, "__name__", None)
        if isinstance(name, str):
            return name
    return "criterion"
