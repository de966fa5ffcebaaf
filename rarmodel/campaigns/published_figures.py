"""The paper's figures 4 to 7: published values beside ours.

The paper does not publish rates, gradients or seeds, so absolute values need not agree. We compare
ratios, each to a reference in the same figure and, on our side, of the same seed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from rarmodel.errors import InputError, Problem

from .campaign_arguments import asked
from .driver import LEDGER
from .ledger import open_ledger
from .results_table import rows_of

SJF_BCO = "sjf-bco"
READINGS = (SJF_BCO, "sjf-bco-occupied-first")
"""Our names of SJF-BCO, with each of the two readings of FA-FFP."""

LOWER_BOUND = "lower bound"
BESIDE = ("search", LOWER_BOUND)
"""Rows that the paper does not have, shown beside its policies."""

Row = Mapping[str, Any]


class Figure(NamedTuple):
    """A figure, or one of its two halves.

    Attributes
    ----------
    campaign
        Name of the bundled campaign.
    measure
        The measure: `makespan` or `mean_completion`, in slots.
    setting, symbol
        Column of the table that varies along the axis, and the text before its value; None if the
        figure compares policies only.
    published
        Values read off the figure, ± 10 slots, by our name of the policy and setting.
    along
        Whether the reference of a policy is its own value at the first setting; otherwise it is
        SJF-BCO's at the same setting.
    """

    campaign: str
    measure: str
    setting: str | None
    symbol: str
    published: Mapping[tuple[str, int | None], int]
    along: bool = False


def _of_policies(
    setting: int | None, sjf_bco: int, ls: int, ff: int, rand: int
) -> dict[tuple[str, int | None], int]:
    names = (*READINGS, "list-scheduling", "first-fit", "random")
    values = (sjf_bco, sjf_bco, ls, ff, rand)
    return {(name, setting): value for name, value in zip(names, values, strict=True)}


def _of_settings(values: Mapping[int, int]) -> dict[tuple[str, int | None], int]:
    return {(name, setting): value for name in READINGS for setting, value in values.items()}


FIGURES = (
    Figure("figure-4", "makespan", None, "", _of_policies(None, 535, 595, 720, 1128)),
    Figure("figure-4", "mean_completion", None, "", _of_policies(None, 178, 188, 450, 262)),
    Figure(
        "figure-5",
        "makespan",
        "parameter_kappa",
        "κ = ",
        _of_settings({1: 626, 2: 564, 4: 541, 8: 535, 10: 700, 16: 750, 32: 736}),
        along=True,
    ),
    Figure(
        "figure-6",
        "makespan",
        "source_servers",
        "servers = ",
        {
            **_of_policies(10, 935, 1160, 1405, 1487),
            **_of_policies(15, 712, 870, 962, 1260),
            **_of_policies(20, 535, 595, 720, 1128),
        },
    ),
    Figure(
        "figure-7",
        "makespan",
        "parameter_servers_factor",
        "λ = ",
        _of_settings({1: 1043, 2: 882, 4: 730, 8: 539}),
        along=True,
    ),
)
"""All figures of the paper's section 8."""


@dataclass(frozen=True)
class Compared:
    """A published value beside ours.

    Attributes
    ----------
    figure
        Name of the campaign.
    measure
        The measure, in slots.
    setting
        Value along the axis, in words; empty if there is none.
    method
        Our name of the policy, `search`, or `lower bound`.
    published, published_ratio
        The published value, and its ratio to the reference; None if it is not in the figure.
    seeds
        Number of seeds for which a schedule was found.
    mean, deviation, least, greatest
        Our values over the seeds: mean, standard deviation of the sample, least, greatest.
    ratio, ratio_deviation
        Mean and standard deviation of the ratio to the reference of the same seed.
    above
        Number of seeds in which the value is above the reference.
    """

    figure: str
    measure: str
    setting: str
    method: str
    published: int | None
    published_ratio: float | None
    seeds: int
    mean: float | None
    deviation: float | None
    least: float | None
    greatest: float | None
    ratio: float | None
    ratio_deviation: float | None
    above: int


@asked
def compare_figures(folder: str | os.PathLike[str]) -> list[Compared]:
    """The figures beside the results of the campaign in a folder.

    Raises
    ------
    InputError
        If there is no campaign, or it has none of the bundled campaigns.
    """
    with open_ledger(Path(folder) / LEDGER) as ledger:
        rows = [row for row in rows_of(ledger) if row["state"] == "done"]
    found = [one for figure in FIGURES for one in _compared(figure, rows)]
    if not found:
        message = "no results of the paper's figures here; `rarmodel campaign run figures` has them"
        raise InputError([Problem("", message)], os.fspath(folder))
    return found


def _compared(figure: Figure, rows: Sequence[Row]) -> Iterator[Compared]:
    values = _values(figure, rows)
    settings = list(dict.fromkeys(setting for _, setting in figure.published))
    points = list(figure.published)
    for method in BESIDE:
        points += [(method, setting) for setting in ([None] if figure.along else settings)]
    points.sort(key=lambda point: settings.index(point[1]) if not figure.along else 0)
    for method, setting in points:
        own = values.get((method, setting), {})
        if not own:
            continue
        if not figure.along:
            reference = (SJF_BCO, setting)
        else:
            reference = (method if method in READINGS else SJF_BCO, settings[0])
        base = values.get(reference, {})
        ratios = [own[seed] / base[seed] for seed in own if base.get(seed)]
        published = figure.published.get((method, setting))
        yield Compared(
            figure=figure.campaign,
            measure=figure.measure,
            setting="" if setting is None else f"{figure.symbol}{setting}",
            method=method,
            published=published,
            published_ratio=published / figure.published[reference] if published else None,
            seeds=len(own),
            mean=fmean(own.values()),
            deviation=stdev(own.values()) if len(own) > 1 else None,
            least=min(own.values()),
            greatest=max(own.values()),
            ratio=fmean(ratios) if ratios else None,
            ratio_deviation=stdev(ratios) if len(ratios) > 1 else None,
            above=sum(ratio > 1 for ratio in ratios),
        )


def _values(figure: Figure, rows: Sequence[Row]) -> dict[tuple[str, int | None], dict[int, float]]:
    """Our values by method and setting, and within these by seed.

    The lower bound is the greatest that any run on the same instance has proven.
    """
    bounds: dict[str, int] = {}
    for row in rows:
        known = bounds.get(row["instance_hash"], 0)
        bounds[row["instance_hash"]] = max(known, row["lower_bound"] or 0)
    values: dict[tuple[str, int | None], dict[int, float]] = {}
    for row in rows:
        if row["campaign"] != figure.campaign:
            continue
        setting = None if figure.setting is None else row.get(figure.setting)
        by_method = {row["method"]: row[figure.measure]}
        if figure.measure == "makespan":
            by_method[LOWER_BOUND] = bounds[row["instance_hash"]]
        for method, value in by_method.items():
            at = None if figure.along and method == LOWER_BOUND else setting
            if value is not None:
                values.setdefault((method, at), {})[row["seed"]] = value
    return values
