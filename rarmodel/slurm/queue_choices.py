"""What to read of a queue, and what to assume where Slurm is silent."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from rarmodel.defaults import SLOT_SECONDS
from rarmodel.errors import UsageError
from rarmodel.workloads.found_profiles import rules_of
from rarmodel.workloads.platform import rates_of
from rarmodel.workloads.queue_assumptions import DEFAULT_SECONDS, Assumptions, objective_of

from .job_profiles import Rules

Whose = Literal["mine", "all"]


@dataclass(frozen=True, kw_only=True)
class Choices(Assumptions):
    """What to read, and what to assume; see also `Assumptions`.

    Attributes
    ----------
    partition
        Read the nodes and jobs of this partition; None for all.
    whose
        `mine`: the jobs that rarmodel may touch, planned around the others. `all`: every waiting
        job. None: `mine` if there are any.
    named
        Ids of held jobs that rarmodel may touch though they are not marked.
    rules
        Profiles of jobs.
    gpu_speeds
        How fast GPUs are in comparison, by type; none if that is not known.
    origin
        When slot 0 begins; None for the moment of the reading.
    around
        Whether to plan around waiting jobs that are not held.
    user
        Number of the user who hands plans back; None if that is not known, as for recordings.
    operator
        Whether this user is an operator of Slurm, who may change the jobs of others.
    placed
        Nodes of jobs in a plan: the tree of switches that has them all is the job's.
    left
        Ids of jobs that rarmodel may not touch, though they are marked.
    """

    partition: str | None = None
    whose: Whose | None = None
    named: frozenset[str] = frozenset()
    rules: Rules | None = None
    gpu_speeds: Mapping[str, float] = field(default_factory=dict)
    origin: datetime | None = None
    around: bool = True
    user: int | None = None
    operator: bool = False
    placed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    left: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        super().__post_init__()
        for kind, factor in self.gpu_speeds.items():
            if not 1e-3 <= factor <= 1e3:
                raise UsageError(f"--gpu-speed: {kind} {factor:g}; 0.001 to 1000 is expected")


def chosen(
    *,
    partition: str | None = None,
    profiles: str | os.PathLike[str] | Rules | None = None,
    cluster: str | os.PathLike[str] | None = None,
    rates: Mapping[str, float] | None = None,
    contention: Mapping[str, float] | None = None,
    gpu_speeds: Mapping[str, float] | None = None,
    objective: str | Sequence[str] | None = None,
    slot_seconds: float = SLOT_SECONDS,
    default_seconds: float = DEFAULT_SECONDS,
    whose: Whose | None = None,
    named: Sequence[str] = (),
    operator: bool = False,
) -> Choices:
    """Choices from files and numbers.

    Parameters
    ----------
    profiles
        Profiles of jobs, or their file.
    cluster, rates, contention
        As for `rates_of`.
    gpu_speeds
        How fast GPUs are in comparison, by type, such as `{"h100": 2, "v100": 0.5}`; by default
        what the profiles say.

    Raises
    ------
    InputError
        If a file is unusable.
    UsageError
        If a value is out of its range.
    """
    made = rates_of(None if cluster is None else os.fspath(cluster), rates, contention)
    rules = rules_of(Rules, profiles)
    return Choices(
        partition=partition,
        whose=whose,
        named=frozenset(named),
        slot_seconds=slot_seconds,
        default_seconds=default_seconds,
        rates=made[0],
        contention=made[1],
        rules=rules,
        gpu_speeds=gpu_speeds or (rules.gpu_speeds if rules else None) or {},
        objective=objective_of(objective),
        user=os.geteuid(),
        operator=operator,
    )
