"""Results as tables and lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from rarmodel.errors import one_line
from rarmodel.results import Result
from rarmodel.verifier import Report

if TYPE_CHECKING:
    from rarmodel.auditor import Audit
    from rarmodel.calibration import Calibration
    from rarmodel.campaigns import Compared
    from rarmodel.exact.formulate import ModelSize

NONE = "-"


def number(value: float | None, form: str = "") -> str:
    """A number in a format, or a dash for none."""
    return NONE if value is None else format(value, form)


def comparison(instance: str, rows: Iterable[Mapping[str, Any]]) -> Table:
    """One comparison, a row for each method and formulation."""
    table = _table(
        f"{instance}",
        ("method", "left"),
        ("status", "left"),
        ("makespan", "right"),
        ("bound", "right"),
        ("gap", "right"),
        ("ratio", "right"),
        ("mean completion", "right"),
        ("seconds", "right"),
        ("verified", "left"),
    )
    for row in rows:
        table.add_row(
            one_line(_name(row)),
            row["status"],
            number(row["makespan"]),
            number(row["best_bound"]),
            number(row["gap"], ".1%"),
            number(row["ratio"], ".3f"),
            number(row["mean_completion"], ".1f"),
            number(row["seconds"], ".2f"),
            {True: "yes", False: "no", None: NONE}[row["verified"]],
        )
    return table


def why_not_optimal(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Why each formulation, and each method without a schedule, ended without an optimum."""
    return [
        one_line(f"{_name(row)}: {row['stopped']}")
        for row in rows
        if row["status"] != "optimal" and (row["formulation"] or row["makespan"] is None)
    ]


def _name(row: Mapping[str, Any]) -> str:
    return row["method"] or f"{row['formulation']} ({row['solver']})"


def bundled(rows: Iterable[Mapping[str, Any]]) -> Table:
    """The bundled instances, with the first sentence of each description."""
    table = _table(
        None,
        ("name", "left"),
        ("jobs", "right"),
        ("servers", "right"),
        ("GPUs", "right"),
        ("network", "left"),
        ("optimum", "right"),
        ("best known", "right"),
        ("description", "left"),
    )
    for row in rows:
        table.add_row(
            one_line(row["name"]),
            str(row["jobs"]),
            str(row["servers"]),
            str(row["gpus"]),
            row["network"],
            number(row["optimum"]),
            number(row["best_known"]),
            one_line((row["description"] or "").partition(". ")[0]),
        )
    return table


def engines(rows: Iterable[Mapping[str, Any]]) -> Table:
    """The solvers, with what they solve."""
    table = _table(
        None, ("solver", "left"), ("version", "left"), ("models", "left"), ("install", "left")
    )
    for row in rows:
        table.add_row(
            one_line(row["name"]),
            one_line(row["version"] or "not installed"),
            ", ".join(row["model_classes"]),
            one_line(row["install"] or NONE),
        )
    return table


def model_size(size: ModelSize) -> list[str]:
    """The size of a model as lines of name and value."""
    return _aligned({name: f"{value:,}" for name, value in size.summary().items()})


