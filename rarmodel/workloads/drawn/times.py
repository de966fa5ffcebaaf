"""When jobs may run and should be done: releases, dependencies, due slots, deadlines."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rarmodel.model import features
from rarmodel.model.extremes import slots_alone
from rarmodel.schema import Instance
from rarmodel.schema.base import Count, Positive

from .feature import (
    Amounts,
    Drawn,
    Rng,
    Share,
    changed,
    drawn_from,
    rough_makespan,
    slots_of,
    some,
    whole,
)
from .witness import contention_free


class Releases(Drawn):
    """Jobs arrive, in their order: over a part of the makespan, or as a Poisson process."""

    name: ClassVar[str] = features.RELEASES.name

    within: Share = 1 / 3
    """Part of `rough_makespan` over which they arrive, uniformly."""

    gap: Positive | None = None
    """Mean number of slots between two arrivals of a Poisson process, in place of `within`."""

    waiting: Share = 0.0
    """Part of the jobs that were submitted before slot 0: their releases are negative."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Give every job that does not run already a release."""
        arriving = [j for j, job in enumerate(instance.jobs) if job.running is None]
        early = whole(self.waiting * len(arriving))
        late = len(arriving) - early
        if self.gap is not None:
            gaps = rng.exponential(self.gap, len(arriving))
            before, after = np.cumsum(gaps[:early]), np.cumsum(gaps[early:]) - gaps[early:][:1]
        else:
            span = rough_makespan(instance) * self.within
            moments = rng.uniform(0, span, len(arriving))
            before, after = np.sort(moments[:early]), np.sort(moments[early:])
        slots = [-1 - int(moment) for moment in np.round(before, 6)[::-1]]
        slots += [int(moment) for moment in np.round(after, 6)[:late]]
        return changed(
            instance, {j: {"release": slot} for j, slot in zip(arriving, slots, strict=True)}
        )


class Dependencies(Drawn):
    """Jobs wait for earlier ones."""

    name: ClassVar[str] = features.DEPENDENCIES.name

    share: Share = 0.25
    """Part of the jobs that wait for others."""

    most: Count = 2
    """The most jobs that one waits for."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Let some jobs wait for jobs before them in the file."""
        later = [j for j, job in enumerate(instance.jobs) if j and job.running is None]
        updates = {}
        for j in sorted(some(rng, later, self.share)):
            count = int(rng.integers(1, min(self.most, j), endpoint=True))
            earlier = sorted(rng.choice(j, count, replace=False).tolist())
            updates[j] = {"after": tuple(instance.jobs[k].name for k in earlier)}
        return changed(instance, updates)


class DueSlots(Drawn):
    """Jobs should be done some multiple of their least execution time after their release."""

    name: ClassVar[str] = "due slots"

    share: Share = 1.0
    """Part of the jobs with a due slot."""

    times: Amounts = (1.0, 3.0)
    """Slots from release to due slot, divided by the job's slots alone in the cluster."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Give some jobs a due slot."""
        alone = slots_alone(instance)
        chosen = some(rng, range(len(instance.jobs)), self.share)
        times = drawn_from(rng, self.times, len(chosen))
        return changed(
            instance,
            {
                j: {"due": instance.jobs[j].release + slots_of(factor * alone[j])}
                for j, factor in zip(chosen, times, strict=True)
            },
        )


class Deadlines(Drawn):
    """Jobs must be done in time, and can be: a schedule that keeps all deadlines is known.

    The known schedule is that of `contention_free`. A deadline is its completion of the job, or
    later.
    """

    name: ClassVar[str] = features.DEADLINES.name

    share: Share = 0.25
    """Part of the jobs with a deadline."""

    slack: Amounts = (0.0, 1.0)
    """Slots from the known completion to the deadline, divided by those from release to that."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Give some jobs a deadline."""
        runs = contention_free(instance)
        chosen = some(rng, range(len(instance.jobs)), self.share)
        updates: dict[int, dict[str, Any]] = {}
        for j, factor in zip(chosen, drawn_from(rng, self.slack, len(chosen)), strict=True):
            waited = runs[j].end - max(0, instance.jobs[j].release)
            updates[j] = {"deadline": runs[j].end + slots_of(factor * waited)}
        return changed(instance, updates)
