"""What one machine proves that is no slower than the cluster, for every objective."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rarmodel.model.objectives import Objective, Value
from rarmodel.schema import Instance

from .arguments import CertifyOnMachine, of_late_jobs, of_overfull
from .least_demands import Machine
from .relaxations import (
    earliest_due_sets,
    intervals_overfull,
    late_by_area,
    mean_busy_times,
    of_earliest_due,
    of_mean_busy_times,
    of_shortest_first,
    shortest_first,
)

Relax = Callable[[Instance, Objective, Machine], Value | None]
RELAXATIONS: tuple[tuple[Relax, CertifyOnMachine], ...] = (
    (shortest_first, of_shortest_first),
    (mean_busy_times, of_mean_busy_times),
    (earliest_due_sets, of_earliest_due),
    (intervals_overfull, of_overfull),
    (late_by_area, of_late_jobs),
)
"""What one machine proves of sums, and of the greatest of terms; and the arguments for that."""


def proven_on(instance: Instance, objective: Objective, machine: Machine) -> Iterable[Value]:
    """What a machine proves of an objective but the makespan; see `filled` for that."""
    each = (relaxation(instance, objective, machine) for relaxation, _ in RELAXATIONS)
    return [value for value in each if value is not None]
