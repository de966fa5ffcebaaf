"""The methods' schedules of the bundled instances, digested: to the last GPU they stay the same.

A faster rule or engine must not change them. Where a method is to choose otherwise,
`python tests/heuristics/test_golden_schedules.py` writes the digests anew.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from rarmodel import list_instances, load_instance
from rarmodel.heuristics.policies import installed_policies
from rarmodel.instances import EXAMPLES
from rarmodel.limits import Limits
from rarmodel.methods import Method
from rarmodel.search import SEARCH

NAMES = [row["name"] for row in list_instances(EXAMPLES)]
LIMITS = Limits(iterations=20, threads=1, seed=1)
GOLDEN = Path(__file__).parent / "golden_schedules.json"


def digests(name: str) -> dict[str, str]:
    """Digest of the starts and GPUs that each method gives the jobs of an instance."""
    instance, made = load_instance(name), {}
    # A list of objectives: what decides between equal schedules is not what methods choose.
    instance = instance.model_copy(update={"objective": instance.objectives})
    methods: list[Method] = [*installed_policies(), SEARCH]
    for method in methods:
        schedule = method(instance, LIMITS).schedule
        text = schedule.model_dump_json() if schedule else "none"
        made[method.name] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return made


@pytest.mark.parametrize("name", NAMES)
def test_schedules_are_the_golden_ones(name: str) -> None:
    assert digests(name) == json.loads(GOLDEN.read_text())[name]


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({name: digests(name) for name in NAMES}, indent=2) + "\n")
