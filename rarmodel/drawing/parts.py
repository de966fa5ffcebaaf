"""The parts of plots: of schedules, and of solves beside each other."""

PARTS = ("gantt", "contention", "utilisation", "resources")
SOLVE_PARTS = ("profile", "time-profile", "gap", "own-gap")
