"""Schedules in which less runs at once: first schedules where additions forbid what others do.

A cap on power, on servers switched on or on jobs at once is what many additions come to, and no
method knows it. Two simple changes keep such caps: more time between starts, and a part of the
cluster that stays idle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rarmodel.limits import Limits
from rarmodel.methods import attempt
from rarmodel.model import never_complete, unhandled
from rarmodel.schema import Instance, Reservation, Schedule
from rarmodel.search import SEARCH, SESSION_HANDLES

IDLE_SHARES = (0.1, 0.2, 0.3, 0.45)
"""Shares of all GPUs that stay idle."""

STRETCHES = (1.1, 1.25, 1.5, 2.0)
"""Factors of all starts."""


def on_less(instance: Instance, limits: Limits, seconds: float) -> Iterator[Schedule]:
    """Schedules of `search` on a part of the cluster, from the largest part on.

    The greatest servers stay, as long rings need them; of the last one only some GPUs may.

    Parameters
    ----------
    instance, limits
        The problem, and the limits of its solve.
    seconds
        Seconds for each.
    """
    servers = instance.cluster.servers
    total = sum(server.gpus for server in servers)
    for share in IDLE_SHARES:
        left, idle = round(share * total), list(instance.cluster.reservations)
        for server in sorted(servers, key=lambda one: one.gpus):
            if count := min(left, server.gpus):
                idle.append(
                    Reservation.model_validate({"server": server.name, "gpus": count, "from": 0})
                )
                left -= count
        cluster = instance.cluster.model_copy(update={"reservations": tuple(idle)})
        smaller = instance.model_copy(update={"cluster": cluster})
        if unhandled(smaller, SESSION_HANDLES, "") or never_complete(smaller):
            return
        brief = replace(limits, time_limit=seconds, gap=0.0, log=None, progress=None, stop=())
        made = attempt(SEARCH, smaller, brief).schedule
        if made is None:
            return
        yield made
