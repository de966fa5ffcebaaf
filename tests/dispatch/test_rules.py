"""Dispatching rules on wider instances: what they make keeps every demand, or they say why not."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from wide_instances import WIDE, random_wide

from rarmodel.dispatch import (
    earliest_due_first,
    first_come_first_served,
    shortest_first,
    weighted_shortest_first,
)
from rarmodel.limits import Limits
from rarmodel.verifier import verify

RULES = (
    first_come_first_served,
    shortest_first,
    weighted_shortest_first,
    earliest_due_first,
)


@settings(max_examples=300, deadline=None)
@given(
    st.randoms(use_true_random=False),
    st.sets(st.sampled_from([feature.name for feature in WIDE])),
    st.integers(1, 8),
    st.integers(1, 4),
    st.sampled_from(RULES),
)
def test_what_a_rule_makes_passes_the_verifier(
    random: Random, features: set[str], jobs: int, servers: int, rule: object
) -> None:
    instance = random_wide(random, features, jobs=jobs, servers=servers)
    schedule, stopped, _ = rule(instance, Limits())  # type: ignore[operator]
    if schedule is None:
        assert stopped
        return
    report = verify(instance, schedule)
    assert report.violations == ()
