"""Kueue and Volcano as methods: their queue order and their packing, one job at a time.

Both serve jobs by priority and then by age, and start each one that fits; so a job that does not
fit keeps nobody waiting (Kueue's `BestEffortFIFO`). They plan nothing ahead, so what they make is
what the online policy `priority` plays with their placement.
"""

from __future__ import annotations

from dataclasses import dataclass

from rarmodel import registry
from rarmodel.limits import Limits
from rarmodel.methods import Attempt
from rarmodel.model.features import ALONE_ON_GPUS
from rarmodel.online import Placement, Policy, simulate
from rarmodel.online.cluster_packing import KUEUE_BEST_FIT, KUEUE_LEAST_FREE, VOLCANO_BINPACK
from rarmodel.online.policies.priorities import PRIORITY
from rarmodel.schema import Instance


@dataclass(frozen=True)
class ClusterScheduler(registry.Part):
    """A scheduler of clusters as a method.

    Attributes
    ----------
    name
        Its name.
    placement
        Where it puts a job.
    description
        What it does, in a line.
    policy
        Which job is next.
    handles
        Features that it handles.
    """

    kind = "methods"

    name: str
    placement: Placement
    description: str
    policy: Policy = PRIORITY
    handles: frozenset[str] = ALONE_ON_GPUS

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        """The schedule of the jobs as the scheduler starts them."""
        found = simulate(instance, self.policy, self.placement, seed=limits.seed)
        if found.schedule is None:
            return Attempt(None, "; ".join(found.causes) or found.stopped)
        schedule = found.schedule.model_copy(update={"method": self.name, "placement": None})
        return Attempt(schedule, "finished")


KUEUE = ClusterScheduler(
    "kueue", KUEUE_BEST_FIT, "Kueue, where pods prefer to be close together (best fit)"
)
KUEUE_UNCONSTRAINED = ClusterScheduler(
    "kueue-unconstrained", KUEUE_LEAST_FREE, "Kueue, where pods ask for nothing of the network"
)
VOLCANO = ClusterScheduler("volcano", VOLCANO_BINPACK, "Volcano, with its binpack on GPUs")
SCHEDULERS = (KUEUE, KUEUE_UNCONSTRAINED, VOLCANO)
"""All of them."""
