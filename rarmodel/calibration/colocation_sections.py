"""Measured pairs as an instance has them: slowdowns of kinds, and profiles of jobs by kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rarmodel.errors import UsageError, listed
from rarmodel.files import parse_instance
from rarmodel.schema import Instance

from . import terms
from .colocated_pairs import SpeedBeside

DIGITS = 6
"""Digits of a slowdown."""


class MeasuredSlowdown(NamedTuple):
    """How a job of one kind suffers beside one of another on the same GPUs.

    Attributes
    ----------
    gpu_type
        Type of the GPUs; empty if the table names none.
    kind, beside
        Kinds of the job and of the other one.
    slowdown
        Time of an iteration, divided by that alone; 1 where the job was not slower.
    """

    gpu_type: str
    kind: str
    beside: str
    slowdown: float


class MeasuredMemory(NamedTuple):
    """Memory that a job of a kind needs of each of its GPUs.

    Attributes
    ----------
    gpu_type
        Type of the GPUs; empty if the table names none.
    kind
        The kind.
    memory_gb
        The memory.
    standard_error
        Its standard error; None if there are no more pairs than kinds.
    """

    gpu_type: str
    kind: str
    memory_gb: float
    standard_error: float | None


def slowdowns(rows: Sequence[SpeedBeside]) -> tuple[MeasuredSlowdown, ...]:
    """The slowdown of each pair of kinds: of the mean ratio where it was measured several times."""
    ratios: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        ratios.setdefault((row.gpu_type, row.kind, row.beside), []).append(row.ratio)
    return tuple(
        MeasuredSlowdown(*pair, max(1.0, float(f"{len(found) / sum(found):.{DIGITS}g}")))
        for pair, found in ratios.items()
    )


def memories(rows: Sequence[SpeedBeside], lines: Sequence[int]) -> Iterator[MeasuredMemory]:
    """Memory by kind, from that of pairs: least squares of sums of two.

    A kind whose memory the pairs do not determine is left out.

    Parameters
    ----------
    rows, lines
        The measurements, and the line of each: both of a line share their memory.
    """
    both = {
        (row.gpu_type, line): row
        for row, line in zip(rows, lines, strict=True)
        if row.memory_mb is not None
    }
    for gpu_type in dict.fromkeys(gpu_type for gpu_type, _ in both):
        own = [row for row in both.values() if row.gpu_type == gpu_type]
        kinds = [*dict.fromkeys(kind for row in own for kind in (row.kind, row.beside))]
        sums = np.zeros((len(own), len(kinds)))
        for i, row in enumerate(own):
            sums[i, kinds.index(row.kind)] += 1.0
            sums[i, kinds.index(row.beside)] += 1.0
        measured = np.array([1e-3 * (row.memory_mb or 0.0) for row in own])
        found, _, rank, _ = np.linalg.lstsq(sums, measured, rcond=None)
        null = np.linalg.svd(sums)[2][rank:]
        free = len(own) - rank
        errors = [None] * len(kinds)
        if free > 0:
            spread = np.sum((sums @ found - measured) ** 2) / free
            errors = np.sqrt(spread * np.diag(np.linalg.pinv(sums.T @ sums))).tolist()
        for i, kind in enumerate(kinds):
            if not np.any(np.abs(null[:, i]) > 1e-9):
                yield MeasuredMemory(gpu_type, kind, max(0.0, float(found[i])), errors[i])


def of_kind(constants: Mapping[str, float]) -> dict[str, float]:
    """A profile of jobs of a kind: what an instance's jobs have."""
    known = dict(constants)
    for name in (terms.LOSS_OF_KIND, terms.LOSS_OF_ALL):
        if name in known:
            known |= {terms.GPU_SENSITIVITY: known.pop(name), terms.GPU_PRESSURE: 1.0}
    return known


def listed_pairs(pairs: Sequence[MeasuredSlowdown], gpu_type: str) -> list[dict[str, Any]]:
    """The pairs of a type of GPU as entries of `colocation`."""
    return [
        {"kind": one.kind, "beside": one.beside, "slowdown": one.slowdown}
        for one in pairs
        if one.gpu_type == gpu_type
    ]


def with_pairs(instance: Instance, sections: Mapping[str, Any], source: str) -> Instance:
    """A copy of an instance whose jobs have the profiles of their kinds, with the measured pairs.

    Jobs of other kinds stay as they are, and so do pairs that were not measured.

    Parameters
    ----------
    instance
        The instance.
    sections
        `profiles`, and `colocation`, of one type of GPU.
    source
        The table.

    Raises
    ------
    UsageError
        If no job has a measured kind.
    """
    profiles = sections["profiles"]
    kinds = {job.kind for job in instance.jobs}
    if not kinds & profiles.keys():
        few = listed(list(profiles))
        raise UsageError(f"no job of {instance.name} has a kind of {source}, such as {few}")
    data = instance.model_dump(mode="json", exclude_unset=True)
    for job in data["jobs"]:
        job.update(profiles.get(job.get("kind"), {}))
    measured = {
        (one["kind"], one["beside"]): one
        for one in sections["colocation"]
        if {one["kind"], one["beside"]} <= kinds
    }
    others = {(one["kind"], one["beside"]): one for one in data.get("colocation", ())}
    data["colocation"] = [*(others | measured).values()]
    return parse_instance(data, source)
