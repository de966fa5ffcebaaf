"""What an instance is made of, and what can be said of it before anything is solved."""

from .description import Description, describe
from .facts import JobTimes, Level, Size

__all__ = ["Description", "JobTimes", "Level", "Size", "describe"]
