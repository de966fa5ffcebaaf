"""The command line: reads options, calls the Python API, and prints; no logic of its own."""

from .commands import main

__all__ = ["main"]
