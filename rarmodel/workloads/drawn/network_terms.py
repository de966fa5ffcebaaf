"""What real networks add to (8): latency, overlap with the passes, several network cards."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from rarmodel.model import features
from rarmodel.model.timing import MAX_OVERLAP
from rarmodel.schema import Instance
from rarmodel.schema.base import NonNegative

from .feature import Drawn, Rng, Share, Wholes, progress, some


class Latency(Drawn):
    """Each step of an exchange takes a while more: none where a job could not go on at all."""

    name: ClassVar[str] = features.LATENCY.name

    ms: NonNegative = 0.1
    """Milliseconds that each step takes beside its bits."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Give the network a latency."""
        return _if_all_progress(instance, _with_contention(instance, latency_ms=self.ms))


class Overlap(Drawn):
    """Exchange and passes overlap, which takes no job longer."""

    name: ClassVar[str] = features.OVERLAP.name

    power: Annotated[float, Field(strict=True, ge=1, le=MAX_OVERLAP, allow_inf_nan=False)] = 2.0
    """How far, γ: 1 is not at all."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Let exchange and passes overlap."""
        return _with_contention(instance, overlap=self.power)


class NetworkCards(Drawn):
    """Servers have several network cards: none where a job could not go on at all."""

    name: ClassVar[str] = features.CARDS.name

    share: Share = 1.0
    """Part of the servers that have several."""

    cards: Wholes = (2, 8)
    """How many: from one number to another."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Give some servers several network cards."""
        servers = list(instance.cluster.servers)
        chosen = some(rng, range(len(servers)), self.share)
        numbers = rng.integers(self.cards[0], self.cards[1] + 1, len(chosen)).tolist()
        for s, cards in zip(chosen, numbers, strict=True):
            servers[s] = servers[s].model_copy(update={"network_cards": cards})
        cluster = instance.cluster.model_copy(update={"servers": tuple(servers)})
        return _if_all_progress(instance, instance.model_copy(update={"cluster": cluster}))


def _with_contention(instance: Instance, **update: float) -> Instance:
    contention = instance.contention.model_copy(update=update)
    return instance.model_copy(update={"contention": contention})


def _if_all_progress(before: Instance, after: Instance) -> Instance:
    return after if all(progress(after)) else before
