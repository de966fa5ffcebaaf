"""Network pressures and sensitivities: rings that slow each other down more, or less, than duty."""

from __future__ import annotations

from typing import ClassVar

from rarmodel.model import features
from rarmodel.model.sharing_rule import DUTY
from rarmodel.schema import Instance

from .feature import Drawn, Factors, Rng, Share, changed, drawn_from, some


class NetworkPressures(Drawn):
    """Contention is by duty, and jobs have pressures and sensitivities."""

    name: ClassVar[str] = features.NETWORK_PRESSURES.name

    share: Share = 1.0
    """Part of the jobs of several GPUs that have both."""

    pressures: Factors = (0.1, 1.0)
    """Least and greatest pressure."""

    sensitivities: Factors = (0.5, 2.0)
    """Least and greatest sensitivity; a decimal of it is kept, so that few differ."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Give jobs pressures and sensitivities, and the instance contention by duty."""
        several = [j for j, job in enumerate(instance.jobs) if job.sizes[-1] > 1]
        chosen = some(rng, several, self.share)
        pressures = drawn_from(rng, self.pressures, len(chosen))
        sensitivities = drawn_from(rng, self.sensitivities, len(chosen))
        contention = instance.contention.model_copy(update={"model": DUTY.name})
        pairs = zip(chosen, zip(pressures, sensitivities, strict=True), strict=True)
        return changed(
            instance.model_copy(update={"contention": contention}),
            {
                j: {"network_pressure": pressure, "network_sensitivity": round(sensitivity, 1)}
                for j, (pressure, sensitivity) in pairs
            },
        )
