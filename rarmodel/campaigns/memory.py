"""Limiting and measuring the memory of processes, where the system can."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

BYTES_PER_MB = 1_000_000
_MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024


def limit_memory(megabytes: float) -> None:
    """Let this process and each that it starts have no more memory than so many MB.

    On Linux its data: heap, stacks of threads, and all else that it can write to and does not
    share. Elsewhere its addresses, where the system limits these; on Windows nothing.
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
    """Most memory that this process, or one it started and saw the end of, has had, in MB."""
    own = peak_memory_mb()
    if own is None:
        return None
    import resource  # noqa: PLC0415 - it is there, as `own` is

    started = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return max(own, started * _MAXRSS_BYTES / BYTES_PER_MB)


def peak_memory_mb(pid: int | None = None) -> float | None:
    """Most memory that a process, by default this one, has had at once, in MB; None if unknown."""
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
