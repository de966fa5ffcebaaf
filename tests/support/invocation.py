"""What a command line run within the test process gives."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Protocol


class Outcome(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Lines on stderr."""
        return self.err.splitlines()

    def json(self) -> Any:
        """The JSON on stdout."""
        return json.loads(self.out)


class Invoke(Protocol):
    """Runs `rarmodel` with arguments and, if given, standard input."""

    def __call__(self, *arguments: object, stdin: str | bytes | None = None) -> Outcome: ...
