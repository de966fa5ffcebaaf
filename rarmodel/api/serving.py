"""Services: the frontier of latency, accuracy and cost, and demand from a log of requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rarmodel.errors import UsageError, listed
from rarmodel.limits import Limits

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
