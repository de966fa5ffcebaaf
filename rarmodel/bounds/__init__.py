"""Lower bounds on the makespan and on every objective; each holds for every schedule."""

from .best import all_bounds, best_bound, limit_bound, why_infeasible
from .bound import ENUMERATION, LowerBound, relative_gap
from .claim import known_bound, with_bound
from .links import shared_links
from .simple import area, greatest_area, least_areas, long_jobs, longest_job, wide_jobs
from .values import (
    ValueBound,
    least_values,
    objective_bound,
    objective_bounds,
    value_bounds,
    with_makespan,
)

__all__ = [
    "ENUMERATION",
    "LowerBound",
    "ValueBound",
    "all_bounds",
    "area",
    "best_bound",
    "greatest_area",
    "known_bound",
    "least_areas",
    "least_values",
    "limit_bound",
    "long_jobs",
    "longest_job",
    "objective_bound",
    "objective_bounds",
    "relative_gap",
    "shared_links",
    "value_bounds",
    "why_infeasible",
    "wide_jobs",
    "with_bound",
    "with_makespan",
]
