"""The objectives of an instance as numbers for compiled code, and their values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.gpu_loads import part_held
from rarmodel.model import topology
from rarmodel.model.objectives import Objective, objectives_of
from rarmodel.schema import Instance

from .instance_arrays import InstanceArrays
from .offsets import ints
from .partial_schedule import PartialSchedule

_inner = partial(compiled, inner=True)


class ObjectiveArrays(NamedTuple):
    """The objectives as numbers for compiled code, the most important first."""

    greatest: Ints
    """(objectives) 1 if the value is the greatest of the terms, 0 if it is their sum."""
    weight: Floats
    """(objectives, jobs) Weight over divisor of each term; 0 for a job that does not count."""
    offset: Ints
    """(objectives, jobs) Offset of each term in slots."""
    shape: Ints
    """(objectives, jobs) Shape of each term."""
    price: Floats
    """(objectives, servers) Price of a GPU for a slot on each server."""
    priced: Ints
    """(objectives) 1 if any of these is not 0."""
    link: Floats
    """(objectives, links) What each link counts for a ring that uses it."""
    links: Ints
    """(objectives) 1 if links count."""
    least_scale: Floats
    """(objectives) The least by which values are scaled."""


def objective_arrays(
    instance: Instance, objectives: Sequence[Objective] | None = None
) -> ObjectiveArrays:
    """Lay objectives out, by default those of the instance."""
    found = objectives_of(instance) if objectives is None else objectives
    shape = len(found), len(instance.jobs)
    arrays = ObjectiveArrays(
        greatest=ints(one.greatest for one in found),
        weight=np.zeros(shape),
        offset=np.zeros(shape, np.int64),
        shape=np.zeros(shape, np.int64),
        price=np.zeros((shape[0], len(instance.cluster.servers))),
        priced=np.zeros(len(found), np.int64),
        link=np.zeros((shape[0], len(topology(instance.cluster).links))),
        links=ints(one.link_weights is not None for one in found),
        least_scale=np.full(shape[0], 1e-9),
    )
    for i, one in enumerate(found):
        if one.prices is not None:
            arrays.price[i] = [float(price) for price in one.prices_of(instance)]
            arrays.priced[i] = int(arrays.price[i].any())
        if one.link_weights is not None:
            arrays.link[i] = [float(weight) for weight in one.link_weights_of(instance)]
            # Most rings often use none: a single link is not to count as much as all values.
            greatest = arrays.link[i].max(initial=0.0)
            arrays.least_scale[i] = max(1e-9, greatest * len(instance.jobs))
        for j, term in enumerate(one.terms(instance)):
            if term is not None:
                arrays.weight[i, j] = term.weight / term.divisor
                arrays.offset[i, j], arrays.shape[i, j] = term.offset, term.shape
    return arrays


@_inner
def term_of(objectives: ObjectiveArrays, goal: int, job: int, end: int) -> float:
    """The term of a job that completes at a slot."""
    slots = end - objectives.offset[goal, job]
    if objectives.shape[goal, job] == 1:
        slots = max(0, slots)
    elif objectives.shape[goal, job] == 2:
        slots = 1 if slots > 0 else 0
    return float(objectives.weight[goal, job] * slots)


@_inner
def _weight_of_links(
    instance: InstanceArrays,
    schedule: PartialSchedule,
    objectives: ObjectiveArrays,
    goal: int,
    job: int,
) -> float:
    """What the links of a ring count: those with some of its servers below, and some above."""
    at, used = instance.place_at[job], schedule.used[job]
    arrays, links = instance.engine, schedule.state.links
    total = 0.0
    if used == 1:
        return total
    for p in range(at, at + used):
        server = schedule.server[p]
        for i in range(arrays.path_at[server], arrays.path_at[server + 1]):
            link = links[arrays.path[i]]
            link.below += 1
            if link.below == 1:
                total += objectives.link[goal, arrays.path[i]]
            if link.below == used:
                total -= objectives.link[goal, arrays.path[i]]
    for p in range(at, at + used):
        server = schedule.server[p]
        for i in range(arrays.path_at[server], arrays.path_at[server + 1]):
            links[arrays.path[i]].below = 0
    return total


@_inner
def values(
    instance: InstanceArrays, schedule: PartialSchedule, objectives: ObjectiveArrays, into: Floats
) -> None:
    """The values of the objectives for the schedule that was made last."""
    for goal in range(len(objectives.greatest)):
        total = 0.0
        first = True
        for job in range(len(instance.release)):
            end = schedule.state.rings[job].finish
            if objectives.priced[goal] == 1:
                at = instance.place_at[job]
                for p in range(at, at + schedule.used[job]):
                    server = schedule.server[p]
                    price = objectives.price[goal, server]
                    held = schedule.workers[p] * part_held(instance.engine.gpus, job, server)
                    total += price * held * (end - schedule.starts[job])
            if objectives.links[goal] == 1:
                total += _weight_of_links(instance, schedule, objectives, goal, job)
            if objectives.weight[goal, job] == 0.0:
                continue
            term = term_of(objectives, goal, job, end)
            if objectives.greatest[goal] == 0:
                total += term
            elif first or term > total:
                total = term
            first = False
        into[goal] = total
