"""What to assume where a cluster's objects are silent."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from rarmodel.defaults import SLOT_SECONDS
from rarmodel.errors import UsageError
from rarmodel.schema import Contention
from rarmodel.workloads.cluster_rates import Rates
from rarmodel.workloads.job_profile import MIDDLE_MODEL
from rarmodel.workloads.model_profiles import require_model
from rarmodel.workloads.platform import rates_of

from .profiles import Rules, read_rules

OBJECTIVE = "total-flow"
"""Objective of a cluster's instance: people count the time from submission to the end."""
DEFAULT_SECONDS = 86_400.0
"""Duration of a job about which nothing is known: a day."""
NO_MODEL = "none"
"""In place of a model: jobs without a profile exchange nothing."""


@dataclass(frozen=True)
class Choices:
    """What to assume.

    Attributes
    ----------
    levels
        Labels of nodes that name the parts of the network, from the top; by default rarmodel looks
        for the labels that it knows.
    now
        When slot 0 begins; by default the last moment that the objects tell.
    slot_seconds
        Length of a slot in seconds.
    default_seconds
        Duration in seconds of a job that has neither a profile with one nor a time limit.
    default_model
        The model whose profile a job without one has; None if it exchanges nothing.
    rates, contention
        Rates of the network, and how rings slow each other down.
    rules
        Profiles of jobs.
    objective
        Objective of the instance.
    """

    levels: tuple[str, ...] = ()
    now: datetime | None = None
    slot_seconds: float = SLOT_SECONDS
    default_seconds: float = DEFAULT_SECONDS
    default_model: str | None = MIDDLE_MODEL
    rates: Rates = field(default_factory=Rates)
    contention: Contention | None = None
    rules: Rules | None = None
    objective: str | tuple[str, ...] = OBJECTIVE

    def __post_init__(self) -> None:
        for name in ("slot_seconds", "default_seconds"):
            if not 1e-3 <= getattr(self, name) <= 1e9:
                raise UsageError(f"{name} {getattr(self, name)}: 0.001 to 1e9 is expected")
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
) -> Choices:
    """Choices from files and numbers.

    Parameters
    ----------
    now
        A moment, ISO 8601.
    profiles
        Profiles of jobs, or their file.
    cluster
        A file with rates and contention but without servers, as `calibrate` writes it.
    rates, contention
        Values that differ from the file, or from the defaults of `Rates` and of `import`.
    default_model
        As in `Choices`; `none` for None.

    Raises
    ------
    InputError
        If a file is unusable.
    UsageError
        If a value is out of its range.
    """
    made = rates_of(None if cluster is None else os.fspath(cluster), rates, contention)
    asked = OBJECTIVE if objective is None else objective
    return Choices(
        levels=tuple(levels),
        now=_moment(now),
        slot_seconds=slot_seconds,
        default_seconds=default_seconds,
        default_model=None if default_model == NO_MODEL else default_model,
        rates=made[0],
        contention=made[1],
        rules=profiles if isinstance(profiles, Rules) or profiles is None else read_rules(profiles),
        objective=asked if isinstance(asked, str) else tuple(asked),
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
