"""Names for the moves of the search for the paper's problem, and what they are for.

`Worker` makes these moves, and says when. It does not ask which of these names are registered.
"""

from __future__ import annotations

from rarmodel.methods import Neighbourhood
from rarmodel.model import least_slots_by_placement
from rarmodel.model.features import BY_DUTY
from rarmodel.model.objectives import MAKESPAN
from rarmodel.schema import Instance

SHORT = frozenset({MAKESPAN.name})


def _some_fit_a_server(instance: Instance) -> bool:
    return any(slots.packed for slots in least_slots_by_placement(instance))


ORDERS = Neighbourhood(
    "orders",
    "order, way of placement and earliest start of jobs, justified",
    objectives=SHORT,
    handles=BY_DUTY,
)
SERVERS = Neighbourhood(
    "servers",
    "exchanges of jobs between servers, and their order on each",
    objectives=SHORT,
    handles=BY_DUTY,
    suits=_some_fit_a_server,
)
BUDDY_BLOCKS = Neighbourhood(
    "buddy-blocks",
    "exchanges of jobs between nested blocks of GPUs",
    objectives=SHORT,
    handles=BY_DUTY,
    suits=_some_fit_a_server,
)
