"""Default values, available without loading the modules that use them."""

DEFAULT_METHOD = "search"
"""The method of a solve that names neither a method nor a formulation."""

DEFAULT_PLACEMENT = "consolidate"
"""Where a simulation puts the jobs to which a policy gives GPUs."""

DEFAULT_POLICY = "fifo-backfill"
"""The policy under which `what-if` simulates: the order of most clusters."""

AUTO = "auto"
"""The solver that `rarmodel.solvers.choice` prefers for the class of models."""

SEARCH_SECONDS = 10.0
"""Time limit of `search` if you give neither a time nor a number of iterations."""

COMPARE_SECONDS = 60.0
"""Time limit of each solve in a comparison."""

AUDIT_SECONDS = 60.0
"""Time limit of the bounds in an audit."""

SLOT_SECONDS = 60.0
"""Slot length of imported traces."""

MAX_MB = 512.0
"""Greatest size of a file, unzipped, in MB (10^6 bytes): a larger file is probably a mistake."""
ARRIVALS = ("submitted", "zero")
"""What `import` makes of times of submission; the first is the default."""

TESTBED_SERVERS, TESTBED_MBIT, TESTBED_BUFFER_MS = 6, 100.0, 20.0
"""Servers, rate of links in Mbit/s and length of queues of a testbed: slow enough that processors
do not limit rings."""
TESTBED_SECONDS = 5.0
"""Time to measure each run on a testbed."""
