"""CP-SAT of OR-Tools, for models that are linear in bounded integer variables.

Cumulative constraints that a model declares (`rarmodel.formulations.intervals`) are stated too.
CP-SAT gets the model as an MPS file and runs in its own process: see `cpsat_process`.
"""

from __future__ import annotations

import atexit
import json
import math
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rarmodel.errors import UsageError
from rarmodel.limits import Limits
from rarmodel.solver_faults import settings

from .answer import Answer, Termination, finite
from .options import set_against_a_fault, unknown_option, wrong_value

if TYPE_CHECKING:
    import pyomo.environ as pyo

PROGRAM = Path(__file__).with_name("cpsat_process.py")


OPTIONS = "https://github.com/google/or-tools/blob/stable/ortools/sat/sat_parameters.proto"
"""Where CP-SAT lists its parameters."""


class CpSat:
    """The adapter; see `Solver`."""

    name = "cpsat"
    model_classes = frozenset({"integer", "intervals"})
    install = "pip install ortools"

    def version(self) -> str | None:
        """Version of OR-Tools; None if it is not installed."""
        try:
            return version("ortools")
        except PackageNotFoundError:
            return None

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Refuse parameters that CP-SAT does not have, and values that they cannot have."""
        for name in settings("ortools"):
            if name in options:
                raise set_against_a_fault(self.name, name)
        message, _ = _run({"check": dict(options)}, Limits(), time.perf_counter())
        _require_taken(message)

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
        """Minimise a linear model in bounded integer variables; see `Solver.solve`."""
        if self.version() is None:
            raise UsageError(f"solver 'cpsat' is not installed; install it with: {self.install}")
        from .lp_file import check_sense, take_values  # noqa: PLC0415
        from .mps_file import write_mps  # noqa: PLC0415

        check_sense(model, self.name)
        begun = time.perf_counter()
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.mps"
            by_name = write_mps(model, path, self.name)
            start = {
                name: thing.value
                for name, thing in by_name.items()
                if getattr(thing, "value", None) is not None and thing.is_variable_type()
            }
            request = {
                "model": str(path),
                "start": start,
                "cumulatives": _cumulatives(model, by_name),
                "seed": limits.seed,
                "gap": limits.gap,
                "threads": limits.threads,
                "settings": settings("ortools"),
                "own": dict(limits.solver_options),
                "log": limits.log is not None,
                "progress": limits.progress is not None,
            }
            try:
                message, interrupted = _run(request, limits, begun)
            except _EndedError:
                # A check in OR-Tools 9.15 fails where a hint suits no solution of the model.
                if not start:
                    raise
                message, interrupted = _run(request | {"start": {}}, limits, begun)
        _require_taken(message)
        if "refusal" in message:
            raise UsageError(
                f"solver 'cpsat' cannot solve this model: {_named(message['refusal'], by_name)}; "
                "highs, scip and gurobi can solve more"
            )
        answer = message["answer"]
        if answer["values"] is not None:
            take_values((by_name[name], value) for name, value in answer["values"].items())
        terminations: dict[str, Termination] = {"OPTIMAL": "finished", "INFEASIBLE": "infeasible"}
        termination = terminations.get(answer["status"], "time-limit")
        if interrupted and termination == "time-limit":
            termination = "interrupted"
        return Answer(
            termination=termination,
            has_solution=answer["values"] is not None,
            bound=None if answer["bound"] is None else finite(answer["bound"]),
            seconds=time.perf_counter() - begun,
            message=f"CP-SAT status {answer['status']}",
            value=answer["value"],
            nodes=answer["branches"],
        )


def _cumulatives(model: pyo.ConcreteModel, by_name: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The cumulative constraints of a model, with variables by their names in the MPS file."""
    from rarmodel.formulations.intervals import cumulatives_of  # noqa: PLC0415

    if not (declared := cumulatives_of(model)):
        return []
    names = {id(variable): name for name, variable in by_name.items()}

    def told(value: Any) -> str | int:
        if isinstance(value, int):
            return value
        return names[id(value)] if not value.fixed else round(value.value)

    return [
        {"tasks": [[told(part) for part in task] for task in one.tasks], "capacity": one.capacity}
        for one in declared
    ]


CPSAT = CpSat()


GRACE = 0.3
"""Seconds past the limit for a process that starts or still reads the model."""

NO_ANSWER = {
    "answer": {"status": "UNKNOWN", "values": None, "value": None, "bound": None, "branches": 0}
}
"""The answer where the time was over before the search began."""


