"""A Slurm that answers with recorded outputs and remembers commands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rarmodel.slurm.program_outputs import ACCOUNTING, COMMANDS, SlurmError
from rarmodel.slurm.records import lines
from rarmodel.slurm.slurm_jobs import number_of


class Replayed:
    """Answers questions with recorded outputs; changes are remembered, and may be refused."""

    def __init__(self, outputs: dict[str, str]) -> None:
        self.outputs = outputs
        self.changes: list[tuple[str, ...]] = []
        self.refused: set[str] = set()

    def numbers(self) -> str:
        """What `squeue` would tell of the recorded jobs."""
        return "".join(
            " ".join(number_of(line)) + "\n" for line in lines(self.outputs["job"], "JobId")
        )

    def __call__(self, command: Sequence[str]) -> str:
        """Run a command."""
        for name, question in COMMANDS.items():
            if tuple(command) == question:
                if name in self.outputs:
                    return self.outputs[name]
                if name == "squeue":
                    return self.numbers()
                raise SlurmError(f"{' '.join(command)}: not recorded")
        for name, question in ACCOUNTING.items():
            if tuple(command) == question:
                return self.outputs.get(name, "")
        if command[0] == "sacct":
            delimiter = command[-1].removeprefix("--delimiter=")
            return self.outputs["sacct"].replace("|", delimiter)
        self.changes.append(tuple(command))
        if self.refused & {*command}:
            raise SlurmError(f"{' '.join(command)}: refused")
        return ""


def changed(outputs: dict[str, str], job: str, **values: str) -> dict[str, str]:
    """The outputs with other values of a job; keys that it lacks go to its end."""
    rows = outputs["job"].split("\n")
    (place,) = [i for i, row in enumerate(rows) if row.startswith(f"JobId={job} ")]
    for key, new in values.items():
        row, found = re.subn(rf"(?<=\s){key}=\S*", f"{key}={new}", rows[place])
        rows[place] = row if found else f"{row}{key}={new} "
    return {**outputs, "job": "\n".join(rows)}
