"""Which rings are to share links: those that do where the bound has its optimum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rarmodel.bounds.server_configurations import ServerConfigurations
from rarmodel.engine.arrays import Floats
from rarmodel.lists.order_moves import EVENLY
from rarmodel.packing import Layout
from rarmodel.schema import Instance

LEAST, MOST = 0.1, 0.9
"""Odds of a job that never shares in the optimum, and of one that always does."""


def sharing_odds(instance: Instance, layout: Layout, stop: Callable[[], bool]) -> Floats:
    """How often each job is to share links, by the server configuration bound.

    Few rings gain by sharing, and the others lose. A search that draws modes evenly lets too many
    share to find the schedules in which the right ones do. The linear program of the bound says
    which rings those are: they make up groups that strand few GPUs.

    Parameters
    ----------
    instance, layout
        The problem.
    stop
        Called repeatedly; if it returns True, what is found so far counts.

    Returns
    -------
    array of float
        (jobs) Odds between 0 and 1; EVENLY for jobs that fit a server, and for all jobs if the
        instance is too large for the bound.
    """
    odds = np.full(len(layout.size), EVENLY)
    wide = layout.packed == 0
    if wide.any() and (configurations := ServerConfigurations(instance)).fits:
        configurations.prove(0, stop)
        odds[wide] = np.clip(configurations.sharing[wide], LEAST, MOST)
    return odds
