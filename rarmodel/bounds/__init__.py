"""Lower bounds on the makespan and on every objective; each holds for every schedule."""

from .bound import (
    CHECKED_PROOF,
    ENUMERATION,
    PROOF,
    Bound,
    LowerBound,
    ValueBound,
    relative_gap,
)
from .claim import known_aims, known_bound, with_bound
from .links import shared_links
from .proven import (
    all_bounds,
    best_bound,
    bounds,
    least_values,
    limit_bound,
    objective_bound,
    objective_bounds,
    raised_slowly,
    require_true,
    slow_bounds,
    tightened,
    value_bounds,
    why_infeasible,
    with_aim,
    with_makespan,
)
from .simple import area, greatest_area, long_jobs, longest_job, wide_jobs
from .time_for_bounds import until
from .wide_gaps import wide_gaps

__all__ = [
    "CHECKED_PROOF",
    "ENUMERATION",
    "PROOF",
    "Bound",
    "LowerBound",
    "ValueBound",
    "all_bounds",
    "area",
    "best_bound",
    "bounds",
    "greatest_area",
    "known_aims",
    "known_bound",
    "least_values",
    "limit_bound",
    "long_jobs",
    "longest_job",
    "objective_bound",
    "objective_bounds",
    "raised_slowly",
    "relative_gap",
    "require_true",
    "shared_links",
    "slow_bounds",
    "tightened",
    "until",
    "value_bounds",
    "why_infeasible",
    "wide_gaps",
    "wide_jobs",
    "with_aim",
    "with_bound",
    "with_makespan",
]
