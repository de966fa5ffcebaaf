"""The runs of a campaign's table as plain data, with names of methods, values, ratios and gaps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rarmodel import registry
from rarmodel.bounds import relative_gap
from rarmodel.errors import InputError, Problem, listed
from rarmodel.model.objectives import MAKESPAN

from .cells import (
    Row,
    about,
    bound_of,
    first_of,
    key_of,
    known,
    log_of,
    number,
    text,
    value_of,
    values_of,
)
from .trials import LogEntry, Trial

NEEDED = (
    *("campaign", "run", "instance", "instance_hash", "source", "method", "formulation", "solver"),
    *("seed", "failure", "error", "status", "makespan", "mean_completion", "lower_bound"),
    *("gap", "objective", "restricted", "seconds"),
)
SOURCE, PARAMETER, OPTION, DATA = "source_", "parameter_", "option_", "data"
ASKED = "option_objective"
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
    by_others
        Whose answer it is, in words, if not the formulation's own; empty if it is, and where the
        table does not say.
    proven
        Whether the run itself proved its value optimal.
    log
        Values and bounds of the most important objective over time, if the table has them.
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
    by_others: str = ""
    proven: bool = False
    log: tuple[LogEntry, ...] = ()

    @property
    def trial(self) -> Trial:
        """The run as profiles and gaps over time need it."""
        return Trial(
            f"{self.key} {self.seed}",
            *(self.method, self.value, self.seconds, self.proven, self.bound, self.log),
        )


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
        for first in {MAKESPAN.name, first_of(text(row, "objective") or MAKESPAN.name)}:
            bound = bound_of(row, first)
            if bound is not None and not known(row, "restricted"):
                at = (key_of(row), first)
                bounds[at] = max(bound, bounds.get(at, bound))
    campaigns: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        campaigns[text(row, "campaign")].append(row)
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
    told: dict[tuple[str, str], str] = {}
    for row in rows:
        if (named := text(row, "objective")) and not known(row, "restricted"):
            for key in (key_of(row), ""):
                told.setdefault((text(row, ASKED), key), named)
    found = []
    for row in rows:
        asked, named = text(row, ASKED), text(row, "objective")
        if known(row, "restricted") and first_of(named) not in ours:
            named = ""
        others = told.get((asked, key_of(row))) or told.get((asked, ""))
        found.append(named or others or asked or MAKESPAN.name)
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
    values = [value_of(row, first) for row in rows]
    least: dict[str, tuple[float, ...]] = {}
    for row, value in zip(rows, values, strict=True):
        if value is not None:
            found = (value, *values_of(row, others))
            least[key_of(row)] = min(found, least.get(key_of(row), found))
    runs = []
    for row, base, method, source, family, value in zip(
        rows, bases, methods, sources, families, values, strict=True
    ):
        key = key_of(row)
        proven = [b for b in (bounds.get((key, first)), bound_of(row, first)) if b is not None]
        gap, optimal = number(row, "gap"), text(row, "status") == "optimal"
        if value is not None and proven and about(row, first):
            of_first = relative_gap(value, max(proven))
            if of_first > 0 or objective == first:
                gap = of_first
            optimal = optimal or (of_first <= 0 and objective == first)
        runs.append(
            Run(
                name=text(row, "run"),
                instance=names[key],
                key=key,
                family=family,
                base=base,
                method=method,
                seed=text(row, "seed"),
                settings={
                    "source": source,
                    **{
                        name: cell
                        for name in row
                        if name.startswith((SOURCE, PARAMETER, OPTION, DATA))
                        and (cell := known(row, name)) is not None
                    },
                },
                objective=objective,
                makespan=number(row, "makespan", positive=True),
                mean_completion=number(row, "mean_completion"),
                mean_flow=number(row, "mean_flow"),
                p95_flow=number(row, "p95_flow"),
                late_jobs=number(row, "late_jobs"),
                value=value,
                best=value is not None and (value, *values_of(row, others)) == least[key],
                ratio=value / least[key][0] if value is not None and least[key][0] > 0 else None,
                bound=bounds.get((key, first)),
                gap=None if number(row, "makespan") is None else gap,
                optimal=optimal,
                seconds=number(row, "seconds"),
                failure=text(row, "failure"),
                error=text(row, "error"),
                skipped=text(row, "stopped") if text(row, "status") == "skipped" else "",
                by_others=text(row, "by_others"),
                proven=text(row, "status") == "optimal",
                log=log_of(row) if about(row, first) else (),
            )
        )
    return runs


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
            values[base, name].add(text(row, name))
    found = []
    for row, base in zip(rows, bases, strict=True):
        parts = [
            f"{setting_name(name)}={text(row, name)}"
            for name in columns
            if len(values[base, name]) > 1 and known(row, name) is not None
        ]
        found.append(base + between + ", ".join(parts) if parts else base)
    return found


def _instance_names(rows: Sequence[Row], families: Sequence[str]) -> dict[str, str]:
    """Names of instances by key, made unique."""
    plain = {key_of(row): text(row, "instance") for row in rows}
    settings = {key_of(row): family for row, family in zip(rows, families, strict=True)}
    full = {key: f"{name}, {settings[key]}".removesuffix(", ") for key, name in plain.items()}
    for names in (plain, full):
        if len(set(names.values())) == len(names):
            return names
    return {key: f"{name} ({key[:8]})" for key, name in full.items()}


def _base(row: Row) -> str:
    if method := text(row, "method") or text(row, "policy"):
        return method
    return f"{text(row, 'formulation')} ({text(row, 'solver')})"


def _source(row: Row) -> str:
    source = text(row, "source")
    return FILES if source.startswith("file ") else source
