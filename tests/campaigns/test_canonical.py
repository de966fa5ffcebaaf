"""The text by which a campaign knows an instance, and from which its runs read it."""

from __future__ import annotations

from random import Random

from documents import instance_data, job_data
from wide_instances import FEATURES, random_wide

from rarmodel.campaigns.task import canonical_instance
from rarmodel.files import parse_instance
from rarmodel.model import instance_digest
from rarmodel.model.features import PREEMPTION


def test_a_job_without_checkpoints_is_read_as_one() -> None:
    instance = parse_instance(instance_data(job_data("a", checkpoint_iterations=None)))
    assert parse_instance(canonical_instance(instance)).jobs[0].checkpoint_iterations is None


def test_runs_read_the_instance_that_was_planned() -> None:
    for seed in range(40):
        random = Random(seed)
        features = {PREEMPTION.name, *random.sample(FEATURES, random.randint(0, 4))}
        instance = random_wide(random, features)
        again = parse_instance(canonical_instance(instance))
        assert instance_digest(again) == instance_digest(instance)
