"""What Slurm does to jobs that it preempts, by its words."""

from __future__ import annotations

_HARMLESS = {"OFF", "GANG", "WITHIN", "(null)", ""}
"""Words of a `PreemptMode` that interrupt no job for one of a higher tier."""


def mode_of(text: str) -> str:
    """What Slurm does to jobs that it preempts, such as `REQUEUE`; empty if it does nothing."""
    return ",".join(word for word in text.upper().split(",") if word not in _HARMLESS)
