"""Solves of the same problems by several methods, as profiles and gaps over time need them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rarmodel.model.objectives import Value

Known = Value | float | None


class LogEntry(NamedTuple):
    """What a solve knew after some seconds: its least value, and its greatest lower bound."""

    seconds: float
    value: Known
    bound: Known


class Trial(NamedTuple):
    """One method's solve of one problem.

    Attributes
    ----------
    problem
        The instance, with the seed if there are several; the same for all methods.
    method
        Name of the method.
    value
        Value of the most important objective; None without a schedule.
    seconds
        Time of the solve; None if unknown.
    proven
        Whether the solve itself proved its value optimal.
    bound
        The greatest lower bound on the problem that any method proved; None if unknown.
    log
        Values and bounds over time, ascending.
    """

    problem: str
    method: str
    value: Known
    seconds: float | None
    proven: bool
    bound: Known
    log: Sequence[LogEntry] = ()


def by_method(trials: Iterable[Trial]) -> dict[str, list[Trial]]:
    """The trials of each method, on the problems that every method has tried, in one order.

    A campaign that is not done has problems that only some have tried: they compare nothing.
    """
    found: dict[str, dict[str, Trial]] = {}
    for trial in trials:
        found.setdefault(trial.method, {})[trial.problem] = trial
    if not found:
        return {}
    first, *others = found.values()
    common = [problem for problem in first if all(problem in other for other in others)]
    return {method: [own[problem] for problem in common] for method, own in found.items()}
