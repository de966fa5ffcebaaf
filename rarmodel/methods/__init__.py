"""What a method is: what it gets, what it returns, and what rarmodel makes of that."""

from .fewer_links import move_to_fewer_links
from .frames import by_objective, frame_row
from .goals import Goal, gap_of, goals_of, proven_aim, ties_in
from .incumbent_log import IncumbentLog, LogEntry, Recorder, joined
from .method import Attempt, Method, attempt, constructive_methods, prepare_method
from .neighbourhood import NOTHING_TO_TRY, Better, Neighbourhood, Turn, Turns, installed
from .result import STARTED, ModelRun, Result, Status, in_full, skipped, status_of
from .sound_answers import (
    is_number,
    is_whole,
    order_of,
    require_each_job,
    returned_schedule,
    whole_numbers,
)

__all__ = [
    "NOTHING_TO_TRY",
    "STARTED",
    "Attempt",
    "Better",
    "Goal",
    "IncumbentLog",
    "LogEntry",
    "Method",
    "ModelRun",
    "Neighbourhood",
    "Recorder",
    "Result",
    "Status",
    "Turn",
    "Turns",
    "attempt",
    "by_objective",
    "constructive_methods",
    "frame_row",
    "gap_of",
    "goals_of",
    "in_full",
    "installed",
    "is_number",
    "is_whole",
    "joined",
    "move_to_fewer_links",
    "order_of",
    "prepare_method",
    "proven_aim",
    "require_each_job",
    "returned_schedule",
    "skipped",
    "status_of",
    "ties_in",
    "whole_numbers",
]
