"""Method `search`: good starts, then changes of orders and of servers, on all threads."""

from .search import DEFAULT_SECONDS, SEARCH, Search
from .session import Session
from .solution import Solution, one_after_another

__all__ = ["DEFAULT_SECONDS", "SEARCH", "Search", "Session", "Solution", "one_after_another"]
