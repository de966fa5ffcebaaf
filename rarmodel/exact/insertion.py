"""Plans by insertion: job after job takes the first slots that those before it leave.

For projects with resources this is the serial scheme (R. Kolisch, "Serial and parallel
resource-constrained project scheduling methods revisited", European Journal of Operational Research
90, 1996). A job that comes first keeps its room, so that wide jobs need not wait for all others,
and the placements are those of restricted models: with the user's rules, and expected times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.formulations import Scope
from rarmodel.formulations.restricted import caps_of_choices
from rarmodel.formulations.restriction import Choice

from .learned_caps import Key, LearnedCap
from .placement_pool import Workers
from .slot_rules import SlotRules

NOISE = 1e-9
"""Room that lacks by no more than noise of floats is enough."""

Way = tuple[Workers, int]
"""A placement, and how many slots it is expected to take."""


class Inserted(NamedTuple):
    """A plan: by job its start, its expected completion, and its placement."""

    starts: dict[str, int]
    ends: dict[str, int]
    workers: dict[str, Workers]


class Insertion:
    """The room of an instance, into which plans are inserted.

    Parameters
    ----------
    scope
        As many slots as plans may have.
    slot_rules
        Where rules on placements at slots allow starts; by default those of the scope.
    learned
        Caps of so many slots that additions come to.
    """

    def __init__(
        self,
        scope: Scope,
        slot_rules: SlotRules | None = None,
        learned: Mapping[Key, LearnedCap] | None = None,
    ) -> None:
        self._scope, self._rules = scope, slot_rules or SlotRules(scope)
        self._caps: dict[Key, tuple[npt.NDArray[np.float64], Callable[[str, Choice], float]]] = {
            key: (np.array(room, float), of) for key, (room, of) in caps_of_choices(scope).items()
        }
        for key, cap in (learned or {}).items():
            self._caps["added", *key] = cap.room, cap.used
        self._known: dict[tuple[Any, ...], dict[Key, float]] = {}

    def plan(
        self,
        order: Sequence[str],
        ways: Mapping[str, Sequence[Way]],
        waits: Mapping[str, set[str]],
        earliest: Mapping[str, int],
    ) -> Inserted | None:
        """Insert the jobs; None if they do not fit, or wait for each other.

        Parameters
        ----------
        order
            The jobs, most urgent first. A job comes after those that it waits for.
        ways
            By job: its placements; of equally early ends the first one's counts.
        waits
            By job: others for which it waits, beside those of the instance.
        earliest
            By job: a slot before which it does not start.
        """
        left = {key: room.copy() for key, (room, _) in self._caps.items()}
        made = Inserted({}, {}, {})
        ends = made.ends
        after = {j: {*job.after, *waits.get(j, ())} for j, job in self._scope.jobs.items()}
        pending = list(order)
        while pending:
            j = next((one for one in pending if after[one] <= ends.keys()), None)
            if j is None:
                return None
            pending.remove(j)
            window = self._scope.windows[j]
            since = max([window.start, earliest.get(j, 0), *(ends[k] for k in after[j])])
            best: tuple[int, int, Workers] | None = None
            for workers, slots in ways[j]:
                start = _first(self._free(left, j, workers, slots, since), slots)
                if start is not None and (best is None or since + start + slots < best[0]):
                    best = since + start + slots, since + start, workers
            if best is None:
                return None
            ends[j], made.starts[j], made.workers[j] = best
            for key, used in self._uses(j, made.workers[j], ends[j] - made.starts[j]).items():
                left[key][made.starts[j] : ends[j]] -= used
        return made

    def share(self, job: str, workers: Workers, slots: int) -> float:
        """What a job takes of the cap of which it takes the greatest part, over its slots."""
        parts = [0.0]
        for key, used in self._uses(job, workers, slots).items():
            room = self._caps[key][0]
            most = float(room[np.isfinite(room)].max(initial=0.0))
            parts += [slots * used / most] if most > 0 else []
        return max(parts)

    def _free(
        self,
        left: Mapping[Key, npt.NDArray[np.float64]],
        job: str,
        workers: Workers,
        slots: int,
        since: int,
    ) -> npt.NDArray[np.bool_]:
        """By slot from one on: whether there is room for a placement, and rules allow it."""
        free = self._rules.allowed(job, workers, self._scope.horizon)[since:]
        for key, used in self._uses(job, workers, slots).items():
            free &= left[key][since:] >= used - NOISE
        return free

    def _uses(self, job: str, workers: Workers, slots: int) -> Mapping[Key, float]:
        """How much a placement takes of each cap."""
        which = (job, *workers.items())
        if which not in self._known:
            choice = Choice(workers, slots, range(1))
            found = {key: of(job, choice) for key, (_, of) in self._caps.items()}
            self._known[which] = {key: used for key, used in found.items() if used}
        return self._known[which]


def _first(free: npt.NDArray[np.bool_], slots: int) -> int | None:
    """The first of so many slots in a row that are free."""
    edges = np.concatenate(([-1], np.flatnonzero(~free), [len(free)]))
    fits = np.flatnonzero(np.diff(edges) > slots)
    return int(edges[fits[0]]) + 1 if len(fits) else None
