"""The answer to what-if: alternatives beside the unchanged instance, over all draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from rarmodel.duration import duration
from rarmodel.latex import latex_table
from rarmodel.methods import Result
from rarmodel.schema import SlotTime
from rarmodel.tabular import NONE, frame, html_rows

from .figures import Figure

if TYPE_CHECKING:
    import pandas as pd
    from altair import VConcatChart

    from rarmodel.online import Simulation


class Draw(NamedTuple):
    """An instance with a seed: what each alternative is tried on.

    Attributes
    ----------
    instance
        Name of the instance.
    seed
        Seed of all random numbers.
    """

    instance: str
    seed: int


@dataclass(frozen=True)
class Tried:
    """What came of an alternative on a draw.

    Attributes
    ----------
    alternative, draw
        Their numbers, from 0; alternative 0 is the unchanged instance.
    outcome
        The simulation, or the result of the solve.
    figures
        Its figures; None where there is none.
    notes
        What one should know of it.
    """

    alternative: int
    draw: int
    outcome: Simulation | Result = field(repr=False)
    figures: dict[Figure, float | None] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def verified(self) -> bool:
        """Whether there is a schedule that keeps every constraint."""
        if isinstance(self.outcome, Result):
            return self.outcome.report is not None and self.outcome.report.feasible
        return self.outcome.verified

    @property
    def reasons(self) -> tuple[str, ...]:
        """What is wrong if it is not verified, a line each."""
        if self.verified:
            return ()
        if isinstance(self.outcome, Result):
            return self.outcome.reasons or (f"{self.outcome.status}: {self.outcome.stopped}",)
        return self.outcome.reasons


class Effect(NamedTuple):
    """A figure of an alternative over the draws.

    Attributes
    ----------
    mean
        Mean of its values.
    difference
        Mean difference to the unchanged instance, over the draws on which both have a value.
    spread
        Standard deviation of these differences; None of a single one.
    """

    mean: float | None
    difference: float | None
    spread: float | None


@dataclass(frozen=True)
class WhatIf:
    """Alternatives beside the unchanged instance.

    Attributes
    ----------
    alternatives
        Their names, the unchanged instance first.
    by
        Who answered: `policy srtf, placement consolidate`, or `method search`.
    time
        The slots.
    draws
        On what each was tried.
    trials
        What came of it, draw by draw; after Ctrl-C those that are complete.
    """

    alternatives: tuple[str, ...]
    by: str
    time: SlotTime
    draws: tuple[Draw, ...]
    trials: tuple[Tried, ...] = field(repr=False)

    @property
    def planned(self) -> int:
        """Number of runs: each alternative on each draw."""
        return len(self.alternatives) * len(self.draws)

    @property
    def complete(self) -> bool:
        """Whether every alternative was tried on every draw."""
        return len(self.trials) == self.planned

    @property
    def verified(self) -> bool:
        """Whether all are complete, and every schedule keeps every constraint."""
        return self.complete and all(trial.verified for trial in self.trials)

    @property
    def figures(self) -> list[Figure]:
        """The figures that some trial has."""
        return list(dict.fromkeys(one for trial in self.trials for one in trial.figures))

    def trials_of(self, alternative: int) -> list[Tried]:
        """The trials of an alternative, by number."""
        return [trial for trial in self.trials if trial.alternative == alternative]

    def values(self, alternative: int, figure: Figure) -> dict[int, float]:
        """The values of a figure by draw, where there are any."""
        return {
            trial.draw: value
            for trial in self.trials_of(alternative)
            if (value := trial.figures.get(figure)) is not None
        }

    def effect(self, alternative: int, figure: Figure) -> Effect:
        """A figure of an alternative, by number, over the draws."""
        own, before = self.values(alternative, figure), self.values(0, figure)
        differences = [value - before[draw] for draw, value in own.items() if draw in before]
        return Effect(
            mean=fmean(own.values()) if own else None,
            difference=fmean(differences) if differences and alternative else None,
            spread=stdev(differences) if len(differences) > 1 and alternative else None,
        )

    @property
    def title(self) -> str:
        """What the table is of."""
        names = list(dict.fromkeys(draw.instance for draw in self.draws))
        of = names[0] if len(names) == 1 else f"{len(names)} instances"
        told = f"{of}, {self.by}: times in slots of {duration(self.time.slot_seconds)}"
        if len(self.draws) > 1:
            told += (
                f"; means over {len(self.draws)} draws, and in brackets the mean difference to "
                "the unchanged ± its standard deviation"
            )
        return told

    def table(self) -> list[dict[str, str]]:
        """A row of formatted values for each alternative, with differences in brackets."""
        return [self._row(i) for i in range(len(self.alternatives))]

    def _row(self, i: int) -> dict[str, str]:
        row, trials = {"alternative": self.alternatives[i]}, self.trials_of(i)
        for figure in self.figures:
            effect = self.effect(i, figure)
            row[figure.header] = figure.told(effect.mean)
            if effect.difference is not None:
                told = figure.told_difference(effect.difference, effect.spread)
                row[figure.header] += f" ({told})"
        statuses = [t.outcome.status for t in trials if isinstance(t.outcome, Result)]
        if any(isinstance(trial.outcome, Result) for trial in self.trials):
            row["status"] = ", ".join(dict.fromkeys(statuses)) or NONE
        if len(self.draws) > 1:
            row["draws"] = str(len(trials))
        row["verified"] = NONE if not trials else "yes" if all(t.verified for t in trials) else "no"
        row["seconds"] = f"{sum(trial.outcome.seconds for trial in trials):.2f}"
        return row

    def summary(self) -> dict[str, Any]:
        """The answer as plain data: the output of `what-if --json`."""
        return {
            "by": self.by,
            "slot_seconds": self.time.slot_seconds,
            "draws": [draw._asdict() for draw in self.draws],
            "complete": self.complete,
            "alternatives": [
                {
                    "alternative": name,
                    "verified": all(trial.verified for trial in self.trials_of(i)),
                    "figures": {one.name: self.effect(i, one)._asdict() for one in self.figures},
                    "trials": [
                        {**self.draws[trial.draw]._asdict(), **trial.outcome.summary()}
                        for trial in self.trials_of(i)
                    ],
                    "notes": list(dict.fromkeys(n for t in self.trials_of(i) for n in t.notes)),
                }
                for i, name in enumerate(self.alternatives)
            ],
        }

    def rows(self) -> list[dict[str, Any]]:
        """A row of plain data for each alternative on each draw."""
        return [
            {
                "alternative": self.alternatives[trial.alternative],
                **self.draws[trial.draw]._asdict(),
                **{one.name: trial.figures.get(one) for one in self.figures},
                "verified": trial.verified,
                "seconds": trial.outcome.seconds,
            }
            for trial in self.trials
        ]

    def to_frame(self) -> pd.DataFrame:
        """The rows as a pandas data frame.

        Raises
        ------
        UsageError
            If pandas is not installed.
        """
        return frame(self.rows())

    def to_latex(self) -> str:
        """The table as a `tabular` of LaTeX with the lines of the package booktabs."""
        rows = self.table()
        return latex_table(list(rows[0]), rows)

    def plot(self) -> VConcatChart:
        """Chart the figures: a panel for each, a row for each alternative, a dot for each draw.

        Raises
        ------
        UsageError
            If Altair or vl-convert is not installed.
        """
        from rarmodel.drawing import alternatives_chart  # noqa: PLC0415 - few need it

        return alternatives_chart(self.alternatives, self._panels())

    def page(self) -> str:
        """The table and the chart as one HTML page that opens offline.

        Raises
        ------
        UsageError
            If Altair or vl-convert is not installed.
        """
        from rarmodel.drawing import alternatives_page  # noqa: PLC0415 - few need it

        return alternatives_page(self.title, self.table(), self.alternatives, self._panels())

    def _panels(self) -> Sequence[Any]:
        from rarmodel.drawing import Panel  # noqa: PLC0415 - few need it

        every = range(len(self.alternatives))
        return [
            Panel(
                title=f"{one.header}, {one.unit}" if one.unit else one.header,
                is_share=one.is_share,
                means=[self.effect(i, one).mean for i in every],
                values=[list(self.values(i, one).values()) for i in every],
                told=[self._row(i)[one.header] for i in every],
            )
            for one in self.figures
            if any(self.values(i, one) for i in every)
        ]

    def _repr_html_(self) -> str:
        return html_rows(self.title, self.table())
