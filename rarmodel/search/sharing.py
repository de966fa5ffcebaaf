"""Which rings are to share links: those for which the bound's prices say that it pays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rarmodel.bounds.server_configurations import ServerConfigurations
from rarmodel.engine.arrays import Floats
from rarmodel.schema import Instance

from .layout import Layout
from .order_annealing import EVENLY

EVEN_COST, WIDTH = 1.1, 0.1
"""Cost of sharing, beside being alone, at which a ring shares as often as not; and how much more
makes that e times as rare."""
MOST_WIDTHS = 50


def sharing_odds(instance: Instance, layout: Layout, stop: Callable[[], bool]) -> Floats:
    """How often each job is to share links, by the prices of the server configuration bound.

    Few rings gain by sharing, and the others lose. A search that draws modes evenly lets too many
    share to find the schedules in which the right ones do.

    Parameters
    ----------
    instance, layout
        The problem.
    stop
        Called repeatedly; if it returns True, the prices found so far count.

    Returns
    -------
    array of float
        (jobs) Odds between 0 and 1; EVENLY for jobs that fit a server, and for all jobs if the
        instance is too large for the bound.
    """
    odds = np.full(len(layout.size), EVENLY)
    wide = (layout.packed == 0) & (layout.most_modes > 1)
    if wide.any() and (configurations := ServerConfigurations(instance)).fits:
        configurations.prove(0, stop)
        over = np.minimum(configurations.sharing_costs() - EVEN_COST, MOST_WIDTHS * WIDTH)
        odds[wide] = 1 / (1 + np.exp(over[wide] / WIDTH))
    return odds
