"""Why the proven gap of a plan says nothing about a live queue.

An instance keeps these sentences in its description, so a plan of a file knows them too.
"""

from __future__ import annotations

from dataclasses import replace

from rarmodel.methods import Result
from rarmodel.schema import Instance

PREEMPTION = (
    "Slurm may start jobs earlier by preemption; rarmodel chose before it planned who gives way"
)
"""Of a queue where Slurm interrupts jobs to start others."""
TREES = "rarmodel chose a tree of switches for jobs that several had room for, before it planned"
"""Of a queue with trees that no switch joins."""

TYPES = "rarmodel kept rings of several nodes on one type of GPU, which it chose before it planned"
"""Of a queue where nothing is known of the speeds of types of GPU."""

SHARDS = "Slurm itself chooses of which GPU a job gets shards, so jobs with shards may start later"
"""Of a plan with shards: Slurm takes the first GPU with enough of them."""


def remarks_of(instance: Instance) -> tuple[str, ...]:
    """What a plan cannot tell Slurm, though its bound is true."""
    told = instance.description or ""
    return (SHARDS,) if SHARDS in told else ()


def caveats_of(instance: Instance) -> tuple[str, ...]:
    """The caveats of an instance."""
    told = instance.description or ""
    return tuple(one for one in (PREEMPTION, TREES, TYPES) if one in told)


def without_bound(result: Result) -> Result:
    """A result that claims no bound, and so neither a gap nor an optimum."""
    schedule = result.schedule
    return replace(
        result,
        schedule=schedule and schedule.model_copy(update={"bound": None}),
        ties=tuple(replace(tie, bound=None, proved_by=None) for tie in result.ties),
        objective=tuple(replace(goal, bound=None, proved_by=None) for goal in result.objective),
        lower_bound=None,
        bound_name=None,
        model=result.model and replace(result.model, solver_bound=None),
        status="feasible" if schedule is not None else result.status,
        stopped="with no bound claimed" if result.status == "optimal" else result.stopped,
    )
