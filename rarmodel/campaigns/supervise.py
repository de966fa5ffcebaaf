"""Do one run in its own process: start it, watch it, end it at its limits, read its outcome."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import cast

from .memory import peak_memory_mb
from .run_process import MEMORY_SIGNS
from .task import DETAILS, Failure, Outcome, Work, failed

RESULT = "result.json"
POLL_SECONDS = 0.02
LEAVE_SECONDS = 5.0
"""Time for a process to end after it has written its outcome."""
LAST_LINE = 200
"""Most characters of the last line that an error repeats."""


def run_in_process(
    work: Work, folder: Path, stop: Callable[[], bool] = lambda: False
) -> Outcome | None:
    """Do a run in its own process.

    Parameters
    ----------
    work
        The work to do.
    folder
        Folder in which the process writes its outcome, `RESULT`; made if it does not exist.
    stop
        Called repeatedly; if it returns True, the process is ended.

    Returns
    -------
    Outcome or None
        None if the run was stopped.
    """
    folder = folder.absolute()  # A method may change the process's working folder.
    folder.mkdir(parents=True, exist_ok=True)
    task, result, log = folder / "task.json", folder / RESULT, folder / "log"
    result.unlink(missing_ok=True)
    task.write_text(work.to_json(), encoding="utf-8")
    begun = time.monotonic()
    with log.open("wb") as sink:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "rarmodel.campaigns.run_process", str(task), str(result)],
            stdin=subprocess.PIPE,
            stdout=sink,
            stderr=sink,
            start_new_session=True,  # Ctrl-C is for the driver, and its end takes all at once
        )
    peak, late, stopped = None, False, False
    done: float | None = None
    try:
        while process.poll() is None:
            now = time.monotonic()
            if done is None and result.exists():
                done = now
            if done is not None and now - done >= LEAVE_SECONDS:
                break  # A thread that it has left would go on for ever.
            late = work.seconds is not None and now - begun >= work.seconds
            stopped = stop()
            if late or stopped:
                peak = peak_memory_mb(process.pid)
                break
            time.sleep(POLL_SECONDS)
    finally:
        _end(process)
    seconds = time.monotonic() - begun
    if result.exists():
        return replace(Outcome.from_json(result.read_text("utf-8")), process_seconds=seconds)
    if stopped:
        return None
    details = _end_of(log)
    failure, error = _post_mortem(work, process.returncode, details, late=late)
    return replace(
        failed(failure, error, details),
        process_seconds=seconds,
        peak_memory_mb=peak,
        host=platform.node(),
    )


def run_on_worker(work: Work) -> Outcome:
    """Do a run on a machine that shares no folder with the driver."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # Without `stop` there always is an outcome.
        return cast("Outcome", run_in_process(work, Path(folder)))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all processes that it started."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    if process.stdin:
        process.stdin.close()


def _end_of(log: Path) -> str:
    """The end of a process's output, which may be too large for memory."""
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 4 * DETAILS))  # 4 bytes a character at most
        return file.read().decode("utf-8", "replace")


def _post_mortem(work: Work, code: int, log: str, *, late: bool) -> tuple[Failure, str]:
    """How and why a process failed that wrote no outcome, in one line."""
    if late:
        return "time", f"the time limit of {work.seconds:g} s is up"
    last = next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "")
    said = f": {last[:LAST_LINE]}" if last else ""
    if work.memory_mb is not None and any(sign in log.lower() for sign in MEMORY_SIGNS):
        return "memory", f"out of memory, with a limit of {work.memory_mb:g} MB{said}"
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = str(-code)
        return "died", f"the process was killed by signal {name}{said}"
    return "died", f"the process ended with exit code {code} and no result{said}"
