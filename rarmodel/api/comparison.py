"""Results of several methods and formulations on the same instances, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rarmodel.argument_checks import several
from rarmodel.bounds import relative_gap
from rarmodel.duration import duration
from rarmodel.errors import UsageError
from rarmodel.latex import latex_table
from rarmodel.methods import (
    Result,
    frame_row,
    gap_of,
    joined,
    status_of,
)
from rarmodel.model.objectives import MAKESPAN, Value
from rarmodel.tabular import NONE, frame, html_rows, number

if TYPE_CHECKING:
    import pandas as pd
    from altair import VConcatChart

    from rarmodel.drawing import Trial


@dataclass(frozen=True)
class Comparison:
    """Results of several methods and formulations on one instance.

    Attributes
    ----------
    instance
        Name of the instance.
    results
        One result for each method and each formulation, in the order of the request.
    """

    instance: str
    results: Sequence[Result]

    @property
    def best_bound(self) -> int | None:
        """The greatest proven lower bound in slots that holds for every schedule."""
        bounds = [r.lower_bound for r in self.results if not r.restricted]
        return max((bound for bound in bounds if bound is not None), default=None)

    @property
    def best_makespan(self) -> int | None:
        """The least makespan in slots."""
        return min((r.makespan for r in self.results if r.makespan is not None), default=None)

    @property
    def first_values(self) -> list[Value | float]:
        """Values of the most important objective, of what adds nothing to the instance."""
        firsts = [result.objective[0].value for result in self._on_the_instance]
        return [value for value in firsts if value is not None]

    @property
    def first_bound(self) -> Value | float | None:
        """The greatest proven bound on the most important objective of the instance."""
        bounds = [result.objective[0].bound for result in self._on_the_instance]
        return max((bound for bound in bounds if bound is not None), default=None)

    @property
    def _on_the_instance(self) -> list[Result]:
        return [result for result in self.results if result.objective and not result.restricted]

    @property
    def _bound_by(self) -> str | None:
        """What has proven `first_bound`."""
        firsts = [result.objective[0] for result in self._on_the_instance]
        return next((goal.proved_by for goal in firsts if goal.bound == self.first_bound), None)

    def rows(self) -> list[dict[str, Any]]:
        """One row of plain data for each result, ready for a table or a data frame.

        A row has the result's own fields, and `best_bound`, the `gap` to this bound, and the
        `ratio` to the least makespan. If the bound of another row proves a makespan optimal, the
        status is `optimal`, and `proved_by` names what has proven that bound. The bound of a
        formulation that adds constraints counts for its own row only. If the objective is not the
        makespan, `gap`, `ratio` and status refer to the objective, of several to the most important
        one that is not proven; the best bound on the most important one counts for all rows.
        """
        rows = []
        for result in self.results:
            row = result.summary()
            makespan = result.makespan
            known = [b for b in (self.best_bound, result.lower_bound) if b is not None]
            row["best_bound"] = max(known, default=None)
            row["ratio"] = None
            if makespan is not None and self.best_makespan is not None:
                row["ratio"] = makespan / self.best_makespan
            if result.by_makespan:
                row["gap"] = None
                if makespan is not None and row["best_bound"] is not None:
                    row["gap"] = relative_gap(makespan, row["best_bound"])
                    if makespan <= row["best_bound"]:
                        row["status"] = "optimal"
            elif result.objective and not result.restricted:
                row |= self._by_objective(result)
            if row["status"] != result.status and isinstance(row["proved_by"], str | None):
                whose = replace(
                    result, objective=(replace(result.objective[0], proved_by=self._bound_by),)
                )
                row |= {"proved_by": whose.proved_by, "by_others": whose.by_others or None}
            rows.append(row)
        return rows

    def _by_objective(self, result: Result) -> dict[str, Any]:
        """What a row says of other objectives than the makespan."""
        first, *others = result.objective
        goals = (replace(first, bound=self.first_bound), *others)
        ratio = None
        if first.value is not None and min(self.first_values) > 0:
            ratio = float(first.value / min(self.first_values))
        status = result.status
        if result.schedule is not None:
            status = status_of(goals, found=True)
        bounds = replace(result, objective=goals).summary()["objective_bound"]
        gap = gap_of(goals)
        return {"gap": gap, "ratio": ratio, "status": status, "objective_bound": bounds}

    @property
    def about_makespan(self) -> bool:
        """Whether the makespan is among the objectives of the instance."""
        asked = [goal.name for result in self._on_the_instance for goal in result.objective]
        return not asked or MAKESPAN.name in asked

    def table(self) -> list[dict[str, str]]:
        """The rows as dictionaries of names and formatted values."""
        rows = self.rows()
        ends = any(row["end"] for row in rows)
        wide = any(not result.by_makespan for result in self._on_the_instance)
        return [
            {
                "method": f"{_source(row)} *" if row["by_others"] else _source(row),
                "status": row["status"],
                "makespan": number(row["makespan"]),
                "wall-clock": _words(row["makespan_seconds"]),
                **({"end": (row["end"] or NONE).replace("T", " ")} if ends else {}),
                **(_objectives(row) if wide else {"bound": number(row["best_bound"])}),
                "gap": number(row["gap"], ".1%"),
                "ratio": number(row["ratio"], ".3f"),
                "mean completion": number(row["mean_completion"], ".1f"),
                "seconds": number(row["seconds"], ".2f"),
                "verified": {True: "yes", False: "no", None: NONE}[row["verified"]],
            }
            for row in rows
        ]

    def to_frame(self) -> pd.DataFrame:
        """The rows as a pandas data frame; see `Comparisons.to_frame`.

        Raises
        ------
        UsageError
            If pandas is not installed.
        """
        return frame(self.frame_rows())

    def frame_rows(self) -> list[dict[str, Any]]:
        """The same as rows of plain data."""
        pairs = zip(self.rows(), self.results, strict=True)
        return [frame_row(row, result.name) for row, result in pairs]

    def log_to_frame(self) -> pd.DataFrame:
        """Incumbents and bounds over time of all rows: instance, method, seconds, value, bound.

        Raises
        ------
        UsageError
            If pandas is not installed.
        """
        return frame(self.log_rows())

    def log_rows(self) -> list[dict[str, Any]]:
        """The same as rows of plain data."""
        logs = ((result.name, result.log) for result in self.results)
        return [{"instance": self.instance, **row} for row in joined(logs)]

    def trials(self, problem: str = "") -> list[Trial]:
        """The results as charts of solves need them.

        Formulations that add something to the instance answer another question and are left out.

        Parameters
        ----------
        problem
            Name of the problem among those of other comparisons.
        """
        from rarmodel.drawing import LogEntry, Trial  # noqa: PLC0415 - few need it

        results = self._on_the_instance
        return [
            Trial(
                problem=problem or self.instance,
                method=name,
                value=result.objective[0].value,
                seconds=result.seconds,
                proven=result.status == "optimal",
                bound=self.first_bound,
                log=[LogEntry(*entry) for entry in result.log],
            )
            for name, result in zip(_distinct(results), results, strict=True)
        ]

    def plot(self, parts: Sequence[str] | None = None) -> VConcatChart:
        """Draw how the results compare; see `Comparisons.plot`."""
        return Comparisons([self]).plot(parts)

    def to_latex(self) -> str:
        """The table in LaTeX; see `Comparisons.to_latex`."""
        return Comparisons([self]).to_latex()

    def _repr_html_(self) -> str:
        return html_rows(self.instance, self.table())

    def why_not_optimal(self) -> list[str]:
        """Why rows are as they are.

        Of each formulation, and of each method without a schedule, why it ended without an
        optimum. Of rows that `table` marks with a star, what the star means, whose answers they
        are, and why. Rows of which the same is true share a line. If there is provably no
        schedule, the lines say why, and not for each row.
        """
        lines, marked = dict[str, list[str]](), dict[str, list[str]]()
        skips, reasons = dict[str, list[str]](), dict[str, None]()
        rows = self.rows()
        for row in rows:
            if row["status"] == "skipped":
                name = row["method"] or row["formulation"]
                why = row["stopped"].removeprefix(f"{name} does not handle ")
                skips.setdefault(why, []).append(name)
            elif row["status"] == "infeasible" and row["reasons"]:
                reasons |= dict.fromkeys(row["reasons"])
            elif row["by_others"]:
                why = f"{row['by_others']}; {row['stopped']}"
                marked.setdefault(why, []).append(_source(row))
            elif row["status"] != "optimal" and (row["formulation"] or row["makespan"] is None):
                lines.setdefault(row["stopped"], []).append(_source(row))
        return [
            *(f"infeasible: {reason}" for reason in reasons),
            *(f"{', '.join(names)}: {why}" for why, names in lines.items()),
            *([NOT_OWN] if any(row["by_others"] for row in rows) else []),
            *(
                f"* {why}" if len(marked) == 1 else f"* {', '.join(names)}: {why}"
                for why, names in marked.items()
            ),
            *(_refused(names, why) for why, names in skips.items()),
        ]


NOT_OWN = (
    "* Not the work of the formulation's solver alone; --model-only (model_only=True) leaves "
    "everything to it."
)


class Comparisons(list[Comparison]):
    """Comparisons on several instances, one per instance."""

    def table(self) -> list[dict[str, str]]:
        """The rows of all comparisons as one table of formatted values; see `Comparison.table`."""
        rows = [{"instance": one.instance, **row} for one in self for row in one.table()]
        names = dict.fromkeys(name for row in rows for name in row)
        return [{name: row.get(name, NONE) for name in names} for row in rows]

    def to_latex(self) -> str:
        """The table as a `tabular` of LaTeX with the lines of the package booktabs.

        With several instances, the instance is the first column, and each has a group of rows.
        """
        rows = self.table()
        several = len(self) > 1
        names = [name for name in (rows[0] if rows else ()) if several or name != "instance"]
        return latex_table(names, rows, "instance" if several else None)

    def to_frame(self) -> pd.DataFrame:
        """The rows of all comparisons as one pandas data frame, with one value in each cell.

        `method` is the name of each row, for formulations too, as in `log_to_frame`. Of several
        objectives, `objective_value`, `objective_bound` and `proved_by` are those of the first, and
        each has columns of its own, such as `objective_value_makespan`.

        Raises
        ------
        UsageError
            If pandas is not installed.
        """
        return frame(row for comparison in self for row in comparison.frame_rows())

    def log_to_frame(self) -> pd.DataFrame:
        """Incumbents and bounds over time of all comparisons; see `Comparison.log_to_frame`.

        Raises
        ------
        UsageError
            If pandas is not installed.
        """
        return frame(row for comparison in self for row in comparison.log_rows())

    def plot(self, parts: Sequence[str] | None = None) -> VConcatChart:
        """Draw performance profiles over all instances, and mean gaps over time.

        Parameters
        ----------
        parts
            `profile`: on which share of the instances a method is within a factor of the least
            value. `time-profile`: the same of the time to a proven optimum. `gap`: the gap over
            time to the greatest bound that any row proves. `own-gap`: to the bound that the method
            itself has proven by then. By default all that say something.

        Returns
        -------
        VConcatChart
            A chart of Vega-Altair, which a notebook shows. `save` writes it as SVG, PNG, PDF or
            HTML.

        Raises
        ------
        UsageError
            If a part does not exist, there is nothing to show, or Altair or vl-convert is not
            installed.
        """
        from rarmodel.drawing import solves_chart  # noqa: PLC0415 - few need it

        trials = [
            trial
            for i, comparison in enumerate(self)
            for trial in comparison.trials(f"{comparison.instance} {i}")
        ]
        return solves_chart({"": trials}, _names_of(parts))

    def _repr_html_(self) -> str:
        return "".join(comparison._repr_html_() for comparison in self)


def _distinct(results: Sequence[Result]) -> list[str]:
    """Names of results, with numbers where several have the same."""
    names = [result.name for result in results]
    return [
        name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}"
        for i, name in enumerate(names)
    ]


def _names_of(parts: Sequence[str] | None) -> Sequence[str] | None:
    """Names of parts, if they are a list of names."""
    if parts is not None and (why := several(parts)):
        raise UsageError(f"parts {parts!r}: {why}" if isinstance(parts, str) else f"parts: {why}")
    return parts


def _refused(names: Sequence[str], why: str) -> str:
    """A line for all that do not handle the same."""
    distinct = list(dict.fromkeys(names))
    return f"{', '.join(distinct)} {'does' if len(distinct) == 1 else 'do'} not handle {why}"


def _source(row: Mapping[str, Any]) -> str:
    return row["method"] or f"{row['formulation']} ({row['solver'] or row['chosen_solver']})"


def _objectives(row: Mapping[str, Any]) -> dict[str, str]:
    """Values of the objectives, and the bound on the most important one."""
    names, values, bounds = (
        item if isinstance(item, list) else [item]
        for item in (row["objective"], row["objective_value"], row["objective_bound"])
    )
    shown = {name: number(value, ".6g") for name, value in zip(names, values, strict=True)}
    return shown | {"bound": number(bounds[0], ".6g")}


def _words(seconds: float | None) -> str:
    return NONE if seconds is None else duration(seconds)
