"""Summarise an instance without solving it."""

from rarmodel.model.features import ALL

from .description import Description, describe
from .times_and_links import JobTimes, Level, Size
from .used_features import Use

HANDLES = ALL
"""The features of instances that summaries take into account."""

__all__ = ["HANDLES", "Description", "JobTimes", "Level", "Size", "Use", "describe"]
