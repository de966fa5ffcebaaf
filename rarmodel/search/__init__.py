"""Method `search`: good starts, then changes of orders and of servers, on all threads."""

from rarmodel.packing import Solution, one_after_another

from .neighbourhoods import BUDDY_BLOCKS, ORDERS, SERVERS
from .search import DEFAULT_SECONDS, SEARCH, Search, seconds_before_proof
from .session import Session
from .wide import SESSION_HANDLES, AnySession, session_of

__all__ = [
    "BUDDY_BLOCKS",
    "DEFAULT_SECONDS",
    "ORDERS",
    "SEARCH",
    "SERVERS",
    "SESSION_HANDLES",
    "AnySession",
    "Search",
    "Session",
    "Solution",
    "one_after_another",
    "seconds_before_proof",
    "session_of",
]
