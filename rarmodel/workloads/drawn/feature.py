"""What every drawn feature has, and what they share: shares, ranges, and some of the jobs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from rarmodel.errors import InputError, Problem
from rarmodel.model import lone_options, paces
from rarmodel.schema import Instance, Job
from rarmodel.schema.base import MAX_NUMBER, Record

Rng = np.random.Generator
"""Random numbers of one feature: no other feature changes them."""

Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
"""A part of a whole, from 0 to 1."""


class Drawn(Record, ABC):
    """A feature that random instances may have, with its distribution."""

    name: ClassVar[str]
    """Name of the feature."""

    @abstractmethod
    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Give an instance the feature."""


def _pair(value: object) -> object:
    return (value, value) if isinstance(value, int | float) else value


def _in_order(least: float, most: float) -> AfterValidator:
    def check(span: tuple[float, float]) -> tuple[float, float]:
        if not least <= span[0] <= span[1] <= most:
            message = f"{span[0]:g}..{span[1]:g}; they must be in order, from {least:g} to {most:g}"
            raise InputError([Problem("", message)])
        return span

    return AfterValidator(check)


_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
_Whole = Annotated[int, Field(strict=True)]

Shares = Annotated[tuple[_Number, _Number], BeforeValidator(_pair), _in_order(0, 1)]
"""Least and greatest part of a whole; one number stands for both."""

Amounts = Annotated[tuple[_Number, _Number], BeforeValidator(_pair), _in_order(0, MAX_NUMBER)]
"""Least and greatest number of at least 0; one number stands for both."""

Factors = Annotated[tuple[_Number, _Number], BeforeValidator(_pair), _in_order(1e-3, 1e3)]
"""Least and greatest factor; one number stands for both."""

Wholes = Annotated[tuple[_Whole, _Whole], BeforeValidator(_pair), _in_order(1, 10**9)]
"""Least and greatest whole number; one number stands for both."""

AnyWholes = Annotated[tuple[_Whole, _Whole], BeforeValidator(_pair), _in_order(-(10**9), 10**9)]
"""The same of numbers that may be 0 or below."""


def drawn_from(rng: Rng, span: tuple[float, float], count: int) -> list[float]:
    """Uniform random numbers, rounded, so that no last bit of a platform's arithmetic counts."""
    return [round(float(value), 6) for value in rng.uniform(*span, count)]


def some(rng: Rng, among: Sequence[int], share: float) -> list[int]:
    """A share of the indices, as exactly as whole numbers can be; in random order."""
    chosen = rng.permutation(np.asarray(among, int))[: whole(share * len(among))]
    return [int(index) for index in chosen]


def whole(amount: float) -> int:
    """The nearest whole number; halves go up."""
    return math.floor(round(amount, 6) + 0.5)


def slots_of(amount: float) -> int:
    """An amount of slots, rounded up."""
    return math.ceil(round(amount, 6))


def changed(instance: Instance, updates: Mapping[int, Mapping[str, Any]]) -> Instance:
    """The instance with other fields of some jobs, by job index."""
    jobs: list[Job] = list(instance.jobs)
    for j, update in updates.items():
        jobs[j] = jobs[j].model_copy(update=update)
    return instance.model_copy(update={"jobs": tuple(jobs)})


def progressing(instance: Instance, updates: Mapping[int, Mapping[str, Any]]) -> Instance:
    """`changed`, but for the jobs that would make no progress, alone in their best placement."""
    goes_on = progress(changed(instance, updates))
    return changed(instance, {j: update for j, update in updates.items() if goes_on[j]})


def progress(instance: Instance) -> list[bool]:
    """(jobs) Whether a job makes progress, alone in its best placement (reading 3)."""
    return [
        any(option.pace.speed(option.servers, option.gbps) for option in options)
        for options in lone_options(instance)
    ]


def rough_makespan(instance: Instance) -> int:
    """A makespan in slots that a good schedule comes close to, if all jobs wait at slot 0.

    It is the longest job alone, or the GPU·slots of all jobs shared by all GPUs if that is more. A
    job counts with its best ring size, and as if each type of GPU did the same part of it.
    """
    longest, area = 0, 0.0
    gpus = Counter[str | None]()
    for server in instance.cluster.servers:
        gpus[server.gpu_type] += server.gpus
    for options, known in zip(lone_options(instance), paces(instance), strict=True):
        timed = [(one.pace, one.pace.slots(one.servers, one.gbps)) for one in options]
        longest = max(longest, min(slots for _, slots in timed if slots is not None))
        best: dict[str | None, int] = {}
        for pace, slots in timed:
            for (size, kind), other in known.items():
                if slots is not None and pace == other:
                    best[kind] = min(slots * size, best.get(kind, slots * size))
        if best.keys() == {None}:
            area += best[None]
        else:
            part = {kind: gpus[kind] for kind in best}
            area += sum(part.values()) / sum(part[kind] / best[kind] for kind in best)
    return max(longest, slots_of(area / instance.cluster.total_gpus))
