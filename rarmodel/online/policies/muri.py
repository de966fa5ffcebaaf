"""Muri: groups of jobs on the same GPUs, by matching those that gain most together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from rarmodel.model.features import ALL

from ..policy import Decision, Policy, ranked
from ..state import DURATIONS, State
from .gavel import ROUND_SECONDS, Free, Known, known_of

Floats = npt.NDArray[np.float64]
Group = tuple[int, ...]
"""Positions of jobs on the same GPUs, ascending."""

MOST = 4
"""Jobs of a group: the four resources that Muri's jobs take turns on."""


def make_muri(name: str = "muri", *, most: int = MOST) -> Policy:
    """Muri's grouping by matching, in order of remaining time times GPUs (Muri-S).

    Y. Zhao and others, SIGCOMM 2022. Jobs are gone through by remaining time times GPUs, the least
    first. While rings of their sizes have room in the cluster, each is chosen, together with the
    next ones of its size up to `most`. If the chosen jobs need more GPUs than there are, groups of
    one size are merged two by two: by a matching of greatest weight, the best pairs first, until
    they need no more. This is done again with the merged groups. Groups are then given GPUs in
    order of their first jobs. All others follow one by one, alone.

    Readings. Muri weighs a group by how much of its four resources it uses: the times that its jobs
    take for an iteration alone, over four times the one that they take together. Up to the factor
    this is the sum of the parts of their speeds that jobs keep beside each other, which section 15
    has without resources. Jobs that keep 1 or less in sum do no more than by taking turns, and are
    no group; nor does Muri keep such a one. Of types of GPU each group gets the one of greatest
    weight that has room. Jobs that must go on keep their places: groups of them stay as they are,
    and others may join one that is alone on its GPUs.

    Groups are made anew every 6 minutes, as on Muri's cluster, if jobs have come or gone; Muri's
    simulator makes them at each event. In between, who gets GPUs is decided at each event: complete
    jobs have left their groups, and new ones are alone. Other rounds make groups as often as that.

    Parameters
    ----------
    name
        Its name for `--policy`.
    most
        Most jobs of a group.
    """
    return Policy(
        name,
        partial(_decide, most),
        "Muri: least remaining time times GPUs first; jobs share GPUs by matching, up to four",
        DURATIONS,
        interrupts=True,
        round_seconds=ROUND_SECONDS,
        handles=ALL,
        packs=True,
    )


def _decide(most: int, state: State) -> Decision:
    known = known_of(state)
    bound = state.running & (~state.preemptible | (not state.interruptible))
    fixed = _fixed(state, bound)
    held = {j for group in fixed for j in group}
    ranks = ranked(~bound, state.remaining * state.gpus).tolist()
    order = [j for j in ranks if j not in held]
    matching = _Matching(state, known, bound, most)
    place = {j: at for at, j in enumerate(order)}
    there = state.number.tobytes(), state.capacity.tobytes()
    if (state.is_round and state.memory.get("there") != there) or "there" not in state.memory:
        gpus = known.there.sum() - sum(known.gpus[group[0]] for group in fixed)
        chosen = _chosen(known, _free(state, known, fixed), order, most)
        groups = matching.merged(chosen, float(gpus))
        numbers = [tuple(state.number[[*one]].tolist()) for one in groups]
        state.memory.update(there=there, groups=numbers)
    else:
        groups = _before(state, place)
    groups = [tuple(sorted(one, key=place.__getitem__)) for one in groups]
    free = _free(state, known, fixed)
    types: dict[int, int] = {}
    together = []
    for group in sorted(groups, key=lambda one: place[one[0]]):
        size, weight = known.gpus[group[0]], matching.weight(tuple(sorted(group)))
        for r in np.argsort(-weight, kind="stable").tolist():
            if weight[r] > 0 and all(free.has(j, r, size) for j in group):
                free.take(group[0], r, size)
                types |= dict.fromkeys(group, r)
                together.append(group)
                break
    first = [*(j for group in fixed for j in group), *types]
    rest = [j for j in order if j not in types]
    return Decision(
        np.array([*first, *rest], np.int64),
        types={j: kind for j, r in types.items() if (kind := known.kinds[r]) is not None},
        together=[*fixed, *together],
    )


def _before(state: State, place: Mapping[int, int]) -> list[Group]:
    """The groups that were made last, of the jobs that are there still; the others are alone."""
    at = {number: j for j, number in enumerate(state.number.tolist()) if j in place}
    groups = [tuple(at[k] for k in group if k in at) for group in state.memory["groups"]]
    grouped = {j for group in groups for j in group}
    return [*filter(None, groups), *((j,) for j in place if j not in grouped)]


