"""What is taken where nothing is asked for; known without loading what it is about."""

DEFAULT_METHOD = "search"
"""Method of a solve for which neither a method nor a formulation is asked."""

AUTO = "auto"
"""The solver that `rarmodel.solvers.choice` prefers for the class of models."""

SEARCH_SECONDS = 10.0
"""Time limit of the search if neither a time nor a number of iterations is given."""

COMPARE_SECONDS = 60.0
"""Time limit of each solve of a comparison."""

AUDIT_SECONDS = 60.0
"""Time limit of an audit's bounds."""

SLOT_SECONDS = 60.0
"""Length of the slots that traces are imported into."""

MAX_MB = 512.0
"""Most that is read of a file, unzipped, in MB (10^6 bytes): beyond it a file is a slip."""
