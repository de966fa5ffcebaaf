"""The compiled engine: what a schedule leads to, fast enough to search with."""

from .arrays import CUT_OFF, NEVER, OVERFULL, STUCK, Arrays, State, arrays_of, new_state
from .evaluate import (
    Engine,
    Evaluation,
    Placements,
    decisions,
    evaluate,
    numbered_gpus,
    placements_of,
)

__all__ = [
    "CUT_OFF",
    "NEVER",
    "OVERFULL",
    "STUCK",
    "Arrays",
    "Engine",
    "Evaluation",
    "Placements",
    "State",
    "arrays_of",
    "decisions",
    "evaluate",
    "new_state",
    "numbered_gpus",
    "placements_of",
]