def _fixed(state: State, bound: npt.NDArray[np.bool_]) -> list[Group]:
    """Groups of jobs that share GPUs already and must go on."""
    going = frozenset(np.flatnonzero(bound).tolist())
    found: dict[int, Group] = {}
    for j in sorted(going):
        if j not in found and (others := (state.mates[j] & going) - found.keys()):
            found |= dict.fromkeys([j, *others], tuple(sorted([j, *others])))
    return [*dict.fromkeys(found.values())]


def _free(state: State, known: Known, fixed: Sequence[Group]) -> Free:
    """GPUs without those of the groups that must go on."""
    free = Free(state, known)
    for group in fixed:
        for server, count in state.places[group[0]].items():
            kind = state.cluster.servers[server].gpu_type
            free.take(group[0], known.kinds.index(kind), count)
    return free


def _chosen(known: Known, free: Free, order: Sequence[int], most: int) -> list[int]:
    """The jobs of which groups are made: for each ring that has room, up to `most`."""
    by_size: dict[float, list[int]] = {}
    for j in order:
        by_size.setdefault(known.gpus[j], []).append(j)
    chosen: dict[int, None] = {}
    for j in order:
        size = known.gpus[j]
        fastest = np.argsort(-known.speed[j], kind="stable").tolist()
        fits = [r for r in fastest if known.speed[j, r] > 0 and free.has(j, r, size)]
        if j in chosen or not fits:
            continue
        free.take(j, fits[0], size)
        left = [other for other in by_size[size] if other not in chosen and other != j]
        chosen |= dict.fromkeys([j, *left[: most - 1]])
    return [*chosen]


class _Matching:
    """Merges groups until they fit into the cluster, or no two gain by that."""

    def __init__(self, state: State, known: Known, bound: npt.NDArray[np.bool_], most: int) -> None:
        self._state, self._known, self._bound, self._most = state, known, bound, most
        self._weights: dict[Group, Floats] = {}

    def merged(self, jobs: Sequence[int], there: float) -> list[Group]:
        """The groups of some jobs, for so many GPUs; many are of one job."""
        groups: list[Group] = [(j,) for j in jobs]
        needed = sum(self._known.gpus[j] for j in jobs)
        while needed > there:
            pairs = sorted(self._pairs(groups), key=lambda both: -self.weight(_union(*both)).max())
            if not pairs:
                break
            for both in pairs:
                if needed <= there:
                    break
                groups = [one for one in groups if one not in both] + [_union(*both)]
                needed -= self._known.gpus[both[0][0]]
        return groups

    def weight(self, group: Group) -> Floats:
        """(types) The sum of the parts of their speeds that jobs keep there; 0 if they cannot."""
        if group not in self._weights:
            self._weights[group] = self._weight(group)
        return self._weights[group]

    def _weight(self, group: Group) -> Floats:
        known, able = self._known, self._types_of_bound(group)
        alone = known.speed[[*group]]
        if len(group) == 1:
            return np.asarray(able & (alone[0] > 0), np.float64)
        beside = []
        for j in group:
            speeds = self._state.speeds_beside(j, *[other for other in group if other != j])
            beside.append([speeds[kind] for kind in known.kinds])
        speed = np.array(beside, np.float64)
        able &= (speed > 0).all(axis=0)
        kept: Floats = np.where(able, (speed / np.maximum(alone, 1.0)).sum(axis=0), 0.0)
        return kept

    def _types_of_bound(self, group: Group) -> npt.NDArray[np.bool_]:
        """(types) Those of the GPUs of a job that must go on; none if others cannot join it."""
        state, kinds = self._state, self._known.kinds
        found = np.ones(len(kinds), np.bool_)
        for j in group:
            if self._bound[j]:
                servers = state.places[j]
                there = {state.cluster.servers[s].gpu_type for s in servers}
                joined = all(
                    not self._bound[other] and state.asks[other].kept_by(servers)
                    for other in group
                    if other != j
                )
                found &= [joined and there == {kind} for kind in kinds]
        return found

    def _pairs(self, groups: Sequence[Group]) -> Iterator[tuple[Group, Group]]:
        """Pairs of groups of a matching of greatest weight."""
        import networkx as nx  # noqa: PLC0415 - takes a while to load, and few need it

        graph = nx.Graph()
        for one, other in combinations(sorted(groups), 2):
            alike = self._known.gpus[one[0]] == self._known.gpus[other[0]]
            if alike and len(one) + len(other) <= self._most:
                weight = float(self.weight(_union(one, other)).max())
                if weight > 1.0:
                    graph.add_edge(one, other, weight=weight)
        for both in nx.max_weight_matching(graph):
            yield min(both), max(both)


def _union(one: Group, other: Group) -> Group:
    return tuple(sorted(one + other))


MURI = make_muri()
