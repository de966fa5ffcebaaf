"""Method `search`: good starts, then changes of orders and of servers, on all threads."""

from .neighbourhoods import BUDDY_BLOCKS, ORDERS, SERVERS
from .proving import prove, prove_sum
from .search import DEFAULT_SECONDS, SEARCH, Search
from .session import Session
from .solution import Solution, one_after_another

__all__ = [
    "BUDDY_BLOCKS",
    "DEFAULT_SECONDS",
    "ORDERS",
    "SEARCH",
    "SERVERS",
    "Search",
    "Session",
    "Solution",
    "one_after_another",
    "prove",
    "prove_sum",
]
