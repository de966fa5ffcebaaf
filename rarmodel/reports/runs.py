"""The runs of a campaign's table as plain data, with methods, values, ratios, gaps and spreads."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rarmodel import registry
from rarmodel.bounds import relative_gap
from rarmodel.errors import InputError, Problem, listed

Row = Mapping[str, Any]

NEEDED = (
    *("campaign", "run", "instance", "instance_hash", "source", "method", "formulation", "solver"),
    *("seed", "failure", "error", "status", "makespan", "mean_completion", "lower_bound"),
    *("gap", "objective", "restricted", "seconds"),
)
SOURCE, PARAMETER, OPTION, DATA = "source_", "parameter_", "option_", "data"
ASKED = "option_objective"
MAKESPAN = "makespan"
FILES = "files"
"""The family of all instances that come from files."""


@dataclass(frozen=True)
class Run:
    """One run beside the others of its campaign.

    Attributes
    ----------
    name
        Name of the run; a run that several campaigns share has the same name.
    instance
        Name of the instance, made unique among instances of that name.
    key
        Hash of the instance.
    family
        Source of the instance, with the settings that vary in the campaign.
    base
        Method, formulation and solver, or policy.
    method
        The name in `base` with the parameters, options and data that vary among its runs.
    seed
        The seed.
    settings
        Parameters, options, data, and settings of the source, by name of their column.
    objective
        Names of the objectives that the run was asked to minimise, separated by commas, the most
        important first.
    makespan, mean_completion, mean_flow, p95_flow
        In slots; None without a schedule, or where the table has none.
    late_jobs
        Number of jobs that complete past their due slots.
    value
        Value of the most important objective; None without a schedule, or if the formulation has an
        objective of its own.
    best
        Whether the value is the least of the instance in the campaign; of equal values, the less
        important objectives count too.
    ratio
        The value divided by the least of the instance in the campaign; None if that is 0.
    bound
        The greatest lower bound on the most important objective that any run on the instance, in
        any campaign, proves for every schedule. The bound of a formulation that adds constraints
        counts for this formulation only.
    gap
        Gap of the value to that bound or the run's own. If the most important objective is proven,
        or the formulation has an objective of its own, the run's own gap.
    optimal
        Whether the gap is proven to be 0.
    seconds
        Time of the solve.
    failure, error
        How and why the run failed; empty if it did not.
    skipped
        Why the run was skipped; empty if it was not.
    """

    name: str
    instance: str
    key: str
    family: str
    base: str
    method: str
    seed: str
    settings: Mapping[str, Any]
    objective: str
    makespan: float | None
    mean_completion: float | None
    mean_flow: float | None
    p95_flow: float | None
    late_jobs: float | None
    value: float | None
    best: bool
    ratio: float | None
    bound: float | None
    gap: float | None
    optimal: bool
    seconds: float | None
    failure: str
    error: str
    skipped: str = ""


class Spread(NamedTuple):
    """The spread of numbers; None if there are none."""

    lower: float | None
    median: float | None
    upper: float | None


class MethodRow(NamedTuple):
    """The summary of one method's runs."""

    method: str
    runs: int
    solved: int
    failed: int
    optimal: int
    best: int
    value: float | None
    makespan: float | None
    mean_completion: float | None
    mean_flow: float | None
    p95_flow: float | None
    late_jobs: float | None
    ratio: Spread
    gap: Spread
    seconds: Spread


def runs_of(rows: Sequence[Row]) -> dict[str, list[Run]]:
    """The runs of a campaign's table, in the table's order, by campaign.

    The runs of a campaign with several objectives are apart, as `CAMPAIGN: OBJECTIVE`.

    Parameters
    ----------
    rows
        A row for each run, with the columns of `rarmodel campaign export`. None, NaN, and a
        missing parameter, option or setting are unknown.

    Raises
    ------
    InputError
        If a required column is missing, or has values that are not numbers.
    """
    columns = set().union(*rows)
    if missing := [name for name in NEEDED if name not in columns]:
        message = f"not the table of a campaign: no column {listed(missing)}"
        raise InputError([Problem("", message)])
    bounds: dict[tuple[str, str], float] = {}
    for row in rows:
        for first in {MAKESPAN, _first(_text(row, "objective") or MAKESPAN)}:
            bound = _bound(row, first)
            if bound is not None and not _known(row, "restricted"):
                at = (_key(row), first)
                bounds[at] = max(bound, bounds.get(at, bound))
    campaigns: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        campaigns[_text(row, "campaign")].append(row)
    found = {}
    for name, own in campaigns.items():
        by_objective: dict[str, list[Row]] = defaultdict(list)
        for row, objective in zip(own, _objectives(own), strict=True):
            by_objective[objective].append(row)
        for objective, some in by_objective.items():
            title = name if len(by_objective) == 1 else f"{name}: {objective}"
            found[title] = _runs(some, objective, bounds)
    return found


