"""`cheapest-mix` by single servers, and by GPU where replicas hold slices.

It is larger than by groups of equal servers, and each of its mixes finds room: never more is held
of a server than it has left, so each replica finds GPUs there.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pyomo.environ as pyo

from .cheapest_mix import (
    ACCURACY,
    CHEAPEST_MIX,
    DEMAND,
    MOST_TERMS,
    PRICE,
    QUOTAS,
    REPLICAS,
    STARTS,
)
from .cheapest_mix_numbers import singles_of
from .component import Component
from .replicas_on_gpus import at_most, kinds_on_gpus, room_of_slices, whole_kinds
from .scope import Scope


def room_by_server(m: Any, scope: Scope) -> None:
    """Replicas fit each server; those of slices fit GPUs, also with others of another kind.

    ```
    Σ_{c on s} w_c·up_ck + Σ_g sliced_gk ≤ left_sk
    ```

    See `room_of_slices` for `sliced_gpu`.
    """
    mix = singles_of(scope)
    room_of_slices(m, scope, singles_of)
    whole, sliced = whole_kinds(scope, singles_of), kinds_on_gpus(scope, singles_of)
    m.room = pyo.ConstraintList()
    for s in dict.fromkeys((*whole, *(name for name, _ in sliced))):
        gpus = [g for g in sliced if g[0] == s]
        for k, piece in enumerate(mix.pieces):
            held = sum(n * m.up[(*c, k)] for n, c in whole.get(s, ()))
            held += sum(m.sliced_gpu[g, k] for g in gpus)
            m.room.add(at_most(held, piece.left[scope.server_index[s]]))


def _by_servers(component: Component) -> Component:
    """A component by single servers, and by GPU for slices."""
    build: Any = component.build
    return replace(component, build=partial(build, numbers=singles_of))


def _size(scope: Scope) -> int:
    """Approximate number of terms in the constraints: 8 for each kind and piece."""
    mix = singles_of(scope)
    return 8 * len(mix.kinds) * len(mix.pieces)


def _unfit(scope: Scope) -> str | None:
    """Why the model is refused: nothing to decide, or too large."""
    terms = _size(scope)
    if terms > MOST_TERMS:
        return f"the model, with about {terms:,} terms, is larger than {MOST_TERMS:,}"
    return CHEAPEST_MIX.unfit(scope)


CHEAPEST_PLACED = replace(
    CHEAPEST_MIX.with_components(
        "cheapest-mix-placed",
        *map(_by_servers, (REPLICAS, STARTS, DEMAND, ACCURACY, QUOTAS, PRICE)),
        Component("room", room_by_server, needs=("up",), gives=("sliced_gpu",)),
    ),
    size=_size,
    unfit=_unfit,
)
