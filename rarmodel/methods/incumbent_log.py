"""Incumbents and bounds of a solve over time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from rarmodel.model.objectives import Value
from rarmodel.tabular import MOST_ROWS, frame, html_rows, number

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[float | None, float | None], None]


class LogEntry(NamedTuple):
    """What was known at one moment.

    Attributes
    ----------
    seconds
        Seconds since the solve began.
    value
        The least value of the most important objective so far; None if no schedule was known.
    bound
        The greatest lower bound on it so far; None if there was none.
    """

    seconds: float
    value: Value | float | None
    bound: Value | float | None


class IncumbentLog(tuple[LogEntry, ...]):
    """Entries in order of time, one for each change, the last one at the end of the solve."""

    __slots__ = ()

    def rows(self) -> list[dict[str, Any]]:
        """One row of plain data for each entry."""
        return [
            {"seconds": one.seconds, "value": _plain(one.value), "bound": _plain(one.bound)}
            for one in self
        ]

    def to_frame(self) -> pd.DataFrame:
        """The entries as a pandas data frame: seconds, value, bound.

        Raises
        ------
        UsageError
            If pandas is not installed.
        """
        return frame(self.rows())

    def _repr_html_(self) -> str:
        shown = [
            {
                "seconds": f"{row['seconds']:.2f}",
                "value": number(row["value"], ".6g"),
                "bound": number(row["bound"], ".6g"),
            }
            for row in self.rows()
        ]
        return html_rows("Incumbents and bounds", shown[:MOST_ROWS], len(shown))


def _plain(value: Value | float | None) -> float | None:
    return float(value) if isinstance(value, Fraction) else value


class Recorder:
    """Notes value and bound of the most important objective as they change.

    It is a function for `Limits.progress`, and passes on what it is told of this objective.

    Parameters
    ----------
    begun
        Start of the solve, as a reading of `perf_counter`.
    progress
        The user's function for progress; None for none.
    most
        Greatest value that counts, such as the horizon for makespans; None for no such value.
    listens
        Whether what it is told is about the most important objective; if not, it drops that.
    """

    def __init__(
        self,
        begun: float,
        progress: Progress | None = None,
        most: float | None = None,
        *,
        listens: bool = True,
    ) -> None:
        self.progress = progress
        self._begun, self._most, self._listens = begun, most, listens
        self._value: Value | float | None = None
        self._bound: Value | float | None = None
        self._entries: list[LogEntry] = []
        self._lock = Lock()

    def __call__(self, value: Value | float | None, bound: Value | float | None) -> None:
        """Note value and bound if they are better, and pass them on."""
        if self._listens:
            self.note(value, bound)
            self._pass_on(value, bound)

    def note(self, value: Value | float | None, bound: Value | float | None) -> None:
        """Note a value and a bound if they are better than those before."""
        if value is not None and self._most is not None and value > self._most:
            value = None  # The incumbent is no schedule of the instance.
        with self._lock:
            better = value is not None and (self._value is None or value < self._value)
            higher = bound is not None and (self._bound is None or bound > self._bound)
            if better:
                self._value = value
            if higher:
                self._bound = bound
            if better or higher:
                entry = LogEntry(perf_counter() - self._begun, self._value, self._bound)
                self._entries.append(entry)

    def of_model(
        self,
        value_of: Callable[[float], Value | float],
        bound_of: Callable[[float], Value | float] | None,
    ) -> Progress:
        """A function for the progress of a solver, whose model may count in other units.

        It passes on the values that these stand for.

        Parameters
        ----------
        value_of, bound_of
            What an incumbent, and a bound, of the model stand for; None if bounds prove nothing.
        """

        def told(value: float | None, bound: float | None) -> None:
            proven = None if bound is None or bound_of is None else bound_of(bound)
            reached = None if value is None else value_of(value)
            self.note(reached, proven)
            self._pass_on(reached, proven)

        return told

    def _pass_on(self, value: Value | float | None, bound: Value | float | None) -> None:
        if self.progress is not None:
            self.progress(_plain(value), _plain(bound))

    def finished(
        self, value: Value | float | None, bound: Value | float | None, seconds: float
    ) -> IncumbentLog:
        """The log of a solve that has ended so; no entry claims more than the end.

        A solver's incumbent may turn out to be no schedule, and a bound may be dropped.
        """
        kept: list[LogEntry] = []
        for entry in [*self._entries, LogEntry(seconds, value, bound)]:
            fair = LogEntry(entry.seconds, _no_less(entry.value, value), _no_more(entry, bound))
            if not kept or kept[-1][1:] != fair[1:] or entry.seconds == seconds:
                kept.append(fair)
        return IncumbentLog(kept)


def _no_less(claimed: Value | float | None, final: Value | float | None) -> Value | float | None:
    if claimed is None or final is None:
        return None
    return max(claimed, final)


def _no_more(entry: LogEntry, final: Value | float | None) -> Value | float | None:
    if entry.bound is None or final is None:
        return None
    return min(entry.bound, final)


def joined(logs: Iterable[tuple[str, IncumbentLog]]) -> list[dict[str, Any]]:
    """Rows of several logs, each with its name in the column `method`."""
    return [{"method": name, **row} for name, log in logs for row in log.rows()]
