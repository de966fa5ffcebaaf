"""The objectives of an instance as numbers for compiled code, and their values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.engine.compilation import compiled
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
    )
    for i, one in enumerate(found):
        if one.prices is not None:
            arrays.price[i] = [float(price) for price in one.prices_of(instance)]
            arrays.priced[i] = int(arrays.price[i].any())
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
                    price = objectives.price[goal, schedule.server[p]]
                    total += price * schedule.workers[p] * (end - schedule.starts[job])
            if objectives.weight[goal, job] == 0.0:
                continue
            term = term_of(objectives, goal, job, end)
            if objectives.greatest[goal] == 0:
                total += term
            elif first or term > total:
                total = term
            first = False
        into[goal] = total
