"""Replicas one by one, from how many are ready in each piece of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from rarmodel.model.services import enough, ready_at

from .cheapest_mix_numbers import Key, Mix


class ReplicaStay(NamedTuple):
    """A replica that holds GPUs from one slot until before another.

    Attributes
    ----------
    kind
        Its kind, as in a `Mix`.
    start, end
        The slots.
    """

    kind: Key
    start: int
    end: int


def stays(mix: Mix, counts: Mapping[Key, Sequence[int]]) -> list[ReplicaStay]:
    """Replicas one by one: the last that began end first, so that a base load stays.

    Parameters
    ----------
    mix
        The kinds of replicas, and the pieces of time.
    counts
        By kind: how many replicas are ready in each piece.
    """
    found = []
    for c in mix.kinds:
        begun: list[int] = []
        for k, piece in enumerate(mix.pieces):
            while len(begun) > counts[c][k]:
                found.append(ReplicaStay(c, begun.pop(), piece.start))
            begun += [piece.start - mix.before(c, k)] * (counts[c][k] - len(begun))
        last = mix.pieces[-1].end
        found += [ReplicaStay(c, start, last) for start in begun]
    return found


def needed(mix: Mix, found: Sequence[ReplicaStay]) -> list[ReplicaStay]:
    """The same replicas without what nobody needs: later begins, earlier ends, or none at all.

    What asks for much is shortened first. Nothing is held that was not held before. The pieces of
    the mix are single slots.
    """
    ready = [Counter[tuple[str, str]]() for _ in mix.pieces]
    for one in found:
        for t in _ready(mix, one):
            ready[t][one.kind[:2]] += 1

    def spared(one: ReplicaStay, t: int) -> bool:
        """Whether the others are enough in a slot; then this one does not count there any more."""
        service = mix.kinds[one.kind].service
        ready[t][one.kind[:2]] -= 1
        here = {v.name: ready[t][service.name, v.name] for v in service.variants}
        if enough(service, here, mix.pieces[t].rates.get(service.name, Fraction(0))):
            return True
        ready[t][one.kind[:2]] += 1
        return False

    kept = []
    for one in sorted(found, key=lambda one: -mix.kinds[one.kind].gpus):
        slots = list(_ready(mix, one))
        while slots and spared(one, slots[-1]):
            slots.pop()
        while slots and spared(one, slots[0]):
            del slots[0]
        if slots:
            startup = mix.kinds[one.kind].startup
            kept.append(ReplicaStay(one.kind, max(0, slots[0] - startup), slots[-1] + 1))
    return kept


def _ready(mix: Mix, one: ReplicaStay) -> range:
    """The slots in which a replica is ready."""
    return range(ready_at(one.start, mix.kinds[one.kind].startup), one.end)
