"""A digest that identifies an instance regardless of its name."""

from __future__ import annotations

import hashlib
import json

from rarmodel.schema import Instance

from .caching import once_per_instance


@once_per_instance
def instance_digest(instance: Instance) -> str:
    """SHA-256 of all that schedules of an instance depend on, as 64 hexadecimal digits.

    Name, description, the origin of time and reasons of reservations do not count, nor do fields
    that are at their defaults.
    """
    content = instance.model_dump(
        mode="json",
        exclude={
            **dict.fromkeys(("name", "description", "schema_version"), True),
            "time": {"origin"},
            "cluster": {"reservations": {"__all__": {"reason"}}},
        },
        exclude_defaults=True,
    )
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
