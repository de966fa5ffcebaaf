"""What to assume where a cluster's objects are silent."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rarmodel.defaults import SLOT_SECONDS
from rarmodel.errors import UsageError
from rarmodel.workloads.found_profiles import rules_of
from rarmodel.workloads.job_profile import MIDDLE_MODEL
from rarmodel.workloads.model_profiles import require_model
from rarmodel.workloads.platform import rates_of
from rarmodel.workloads.queue_assumptions import DEFAULT_SECONDS, Assumptions, objective_of

from .profiles import Rules

NO_MODEL = "none"
"""In place of a model: jobs without a profile exchange nothing."""


@dataclass(frozen=True, kw_only=True)
class Choices(Assumptions):
    """What to assume; see also `Assumptions`.

    Attributes
    ----------
    levels
        Labels of nodes that name the parts of the network, from the top; by default rarmodel looks
        for the labels that it knows.
    now
        When slot 0 begins; by default the last moment that the objects tell.
    default_model
        The model whose profile a job without one has; None if it exchanges nothing.
    rules
        Profiles of jobs.
    parts
        Whether nodes with equal parts of GPUs, and jobs on them, are in the instance.
    """

    levels: tuple[str, ...] = ()
    now: datetime | None = None
    default_model: str | None = MIDDLE_MODEL
    rules: Rules | None = None
    parts: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.default_model is not None:
            require_model(self.default_model)
        if "" in self.levels or len(set(self.levels)) < len(self.levels):
            raise UsageError("levels: labels of nodes, each once, from the top, are expected")


def chosen(
    *,
    levels: Sequence[str] = (),
    now: str | datetime | None = None,
    profiles: str | os.PathLike[str] | Rules | None = None,
    cluster: str | os.PathLike[str] | None = None,
    rates: Mapping[str, float] | None = None,
    contention: Mapping[str, float] | None = None,
    objective: str | Sequence[str] | None = None,
    slot_seconds: float = SLOT_SECONDS,
    default_seconds: float = DEFAULT_SECONDS,
    default_model: str = MIDDLE_MODEL,
    parts: bool = True,
) -> Choices:
    """Choices from files and numbers.

    Parameters
    ----------
    now
        A moment, ISO 8601.
    profiles
        Profiles of jobs, or their file.
    cluster, rates, contention
        As for `rates_of`.
    default_model
        As in `Choices`; `none` for None.
    parts
        As in `Choices`.

    Raises
    ------
    InputError
        If a file is unusable.
    UsageError
        If a value is out of its range.
    """
    made = rates_of(None if cluster is None else os.fspath(cluster), rates, contention)
    return Choices(
        levels=tuple(levels),
        now=_moment(now),
        slot_seconds=slot_seconds,
        default_seconds=default_seconds,
        default_model=None if default_model == NO_MODEL else default_model,
        rates=made[0],
        contention=made[1],
        rules=rules_of(Rules, profiles),
        parts=parts,
        objective=objective_of(objective),
    )


def _moment(text: str | datetime | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = text if isinstance(text, datetime) else datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"now {text!r}: a moment such as 2026-11-28T10:00:00Z is expected"
        ) from error
