"""What rings get of links by each model: exactly, at best and at worst."""

from __future__ import annotations

from random import Random

from contended import contended_instance
from depth import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from random_instances import instances, random_workers

from rarmodel.model import (
    bandwidths,
    best_share,
    instance_digest,
    topology,
    worst_share,
)
from rarmodel.model.sharing_rule import COUNT, DUTY, RULES
from rarmodel.schema import Instance
from rarmodel.verifier import Run, simulate

ANY_MODEL = st.sampled_from([*RULES])


def by_model(instance: Instance, model: str) -> Instance:
    contention = instance.contention.model_copy(update={"model": model})
    return instance.model_copy(update={"contention": contention})


@examples(25)
@given(instances(), st.randoms(use_true_random=False), ANY_MODEL)
def test_no_ring_is_faster_than_at_best_nor_slower_than_at_worst(
    instance: Instance, random: Random, model: str
) -> None:
    instance = by_model(instance, model)
    tree = topology(instance.cluster)
    gbps = {link.node: link.gbps for link in tree.links}
    workers = random_workers(random, instance)
    runs = [Run(job, 0, ring) for job, ring in zip(instance.jobs, workers, strict=True)]
    periods = simulate(instance, runs).periods
    assume(periods)  # There are none where all stand still.
    period = periods[0]
    for run in runs:
        ring, rings = period.rings[run.job.name], period.links
        used = [tree.links[link].node for link in tree.links_used(run.workers)]
        if used:
            best = min(best_share(instance, gbps[link], rings[link]) for link in used)
            worst = min(worst_share(instance, gbps[link], rings[link]) for link in used)
            assert worst <= ring.bandwidth_gbps <= best


def test_by_the_count_best_and_worst_are_the_share() -> None:
    instance = by_model(contended_instance(Random(0)), COUNT.name)
    for rings in range(5):
        share = COUNT.share(instance.contention, 10.0, rings - 1)
        assert best_share(instance, 10.0, rings) == share == worst_share(instance, 10.0, rings)


def test_alone_and_without_rings_a_link_is_whole() -> None:
    assert bandwidths(contended_instance(Random(0)).contention, [1.0], []) == []
    for model in RULES:
        instance = by_model(contended_instance(Random(0)), model)
        assert [best_share(instance, 10.0, rings) for rings in (0, 1)] == [10.0, 10.0]
        assert worst_share(instance, 10.0, 1) == 10.0


def test_the_count_said_aloud_is_the_same_instance_and_duty_another() -> None:
    instance = contended_instance(Random(0))
    aloud = by_model(instance, COUNT.name)
    silent = Instance.model_validate(
        {
            **instance.model_dump(mode="json", exclude_unset=True),
            "contention": aloud.contention.model_dump(mode="json", exclude={"model"}),
        }
    )
    assert instance_digest(silent) == instance_digest(aloud)
    assert instance_digest(silent) != instance_digest(by_model(instance, DUTY.name))
