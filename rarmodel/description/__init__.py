"""Summarise an instance without solving it."""

from .description import Description, describe
from .facts import JobTimes, Level, Size

__all__ = ["Description", "JobTimes", "Level", "Size", "describe"]
