"""A testbed: real rings over real TCP on one machine, to hold the models of contention against."""

from .measurement_plan import Plan, Ring, Together, read_plan, standard_plan
from .network import check_possible, down, existing, up, up_star
from .played_schedule import Part, PlayedJob, parts_of, play
from .predicted import predicted, rows_of
from .ring_timing import Timing, csv_of, measure, table_of

__all__ = [
    "Part",
    "Plan",
    "PlayedJob",
    "Ring",
    "Timing",
    "Together",
    "check_possible",
    "csv_of",
    "down",
    "existing",
    "measure",
    "parts_of",
    "play",
    "predicted",
    "read_plan",
    "rows_of",
    "standard_plan",
    "table_of",
    "up",
    "up_star",
]
