"""Method `search`: good starts, then changes of orders and of servers, on all threads."""

from .plan import Plan
from .search import DEFAULT_SECONDS, SEARCH, Search
from .session import Session

__all__ = ["DEFAULT_SECONDS", "SEARCH", "Plan", "Search", "Session"]
