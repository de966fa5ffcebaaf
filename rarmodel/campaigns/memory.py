"""Limit and measure the memory of processes, where the system can."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

BYTES_PER_MB = 1_000_000
_MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024


def limit_memory(megabytes: float) -> None:
    """Limit the memory of this process, and of each process that it starts, to this many MB.

    On Linux the limit is on data: heap, stacks of threads, and all other memory that the process
    can write to and does not share. On other systems it is on addresses, if the system can limit
    them. On Windows there is no limit.
    """
    try:
        import resource  # noqa: PLC0415 - there is none on Windows
    except ImportError:
        return
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    _, hard = resource.getrlimit(kind)
    limit = int(megabytes * BYTES_PER_MB)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    with suppress(OSError, ValueError):  # macOS refuses some limits
        resource.setrlimit(kind, (limit, hard))


def most_memory_mb() -> float | None:
    """Peak memory, in MB, of this process or of a process that it started and that ended."""
    own = peak_memory_mb()
    if own is None:
        return None
    import resource  # noqa: PLC0415 - it is there, as `own` is

    started = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return max(own, started * _MAXRSS_BYTES / BYTES_PER_MB)


def peak_memory_mb(pid: int | None = None) -> float | None:
    """Peak memory of a process, by default this one, in MB; None if unknown."""
    with suppress(OSError):
        status = Path(f"/proc/{'self' if pid is None else pid}/status").read_text(
            "ascii", "replace"
        )
        for line in status.splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / BYTES_PER_MB
    if pid is not None or sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415

    # Not on Linux, where it begins with the memory of the process that started this one.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * _MAXRSS_BYTES / BYTES_PER_MB
