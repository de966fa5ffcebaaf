"""The solution of a model as a plan: when each job starts, and where it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rarmodel.model.gpu_assignment import Stay

from .scope import Scope

if TYPE_CHECKING:
    import pyomo.environ as pyo


class PlannedReplica(NamedTuple):
    """A replica of a service in a plan.

    Attributes
    ----------
    service, variant
        What it runs, by names.
    server
        Index of its server.
    gpus
        How many GPUs it holds there.
    start, end
        The slots.
    gpu
        If it holds slices: a GPU of the plan. Those with whom it is there at once share its GPU.
    """

    service: str
    variant: str
    server: int
    gpus: int
    start: int
    end: int
    gpu: int | None = None


class Plan(NamedTuple):
    """A solution of a model: start slot, and workers on each server (by index), job by job.

    If it matters which GPUs of a server a job holds, `gpus` has their indices, by server index;
    otherwise rarmodel numbers them afterwards. If jobs may be interrupted, `stays` has what each of
    them holds and when, one after another; `starts` and `workers` are those of the first. Where
    services are decided with the jobs, `replicas` has theirs.
    """

    starts: tuple[int, ...]
    workers: tuple[Mapping[int, int], ...]
    gpus: tuple[Mapping[int, tuple[int, ...]], ...] | None = None
    stays: tuple[tuple[Stay, ...], ...] | None = None
    replicas: tuple[PlannedReplica, ...] = ()


def plan_of_starts(model: pyo.ConcreteModel, scope: Scope) -> Plan:
    """Read `started[j,t]` and `workers[j,s]`, variables or expressions."""
    import pyomo.environ as pyo  # noqa: PLC0415 - takes a while to load

    m: Any = model
    starts, workers = [], []
    for j in scope.jobs:
        starts.append(next((t for t in range(scope.horizon) if is_set(m.started[j, t])), -1))
        placed = (pyo.value(m.workers[j, s], exception=False) or 0 for s in scope.servers)
        counts = [round(count) for count in placed]
        workers.append({s: count for s, count in enumerate(counts) if count > 0})
    return Plan(tuple(starts), tuple(workers))


def on_idle_servers(scope: Scope, starts: Sequence[int], ends: Sequence[int]) -> Plan:
    """A plan of jobs that may be on any servers: each on those that are idle when it starts.

    A job that fits one server takes the fullest that has enough; another one takes few servers.
    """
    idle = [server.gpus for server in scope.servers.values()]
    sizes = [job.size for job in scope.jobs.values()]
    workers: list[dict[int, int]] = [{} for _ in sizes]
    running: list[int] = []
    for j in sorted(range(len(sizes)), key=starts.__getitem__):
        for done in [one for one in running if ends[one] <= starts[j]]:
            running.remove(done)
            for s, count in workers[done].items():
                idle[s] += count
        running.append(j)
        left = sizes[j]
        enough = [s for s in range(len(idle)) if idle[s] >= left]
        order = [min(enough, key=idle.__getitem__)] if enough else range(len(idle))
        for s in sorted(order, key=lambda s: -idle[s]):
            if taken := min(left, idle[s]):
                workers[j][s] = taken
                idle[s] -= taken
                left -= taken
    return Plan(tuple(starts), tuple(dict(sorted(placed.items())) for placed in workers))


def is_set(variable: Any) -> bool:
    """Whether a binary variable has a value, and that is 1 but for a solver's tolerance."""
    return variable.value is not None and variable.value > 0.5


def put(variable: Any, value: float) -> None:
    """Set a variable to a value, unless it is fixed."""
    if not variable.fixed:
        variable.set_value(value, skip_validation=True)