def _objectives(rows: Sequence[Row]) -> list[str]:
    """The objectives that each run of a campaign was asked to minimise, as its table has them.

    A run that failed does not say so, and a formulation may have an objective of its own. Others on
    the same instance then tell.
    """
    ours = registry.names("objectives")
    known: dict[tuple[str, str], str] = {}
    for row in rows:
        if (named := _text(row, "objective")) and not _known(row, "restricted"):
            for key in (_key(row), ""):
                known.setdefault((_text(row, ASKED), key), named)
    found = []
    for row in rows:
        asked, named = _text(row, ASKED), _text(row, "objective")
        if _known(row, "restricted") and _first(named) not in ours:
            named = ""
        others = known.get((asked, _key(row))) or known.get((asked, ""))
        found.append(named or others or asked or MAKESPAN)
    return found


def _runs(
    rows: Sequence[Row], objective: str, bounds: Mapping[tuple[str, str], float]
) -> list[Run]:
    """The runs of one campaign with one objective."""
    bases = [_base(row) for row in rows]
    methods = _told_apart(rows, bases, (PARAMETER, OPTION, DATA), " ")
    sources = [_source(row) for row in rows]
    families = _told_apart(rows, [""] * len(rows), (SOURCE,), "")
    if len(set(sources)) > 1:
        pairs = zip(sources, families, strict=True)
        families = [", ".join(filter(None, pair)) for pair in pairs]
    names = _instance_names(rows, families)
    first, *others = objective.split(",")
    values = [_value(row, first) for row in rows]
    least: dict[str, tuple[float, ...]] = {}
    for row, value in zip(rows, values, strict=True):
        if value is not None:
            found = (value, *_values(row, others))
            least[_key(row)] = min(found, least.get(_key(row), found))
    runs = []
    for row, base, method, source, family, value in zip(
        rows, bases, methods, sources, families, values, strict=True
    ):
        key = _key(row)
        known = [b for b in (bounds.get((key, first)), _bound(row, first)) if b is not None]
        gap, optimal = _number(row, "gap"), _text(row, "status") == "optimal"
        if value is not None and known and _about(row, first):
            of_first = relative_gap(value, max(known))
            if of_first > 0 or objective == first:
                gap = of_first
            optimal = optimal or (of_first <= 0 and objective == first)
        runs.append(
            Run(
                name=_text(row, "run"),
                instance=names[key],
                key=key,
                family=family,
                base=base,
                method=method,
                seed=_text(row, "seed"),
                settings={
                    "source": source,
                    **{
                        name: cell
                        for name in row
                        if name.startswith((SOURCE, PARAMETER, OPTION, DATA))
                        and (cell := _known(row, name)) is not None
                    },
                },
                objective=objective,
                makespan=_number(row, "makespan", positive=True),
                mean_completion=_number(row, "mean_completion"),
                mean_flow=_number(row, "mean_flow"),
                p95_flow=_number(row, "p95_flow"),
                late_jobs=_number(row, "late_jobs"),
                value=value,
                best=value is not None and (value, *_values(row, others)) == least[key],
                ratio=value / least[key][0] if value is not None and least[key][0] > 0 else None,
                bound=bounds.get((key, first)),
                gap=None if _number(row, "makespan") is None else gap,
                optimal=optimal,
                seconds=_number(row, "seconds"),
                failure=_text(row, "failure"),
                error=_text(row, "error"),
                skipped=_text(row, "stopped") if _text(row, "status") == "skipped" else "",
            )
        )
    return runs


def groups_of(runs: Iterable[Run], by: Callable[[Run], Any]) -> dict[Any, list[Run]]:
    """Group runs by a key, in the order in which it first occurs."""
    found: dict[Any, list[Run]] = defaultdict(list)
    for run in runs:
        found[by(run)].append(run)
    return dict(found)


def method_rows(runs: Iterable[Run]) -> list[MethodRow]:
    """One row per method."""
    return [
        MethodRow(
            method=method,
            runs=len(own),
            solved=sum(run.makespan is not None for run in own),
            failed=sum(bool(run.failure) for run in own),
            optimal=sum(run.optimal for run in own),
            best=sum(run.best for run in own),
            value=_mean(run.value for run in own),
            makespan=_mean(run.makespan for run in own),
            mean_completion=_mean(run.mean_completion for run in own),
            mean_flow=_mean(run.mean_flow for run in own),
            p95_flow=_mean(run.p95_flow for run in own),
            late_jobs=_mean(run.late_jobs for run in own),
            ratio=_spread(run.ratio for run in own),
            gap=_spread(run.gap for run in own),
            seconds=_spread(run.seconds for run in own),
        )
        for method, own in groups_of(runs, lambda run: run.method).items()
    ]


