"""Method `search`: good starts, then changes of orders and of servers on all threads."""

from .search import SEARCH, Search

__all__ = ["SEARCH", "Search"]
