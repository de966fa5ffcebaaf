"""Lower bounds on the optimal makespan; each holds for every schedule."""

from .best import all_bounds, best_bound, limit_bound, why_infeasible
from .bound import ENUMERATION, LowerBound, relative_gap
from .claim import known_bound, with_bound
from .links import shared_links
from .simple import area, greatest_area, long_jobs, longest_job, wide_jobs
from .values import least_values, with_makespan

__all__ = [
    "ENUMERATION",
    "LowerBound",
    "all_bounds",
    "area",
    "best_bound",
    "greatest_area",
    "known_bound",
    "least_values",
    "limit_bound",
    "long_jobs",
    "longest_job",
    "relative_gap",
    "shared_links",
    "why_infeasible",
    "wide_jobs",
    "with_bound",
    "with_makespan",
]