def mean_values(
    runs: Sequence[Run], methods: Sequence[str], most: int
) -> list[tuple[str, float | None, list[float | None]]]:
    """Name, lower bound, and mean value of each method, for the first instances."""
    rows = []
    for own in list(groups_of(runs, lambda run: run.key).values())[:most]:
        by_method = groups_of(own, lambda run: run.method)
        means = [_mean(run.value for run in by_method.get(name, ())) for name in methods]
        rows.append((own[0].instance, own[0].bound, means))
    return rows


def setting_name(column: str) -> str:
    """Name of a parameter, option or setting, from its column."""
    return column.partition("_")[2] or column


def lines_over(runs: Sequence[Run], column: str) -> list[tuple[str, Run]]:
    """The runs in a chart over a column, each with the name of its line.

    Over a setting of the source, these are the runs on such instances, by method and the other
    settings. Over a parameter or option, these are all runs, by method and its other parameters.
    """
    of_source = column.startswith(SOURCE)
    own = [run for run in runs if column in run.settings or not of_source]
    rows = [{name: v for name, v in run.settings.items() if name != column} for run in own]
    prefixes = ("source", PARAMETER, OPTION, DATA) if of_source else (PARAMETER, OPTION, DATA)
    names = _told_apart(rows, [run.base for run in own], prefixes, " ")
    return list(zip(names, own, strict=True))


def _told_apart(
    rows: Sequence[Row], bases: Sequence[str], prefixes: tuple[str, ...], between: str
) -> list[str]:
    """Names followed by the columns that vary among rows of the same name."""
    values: dict[tuple[str, str], set[Hashable]] = defaultdict(set)
    columns = dict.fromkeys(name for row in rows for name in row if name.startswith(prefixes))
    for row, base in zip(rows, bases, strict=True):
        for name in columns:
            values[base, name].add(_text(row, name))
    found = []
    for row, base in zip(rows, bases, strict=True):
        parts = [
            f"{setting_name(name)}={_text(row, name)}"
            for name in columns
            if len(values[base, name]) > 1 and _known(row, name) is not None
        ]
        found.append(base + between + ", ".join(parts) if parts else base)
    return found


def _instance_names(rows: Sequence[Row], families: Sequence[str]) -> dict[str, str]:
    """Names of instances by key, made unique."""
    plain = {_key(row): _text(row, "instance") for row in rows}
    settings = {_key(row): family for row, family in zip(rows, families, strict=True)}
    full = {key: f"{name}, {settings[key]}".removesuffix(", ") for key, name in plain.items()}
    for names in (plain, full):
        if len(set(names.values())) == len(names):
            return names
    return {key: f"{name} ({key[:8]})" for key, name in full.items()}


def _base(row: Row) -> str:
    if method := _text(row, "method") or _text(row, "policy"):
        return method
    return f"{_text(row, 'formulation')} ({_text(row, 'solver')})"


def _source(row: Row) -> str:
    source = _text(row, "source")
    return FILES if source.startswith("file ") else source


def _key(row: Row) -> str:
    return _text(row, "instance_hash")


def _first(objectives: str) -> str:
    """The most important of several objectives."""
    return objectives.partition(",")[0]


def _about(row: Row, first: str) -> bool:
    """Whether a run minimised an objective, and nothing before that."""
    return _first(_text(row, "objective") or MAKESPAN) == first


def _value(row: Row, first: str) -> float | None:
    """The value of an objective; of others than the makespan, only if the run minimised it."""
    if first == MAKESPAN:
        return _number(row, "makespan", positive=True)
    return _number(row, "objective_value") if _about(row, first) else None


def _values(row: Row, objectives: Sequence[str]) -> list[float]:
    """Values of the less important objectives; an unknown one counts as the worst."""
    found = (_number(row, f"objective_value_{name}") for name in objectives)
    return [math.inf if value is None else value for value in found]


def _bound(row: Row, first: str) -> float | None:
    """A run's bound on an objective."""
    if first == MAKESPAN:
        return _number(row, "lower_bound")
    return _number(row, "objective_bound") if _about(row, first) else None


def _known(row: Row, column: str) -> Any:
    """A cell; None if unknown."""
    value = row.get(column)
    return None if isinstance(value, float) and math.isnan(value) else value


def _text(row: Row, column: str) -> str:
    """A cell as text; unknown is empty, and a whole number has no point."""
    value = _known(row, column)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.12g}"
    return "" if value is None else str(value)


def _number(row: Row, column: str, *, positive: bool = False) -> float | None:
    """A cell with a number or nothing."""
    value = _known(row, column)
    if value is None:
        return None
    wrong = isinstance(value, bool) or not isinstance(value, int | float)
    if wrong or not math.isfinite(value) or (positive and value <= 0):
        kind = "numbers above 0" if positive else "numbers"
        message = f"{str(value)[:40]!r}; {kind} are expected"
        raise InputError([Problem(f"column {column!r}", message)])
    return float(value)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _spread(values: Iterable[float | None]) -> Spread:
    known = [value for value in values if value is not None]
    if not known:
        return Spread(None, None, None)
    return Spread(*(float(value) for value in np.percentile(known, [25, 50, 75])))
