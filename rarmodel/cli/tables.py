"""Results as tables and lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from rarmodel.duration import duration
from rarmodel.errors import one_line
from rarmodel.model.features import WIDER, in_words
from rarmodel.model.objectives import in_digits
from rarmodel.registry import names
from rarmodel.tabular import NONE, number
from rarmodel.verifier import Report

if TYPE_CHECKING:
    from rarmodel.auditor import Audit
    from rarmodel.auditor.claims import Range
    from rarmodel.campaigns import Compared
    from rarmodel.exact.formulate import ModelSize
    from rarmodel.library import Recomputed
    from rarmodel.schema import SlotTime


WORDS = {
    *("job", "lower bound", "method", "policy", "status", "verified"),
    *("uses", "first place", "in numbers", "objective", "at least"),
}
"""Columns aligned to the left."""


def of_rows(title: str | None, rows: Sequence[Mapping[str, str]]) -> Table:
    """A table of rows that map columns to text."""
    names = rows[0] if rows else ()
    table = new_table(title, *((name, "left" if name in WORDS else "right") for name in names))
    for row in rows:
        table.add_row(*map(one_line, row.values()))
    return table


def bundled(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Bundled instances, with the first sentence of each description."""
    table = new_table(
        None,
        ("name", "left"),
        *((name, "right") for name in ("jobs", "servers", "GPUs")),
        ("network", "left"),
        *((name, "right") for name in ("best known", "bound", "gap")),
        *((name, "left") for name in ("proven by", "version", "description")),
    )
    for row in rows:
        claimed = f"; {row['claimed_bound']} claimed" if row["claimed_bound"] else ""
        table.add_row(
            one_line(row["name"]),
            *(str(row[name]) for name in ("jobs", "servers", "gpus")),
            row["network"],
            number(row["best_known"]),
            number(row["bound"]),
            number(row["gap"], ".2%"),
            one_line((row["proven_by"] or NONE) + claimed),
            row["version"] or NONE,
            one_line((row["description"] or "").partition(". ")[0]),
        )
    return table


