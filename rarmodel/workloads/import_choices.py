"""The user's choices for an import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rarmodel.argument_checks import entries, is_number, is_whole, optional, require, text, truth
from rarmodel.defaults import ARRIVALS, MAX_MB, SLOT_SECONDS
from rarmodel.errors import UsageError
from rarmodel.schema.base import LEAST_POSITIVE, MAX_NUMBER

_KINDS = {
    **dict.fromkeys(("form", "window", "group", "model", "name"), optional(text)),
    **dict.fromkeys(("default_seconds", "restore_seconds", "measured_gbps"), optional(is_number)),
    **dict.fromkeys(("slot_seconds", "max_size_mb"), is_number),
    **dict.fromkeys(("skip_invalid", "contention"), truth),
    "arrivals": text,
    "columns": entries,
}
"""What kind of value each choice is."""


@dataclass(frozen=True)
class Choices:
    """Which part of a trace to import, and what to assume about missing values.

    Raises
    ------
    UsageError
        If a value is out of its range.

    Attributes
    ----------
    form
        Name of the format; None to recognise it.
    columns
        Columns of a file in no known format.
    skip_invalid
        Whether to leave out invalid rows instead of refusing the file.
    window
        Window of submission time, for `parse_window`.
    time_zone
        Zone of dates that have none, in the trace and in the window, for `parse_zone`; None if
        they are taken as they stand.
    arrivals
        `submitted`: a job's release is its time of submission, and its tenant that of the trace.
        `zero`: all jobs wait at slot 0, and have no tenants, as in the paper.
    group
        Virtual cluster, partition or similar; None for all.
    max_jobs
        Most jobs, the earliest ones; None for all.
    model
        Model of the jobs whose model is unknown; None for a random model each.
    default_seconds
        Duration of the jobs without one; None to leave these jobs out.
    seed
        Seed of the random models.
    slot_seconds
        Length of a slot in seconds.
    horizon
        Number of slots; None for as many as the jobs need one after another.
    restore_seconds
        Seconds that a job needs to go on after an interruption; None if jobs may not be
        interrupted.
    measured_gbps
        Rate in Gbit/s of the servers' links where the trace was recorded; None for those of the
        instance. Iterations are fitted to it, so that other rates change the time and not the work.
    contention
        If False, gradients and overhead are 0.
    name
        Name of the instance; None for the file's name.
    max_size_mb
        Greatest size of the trace in MB, unzipped; a larger trace is refused.
    """

    form: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    skip_invalid: bool = False
    window: str | None = None
    time_zone: str | None = None
    arrivals: str = ARRIVALS[0]
    group: str | None = None
    max_jobs: int | None = None
    model: str | None = None
    default_seconds: float | None = None
    seed: int = 0
    slot_seconds: float = SLOT_SECONDS
    horizon: int | None = None
    restore_seconds: float | None = None
    measured_gbps: float | None = None
    contention: bool = True
    name: str | None = None
    max_size_mb: float = MAX_MB

    @property
    def keeps_time(self) -> bool:
        """Whether jobs are released when they were submitted."""
        return self.arrivals == ARRIVALS[0]

    def __post_init__(self) -> None:
        require({one: getattr(self, one) for one in _KINDS}, _KINDS)
        wrong = []
        if self.arrivals not in ARRIVALS:
            wrong.append(f"arrivals {self.arrivals!r}: choose from {', '.join(ARRIVALS)}")
        for name, value, least in (
            ("max jobs", self.max_jobs, 1),
            ("horizon", self.horizon, 1),
            ("seed", self.seed, 0),
        ):
            if value is not None and not (is_whole(value) and value >= least):
                wrong.append(f"{name} {value!r}: it must be a whole number of at least {least}")
        if self.default_seconds is not None and not 0 < self.default_seconds < 1e10:
            wrong.append(f"default duration {self.default_seconds}: it must be above 0 seconds")
        if self.restore_seconds is not None and not 0 <= self.restore_seconds <= 1e10:
            wrong.append(f"restore seconds {self.restore_seconds}: they must be at least 0")
        if (gbps := self.measured_gbps) is not None and not LEAST_POSITIVE <= gbps <= MAX_NUMBER:
            wrong.append(f"measured gbps {gbps}: it must be above 0")
        if not 1e-3 <= self.slot_seconds <= 1e10:
            wrong.append(f"slot seconds {self.slot_seconds}: it must be at least 0.001")
        if not self.max_size_mb > 0:
            wrong.append(f"max size {self.max_size_mb} MB: it must be above 0")
        if wrong:
            raise UsageError("; ".join(wrong))
