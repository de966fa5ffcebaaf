"""Results as tables and lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rarmodel.duration import duration
from rarmodel.model.objectives import in_digits
from rarmodel.tabular import NONE, number
from rarmodel.verifier import Report

from .text_tables import Column, TextTable, named_lines, numbers, plain, prose, words

if TYPE_CHECKING:
    from rarmodel.auditor import Audit
    from rarmodel.auditor.claims import Range
    from rarmodel.campaigns import Compared
    from rarmodel.exact.formulate import ModelSize
    from rarmodel.library import Recomputed
    from rarmodel.schema import SlotTime


WORDS = {"job", "lower bound", "method", "policy", "status", "objective", "at least"}
"""Columns aligned to the left."""


def _by_name(*columns: Column) -> dict[str, Column]:
    return {column.header: column for column in columns}


def _all_verified(schedules: int) -> str:
    """How the table says that its schedules are verified, each of them."""
    return (
        "the schedule is verified" if schedules == 1 else f"all {schedules} schedules are verified"
    )


VERIFIED = words("verified", 3, said_once=_all_verified)
COMPARED = _by_name(
    numbers("gap", 1),
    numbers("bound", 2),
    VERIFIED,
    numbers("seconds", 5),
    numbers("ratio", 6),
    numbers("wall-clock", 7),
    numbers("end", 8),
    numbers("mean completion", 9),
)
"""Columns of a comparison that leave where there is no room."""
BY_OTHERS = COMPARED | _by_name(numbers("makespan", 4))
"""The same where the makespan is not among the objectives."""
SIMULATED = _by_name(
    numbers("makespan", 1),
    numbers("flow / bound", 2),
    VERIFIED,
    numbers("queueing", 4),
    numbers("use", 5),
    numbers("p95", 6),
    numbers("median", 7),
    numbers("preemptions", 8),
    numbers("seconds", 9),
    numbers("fairness", 10),
    numbers("makespan / bound", 11),
    numbers("p99", 12),
)
"""The same of simulations."""
DESCRIBED = _by_name(
    prose("uses"),
    words("first place", 1),
    prose("in numbers"),
    numbers("slots alone", 1),
    numbers("load", 2),
    numbers("with contention", 3),
    numbers("worst alone", 4),
    numbers("servers", 5),
    numbers("on several", 6),
    numbers("on one", 7),
    numbers("iterations", 8),
    numbers("wall-clock", 9),
)
"""The same of descriptions."""
PLANNED = _by_name(
    words("name", 4),
    words("user", 3),
    prose("GPUs"),
    words("type", 6),
    numbers("by Slurm", 2),
    numbers("waits", 5),
    prose("why it waits", 1),
)
"""The same of plans for Slurm."""
CAMPAIGN = _by_name(
    words("campaign"),
    numbers("ratio to least", 1),
    numbers("gap", 2),
    numbers("seconds", 3),
    numbers("proven optimal", 4),
    numbers("failed", 5),
    numbers("least", 6),
    numbers("with a schedule", 7),
    numbers("runs", 8),
)
"""The same of the methods of a campaign."""


def of_rows(
    title: str | None,
    rows: Sequence[Mapping[str, str]],
    known: Mapping[str, Column] | None = None,
) -> TextTable:
    """A table of rows that map columns to text, some of which are known."""
    usual = [words(name) if name in WORDS else numbers(name) for name in (rows[0] if rows else {})]
    table = TextTable(title, [(known or {}).get(one.header, one) for one in usual])
    for row in rows:
        table.add(*row.values())
    return table


def bundled(rows: Iterable[Mapping[str, Any]]) -> TextTable:
    """Bundled instances, with the first sentence of each description."""
    table = TextTable(
        None,
        [
            words("name"),
            numbers("jobs", 1),
            numbers("servers", 6),
            numbers("GPUs", 4),
            words("network", 7),
            numbers("best known"),
            numbers("bound", 5),
            numbers("gap", 3),
            prose("proven by", 8),
            words("version", 9),
            prose("description"),
        ],
    )
    for row in rows:
        claimed = f"; {row['claimed_bound']} claimed" if row["claimed_bound"] else ""
        table.add(
            row["name"],
            *(str(row[name]) for name in ("jobs", "servers", "gpus")),
            row["network"],
            number(row["best_known"]),
            number(row["bound"]),
            number(row["gap"], ".2%"),
            (row["proven_by"] or NONE) + claimed,
            row["version"] or NONE,
            (row["description"] or "").partition(". ")[0],
        )
    return table


def families(rows: Iterable[Mapping[str, Any]]) -> TextTable:
    """Families of bundled instances, with their gaps."""
    table = TextTable(
        None,
        [
            words("family"),
            numbers("instances"),
            numbers("optima", 2),
            numbers("mean gap"),
            numbers("greatest gap", 1),
            prose("description"),
        ],
    )
    for row in rows:
        table.add(
            row["family"],
            *(str(row[name]) for name in ("instances", "optima")),
            *(number(row[name], ".2%") for name in ("mean_gap", "greatest_gap")),
            row["description"],
        )
    return table


def recomputed(bounds: Iterable[Recomputed]) -> TextTable:
    """Bounds of the library beside those proven anew."""
    table = TextTable(
        None,
        [
            words("instance"),
            words("objective", 3),
            numbers("recorded"),
            prose("by", 2),
            numbers("now"),
            prose("by", 1),
            words("reproduced"),
        ],
    )
    for one in bounds:
        table.add(
            one.instance,
            one.objective,
            in_digits(one.recorded),
            one.by,
            in_digits(one.proven),
            one.name or NONE,
            "yes" if one.reproduced else "no",
        )
    return table


def model_size(size: ModelSize) -> dict[str, str]:
    """The size of a model as names and values."""
    return {name: f"{value:,}" for name, value in size.summary().items()}


def violations(report: Report) -> TextTable:
    """All violations of a schedule."""
    table = TextTable(
        None,
        [
            words("constraint"),
            words("job"),
            words("server", 1),
            numbers("slot", 2),
            prose("problem"),
        ],
    )
    for violation in report.violations:
        table.add(
            violation.constraint,
            violation.job,
            violation.server or NONE,
            number(violation.slot),
            violation.message,
        )
    return table


def audit(outcome: Audit) -> dict[str, str]:
    """The quantities in the paper's claims, as names and values."""
    q, time = outcome.quantities, outcome.report.time
    origin = "returned by Algorithm 1" if q.returned else "the tightest that the schedule keeps"
    return {
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


def _ranged(time: SlotTime, between: Range, *notes: str) -> str:
    """A range of slots, with its length of time."""
    ends = [end for end in dict.fromkeys((between.low, between.high)) if end is not None]
    by_clock = " to ".join(duration(time.seconds(float(end))) for end in ends)
    return f"{between} slots ({'; '.join([by_clock, *notes])})"


def claims(outcome: Audit) -> TextTable:
    """The paper's claims, with the numbers of both sides."""
    table = TextTable(
        None,
        [
            words("claim"),
            words("holds"),
            numbers("left"),
            numbers("right"),
            prose("inequality", 1),
        ],
    )
    for claim in outcome.claims:
        table.add(
            claim.claim,
            {True: "yes", False: "no", None: "unknown"}[claim.holds],
            str(claim.left),
            str(claim.right),
            claim.statement,
        )
    return table


def figure(title: str, points: Iterable[Compared]) -> TextTable:
    """A figure of the paper beside our results."""
    table = TextTable(
        f"{title}, in slots",
        [
            words("setting"),
            words("method"),
            numbers("published"),
            numbers("ours"),
            numbers("least", 4),
            numbers("most", 3),
            numbers("published ratio", 1),
            numbers("our ratio", 1),
            numbers("seeds above", 2),
        ],
    )
    for one in points:
        table.add(
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
    return [plain(line) for line in named_lines(lines)]
