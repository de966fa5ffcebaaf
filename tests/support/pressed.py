"""Network pressures and sensitivities at random: none, few different ones, 0, and long products."""

from __future__ import annotations

from random import Random
from typing import Any

from rarmodel.files import parse_instance
from rarmodel.schema import Instance

PRESSURES = (0, 0.25, 1 / 8, 0.3, 0.123456789, 1, 2.7)
SENSITIVITIES = (0, 0.5, 1, 1, 1.3, 0.333333333, 3)


def give_pressures(random: Random, data: dict[str, Any]) -> None:
    """Give some jobs of a file's data pressures and sensitivities, of which few differ."""
    data["contention"]["model"] = "duty"
    few = random.sample(SENSITIVITIES, random.randint(1, 3))
    for job in data["jobs"]:
        if random.random() < 0.6:
            job["network_pressure"] = random.choice(PRESSURES)
        if random.random() < 0.7:
            job["network_sensitivity"] = random.choice(few)


def pressed(random: Random, instance: Instance) -> Instance:
    """The instance by duty, with pressures and sensitivities."""
    data = instance.model_dump(mode="json", exclude_unset=True)
    give_pressures(random, data)
    return parse_instance(data)