def violations(report: Report) -> Table:
    """Everything that a schedule breaks."""
    table = _table(
        None,
        ("constraint", "left"),
        ("job", "left"),
        ("server", "left"),
        ("slot", "right"),
        ("what is wrong", "left"),
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


def result(outcome: Result) -> list[str]:
    """A result as lines of name and value."""
    source = outcome.method or f"{outcome.formulation} on {outcome.solver} {outcome.solver_version}"
    lines = {
        "instance": outcome.instance,
        "method" if outcome.method else "formulation": source,
        "status": f"{outcome.status} ({outcome.stopped})",
        "makespan": _slots(outcome.makespan),
        "lower bound": f"{_slots(outcome.lower_bound)} ({outcome.bound_name})",
        **_goal(outcome),
        "gap": number(outcome.gap, ".2%"),
        "mean completion": number(
            outcome.report.mean_completion if outcome.report else None, ".2f"
        ),
        "seconds": number(outcome.seconds, ".2f"),
    }
    return _aligned(lines)


def _goal(outcome: Result) -> dict[str, str]:
    """The objective, where it is not the makespan."""
    if (goal := outcome.goal) is None:
        return {}
    return {goal.name: f"{number(goal.value, 'g')} (at least {number(goal.bound, 'g')})"}


def audit(outcome: Audit) -> list[str]:
    """What the paper's claims are about, as lines of name and value."""
    q = outcome.quantities
    origin = "returned by Algorithm 1" if q.returned else "the tightest that the schedule keeps"
    lines = {
        "instance": outcome.instance,
        "schedule": f"{outcome.schedule.method}, verified",
        "makespan": _slots(q.makespan),
        "limit": f"{_slots(q.limit)} ({origin})",
        "busiest GPU": f"{_slots(q.estimated_load)} by estimates, {_slots(q.real_load)} in fact",
        "largest job": f"{q.largest_job} GPUs",
        "φ·(u/l)": f"{q.factor} by bounds, {q.attained_factor} by what occurs",
        "least limit": f"{q.least_limit} slots ({outcome.least_limit_stopped})",
        "optimum": f"{q.optimum} slots ({outcome.bound_name}; {outcome.stopped})",
        "seconds": number(outcome.seconds, ".2f"),
    }
    return _aligned(lines)


def claims(outcome: Audit) -> Table:
    """The paper's claims, with both sides' numbers."""
    table = _table(
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
    """A figure of the paper, with ours beside it."""
    table = _table(
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


def parameters(found: Calibration) -> Table:
    """Constants of a calibration, with their uncertainty."""
    table = _table(
        None,
        ("constant", "left"),
        ("value", "right"),
        ("standard error", "right"),
        ("95 % interval", "right"),
        ("", "left"),
    )
    for one in found.parameters:
        interval = NONE
        if one.low is not None and one.high is not None:
            interval = f"{one.low:.4g} to {one.high:.4g}"
        error = number(one.standard_error, ".2g")
        table.add_row(one_line(one.name), f"{one.value:.5g}", error, interval, one.status)
    return table


def bandwidths(found: Calibration) -> Table:
    """Rates that nccl-tests measured."""
    table = _table(
        None,
        ("rate", "left"),
        ("Gbit/s", "right"),
        ("slowest", "right"),
        ("fastest", "right"),
        ("messages", "right"),
        ("runs", "left"),
    )
    for rate in found.bandwidths:
        runs = dict.fromkeys(
            f"{run.source} ({run.gpus} GPUs, {run.servers} server{'s' * (run.servers > 1)})"
            for run, _ in rate.messages
        )
        table.add_row(
            rate.name,
            f"{rate.gbps:.4g}",
            f"{rate.low:.4g}",
            f"{rate.high:.4g}",
            str(len(rate.messages)),
            one_line(", ".join(runs)),
        )
    return table


def residuals(found: Calibration) -> Table:
    """Measured and predicted times, row by row."""
    table = _table(
        None,
        ("line", "right"),
        ("job", "left"),
        ("quantity", "left"),
        ("measured", "right"),
        ("predicted", "right"),
        ("error", "right"),
    )
    for row in found.residuals:
        table.add_row(
            str(row.line),
            one_line(row.label or NONE),
            row.quantity,
            f"{row.measured:.5g}",
            f"{row.predicted:.5g}",
            f"{round(row.error, 3) + 0.0:+.1%}",  # + 0.0 makes -0.0 a plain 0.
        )
    return table


def _spread(mean: float | None, deviation: float | None, form: str) -> str:
    return number(mean, form) + ("" if deviation is None else f" ± {number(deviation, form)}")


def verdict(report: Report) -> list[str]:
    """A verdict as lines of name and value."""
    used = None
    if report.utilisation:
        used = ", ".join(f"{server} {part:.0%}" for server, part in report.utilisation.items())
    lines = {
        "feasible": "yes" if report.feasible else "no",
        "makespan": _slots(report.makespan),
        "mean completion": _slots(report.mean_completion, ".2f"),
        "GPU utilisation": used or NONE,
        "violations": str(len(report.violations)),
    }
    return _aligned(lines)


def _slots(value: float | None, form: str = "") -> str:
    return NONE if value is None else f"{number(value, form)} slots"


def _aligned(lines: Mapping[str, str]) -> list[str]:
    width = max(map(len, lines))
    return [f"{name:{width}}  {one_line(value)}" for name, value in lines.items()]


def _table(title: str | None, *columns: tuple[str, Any]) -> Table:
    table = Table(
        title=None if title is None else one_line(title),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for header, justify in columns:
        table.add_column(header, justify=justify, overflow="fold")
    return table
