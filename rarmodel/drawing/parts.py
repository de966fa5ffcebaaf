"""The parts of a plot."""

PARTS = ("gantt", "contention", "utilisation", "resources")
