"""Gaps over time: how soon each method comes near a proven bound, on average over the problems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import altair as alt
import numpy as np

from rarmodel.bounds import relative_gap
from rarmodel.counting import counted

from .colours import lines_of
from .lines import Curve, step_lines
from .spreads import NARROW
from .trials import Trial, by_method

NONE_YET = 1.0
"""Gap before there is a schedule, or a bound."""


def gap_curve(trial: Trial, *, own: bool) -> Curve:
    """The gap of a solve from each of some moments on.

    It is 1 until there is a schedule and a bound.

    Parameters
    ----------
    trial
        The solve.
    own
        Whether the gap is to the solve's own bound at that moment; if not, to the problem's.
    """
    at, gaps = [0.0], [NONE_YET]
    for seconds, value, bound in trial.log:
        against = bound if own else trial.bound
        if value is not None and against is not None:
            at.append(seconds)
            gaps.append(min(NONE_YET, relative_gap(value, against)))
    return np.array(at), np.array(gaps)


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """The mean of several curves of steps."""
    at = np.unique(np.concatenate([moments for moments, _ in curves]))
    rows = [values[np.searchsorted(moments, at, side="right") - 1] for moments, values in curves]
    return at, np.mean(rows, axis=0)


def gaps_over_time(trials: Iterable[Trial], *, own: bool = False) -> alt.LayerChart | None:
    """A line for each method: its mean gap over the problems that all methods have tried.

    None if no solve has both a log and a bound.

    Parameters
    ----------
    trials
        The solves.
    own
        Whether gaps are to the bounds that each solve has proven itself by then, or to the
        greatest bound that any solve proves in the end. Problems without such a bound are left
        out, and so are methods that never prove a bound of their own.
    """
    methods = by_method(trials)
    if own:
        methods = {
            name: some
            for name, some in methods.items()
            if any(moment.bound is not None for one in some for moment in one.log)
        }
    else:
        methods = {
            name: [one for one in some if one.bound is not None] for name, some in methods.items()
        }
    curves = {
        name: [gap_curve(one, own=own) for one in some] for name, some in methods.items() if some
    }
    # A schedule may be there at once, and the axis is logarithmic.
    means = {
        name: (np.maximum(at, NARROW), gaps)
        for name, (at, gaps) in ((name, mean_curve(some)) for name, some in curves.items())
    }
    begun = {
        name: max((float(at[1]) for at, _ in curves[name] if len(at) > 1), default=None)
        for name in means
    }
    known = [moment for moment in begun.values() if moment is not None]
    if not known:
        return None
    first = min(float(at[1]) for some in curves.values() for at, _ in some if len(at) > 1)
    last = max(float(at[-1]) for at, _ in means.values())
    low, high = max(first, NARROW) / 1.3, max(last, NARROW) * 1.3
    # Before all problems have a schedule the mean says little; the axis ends with what is after it.
    top = max(
        float(gaps[np.searchsorted(at, max(moment, NARROW), side="right") - 1])
        for name, moment in begun.items()
        if moment is not None
        for at, gaps in [means[name]]
    )
    top = min(NONE_YET, max(top, 0.01))
    number = len(next(iter(curves.values())))
    to = "the method's own bound by then" if own else "the greatest bound of all"
    over = "" if number == 1 else f", mean over {counted(number, 'problem')}"
    return step_lines(
        lines_of(list(means)),
        [(np.append(at, high), np.append(gaps, gaps[-1])) for at, gaps in means.values()],
        alt.X(
            "slot:Q",
            title="time of the solve, s (logarithmic)",
            scale=alt.Scale(type="log", domain=[low, high], nice=False),
            axis=alt.Axis(format=",~g", tickCount=6),
        ),
        alt.Y(
            "value:Q",
            scale=alt.Scale(domain=[0, top * 1.05], nice=False),
            axis=alt.Axis(format=".2~%", title="gap", tickCount=5),
        ),
        [
            alt.Tooltip("slot:Q", title="from second", format=",.3~r"),
            alt.Tooltip("value:Q", title="gap", format=".2%"),
        ],
        height=260,
        title=f"Gap over time to {to}{over}",
        named="method",
    )
