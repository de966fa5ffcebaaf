"""Performance profiles: on which share of the problems a method is within a factor of the best.

E. D. Dolan and J. J. Moré, Benchmarking optimization software with performance profiles,
Mathematical Programming 91 (2002), 201-213.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import altair as alt
import numpy as np

from rarmodel.counting import counted

from .colours import lines_of
from .lines import Curve, share_y, step_lines
from .spreads import NARROW
from .steps import Floats
from .trials import Known, Trial, by_method

WIDE = 5.0
"""Greatest ratio of an axis that is linear; beyond it is logarithmic."""


def ratios_to_best(costs: Mapping[str, Sequence[Known]]) -> dict[str, Floats]:
    """The cost of each method on each problem, divided by the least of all methods.

    A method without a cost has an infinite ratio. So has one with a cost above a least of 0.

    Parameters
    ----------
    costs
        Of each method, its costs on the problems, in the same order; none is negative.
    """
    table = np.array(
        [[np.inf if cost is None else float(cost) for cost in own] for own in costs.values()]
    )
    if not table.size:
        return {method: np.empty(0) for method in costs}
    least = table.min(axis=0)
    ratios = np.full_like(table, np.inf)
    np.divide(table, least, out=ratios, where=(least > 0) & np.isfinite(table))
    ratios[(table == least) & np.isfinite(table)] = 1.0
    return dict(zip(costs, ratios, strict=True))


def profile_of(ratios: Floats, end: float) -> Curve:
    """The share of the problems with at most some ratio, from 1 to the end of an axis."""
    reached = np.unique(ratios[np.isfinite(ratios)])
    at = np.unique(np.concatenate([[1.0], reached, [end]]))
    shares = np.searchsorted(np.sort(ratios), at, side="right") / len(ratios)
    return at, shares


def value_profile(trials: Iterable[Trial]) -> alt.LayerChart | None:
    """The profile of the values: how near each method comes to the best schedule, and how often.

    None if no method has a value on a problem that all have tried.
    """
    methods = by_method(trials)
    costs = {name: [one.value for one in own] for name, own in methods.items()}
    return _chart(costs, "Values", "within this factor of the least value of the problem")


def time_profile(trials: Iterable[Trial]) -> alt.LayerChart | None:
    """The profile of the times until a method has proven its schedule optimal.

    None if no method proves one on a problem that all have tried.
    """
    costs = {
        name: [
            max(one.seconds, NARROW) if one.proven and one.seconds is not None else None
            for one in own
        ]
        for name, own in by_method(trials).items()
    }
    return _chart(
        costs, "Times to a proven optimum", "within this factor of the least time on the problem"
    )


def _chart(costs: Mapping[str, Sequence[Known]], title: str, along: str) -> alt.LayerChart | None:
    ratios = ratios_to_best(costs)
    finite = [own[np.isfinite(own)] for own in ratios.values()]
    greatest = max((float(own.max()) for own in finite if own.size), default=None)
    if greatest is None:
        return None
    number = len(next(iter(ratios.values())))
    # Room on the right for the shares that a method reaches in the end.
    if greatest > WIDE:
        scale = alt.Scale(type="log", base=2, domain=[1, end := 1.1 * greatest], nice=False)
        along += " (logarithmic)"
    else:
        end = max(1.01, greatest + 0.05 * (greatest - 1))
        scale = alt.Scale(domain=[1, end], nice=False, zero=False)
    axis = alt.Axis(format=",.4~r", tickCount=6)
    x = alt.X("slot:Q", title=along, scale=scale, axis=axis)
    return step_lines(
        lines_of(list(ratios)),
        [profile_of(own, end) for own in ratios.values()],
        x,
        share_y("of the problems"),
        [
            alt.Tooltip("slot:Q", title="factor", format=",.4~r"),
            alt.Tooltip("value:Q", title="of the problems", format=".1%"),
        ],
        height=260,
        title=f"{title}: performance profile over {counted(number, 'problem')}",
        named="method",
    )
