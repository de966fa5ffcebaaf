"""Sweeps of hyper-parameters by synchronous successive halving, as jobs that wait for others.

K. Jamieson, A. Talwalkar, "Non-stochastic best arm identification and hyperparameter
optimization", AISTATS 2016. In the first rung all trials train for so many iterations. The best of
them, one of η, go on until they have η times as many, and so do the best of these. A trial of a
rung waits for all of the rung before, as only then it is known who is best. Readings: a trial goes
on from its checkpoint, so a job does the iterations that a rung adds; rungs end when there are
fewer than η trials.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from rarmodel.errors import UsageError
from rarmodel.schema import Instance, Job
from rarmodel.schema.base import Count

from .feature import Drawn, Rng, progress

_Several = Annotated[int, Field(strict=True, ge=2, le=10_000)]


class Sweeps(Drawn):
    """Sweeps of hyper-parameters join the jobs: each trial of a rung is after all of the last."""

    name: ClassVar[str] = "sweeps"

    count: Count = 1
    """Sweeps."""

    trials: _Several = 9
    """Trials in the first rung of each."""

    eta: _Several = 3
    """One of so many trials goes on to the next rung, η."""

    rungs: Count = 100
    """Most rungs; there are fewer if fewer than η trials are left."""

    iterations: Count = 100
    """Iterations of a trial in the first rung."""

    gpus: Count = 1
    """GPUs of each trial."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Add the jobs of the sweeps; each sweep trains the model of a random job."""
        room = instance.cluster.total_gpus
        if self.gpus > room:
            raise UsageError(f"feature sweeps: gpus: {self.gpus}; the cluster has {room}")
        taken = {job.name for job in instance.jobs}
        jobs = list(instance.jobs)
        for number in range(self.count):
            model = instance.jobs[int(rng.integers(len(instance.jobs)))]
            jobs += self._rungs(model, _unused(f"sweep{number}", taken), rng)
        made = instance.model_copy(update={"jobs": tuple(jobs)})
        if not all(progress(made)):
            raise UsageError(
                f"feature sweeps: a slot is too short for an iteration of {self.gpus} GPUs"
            )
        return made

    def _rungs(self, model: Job, sweep: str, rng: Rng) -> list[Job]:
        """The jobs of a sweep, rung after rung."""
        jobs: list[Job] = []
        trials, before, done = list(range(self.trials)), tuple[str, ...](), 0
        for rung in range(self.rungs):
            until = self.iterations * self.eta**rung
            made = [
                model.model_copy(
                    update={
                        **{name: Job.model_fields[name].get_default() for name in _OWN},
                        "name": f"{sweep}-rung{rung}-trial{trial}",
                        "gpus": self.gpus,
                        "iterations": until - done,
                        "batch_size": model.samples(model.sizes[0]),
                        "after": before,
                    }
                )
                for trial in trials
            ]
            jobs += made
            before, done = tuple(job.name for job in made), until
            kept = rng.permutation(len(trials))[: len(trials) // self.eta]
            trials = sorted(trials[int(k)] for k in kept)
            if not trials:
                break
        return jobs


_OWN = (
    *("global_batch_size", "spread", "servers", "running"),
    *("tenant", "resources", "resources_per_gpu", "slices", "memory_gb"),
)
"""Fields of the job whose model is trained that trials do not share: with other GPUs they might
never run."""


def _unused(name: str, taken: set[str]) -> str:
    """The name, with a mark after it as long as jobs have names that begin so."""
    while any(other.startswith(f"{name}-") for other in taken):
        name += "'"
    return name
