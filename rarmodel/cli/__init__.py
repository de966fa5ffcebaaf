"""The command line: reads options, calls the Python API, and prints; no logic of its own."""

from .commands import main, rarmodel
from .workload_commands import generate

rarmodel.add_command(generate)

__all__ = ["main"]
