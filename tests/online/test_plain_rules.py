"""Priority rules against an independent implementation that goes slot by slot."""

from __future__ import annotations

from random import Random

import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from plain_online import RULES, played
from random_instances import random_instance
from wide_instances import with_interruptions

from rarmodel import registry
from rarmodel.engine.arrays import NEVER
from rarmodel.online.placement import CONSOLIDATE
from rarmodel.online.play import play
from rarmodel.schema import Instance


def arriving(random: Random, *, preemption: bool, stall: bool) -> Instance:
    """Plain jobs with releases and due slots, perhaps with preemption."""
    plain = random_instance(
        random,
        jobs=random.randint(1, 8),
        servers=random.randint(1, 4),
        tree=random.random() < 0.5,
        stall=stall,
        most_slots=9,
    )
    last = random.choice([0, 5, 20])
    jobs = tuple(
        job.model_copy(
            update={
                "release": random.randint(-3, last),
                "due": random.choice([None, random.randint(0, 30)]),
            }
        )
        for job in plain.jobs
    )
    restore = random.choice([0.0, 0.4, 1.0, 2.5]) * plain.time.slot_seconds
    plain = plain.model_copy(update={"jobs": jobs})
    return with_interruptions(random, plain, restore) if preemption else plain


@pytest.mark.parametrize("name", RULES)
@examples(20)
@given(
    random=st.randoms(use_true_random=False),
    preemption=st.booleans(),
    stall=st.booleans(),
)
def test_simulation_is_that_of_plain_loops_to_the_slot(
    name: str, random: Random, *, preemption: bool, stall: bool
) -> None:
    instance = arriving(random, preemption=preemption, stall=stall)
    completion, segments = played(instance, RULES[name])
    found = play(instance, registry.find("policies", name), CONSOLIDATE)
    index = found.jobs.index.tolist()
    ends = dict(zip(index, found.completion.tolist(), strict=True))
    assert [ends[j] if ends[j] < NEVER else None for j in range(len(index))] == completion
    if None not in completion:
        stays = [(index[one.job], one.start, one.end, dict(one.ring)) for one in found.stays]
        assert sorted(stays, key=str) == sorted(map(tuple, segments), key=str)