def families(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Families of bundled instances, with their gaps."""
    table = new_table(
        None,
        ("family", "left"),
        *((name, "right") for name in ("instances", "optima", "mean gap", "greatest")),
        ("description", "left"),
    )
    for row in rows:
        table.add_row(
            one_line(row["family"]),
            *(str(row[name]) for name in ("instances", "optima")),
            *(number(row[name], ".2%") for name in ("mean_gap", "greatest_gap")),
            one_line(row["description"]),
        )
    return table


def recomputed(bounds: Iterable[Recomputed]) -> Table:
    """Bounds of the library beside those proven anew."""
    table = new_table(
        None,
        *((name, "left") for name in ("instance", "objective")),
        ("recorded", "right"),
        ("by", "left"),
        ("now", "right"),
        ("by", "left"),
        ("reproduced", "left"),
    )
    for one in bounds:
        table.add_row(
            one_line(one.instance),
            one.objective,
            in_digits(one.recorded),
            one_line(one.by),
            in_digits(one.proven),
            one_line(one.name or NONE),
            "yes" if one.reproduced else "no",
        )
    return table


def methods(rows: Iterable[Mapping[str, Any]]) -> Table:
    """The methods, each with its description."""
    columns = ("method", "description", "features")
    table = new_table(None, *((name, "left") for name in columns))
    for row in rows:
        default = " (the default)" if row["default"] else ""
        words = one_line(row["description"] or NONE) + default
        table.add_row(one_line(row["name"]), words, in_words(row["handles"], WIDER))
    return table


def policies(rows: Iterable[Mapping[str, Any]]) -> Table:
    """The online policies, each with what it knows and does."""
    columns = ("policy", "knows", "interrupts", "sizes", "description")
    table = new_table(None, *((name, "left") for name in columns))
    for row in rows:
        flags = ("yes" if row[field] else "no" for field in ("interrupts", "elastic"))
        words = one_line(row["description"] or NONE)
        table.add_row(one_line(row["name"]), row["knows"], *flags, words)
    return table


def placements(rows: Iterable[Mapping[str, Any]]) -> Table:
    """The placements of online policies."""
    table = new_table(None, ("placement", "left"), ("description", "left"))
    for row in rows:
        default = " (the default)" if row["default"] else ""
        table.add_row(one_line(row["name"]), one_line(row["description"] or NONE) + default)
    return table


def objectives(rows: Iterable[Mapping[str, Any]]) -> Table:
    """The objectives, each with its unit."""
    table = new_table(None, ("objective", "left"), ("unit", "left"), ("description", "left"))
    for row in rows:
        table.add_row(*(one_line(row[field]) for field in ("name", "unit", "description")))
    return table


def bounds(rows: Iterable[Mapping[str, Any]]) -> Table:
    """The lower bounds, each with what it holds for."""
    columns = ("bound", "takes", "objectives", "features", "description")
    table = new_table(None, *((name, "left") for name in columns))
    for row in rows:
        table.add_row(
            one_line(row["name"]),
            row["cost"],
            one_line(in_words(row["objectives"], names("objectives"))),
            in_words(row["handles"], WIDER),
            one_line(row["description"] or NONE),
        )
    return table


def neighbourhoods(rows: Iterable[Mapping[str, Any]]) -> Table:
    """The neighbourhoods, each with what it is for."""
    columns = ("neighbourhood", "runs", "objectives", "features", "description")
    table = new_table(None, *((name, "left") for name in columns))
    for row in rows:
        table.add_row(
            one_line(row["name"]),
            row["runs"],
            one_line(in_words(row["objectives"], names("objectives"))),
            in_words(row["handles"], WIDER),
            one_line(row["description"] or NONE),
        )
    return table


def formulations(rows: Iterable[Mapping[str, Any]]) -> Table:
    """The formulations, each with its solvers."""
    columns = ("formulation", "model class", "installed solvers", "features", "description")
    table = new_table(None, *((name, "left") for name in columns))
    for row in rows:
        table.add_row(
            one_line(row["name"]),
            row["model_class"],
            one_line(", ".join(row["solvers"]) or NONE),
            in_words(row["handles"], WIDER),
            one_line(row["description"] or NONE),
        )
    return table


def solvers(rows: Iterable[Mapping[str, Any]]) -> Table:
    """The solvers, each with the models that it solves."""
    table = new_table(
        None,
        ("solver", "left"),
        ("version", "left"),
        ("model classes", "left"),
        ("install", "left"),
    )
    for row in rows:
        table.add_row(
            one_line(row["name"]),
            one_line(row["version"] or "not installed"),
            ", ".join(row["model_classes"]),
            one_line(row["install"] or NONE),
        )
    return table


def kinds(rows: Iterable[Mapping[str, Any]]) -> Table:
    """The kinds of parts, each with a sentence."""
    table = new_table(None, ("kind", "left"), ("description", "left"))
    for row in rows:
        table.add_row(row["name"], row["description"])
    return table


def reports(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Commands that look at schedules and instances, each with what it handles."""
    columns = ("report", "description", "features")
    table = new_table(None, *((name, "left") for name in columns))
    for row in rows:
        table.add_row(row["name"], row["description"], in_words(row["handles"], WIDER))
    return table


PARTS: dict[str | None, Callable[[Sequence[Mapping[str, Any]]], Table]] = {
    None: kinds,
    "methods": methods,
    "formulations": formulations,
    "solvers": solvers,
    "objectives": objectives,
    "bounds": bounds,
    "neighbourhoods": neighbourhoods,
    "policies": policies,
    "placements": placements,
    "reports": reports,
}
"""The table of each kind of parts; that of the kinds themselves at None."""


def model_size(size: ModelSize) -> list[str]:
    """The size of a model as lines of name and value."""
    return aligned({name: f"{value:,}" for name, value in size.summary().items()})


def violations(report: Report) -> Table:
    """All violations of a schedule."""
    table = new_table(
        None,
        ("constraint", "left"),
        ("job", "left"),
        ("server", "left"),
        ("slot", "right"),
        ("problem", "left"),
    )
    for violation in report.violations:
        table.add_row(
            violation.constraint,
            one_line(violation.job),
            one_line(violation.server or NONE),
            number(violation.slot),
            one_line(violation.message),
        )
    return table


def audit(outcome: Audit) -> list[str]:
    """The quantities in the paper's claims, as lines of name and value."""
    q, time = outcome.quantities, outcome.report.time
    origin = "returned by Algorithm 1" if q.returned else "the tightest that the schedule keeps"
    lines = {
        "instance": outcome.instance,
        "schedule": f"{outcome.schedule.method}, verified",
        "makespan": time.told(q.makespan),
        **({"end": f"{end}"} if (end := time.end(q.makespan)) else {}),
        "limit": time.told(q.limit, origin),
        "busiest GPU": (
            f"{time.told(q.estimated_load)} by estimates, {time.told(q.real_load)} in fact"
        ),
        "largest job": f"{q.largest_job} GPUs",
        "φ·(u/l)": f"{q.factor} by bounds, {q.attained_factor} attained",
        "least limit": _ranged(time, q.least_limit, outcome.least_limit_stopped),
        "optimum": _ranged(time, q.optimum, outcome.bound_name, outcome.stopped),
        "seconds": number(outcome.seconds, ".2f"),
    }
    return aligned(lines)


def _ranged(time: SlotTime, between: Range, *notes: str) -> str:
    """A range of slots, with its length of time."""
    ends = [end for end in dict.fromkeys((between.low, between.high)) if end is not None]
    by_clock = " to ".join(duration(time.seconds(float(end))) for end in ends)
    return f"{between} slots ({'; '.join([by_clock, *notes])})"


def claims(outcome: Audit) -> Table:
    """The paper's claims, with the numbers of both sides."""
    table = new_table(
        None,
        ("claim", "left"),
        ("holds", "left"),
        ("left", "right"),
        ("right", "right"),
        ("inequality", "left"),
    )
    for claim in outcome.claims:
        table.add_row(
            claim.claim,
            {True: "yes", False: "no", None: "unknown"}[claim.holds],
            str(claim.left),
            str(claim.right),
            claim.statement,
        )
    return table


def figure(title: str, points: Iterable[Compared]) -> Table:
    """A figure of the paper beside our results."""
    table = new_table(
        f"{title}, in slots",
        ("setting", "left"),
        ("method", "left"),
        ("published", "right"),
        ("ours", "right"),
        ("least", "right"),
        ("most", "right"),
        ("published ratio", "right"),
        ("our ratio", "right"),
        ("seeds above", "right"),
    )
    for one in points:
        table.add_row(
            one.setting,
            one.method,
            number(one.published),
            _spread(one.mean, one.deviation, ".0f"),
            number(one.least, ".0f"),
            number(one.greatest, ".0f"),
            number(one.published_ratio, ".2f"),
            _spread(one.ratio, one.ratio_deviation, ".2f"),
            f"{one.above} of {one.seeds}",
        )
    return table


def _spread(mean: float | None, deviation: float | None, form: str) -> str:
    return number(mean, form) + ("" if deviation is None else f" ± {number(deviation, form)}")


def aligned(lines: Mapping[str, str]) -> list[str]:
    """Names and values as lines."""
    width = max(map(len, lines))
    return [one_line(f"{name:{width}}  {value}") for name, value in lines.items()]


def new_table(title: str | None, *columns: tuple[str, Any]) -> Table:
    """An empty table of the command line, with each column's header and how it is justified."""
    table = Table(
        title=None if title is None else one_line(title),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for header, justify in columns:
        table.add_column(header, justify=justify, overflow="fold")
    return table
