"""Summarise an instance without solving it."""

from rarmodel.model.features import ALL_BUT_PREEMPTION

from .description import Description, describe
from .facts import JobTimes, Level, Size
from .features import Use

HANDLES = ALL_BUT_PREEMPTION
"""The features of instances that summaries take into account."""

__all__ = ["HANDLES", "Description", "JobTimes", "Level", "Size", "Use", "describe"]
