"""CP-SAT of OR-Tools, for models that are linear in bounded integer variables.

It gets the model as an MPS file and runs in a process of its own: see `cpsat_process`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any

from rarmodel.errors import UsageError
from rarmodel.limits import Limits

from .answer import Answer, Termination, finite

if TYPE_CHECKING:
    import pyomo.environ as pyo

PROGRAM = Path(__file__).with_name("cpsat_process.py")


class CpSat:
    """The adapter; see `Solver`."""

    name = "cpsat"
    model_classes = frozenset({"integer"})
    install = "pip install 'rarmodel[cpsat]'"

    def version(self) -> str | None:
        """Version of OR-Tools; None if it is not installed."""
        try:
            return version("ortools")
        except PackageNotFoundError:
            return None

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
            left = limits.time_limit
            if left is not None:
                left = max(0.0, left - (time.perf_counter() - begun))
            request = {
                "model": str(path),
                "start": start,
                "seed": limits.seed,
                "gap": limits.gap,
                "threads": limits.threads,
                "time_limit": left,
                "log": limits.log is not None,
                "progress": limits.progress is not None,
            }
            message, interrupted = _run(request, limits)
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
        )


CPSAT = CpSat()


def _run(request: dict[str, Any], limits: Limits) -> tuple[dict[str, Any], bool]:
    """Run the process until it has an answer; whether Ctrl-C was pressed meanwhile."""
    with subprocess.Popen(  # noqa: S603
        [sys.executable, str(PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,  # A Ctrl-C on the terminal is ours to pass on.
    ) as process:
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        # Read in a thread of its own, so that Ctrl-C is heard, and no line is lost to it.
        lines: list[str] = []
        ended = threading.Event()  # A join that Ctrl-C interrupts takes the thread for ended.
        threading.Thread(target=_collect, args=(process.stdout, lines, ended), daemon=True).start()
        interrupted = False
        done = 0
        while True:
            try:
                over = ended.wait(0.05)
                while done < len(lines):
                    message = json.loads(lines[done])
                    if "answer" in message or "refusal" in message:
                        return message, interrupted
                    _pass_on(message, limits)
                    done += 1
                if over:
                    reason = process.stderr.read().strip().splitlines()[-1:]
                    raise UsageError(f"solver 'cpsat' failed: {' '.join(reason) or 'it ended'}")
            except KeyboardInterrupt:
                interrupted = True
                process.stdin.close()


def _collect(stream: IO[str], lines: list[str], ended: threading.Event) -> None:
    for line in stream:
        lines.append(line)  # noqa: PERF402 - others look while it grows
    ended.set()


def _pass_on(message: dict[str, Any], limits: Limits) -> None:
    """Pass on a line of the log, or incumbent and bound."""
    if "log" in message and limits.log is not None:
        limits.log(message["log"])
    if "progress" in message and limits.progress is not None:
        limits.progress(message["progress"]["incumbent"], message["progress"]["bound"])


def _named(text: str, by_name: Mapping[str, Any]) -> str:
    """Names of the MPS file in a text as those of the model."""

    def named(match: re.Match[str]) -> str:
        found = by_name.get(match[2])
        return match[0] if found is None else str(found.name)

    return re.sub(r"\b(c_[elu]_)?(x\d+)(?(1)_)", named, text)
