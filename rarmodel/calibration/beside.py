"""Measurements with what ran beside them, on which links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rarmodel.errors import InputError, Problem
from rarmodel.model import RingOnLinks

from .calibration import Rates
from .measurement import Measurement
from .measurement_table import Measurements
from .prediction import Cases, cases_of, seconds_of


@dataclass(frozen=True)
class Runs:
    """Which measurements ran at the same time, on which links.

    Attributes
    ----------
    cases
        The measurements. All links have one rate.
    links
        Indices of each row's links, among those of its run; none for a row that uses no link.
    together
        Rows of each run that use links.
    """

    cases: Cases
    links: Sequence[tuple[int, ...]]
    together: Sequence[Sequence[int]]

    def rings(self, values: Mapping[str, float]) -> list[RingOnLinks]:
        """The rows as rings between servers."""
        rest = seconds_of(replace(self.cases, bits=0.0 * self.cases.bits), values, 1.0)
        return [
            RingOnLinks(links, float(bits), float(seconds))
            for links, bits, seconds in zip(self.links, self.cases.bits, rest, strict=True)
        ]

    @cached_property
    def beside(self) -> tuple[Any, Any, Any]:
        """A problem of shares for each row on links, as `fair` takes them.

        Its row, the rows of its rings (−1 for none, the own row first), and the links that they
        use.
        """
        own = [row for rows in self.together for row in rows]
        most = max((len(rows) for rows in self.together), default=0)
        links = 1 + max((link for used in self.links for link in used), default=0)
        others = np.full((len(own), most), -1)
        uses = np.zeros((len(own), most, links))
        problem = 0
        for rows in self.together:
            for row in rows:
                ordered = [row, *(other for other in rows if other != row)]
                others[problem, : len(rows)] = ordered
                for place, other in enumerate(ordered):
                    uses[problem, place, list(self.links[other])] = 1.0
                problem += 1
        return np.array(own, int), others, uses


def check_runs(table: Measurements) -> None:
    """Refuse a table that does not say what ran beside what.

    Raises
    ------
    InputError
        If rows lack their run, links or compute time, or contradict each other.
    """
    problems = []
    by_run: dict[str, list[Measurement]] = {}
    for row in table.rows:
        by_run.setdefault(row.run or "", []).append(row)
    users = {
        run: Counter(link for row in rows for link in row.links_used)
        for run, rows in by_run.items()
    }
    for row, line in zip(table.rows, table.lines, strict=True):
        place = f"line {line}"
        if row.run is None:
            problems.append(Problem(place, "no run; its name is expected, to know what ran beside"))
            continue
        if row.compute_ms is None:
            problems.append(
                Problem(place, "no compute_ms; it is expected, to know how often a ring exchanges")
            )
        if row.network_gbps is not None:
            message = "network_gbps; one rate for all links is expected, as an option"
            problems.append(Problem(place, message))
        if len({one.part for one in by_run[row.run]}) > 1:
            problems.append(Problem(place, f"run {row.run!r} is in several parts; one is expected"))
        most = max((users[row.run][link] for link in row.links_used), default=0)
        if row.on_link and not most:
            problems.append(Problem(place, f"no links; a ring on {row.servers} servers uses some"))
        elif row.servers == 1 and most:
            problems.append(Problem(place, f"links {row.links!r}; a ring on one server uses none"))
        elif row.on_link and most != row.concurrent_jobs:
            message = f"concurrent_jobs {row.concurrent_jobs}; by the run's links it is {most}"
            problems.append(Problem(place, message))
    if problems:
        raise InputError(problems, table.source)


def runs_of(table: Measurements, rates: Rates) -> Runs:
    """The measurements with what ran at the same time on the same links."""
    cases = cases_of(
        table, rates.network_gbps, rates.intra_server_gbps, rates.reduction_gbps or np.inf
    )
    names: dict[str, dict[str, int]] = {}
    links: list[tuple[int, ...]] = []
    together: dict[str, list[int]] = {}
    for i, row in enumerate(table.rows):
        run = row.run or ""
        known = names.setdefault(run, {})
        links.append(
            tuple(sorted(known.setdefault(link, len(known)) for link in sorted(row.links_used)))
        )
        if row.links_used:
            together.setdefault(run, []).append(i)
    return Runs(cases, links, tuple(together.values()))
