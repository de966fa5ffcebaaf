"""Charts of solves beside each other: performance profiles, and gaps over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import altair as alt

from rarmodel import registry
from rarmodel.errors import UsageError

from .gap_over_time import gaps_over_time
from .parts import SOLVE_PARTS
from .performance_profiles import time_profile, value_profile
from .style import finished
from .trials import Trial, by_method

CHARTS: Mapping[str, Callable[[Sequence[Trial]], alt.LayerChart | None]] = {
    "profile": value_profile,
    "time-profile": time_profile,
    "gap": gaps_over_time,
    "own-gap": partial(gaps_over_time, own=True),
}
NOTHING = {
    "profile": "no method has a schedule of a problem that all have tried",
    "time-profile": "no method proves an optimum of a problem that all have tried",
    "gap": "no solve has both a log and a proven bound",
    "own-gap": "no solve has both a log and a bound of its own",
}
"""Why a part has nothing to show."""


def charts_of_solves(trials: Sequence[Trial]) -> dict[str, alt.LayerChart]:
    """The parts that say something: profiles of two methods and two problems at least."""
    methods = by_method(trials)
    several = len(methods) > 1 and len(next(iter(methods.values()))) > 1
    wanted = [part for part in CHARTS if several or "profile" not in part]
    found = {part: CHARTS[part](trials) for part in wanted}
    return {part: chart for part, chart in found.items() if chart is not None}


def require_solve_parts(parts: Sequence[str] | None) -> None:
    """Refuse parts that these plots do not have.

    Raises
    ------
    UsageError
        If one does not exist.
    """
    if unknown := [part for part in parts or () if part not in SOLVE_PARTS]:
        hint = registry.meant(unknown[0], SOLVE_PARTS)
        known = ", ".join(SOLVE_PARTS)
        raise UsageError(f"no part {unknown[0]!r} of these plots; choose from {known}{hint}")


def solves_chart(
    groups: Mapping[str, Sequence[Trial]], parts: Sequence[str] | None = None
) -> alt.VConcatChart:
    """Charts of solves below each other, part by part.

    Parameters
    ----------
    groups
        Solves that are compared with each other, by a name that stands before the titles; empty if
        there is one group.
    parts
        `profile`, on which share of the problems the value of a method is within a factor of the
        least; `time-profile`, the same of the time to a proven optimum; `gap`, the mean gap over
        time to the greatest bound of all methods; `own-gap`, to the bound that the method itself
        has proven by then. By default all that say something.

    Raises
    ------
    UsageError
        If a part does not exist, or there is nothing to show.
    """
    require_solve_parts(parts)
    charts = []
    for name, trials in groups.items():
        if parts is None:
            found = charts_of_solves(trials)
        else:
            found = {}
            for part in parts:
                chart = CHARTS[part](trials)
                if chart is None:
                    raise UsageError(f"part {part!r} has nothing to show: {NOTHING[part]}")
                found[part] = chart
        for chart in found.values():
            if name:
                chart.title = alt.Title(f"{name}: {chart.title.text}")
            charts.append(chart)
    if not charts:
        raise UsageError("nothing to show: no solve has a schedule and a proven bound")
    apart = dict.fromkeys(("color", "strokeDash"), "independent")
    return finished(alt.vconcat(*charts, spacing=18).resolve_scale(**apart))
