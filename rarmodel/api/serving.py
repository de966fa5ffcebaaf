"""Services: the frontier of latency, accuracy and cost, and demand from a log of requests."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rarmodel.errors import UsageError, listed
from rarmodel.limits import Limits
from rarmodel.schema import Instance
from rarmodel.sound_records import sound

from .arguments import asked
from .sources import Source, load_instance

if TYPE_CHECKING:
    from rarmodel.serving import Frontier


@asked
def frontier(
    instance: Source,
    *,
    services: Sequence[str] = (),
    latencies_ms: Sequence[float] = (),
    accuracies: Sequence[float] = (),
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
) -> Frontier:
    """Show what services trade: for each latency and accuracy, the least cost of each alone.

    Parameters
    ----------
    instance
        An instance with services, a file, a dict with its fields, or a bundled instance.
    services
        Names of the services; by default all.
    latencies_ms
        Latencies to ask for, in milliseconds; by default those at which another batch is short
        enough, and the service's own.
    accuracies
        Accuracies to ask for; by default those of the variants, and some between them.
    time_limit
        Seconds for each point.
    threads, seed
        See `Limits`.

    Returns
    -------
    Frontier
        All points, of which those are marked that no other one improves on.

    Raises
    ------
    InputError
        If the instance is malformed.
    UsageError
        If the instance has no such service, a number is no latency or accuracy, or accuracies are
        asked for that variants do not have.
    """
    from rarmodel.serving import frontier as found  # noqa: PLC0415 - loads Pyomo

    problem = load_instance(instance)
    known = {one.name: one for one in problem.services}
    if not known:
        raise UsageError(f"{problem.name!r} has no services, so nothing trades latency for cost")
    if unknown := [name for name in services if name not in known]:
        raise UsageError(f"no service {unknown[0]!r}; the instance has {listed([*known])}")
    if wrong := [one for one in latencies_ms if not one > 0]:
        raise UsageError(f"latency {wrong[0]:g} ms; it must be above 0")
    if wrong := [one for one in accuracies if not one >= 0]:
        raise UsageError(f"accuracy {wrong[0]:g}; it must be at least 0")
    for name in services or known if accuracies else ():
        if any(one.accuracy is None for one in known[name].variants):
            raise UsageError(
                f"service {name!r}: accuracies are asked for, and some variant has no accuracy"
            )
    limits = Limits(time_limit, threads=threads, seed=seed)
    return found(problem, limits, services, latencies_ms, accuracies)


@asked
def import_requests(
    requests: str | os.PathLike[str],
    instance: Source,
    service: str,
    *,
    group: str | None = None,
    scale: float = 1.0,
) -> Instance:
    """Give a service of an instance the demand of a log of requests by minute.

    Parameters
    ----------
    requests
        A CSV file with the columns `minute` (ISO 8601) and `requests`, and perhaps `service`.
    instance
        An instance with the service, whose demand is replaced.
    service
        Name of the service.
    group
        Whose requests of the log: a name in its column `service`; by default the only one.
    scale
        Factor for all rates.

    Returns
    -------
    Instance
        The instance. Slot 0 begins with the log's first minute; where the instance has no
        `time.origin` and the log's times have a zone, it gets one.

    Raises
    ------
    InputError
        With every wrong row of the log, or if the instance is malformed.
    UsageError
        If there is no such service or group.
    """
    from rarmodel.workloads.requests import read_requests  # noqa: PLC0415 - few need it

    problem = load_instance(instance)
    known = [one.name for one in problem.services]
    if service not in known:
        having = f"the instance has {listed(known)}" if known else "the instance has none"
        raise UsageError(f"no service {service!r}; {having}")
    log = read_requests(requests)
    if group is None and len(log.counts) > 1:
        raise UsageError(f"the log has requests of {listed([*log.counts])}; name the group")
    chosen = next(iter(log.counts)) if group is None else group
    if chosen not in log.counts:
        raise UsageError(f"no group {chosen!r}; the log has {listed([*log.counts])}")
    demand = tuple(log.demand(problem.time.slot_seconds, chosen, scale))
    services = tuple(
        one.model_copy(update={"demand": demand}) if one.name == service else one
        for one in problem.services
    )
    update: dict[str, Any] = {"services": services}
    if problem.time.origin is None and log.begin.tzinfo is not None:
        update["time"] = problem.time.model_copy(update={"origin": log.begin})
    return sound(problem.model_copy(update=update))
