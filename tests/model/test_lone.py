"""The placements worth having alone, against every placement in the verifier's own simulation."""

from __future__ import annotations

from random import Random

import pytest
from depth import examples
from hypothesis import given
from lone_placements import placements, slots_alone_at, slots_of_placements
from wide_instances import WIDE, random_wide, wide_instances

from rarmodel.bounds.least_demands import least_areas
from rarmodel.model import (
    best_placements,
    job_extremes,
    least_slots_by_placement,
    lone_options,
)
from rarmodel.model.extremes import slots_alone
from rarmodel.schema import Instance


def check(instance: Instance) -> None:
    extremes, areas = job_extremes(instance), least_areas(instance)
    by_servers, best = least_slots_by_placement(instance), best_placements(instance)
    for j, job in enumerate(instance.jobs):
        every = placements(instance, job)
        slots = [slots_alone_at(instance, job, workers) for workers in every]
        done = [(t, w) for t, w in zip(slots, every, strict=True) if t is not None]
        assert extremes[j].least_slots == min(t for t, _ in done)
        assert areas[j] == min(t * sum(w.values()) for t, w in done)
        packed = [t for t, w in done if len(w) == 1]
        spread = [t for t, w in done if len(w) > 1]
        assert by_servers[j].packed == min(packed, default=None)
        assert by_servers[j].spread == min(spread, default=None)
        assert best[j] in every
        assert slots_alone_at(instance, job, best[j]) == extremes[j].least_slots
        if (most := extremes[j].most_slots) is not None:
            assert None not in slots
            assert max(t for t, _ in done) <= most
        for option in lone_options(instance)[j]:
            there = [w for w in every if sum(w.values()) == option.pace.size]
            assert len(option.allowed) >= option.servers
            assert any(len(w) == option.servers for w in there)
        unbegun = job.model_copy(update={"running": None})
        assert slots_alone(instance)[j] == min(slots_of_placements(instance, unbegun))


@examples(40)
@given(wide_instances(jobs=3, servers=4))
def test_least_slots_areas_and_best_placements_are_those_of_enumeration(
    instance: Instance,
) -> None:
    check(instance)


@pytest.mark.parametrize("feature", [feature.name for feature in WIDE])
@pytest.mark.parametrize("seed", range(8))
def test_each_feature_alone_agrees_with_enumeration(feature: str, seed: int) -> None:
    check(random_wide(Random(seed), {feature}, jobs=3, servers=3))
