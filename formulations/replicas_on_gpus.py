"""Replicas in `time-indexed` that hold slices of GPUs, or are beside jobs that share GPUs.

A replica of slices is on one GPU, so `up[c,t]` of its kind c = (service, variant, `s0:1`) is by
GPU. Replicas with whole GPUs are by server: as many GPUs as they hold are left to them. Who is on a
GPU at once with others goes together with them, as one interval on one GPU. Never more than O_s of
a server's intervals and whole GPUs overlap, so O_s numbers are enough. Replicas neither press on
jobs nor do they suffer: speeds are those of the jobs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import floor
from typing import Any, NamedTuple

import pyomo.environ as pyo

from rarmodel.model.gpu_sharing import slices_taken
from rarmodel.model.services import asks
from rarmodel.schema.base import common_unit, exactly

from .cheapest_mix_numbers import Key, Numbers, slots_of
from .component import Component
from .gpu_placements import Gpu, shares
from .outcome import ScheduleOutcome
from .scope import Scope
from .values import Values, over


def kinds_on_gpus(scope: Scope, numbers: Numbers = slots_of) -> dict[Gpu, list[Key]]:
    """By GPU: the kinds of replicas that may hold slices of it."""
    found: dict[Gpu, list[Key]] = {}
    names = list(scope.servers)
    for c, kind in numbers(scope).kinds.items():
        if kind.gpu is not None:
            found.setdefault((names[kind.servers[0]], kind.gpu), []).append(c)
    return found


def whole_kinds(scope: Scope, numbers: Numbers = slots_of) -> dict[str, list[tuple[int, Key]]]:
    """By server: the GPUs and the kind of each kind of replicas that may hold whole GPUs of it."""
    found: dict[str, list[tuple[int, Key]]] = {}
    names = list(scope.servers)
    for c, kind in numbers(scope).kinds.items():
        if kind.gpu is None:
            found.setdefault(names[kind.servers[0]], []).append((int(kind.gpus), c))
    return found


def room_of_slices(m: Any, scope: Scope, numbers: Numbers = slots_of) -> None:
    """Replicas of slices fit GPUs on which no jobs are.

    With q_c the slices and b_c the memory of a replica, for each GPU g of server s:

    ```
    Σ_{c on g} q_c·up_ct ≤ Q_s·sliced_gt      Σ_{c on g} b_c·up_ct ≤ (memory of g)·sliced_gt
    ```

    `room_beside` counts `sliced_gpu` as a GPU that replicas hold.
    """
    on, pieces = kinds_on_gpus(scope, numbers), range(len(numbers(scope).pieces))
    m.sliced_gpu = pyo.Var(list(on), pieces, domain=pyo.Binary)
    keep_on_gpus(m, scope, on, pieces, lambda one, s, g, t: one.room[s] * m.sliced_gpu[s, g, t])


def at_most(held: Any, most: Any) -> Any:
    """The constraint `held ≤ most`; none where nobody can hold anything, so that it is a truth."""
    kept = pyo.inequality(None, held, most)
    return pyo.Constraint.Skip if kept is True else kept


class Room(NamedTuple):
    """What each GPU has of something: slices, or memory.

    Attributes
    ----------
    name
        Its name.
    room
        By server: how much each GPU has; servers without a limit are missing.
    of_job
        Function `(job, server)`: what a worker takes.
    of_replica
        By service and variant: what a replica takes.
    """

    name: str
    room: Mapping[str, int]
    of_job: Callable[[str, str], int]
    of_replica: Mapping[tuple[str, str], int]


def _rooms(scope: Scope) -> tuple[Room, Room]:
    """Slices and memory, in whole numbers."""
    instance, cluster = scope.instance, scope.instance.cluster
    variants = {(one.name, v.name): v for one in instance.services for v in one.variants}
    slices = Room(
        "slices",
        {s: cluster.slices_of(server) for s, server in scope.servers.items()},
        lambda j, s: slices_taken(instance, scope.index[j], scope.server_index[s]),
        {key: one.slices or 0 for key, one in variants.items()},
    )
    needs = [job.memory_gb for job in instance.jobs]
    needs += [one.memory_gb for one in variants.values()]
    unit = common_unit(need for need in needs if need)
    of_job = {j: int(exactly(job.memory_gb or 0) / unit) for j, job in scope.jobs.items()}
    sizes = {s: cluster.memory_gb_of(server) for s, server in scope.servers.items()}
    memory = Room(
        "memory",
        {s: floor(exactly(size) / unit) for s, size in sizes.items() if size is not None},
        lambda j, _: of_job[j],
        {key: int(exactly(one.memory_gb or 0) / unit) for key, one in variants.items()},
    )
    return slices, memory


def keep_on_gpus(
    m: Any,
    scope: Scope,
    on: Mapping[Gpu, Sequence[Key]],
    slots: Sequence[int],
    left: Callable[[Room, str, int, int], Any],
) -> None:
    """Replicas take of slices and memory at most what is left of each GPU in each slot."""
    for one in _rooms(scope):
        need = {(*g, c): one.of_replica[c[:2]] for g, kinds in on.items() for c in kinds}

        def fits(
            m: Any,
            s: str,
            g: int,
            t: int,
            one: Room = one,
            need: Mapping[tuple[str, int, Key], int] = need,
        ) -> Any:
            used = sum(need[s, g, c] * m.up[(*c, t)] for c in on[s, g])
            return at_most(used - left(one, s, g, t), 0)

        gpus = [g for g in on if g[0] in one.room and any(need[(*g, c)] for c in on[g])]
        m.add_component(f"{one.name}_beside", pyo.Constraint(gpus, slots, rule=fits))


def _values_of_slices(outcome: ScheduleOutcome) -> dict[str, Values]:
    scope = outcome.scope
    on, slots = kinds_on_gpus(scope), range(len(slots_of(scope).pieces))
    gpus = range(max(g for _, g in on) + 1)
    return {"sliced_gpu": over(outcome.replicas_of_slices, list(scope.servers), gpus, slots)}


def has_slices(scope: Scope) -> bool:
    """Whether replicas may hold slices of GPUs that jobs do not share."""
    return asks(scope.instance) and not shares(scope) and bool(kinds_on_gpus(scope))


ROOM_OF_SLICES = Component(
    "room_of_slices",
    room_of_slices,
    needs=("up",),
    gives=("sliced_gpu",),
    inner=_values_of_slices,
    when=has_slices,
)
