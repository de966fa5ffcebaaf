"""Summarise an instance without solving it."""

from .description import Description, describe
from .facts import JobTimes, Level, Size
from .features import Use

__all__ = ["Description", "JobTimes", "Level", "Size", "Use", "describe"]
