"""What Slurm's programs print: from this machine's Slurm, or from a folder of recorded outputs."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rarmodel.errors import InputError, Problem, RarmodelError, UsageError
from rarmodel.files import read_bytes, write_text

from .accounts import ASSOCIATIONS, QOS

Run = Callable[[Sequence[str]], str]
"""Runs a program with its arguments, and gives what it prints; raises `SlurmError`."""

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "config": ("scontrol", "show", "config"),
    "node": ("scontrol", "-a", "-o", "-d", "show", "node"),
    "partition": ("scontrol", "-a", "-o", "-d", "show", "partition"),
    "reservation": ("scontrol", "-o", "-d", "show", "reservation"),
    "license": ("scontrol", "-o", "show", "license"),
    "topology": ("scontrol", "show", "topology"),
    "job": ("scontrol", "-a", "-o", "-d", "show", "job"),
    "squeue": ("squeue", "--all", "--states=all", "--noheader", "--format=%A %F %U"),
}
"""What is asked of Slurm, by the name of the file of a recording. Jobs of hidden partitions (`-a`)
hold GPUs too. `squeue` tells only numbers, so no name of a job can forge one there."""
HISTORY = (
    *("sacct", "--allusers", "--allocations", "--noheader", "--parsable2"),
    *("--state=COMPLETED", "--starttime=now-30days", "--endtime=now"),
    "--format=ElapsedRaw,User,Account,JobName",
)
"""Earlier runs; a delimiter that nobody can guess keeps names from forging lines of their own."""
ACCOUNTING: Mapping[str, tuple[str, ...]] = {
    "qos": ("sacctmgr", "-nP", "show", "qos", f"format={','.join(QOS)}"),
    "assoc": ("sacctmgr", "-nP", "show", "assoc", f"format={','.join(ASSOCIATIONS)}"),
}
"""What is asked of Slurm's accounting, where there is one."""
OPTIONAL = {"topology", "reservation", "license", "sacct", *ACCOUNTING}
"""Outputs that a cluster may not have; a recording may also lack `squeue`."""
SETTINGS = {
    *("ClusterName", "SlurmUser", "AccountingStorageType", "AccountingStorageEnforce"),
    *("PreemptType", "PreemptMode", "TopologyParam"),
}
"""Settings of Slurm that a reading needs."""
SECONDS = 60.0
"""Longest time of one command."""

ENVIRONMENT = {
    "TZ": "UTC",
    "LC_ALL": "C",
    "SLURM_TIME_FORMAT": "standard",
    "SLURM_BITSTR_LEN": "0",
}
"""Slurm prints times without a zone, and reads them so: with UTC they have one meaning. Unless told
otherwise, it cuts the tasks of an array short after 64 characters."""


class SlurmError(RarmodelError):
    """Slurm refused a command, or did not answer."""


def run(command: Sequence[str]) -> str:
    """Run one of Slurm's programs, with times in UTC. A Ctrl-C does not cut it off.

    Raises
    ------
    SlurmError
        If the command fails, or takes longer than a minute.
    UsageError
        If the program is not installed.
    """
    try:
        done = subprocess.run(  # noqa: S603 - a list of arguments, no shell
            [*command],
            env={**os.environ, **ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            encoding="utf-8",
            errors="backslashreplace",
            start_new_session=True,
            check=False,
        )
    except (FileNotFoundError, PermissionError) as error:
        cure = "run rarmodel where Slurm's commands are, or give --from a folder of outputs"
        raise UsageError(f"{command[0]} is not installed here; {cure}") from error
    except subprocess.TimeoutExpired as error:
        raise SlurmError(f"{' '.join(command)}: no answer within {SECONDS:g} s") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise SlurmError(f"{' '.join(command)}: {said[0]}")
    return done.stdout


def live(run: Run = run) -> dict[str, str]:
    """Ask Slurm for everything that a reading needs, by name of output."""
    found: dict[str, str] = {}
    for name, command in COMMANDS.items():
        try:
            found[name] = run(command)
        except SlurmError:
            if name not in OPTIONAL:
                raise
    found["config"] = _settings(found["config"])
    if "accounting_storage/slurmdbd" in found["config"]:
        with suppress(SlurmError, UsageError):  # Without sacct no durations are learned.
            found["sacct"] = _history(run)
        for name, command in ACCOUNTING.items():
            with suppress(SlurmError, UsageError):
                found[name] = run(command)
    return found


def _history(run: Run) -> str:
    """Earlier runs, a line each: seconds, user, account and name with bars between them."""
    delimiter = secrets.token_hex(8)
    lines = run((*HISTORY, f"--delimiter={delimiter}")).splitlines()
    return "".join(
        line.replace(delimiter, "|") + "\n" for line in lines if line.count(delimiter) == 3
    )


def _settings(config: str) -> str:
    """The lines of a configuration that a reading needs: recordings keep no others."""
    first, *others = config.splitlines() or [""]
    kept = [line for line in others if line.split("=")[0].strip() in SETTINGS]
    return "\n".join([first, *kept]) + "\n"


def recorded(folder: str | os.PathLike[str]) -> dict[str, str]:
    """Outputs from the files `config.txt`, `node.txt` and so on of a folder.

    Raises
    ------
    InputError
        If a file that must be there is not, or cannot be read.
    """
    found, problems = dict[str, str](), list[Problem]()
    for name in (*COMMANDS, "sacct", *ACCOUNTING):
        path = Path(folder) / f"{name}.txt"
        try:
            if name not in {*OPTIONAL, "squeue"} or path.exists():
                found[name] = read_bytes(path)[1].decode("utf-8", "backslashreplace")
        except InputError as error:
            problems += [Problem(str(path), one.message) for one in error.problems]
    if problems:
        raise InputError(problems)
    return found


def record(outputs: Mapping[str, str], folder: str | os.PathLike[str]) -> None:
    """Write outputs to a folder, which is made if it does not exist, for `recorded`.

    Raises
    ------
    InputError
        If the folder or a file cannot be written.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise InputError([Problem("", f"cannot be made: {error}")], os.fspath(folder)) from error
    for name, text in outputs.items():
        write_text(Path(folder) / f"{name}.txt", text)
