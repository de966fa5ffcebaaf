"""Caps that a user's constraints come to, learned from their rows.

A power cap, jobs that may not overlap, at most two of some jobs at once: in each slot, jobs use no
more of something than there is. Written in Pyomo such a cap is a row for each slot. The additions
are built once for very few slots, with a variable for each job on each server: the coefficients of
the rows of slot 0 say how much each job uses. The row of a known schedule leaves some room in each
slot; with what its jobs use there, this is all there is. Plans then keep the caps from the start.

Rows that are no caps may be taken for some, and a use that depends on more than the workers on each
server is told wrongly. Nothing relies on caps: each schedule is judged by the additions themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt
import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

from rarmodel.formulations.restricted import additions_alone
from rarmodel.formulations.restriction import Choice

from .admission import built_on_constants, fixed_model
from .freed_jobs import Times
from .ranking import Incumbent, Ranking
from .violation import added_constraints

Key = tuple[Any, ...]
"""A constraint's name, and its index without the slot."""

PROBED_SLOTS = 2
"""Slots for which additions are built to see the coefficients of slot 0."""


@dataclass(frozen=True)
class LearnedCap:
    """A cap that an addition states.

    Attributes
    ----------
    room
        (slots) How much there is.
    uses
        By job and server: how much each worker there uses.
    """

    room: npt.NDArray[np.float64]
    uses: Mapping[str, Mapping[str, float]]

    def used(self, job: str, choice: Choice) -> float:
        """How much a job uses of the cap in a placement."""
        mine = self.uses.get(job)
        if mine is None:
            return 0.0
        return sum(mine.get(s, 0.0) * count for s, count in choice.workers.items())


def learned_caps(ranking: Ranking, found: Incumbent, horizon: int) -> dict[Key, LearnedCap]:
    """The caps that the additions of a formulation come to; none where they are nothing like that.

    Parameters
    ----------
    ranking
        The solve.
    found
        A schedule that ends within `horizon`.
    horizon
        Slots of the caps.
    """
    uses = _uses(ranking)
    if not uses:
        return {}
    scope = ranking.known.scope(horizon)
    model = fixed_model(ranking.known.formulation, scope, found.schedule)
    if model is None:
        return {}
    rooms = {key: np.full(horizon, np.inf) for key in uses}
    for row in added_constraints(model):
        key, slot = _key_of(row)
        most = pyo.value(row.upper)
        if key not in rooms or slot is None or not 0 <= slot < horizon or most is None:
            continue
        rooms[key][slot] = most - pyo.value(row.body)
    caps = {}
    for key, room in rooms.items():
        cap = LearnedCap(room, uses[key])
        _give_back(cap, found.times)
        caps[key] = cap
    return caps


def slots_needed(caps: Mapping[Key, LearnedCap], times: Times) -> int:
    """About how many slots jobs need to keep caps in their placements, if nothing is lost.

    Slots after those of a cap are taken to have what its last one has.
    """
    needed = 0
    for cap in caps.values():
        area = sum(
            cap.used(j, Choice(workers, 1, range(1))) * (times.ends[j] - times.starts[j])
            for j, workers in times.workers.items()
        )
        if area <= 0:
            continue
        reached = np.cumsum(np.clip(cap.room, 0.0, area))
        if reached[-1] >= area:
            needed = max(needed, int(np.searchsorted(reached, area)) + 1)
        elif cap.room[-1] > 0:
            needed = max(needed, len(reached) + ceil((area - reached[-1]) / cap.room[-1]))
    return needed


def _give_back(cap: LearnedCap, times: Times) -> None:
    """Add what the jobs of a schedule use to what they leave."""
    for j, workers in times.workers.items():
        used = cap.used(j, Choice(workers, 1, range(1)))
        if used:
            cap.room[times.starts[j] : times.ends[j]] += used


def _uses(ranking: Ranking) -> dict[Key, dict[str, dict[str, float]]]:
    """By row of slot 0: how much each worker of a job uses on each server."""
    scope = ranking.known.scope(PROBED_SLOTS)
    restriction = {
        j: tuple(Choice({s: job.sizes[-1]}, 1, range(PROBED_SLOTS)) for s in scope.servers)
        for j, job in scope.jobs.items()
    }
    model = built_on_constants(
        lambda variables: additions_alone(
            ranking.known.formulation, scope, restriction, variables=variables
        )
    )
    if model is None:
        return {}
    names = list(scope.servers)
    whose = {
        id(variable): (j, names[i], scope.jobs[j].sizes[-1])
        for (j, i, t), variable in model.begun.items()
        if t == 0
    }
    found = dict[Key, dict[str, dict[str, float]]]()
    for row in added_constraints(model):
        key, slot = _key_of(row)
        if slot != 0 or pyo.value(row.upper) is None:
            continue
        linear = generate_standard_repn(row.body, compute_values=True)
        terms = list(zip(linear.linear_coefs, linear.linear_vars, strict=True))
        known = all(id(one) in whose and number >= 0 for number, one in terms)
        if not terms or not linear.is_linear() or not known:
            continue
        mine = found.setdefault(key, {})
        for number, variable in terms:
            j, server, size = whose[id(variable)]
            mine.setdefault(j, {})[server] = number / size
    return found


def _key_of(row: Any) -> tuple[Key, int | None]:
    """The constraint of a row without its slot, and the slot: the last integer of its index."""
    index = row.index()
    parts = list(index) if isinstance(index, tuple) else [index]
    places = [i for i, part in enumerate(parts) if isinstance(part, int)]
    if not places:
        return (row.parent_component().local_name, *parts), None
    slot = parts.pop(places[-1])
    return (row.parent_component().local_name, *parts), slot
