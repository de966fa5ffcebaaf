"""The process of a run: `python -m rarmodel.campaigns.run_process TASK RESULT`, both JSON files.

The process limits its own memory before it loads anything large, does its task, and leaves the
outcome in a file, whole or not at all. It ends when its standard input ends: its parent holds the
other end, so the process ends even if the parent is killed.
"""

from __future__ import annotations

import os
import platform
import signal
import sys
import threading
import traceback
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .memory import limit_memory, most_memory_mb
from .task import Failure, Outcome, Work, failed, with_parameters

if TYPE_CHECKING:
    from rarmodel.verifier import Report

LIBRARIES = ("numpy", "numba", "pyomo")
MEMORY_SIGNS = ("bad_alloc", "out of memory", "cannot allocate", "memory alloc", "memoryerror")
"""Texts in lower case by which an error shows that memory ran out."""


def end_with_parent() -> None:
    """End this process, and the processes it started, when standard input ends.

    A method that reads standard input finds it empty and does not wait.
    """
    held = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    leads = hasattr(os, "killpg") and os.getpgid(0) == os.getpid()
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415 - there is none on Windows

        # The kernel kills, also while a solver holds Python's lock and no thread comes to its turn.
        fcntl.fcntl(held, fcntl.F_SETOWN, -os.getpid() if leads else os.getpid())
        fcntl.fcntl(held, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(held, fcntl.F_SETFL, fcntl.fcntl(held, fcntl.F_GETFL) | os.O_ASYNC)

    def wait() -> None:
        with suppress(OSError):
            while os.read(held, 1):
                pass
        if leads:
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def versions() -> dict[str, str | None]:
    """Versions of the software on which a result depends."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for library in ("rarmodel", *LIBRARIES):
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = None
    return found


def perform(work: Work) -> tuple[dict[str, Any], str | None]:
    """Do the task: the result's summary, and the schedule as JSON."""
    from rarmodel import files, registry  # noqa: PLC0415 - after the limit of memory
    from rarmodel.api import simulating, solving  # noqa: PLC0415 - after the limit of memory
    from rarmodel.api.sources import with_objective  # noqa: PLC0415
    from rarmodel.errors import UsageError  # noqa: PLC0415

    from .simulated import summary_of  # noqa: PLC0415

    task = work.task
    if (here := version("rarmodel")) != task.rarmodel:
        raise UsageError(f"rarmodel {here} is installed here; the campaign has {task.rarmodel}")
    instance = files.parse_instance(work.instance)
    options = {**task.options, "seed": task.seed}
    if task.policy is not None:
        found = simulating.simulate(instance, task.policy, **options)
        problem = with_objective(instance, task.options.get("objective"))
        return summary_of(problem, found), files.to_json(found.schedule) if found.schedule else None
    if task.method is not None:
        method = with_parameters(registry.find("methods", task.method), task.parameters)
        result = solving.solve(instance, method=method, start=task.start, **options)
    else:
        solver = registry.find("solvers", task.solver)
        if (here := solver.version()) != task.solver_version:
            raise UsageError(
                f"{task.solver} {here} is installed here; the campaign has {task.solver_version}"
            )
        result = solving.solve(
            instance,
            formulation=task.formulation,
            solver=solver,
            data=task.data,
            start=task.start,
            **options,
        )
    schedule = files.to_json(result.schedule) if result.schedule else None
    waiting = waiting_of(result.report) if result.report else {}
    return {**result.summary(log=True), **waiting}, schedule


def waiting_of(report: Report) -> dict[str, float]:
    """Flow times if jobs are released at other slots than 0, and late jobs if there are due slots.

    Weights count nowhere.
    """
    found: dict[str, float] = {}
    if report.releases and (flow := report.flow_times):
        found |= {"mean_flow": flow.mean, "p95_flow": flow.p95, "max_flow": flow.greatest}
    if late := report.lateness:
        found["late_jobs"] = late.late
    return found


def outcome_of(work: Work) -> Outcome:
    """The outcome of a task; an exception is an outcome too."""
    try:
        result, schedule = perform(work)
        outcome = Outcome(result=result, schedule=schedule)
    except BaseException as raised:  # noqa: BLE001 - even a method that exits has failed
        kind = type(raised).__name__
        error = f"{kind}: {raised}" if str(raised) else kind
        out_of_memory = isinstance(raised, MemoryError) or (
            work.memory_mb is not None and any(sign in error.lower() for sign in MEMORY_SIGNS)
        )
        failure: Failure = "memory" if out_of_memory else "exception"
        outcome = failed(failure, error, traceback.format_exc())
    return replace(
        outcome,
        versions=versions(),
        peak_memory_mb=most_memory_mb(),
        host=platform.node(),
    )


def main(task: str, result: str) -> None:
    """Do the task in one file, and leave its outcome in another."""
    end_with_parent()
    # Ctrl-C is for the driver. Whoever sends it to a run kills that, and gets no result of it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    work = Work.from_json(Path(task).read_text("utf-8"))
    if work.memory_mb is not None:
        limit_memory(work.memory_mb)
    outcome = outcome_of(work)
    from rarmodel.files import write_text  # noqa: PLC0415

    write_text(result, outcome.to_json())


if __name__ == "__main__":
    main(*sys.argv[1:])
