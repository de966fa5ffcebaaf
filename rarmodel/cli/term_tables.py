"""Which terms earn their place on a table of measurements, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rarmodel.tabular import NONE, number

from .text_tables import TextTable, numbers, prose, words

if TYPE_CHECKING:
    from rarmodel.calibration import TermComparison


def terms(found: TermComparison) -> TextTable:
    """Held-out errors term by term, then those of published predictors."""
    table = TextTable(
        None,
        [
            words("term"),
            numbers("mean"),
            numbers("of groups", 1),
            numbers("worst row", 2),
            prose("worst group"),
            words("kept"),
        ],
    )
    for i, one in enumerate(found.terms):
        worst = one.worst_group
        table.add(
            one.term if i == 0 or "×" in one.term or "one " in one.term else f"+ {one.term}",
            f"{one.mean:.1%}",
            f"{one.mean_of_groups:.1%}",
            f"{one.worst:.0%}",
            f"{worst.group}: {worst.mean:.1%}",
            NONE if i == 0 else "yes" if one.earns else "no",
        )
    for predictor in found.predictors:
        worst = predictor.worst_group
        table.add(
            predictor.predictor,
            f"{predictor.mean:.1%}",
            f"{predictor.mean_of_groups:.1%}",
            f"{predictor.worst:.0%}",
            f"{worst.group}: {worst.mean:.1%}",
            NONE,
        )
    return table


def constants(found: TermComparison) -> TextTable:
    """The fitted constants."""
    table = TextTable(
        None,
        [
            words("constant"),
            words("cluster"),
            words("job"),
            numbers("value"),
            numbers("standard error"),
        ],
    )
    for one in found.constants:
        table.add(
            one.name,
            one.cluster or NONE,
            one.job or NONE,
            f"{one.value:.4g}",
            number(one.standard_error, ".2g"),
        )
    return table


def groups(found: TermComparison) -> TextTable:
    """Held-out errors by group, without terms and with those that earn their place."""
    first = {one.group: one.mean for one in found.terms[0].groups}
    table = TextTable(
        None,
        [
            words("held out"),
            numbers("rows", 2),
            numbers(found.terms[0].term),
            numbers("with terms"),
            numbers("worst", 1),
        ],
    )
    for one in found.best.groups:
        errors = [f"{first[one.group]:.1%}", f"{one.mean:.1%}", f"{one.worst:.0%}"]
        table.add(one.group, str(one.rows), *errors)
    return table


def across(found: TermComparison) -> TextTable:
    """Errors on clusters of which one model was measured by placement."""
    table = TextTable(
        None,
        [
            words("cluster left out"),
            words("measured there"),
            numbers("rows", 2),
            numbers(found.terms[0].term),
            numbers("with terms"),
            numbers("worst", 1),
        ],
    )
    for one in found.across:
        errors = [f"{one.without_terms:.1%}", f"{one.mean:.1%}", f"{one.worst:.0%}"]
        table.add(one.cluster, one.measured, str(one.rows), *errors)
    return table


def tested(found: TermComparison) -> TextTable:
    """Errors on another table."""
    columns = [words("tested"), numbers("rows", 1), numbers("mean"), numbers("worst")]
    table = TextTable(None, columns)
    for one in found.tested:
        table.add(one.group, str(one.rows), f"{one.mean:.1%}", f"{one.worst:.0%}")
    rows = sum(one.rows for one in found.tested)
    mean = sum(one.rows * one.mean for one in found.tested) / rows
    worst = max(one.worst for one in found.tested)
    table.add("all", str(rows), f"{mean:.1%}", f"{worst:.0%}")
    return table
