"""The neighbourhoods that take turns on each thread of the search for the paper's problem.

Those that pack anew, `dives` and `tempering`, are in `packing/packer.py`; `list-schedules`, for
wider instances and other objectives, is in `lists/order_search.py`. A user's is a plain function of
a schedule, as in `methods/neighbourhood.py`. The registry, and so `pyproject.toml`, lists all.
"""

from __future__ import annotations

from rarmodel.model.features import BY_DUTY
from rarmodel.model.objectives import MAKESPAN
from rarmodel.packing import layout_of
from rarmodel.packing.server_annealing import worth_annealing
from rarmodel.schema import Instance

from .order_turns import OrderTurns
from .packing_turns import BlockTurns, ServerTurns, servers_lead
from .thread import BLOCKS_NAME, SERVERS_NAME, OnThreads

SHORT = frozenset({MAKESPAN.name})


def _some_fit_a_server(instance: Instance) -> bool:
    """Whether some jobs fit a server, and not too many to anneal."""
    return worth_annealing(layout_of(instance))


ORDERS = OnThreads(
    "orders",
    "order, way of placement and earliest start of jobs, justified",
    objectives=SHORT,
    handles=BY_DUTY,
    changes="orders",
    start=OrderTurns,
)
SERVERS = OnThreads(
    SERVERS_NAME,
    "exchanges of jobs between servers, and their order on each",
    objectives=SHORT,
    handles=BY_DUTY,
    suits=_some_fit_a_server,
    changes="packings",
    start=ServerTurns,
    leads=servers_lead,
)
BUDDY_BLOCKS = OnThreads(
    BLOCKS_NAME,
    "exchanges of jobs between nested blocks of GPUs",
    objectives=SHORT,
    handles=BY_DUTY,
    suits=_some_fit_a_server,
    changes="packings",
    start=BlockTurns,
    leads=lambda layout: layout.nests,
)