def _require_taken(message: Mapping[str, Any]) -> None:
    """Refuse options that the process did not take.

    Raises
    ------
    UsageError
        With the first one.
    """
    refusal = message.get("refusal")
    if isinstance(refusal, dict):
        name = refusal["option"]
        if "known" in refusal:
            raise unknown_option("cpsat", name, refusal["known"], OPTIONS)
        raise wrong_value("cpsat", name, refusal["value"], refusal["expected"])


class _LateError(Exception):
    """The time was over before the search began."""


class _EndedError(UsageError):
    """The process ended without an answer: OR-Tools aborted it."""


class _Process:
    """A running program that solves one model after another."""

    def __init__(self) -> None:
        self.popen = subprocess.Popen(  # noqa: S603
            [sys.executable, str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # A Ctrl-C on the terminal is ours to pass on.
        )
        self.lines: SimpleQueue[str] = SimpleQueue()
        self.last: str | None = None
        self.begun = False
        self.ended = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        # In a thread of its own, so that Ctrl-C is heard; and the answer is kept, so that no
        # Ctrl-C between taking it and using it can lose it.
        for line in self.popen.stdout or ():
            if line.startswith(('{"answer"', '{"refusal"')):
                self.last = line
                self.ended.set()
            elif line.startswith('{"begins"'):
                self.begun = True
            else:
                self.lines.put(line)
        self.ended.set()

    def ask(self, request: dict[str, Any]) -> None:
        """Start to solve a model."""
        self.last = None
        self.begun = False
        self.ended.clear()
        self.tell(json.dumps(request))

    def tell(self, line: str) -> None:
        """Write a line to the process's input."""
        if self.popen.stdin is not None:
            with suppress(OSError):  # It is gone: so its output will tell.
                self.popen.stdin.write(line + "\n")
                self.popen.stdin.flush()

    def end(self) -> None:
        """End the process."""
        if self.popen.stdin is not None:
            with suppress(OSError):
                self.popen.stdin.close()
        self.popen.kill()
        self.popen.wait()
        self.reader.join()
        if self.popen.stdout is not None:
            self.popen.stdout.close()


_idle: list[_Process] = []
"""Processes that wait for a request: loading OR-Tools takes longer than many solves."""


@atexit.register
def _end_all() -> None:
    while _idle:
        _idle.pop().end()


def _run(request: dict[str, Any], limits: Limits, begun: float) -> tuple[dict[str, Any], bool]:
    """Let a process solve a model; return its answer, and whether Ctrl-C was pressed meanwhile."""
    left = limits.time_limit
    if left is not None:
        left = max(0.0, left - (time.perf_counter() - begun))
    request = request | {"time_limit": left}
    end = math.inf if left is None else time.perf_counter() + left + GRACE
    process = _idle.pop() if _idle else _Process()
    interrupted = False
    try:
        process.ask(request)
        while True:
            try:
                message = _answer(process, limits, end, stop=interrupted)
                break
            except _LateError:
                process.end()
                return NO_ANSWER, interrupted
            except KeyboardInterrupt:
                interrupted = True
    except BaseException:
        process.end()
        raise
    _idle.append(process)
    return message, interrupted


def _answer(process: _Process, limits: Limits, end: float, *, stop: bool) -> dict[str, Any]:
    """Wait for the answer or the refusal, and pass on log and progress.

    Raises
    ------
    _LateError
        If the search has not begun at the end of the time. Once it has, CP-SAT keeps the limit.
    """
    while True:
        if not process.begun and not process.ended.is_set() and time.perf_counter() > end:
            raise _LateError
        if stop and not process.ended.is_set():
            process.tell("stop")  # Again and again: one sent while a search begins can be missed.
        ended = process.ended.wait(0.1)
        while not process.lines.empty():
            _pass_on(json.loads(process.lines.get()), limits)
        if ended:
            if process.last is None:
                raise _EndedError("solver 'cpsat' failed: its process ended without an answer")
            message: dict[str, Any] = json.loads(process.last)
            return message


def _pass_on(message: dict[str, Any], limits: Limits) -> None:
    """Pass on a line of the log, or incumbent and bound."""
    if "log" in message and limits.log is not None:
        limits.log(message["log"])
    if "progress" in message and limits.progress is not None:
        limits.progress(message["progress"]["incumbent"], message["progress"]["bound"])


def _named(text: str, by_name: Mapping[str, Any]) -> str:
    """Replace the names of the MPS file in a text by those of the model."""

    def named(match: re.Match[str]) -> str:
        found = by_name.get(match[2])
        return match[0] if found is None else str(found.name)

    return re.sub(r"\b(c_[elu]_)?(x\d+)(?(1)_)", named, text)
