"""When a job may start in a placement, by the rules on placements at slots.

A rule is a function of a user's: its answers are kept, and it is asked of no more slots than plans
and restricted models reach.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from rarmodel.formulations import Scope
from rarmodel.formulations.placements import label_of

Flags = npt.NDArray[np.bool_]


class SlotRules:
    """The rules of a scope on placements at slots, with their answers so far.

    Parameters
    ----------
    scope
        The instance and its rules.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._answers: dict[tuple[str, str], list[bool]] = {}

    def allowed(self, job: str, workers: Mapping[str, int], end: int) -> Flags:
        """(slots before the end) Whether a job may be active in a placement."""
        if not self._scope.allowed_at:
            return np.ones(end, np.bool_)
        known = self._answers.setdefault((job, label_of(workers)), [])
        known += [self._scope.allows_at(job, workers, t) for t in range(len(known), end)]
        return np.array(known[:end], np.bool_)

    def starts(
        self, job: str, workers: Mapping[str, int], slots: int, low: int, high: int
    ) -> list[int]:
        """Starts in a range, both ends included, from which so many slots in a row are allowed."""
        if low > high or not self._scope.allowed_at:
            return list(range(low, high + 1))
        refused = np.cumsum(np.concatenate(([0], ~self.allowed(job, workers, high + slots))))
        begins = np.arange(low, high + 1)
        return [int(t) for t in begins[refused[begins + slots] == refused[begins]]]
