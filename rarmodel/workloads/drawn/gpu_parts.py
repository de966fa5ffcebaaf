"""Jobs that share GPUs, and jobs that need some of their memory."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from rarmodel.model import features
from rarmodel.schema import Instance
from rarmodel.schema.cluster import MAX_SLICES

from .feature import (
    Amounts,
    Drawn,
    Factors,
    Rng,
    Share,
    Wholes,
    changed,
    drawn_from,
    progressing,
    some,
)


class GpuMemory(Drawn):
    """GPUs have memory and jobs need some: none where a job would have no place."""

    name: ClassVar[str] = features.GPU_MEMORY.name

    share: Share = 1.0
    """Part of the jobs that need memory."""

    server_gb: Amounts = (40.0, 80.0)
    """Memory of the GPUs of a server in GB, rounded up: from one number to another."""

    job_gb: Amounts = (5.0, 60.0)
    """What each worker needs in GB: from one number to another, to a decimal."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Give the servers memory, and some jobs needs."""
        servers = instance.cluster.servers
        sizes = drawn_from(rng, self.server_gb, len(servers))
        sized = tuple(
            server.model_copy(update={"gpu_memory_gb": max(1.0, -(-size // 1))})
            for server, size in zip(servers, sizes, strict=True)
        )
        cluster = instance.cluster.model_copy(update={"servers": sized})
        chosen = some(rng, range(len(instance.jobs)), self.share)
        needs = drawn_from(rng, self.job_gb, len(chosen))
        return progressing(
            instance.model_copy(update={"cluster": cluster}),
            {j: {"memory_gb": round(need, 1)} for j, need in zip(chosen, needs, strict=True)},
        )


class SharedGpus(Drawn):
    """GPUs are divided into slices, of which workers of some jobs take a few."""

    name: ClassVar[str] = features.SHARED_GPUS.name

    share: Share = 0.5
    """Part of the jobs that share GPUs."""

    gpu_slices: Annotated[int, Field(strict=True, ge=1, le=MAX_SLICES)] = 4
    """Slices of each GPU."""

    slices: Wholes = (1, 2)
    """Slices that a worker takes, at most all: from one number to another."""

    sensitivities: Factors = (0.2, 1.0)
    """Least and greatest sensitivity; a decimal of it is kept, so that few differ."""

    pressures: Factors = (0.2, 1.0)
    """The same of the pressure."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Divide the GPUs, and let some jobs take slices."""
        cluster = instance.cluster.model_copy(update={"gpu_slices": self.gpu_slices})
        chosen = some(rng, range(len(instance.jobs)), self.share)
        slices = rng.integers(self.slices[0], self.slices[1] + 1, len(chosen)).tolist()
        sensitivities = drawn_from(rng, self.sensitivities, len(chosen))
        pressures = drawn_from(rng, self.pressures, len(chosen))
        numbers = zip(chosen, slices, sensitivities, pressures, strict=True)
        return changed(
            instance.model_copy(update={"cluster": cluster}),
            {
                j: {
                    "slices": min(taken, self.gpu_slices),
                    "sensitivity": round(sensitivity, 1),
                    "pressure": round(pressure, 1),
                }
                for j, taken, sensitivity, pressure in numbers
            },
        )
