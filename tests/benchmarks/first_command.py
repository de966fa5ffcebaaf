"""What the first commands of a fresh installation cost: processor seconds and peak memory.

Install a wheel or a checkout into a fresh environment, not for development. Then give its command:

    python -m venv fresh && fresh/bin/pip install .
    python tests/benchmarks/first_command.py fresh/bin/rarmodel

`RARMODEL_COMPILE=no fresh/bin/pip install .` installs it without compiled code.

The commands are the first ones of the quickstart, and one more. Each runs twice, in this order; the
cache is empty before the first. The table is in Markdown. Processor seconds of a command include
those of its processes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

LAB = str(Path(__file__).parents[2] / "docs" / "examples" / "lab.json")
FIRST_FIT, BY_MODEL = "--method first-fit", "--formulation time-indexed"
COMMANDS = (
    "--version",
    "compare two-servers",
    "describe lab.json",
    f"compare lab.json {FIRST_FIT} --method list-scheduling --method sjf-bco {BY_MODEL}",
    "solve lab.json",
    "solve lab.json --method sjf-bco",
    "solve paper-160",
)


class Cost(NamedTuple):
    """What a run cost."""

    seconds: float
    """Of processor time."""
    megabytes: float
    """At most at once, of the greatest process."""


def cost(command: list[str], environment: Mapping[str, str]) -> Cost:
    """Run a command, and measure it and the processes that it starts."""
    with tempfile.TemporaryDirectory() as folder:
        begun = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(begun.pid, 0)
        begun.returncode = os.waitstatus_to_exitcode(status)
    if begun.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {begun.returncode}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def main() -> None:
    """Print the table."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("rarmodel", type=Path, help="the installed command")
    program = str(asked.parse_args().rarmodel.absolute())
    print("| command | first run, s | MB | later run, s | MB |")
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        for line in COMMANDS:
            command = [program, *line.replace("lab.json", LAB).split()]
            runs = [cost(command, environment) for _ in range(2)]
            cells = [f"{run.seconds:.1f} | {run.megabytes:.0f}" for run in runs]
            print(f"| `rarmodel {line}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
