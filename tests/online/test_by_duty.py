"""Simulations by duty, with every policy; each is verified."""

from __future__ import annotations

from random import Random

import pytest
from contended import contended_instance
from pressed import pressed

from rarmodel import registry, simulate
from rarmodel.model.sharing_rule import DUTY
from rarmodel.schema import Instance


def instance(*, elastic: bool = False) -> Instance:
    found = contended_instance(Random(2), jobs=8, model=DUTY.name, tree=True)
    jobs = []
    for j, job in enumerate(found.jobs):
        update: dict[str, object] = {"release": j}
        if elastic:
            update |= {"gpus": (2, 4), "batch_size": None, "global_batch_size": 4}
        jobs.append(job.model_copy(update=update))
    time = found.time.model_copy(update={"horizon": None})
    return found.model_copy(update={"jobs": tuple(jobs), "time": time})


@pytest.mark.parametrize(
    "policy", [one.name for one in registry.parts("policies") if not one.packs]
)
@pytest.mark.parametrize("placement", ["consolidate", "contention-aware"])
def test_every_policy_plays_by_duty(policy: str, placement: str) -> None:
    elastic = registry.find("policies", policy).elastic
    found = simulate(instance(elastic=elastic), policy=policy, placement=placement)
    assert found.stopped == "finished"
    assert found.report is not None
    assert found.report.feasible


@pytest.mark.parametrize("policy", ["fifo", "srtf"])
@pytest.mark.parametrize("placement", ["consolidate", "contention-aware"])
@pytest.mark.parametrize("seed", range(3))
def test_policies_play_with_pressures_and_sensitivities(
    policy: str, placement: str, seed: int
) -> None:
    found = simulate(pressed(Random(seed), instance()), policy=policy, placement=placement)
    assert found.stopped == "finished"
    assert found.report is not None
    assert found.report.feasible
