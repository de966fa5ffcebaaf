"""Summaries of a campaign's runs: means and spreads by method, and values by instance."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .runs import Run


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
    borrowed: int
    """Runs whose answer is not the formulation's own."""
    value: float | None
    makespan: float | None
    mean_completion: float | None
    mean_flow: float | None
    p95_flow: float | None
    late_jobs: float | None
    ratio: Spread
    gap: Spread
    seconds: Spread


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
            borrowed=sum(bool(run.by_others) for run in own),
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


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _spread(values: Iterable[float | None]) -> Spread:
    known = [value for value in values if value is not None]
    if not known:
        return Spread(None, None, None)
    return Spread(*(float(value) for value in np.percentile(known, [25, 50, 75])))
