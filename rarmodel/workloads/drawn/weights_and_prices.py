"""What counts: weights, priorities, prices of GPUs; and whether jobs may be interrupted."""

from __future__ import annotations

from typing import ClassVar

from rarmodel.model import features
from rarmodel.schema import Instance
from rarmodel.schema.base import NonNegative
from rarmodel.schema.instance import Preemption as Allowed

from .feature import (
    Amounts,
    AnyWholes,
    Drawn,
    Rng,
    Share,
    Shares,
    Wholes,
    changed,
    drawn_from,
    some,
    whole,
)


class Weights(Drawn):
    """Jobs count differently."""

    name: ClassVar[str] = "weights"

    values: Wholes = (1, 5)
    """Least and greatest weight."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Give every job a weight."""
        weights = rng.integers(*self.values, len(instance.jobs), endpoint=True).tolist()
        return changed(instance, {j: {"weight": weight} for j, weight in enumerate(weights)})


class Priorities(Drawn):
    """Some jobs are more urgent than others."""

    name: ClassVar[str] = "priorities"

    values: AnyWholes = (0, 3)
    """Least and greatest priority."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Give every job a priority."""
        found = rng.integers(*self.values, len(instance.jobs), endpoint=True).tolist()
        return changed(instance, {j: {"priority": priority} for j, priority in enumerate(found)})


class Prices(Drawn):
    """GPUs have prices: those of each type one, or all GPUs the same."""

    name: ClassVar[str] = "prices"

    per_gpu_hour: Amounts = (1.0, 4.0)
    """Least and greatest price of a GPU for an hour; slower types are never dearer."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Draw a price for each type of GPU."""
        there = dict.fromkeys(server.gpu_type for server in instance.cluster.servers)
        # The order of types in `times` is from slow to fast; a job that is pinned has one of them.
        longest = max((job.times or {} for job in instance.jobs), key=len)
        types = [*longest, *(kind for kind in there if kind is not None and kind not in longest)]
        drawn = sorted(
            round(price, 2) for price in drawn_from(rng, self.per_gpu_hour, max(1, len(types)))
        )
        prices = dict(zip(types, drawn, strict=True)) if types else drawn[0]
        cluster = instance.cluster.model_copy(update={"prices_per_gpu_hour": prices})
        return instance.model_copy(update={"cluster": cluster})


class Preemption(Drawn):
    """Jobs may be interrupted."""

    name: ClassVar[str] = features.PREEMPTION.name

    restore_seconds: NonNegative = 30.0
    """Seconds for which a job holds its GPUs without progress when it goes on."""

    unpreemptible: Share = 0.0
    """Share of the jobs that may not be interrupted."""

    checkpoints: Shares = (0.0, 0.0)
    """Least and greatest part of a job's iterations between two checkpoints; 0: after each one."""

    requeued: Share = 0.0
    """Share of the jobs that may be interrupted, and then begin anew."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Allow interruptions, and draw what they cost."""
        jobs = range(len(instance.jobs))
        updates: dict[int, dict[str, object]] = {j: {} for j in jobs}
        firm = some(rng, jobs, self.unpreemptible)
        others = sorted(set(jobs).difference(firm))
        anew = some(rng, others, self.requeued)
        parts = drawn_from(rng, self.checkpoints, len(jobs))
        for j in others:
            if interval := whole(parts[j] * instance.jobs[j].iterations):
                updates[j] = {"checkpoint_iterations": interval}
        updates |= {j: {"preemptible": False} for j in firm}
        updates |= {j: {"checkpoint_iterations": None} for j in anew}
        allowed = Allowed(restore_seconds=self.restore_seconds)
        return changed(instance, updates).model_copy(update={"preemption": allowed})
