"""Random stars: rings of a few GPUs on small servers, with compute times drawn as such."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from rarmodel.errors import UsageError
from rarmodel.schema.base import MAX_NUMBER

from .settings import Settings, Span, disordered


@dataclass(frozen=True, kw_only=True)
class Stars(Settings):
    """Settings of a family whose compute times are drawn, whatever execution times follow.

    Each job has any of the sizes that fit the cluster, with the chance of its weight.

    Attributes
    ----------
    forward_ms_per_sample
        Forward pass of one sample in milliseconds, Δf_j.
    backward_ms
        Backward pass in milliseconds, Δb_j.
    """

    forward_ms_per_sample: Span
    backward_ms: Span

    def draw(self) -> tuple[list[int], list[dict[str, Any]]]:
        """Draw GPUs of servers, then each job with its values in the order of the file."""
        random = Random(self.seed)  # noqa: S311 - for benchmarks
        servers = [random.choice(self.capacities) for _ in range(self.servers)]
        total = sum(servers)
        sizes = [gpus for gpus, weight in self.sizes for _ in range(weight) if gpus <= total]
        if not sizes:
            raise UsageError(f"sizes: none fits the {total} GPUs of the cluster")
        return servers, [
            {
                "gpus": random.choice(sizes),
                "iterations": random.randint(*self.iterations),
                "gradient_mb": round(random.uniform(*self.gradient_mb), 1),
                "batch_size": random.choice(self.batch_sizes),
                "forward_ms_per_sample": round(random.uniform(*self.forward_ms_per_sample), 2),
                "backward_ms": round(random.uniform(*self.backward_ms), 1),
            }
            for _ in range(self.jobs)
        ]

    def _out_of_range(self) -> Iterator[str]:
        yield from super()._out_of_range()
        for name, span in (
            ("forward ms per sample", self.forward_ms_per_sample),
            ("backward ms", self.backward_ms),
        ):
            yield from disordered(name, span, 0, MAX_NUMBER)
