"""What the links of rings count in an objective (section 18), from what a model says of its rings.

Each formulation has a component `ring_links` that gives `linked[j,l]`, 1 if the ring of job j uses
link ℓ, or no less. If jobs may be interrupted, a job may have several placements, one after
another, and it gives `linked[j,l,t]` of each slot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.objectives import heaviest, objectives_of

from .outcome import ScheduleOutcome
from .scope import Scope
from .sharing_forms import most_rings
from .values import Values, over


def links_count(scope: Scope) -> bool:
    """Whether links count in an objective up to that of the scope's stage."""
    few = objectives_of(scope.instance)[: scope.stage + 1]
    return any(one.link_weights is not None for one in few)


def values_of_ring_links(outcome: ScheduleOutcome) -> dict[str, Values]:
    """The links that each job's ring uses, where it has one placement."""
    scope = outcome.scope
    return {"linked": over(lambda j, l: l in outcome.links[j], scope.jobs, most_rings(scope))}


def weight_of_links(m: Any, scope: Scope, place: int, weight: Mapping[str, int]) -> Any:
    """What the links of all rings count, as an expression; `weight` is by link, in steps.

    ```
    Σ_jl weight_l·linked_jl            one placement for each job
    Σ_j most_links_j      most_links_j ≥ Σ_l weight_l·linked_jlt      several
    ```

    Parameters
    ----------
    m, scope
        The model and its scope.
    place
        Place of the objective among those of the instance.
    weight
        By link, what it counts, in whole steps.
    """
    if not scope.interrupted:
        return sum(weight[l] * linked for (_, l), linked in m.linked.items())
    by_slot: dict[tuple[str, int], list[Any]] = {}
    for (j, l, t), linked in m.linked.items():
        by_slot.setdefault((j, t), []).append(weight[l] * linked)
    greatest: Counter[str] = Counter()
    for j, l in {(j, l): None for j, l, _ in m.linked}:
        greatest[j] += weight[l]
    most = pyo.Var(
        list(dict.fromkeys(j for j, _ in by_slot)),
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, j: (0, greatest[j]),
    )
    m.add_component(f"most_links_{place}", most)
    m.add_component(
        f"most_links_in_{place}",
        pyo.Constraint(list(by_slot), rule=lambda _, j, t: most[j] >= sum(by_slot[j, t])),
    )
    return sum(most.values())


def most_links(outcome: ScheduleOutcome, weight: Mapping[str, int]) -> Values:
    """What the links of each job's ring count in a schedule: the most over its placements."""
    scope, index = outcome.scope, outcome.scope.server_index
    steps = [weight[l] for l in scope.links]

    def most(j: str) -> int:
        placed = [
            {index[s]: count for s, count in segment.workers.items()}
            for segment in outcome.segments[j]
        ]
        return int(heaviest(scope.tree, steps, placed))

    return over(most, scope.jobs)
