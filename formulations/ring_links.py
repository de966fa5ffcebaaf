"""What the links of rings count in an objective (section 18), from what a model says of its rings.

A model in which a job has one placement has `linked[j,l]`, 1 if its ring uses link ℓ, or no less; a
model in which it may have several, one after another, has `linked_in[j,l,t]` of each slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.objectives import objectives_of

from .formulation import Scope
from .placements import Placement


def links_count(scope: Scope) -> bool:
    """Whether links count in an objective up to that of the scope's stage."""
    few = objectives_of(scope.instance)[: scope.stage + 1]
    return any(one.link_weights is not None for one in few)


def ways_by_link(
    options: Mapping[str, Mapping[str, Placement]],
) -> dict[tuple[str, str], list[str]]:
    """By job and link that its ring can use: the labels of the placements in which it does."""
    found: dict[tuple[str, str], list[str]] = {}
    for j, ways in options.items():
        for k, way in ways.items():
            for link in way.links:
                found.setdefault((j, link), []).append(k)
    return found


def weight_of_links(m: Any, scope: Scope, place: int, weight: Mapping[str, int]) -> Any:
    """What the links of all rings count, as an expression; `weight` is by link, in steps.

    ```
    Σ_jl weight_l·linked_jl            one placement for each job
    Σ_j most_j      most_j ≥ Σ_l weight_l·linked_in_jlt      several
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
    if m.component("linked") is not None:
        return sum(weight[l] * linked for (_, l), linked in m.linked.items())
    by_slot: dict[tuple[str, int], list[Any]] = {}
    for (j, l, t), linked in m.linked_in.items():
        by_slot.setdefault((j, t), []).append(weight[l] * linked)
    most = pyo.Var(sorted({j for j, _ in by_slot}), domain=pyo.NonNegativeReals)
    m.add_component(f"most_links_{place}", most)
    m.add_component(
        f"most_links_in_{place}",
        pyo.Constraint(list(by_slot), rule=lambda _, j, t: most[j] >= sum(by_slot[j, t])),
    )
    return sum(most.values())
