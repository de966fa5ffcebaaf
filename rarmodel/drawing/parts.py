"""The parts of plots, of schedules and of solves beside each other, and measures of tables."""

PARTS = ("gantt", "contention", "utilisation", "resources")
SOLVE_PARTS = ("profile", "time-profile", "gap", "own-gap")
MEASURES = ("value", "ratio", "gap", "seconds", "optimal")
