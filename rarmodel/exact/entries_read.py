"""Find out which entries of data a formulation reads, before the solve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rarmodel.bounds import best_bound
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.entries import Entries
from rarmodel.formulations.guarded import guarded
from rarmodel.formulations.restricted import rules_of
from rarmodel.model import horizon_of, job_extremes, topology
from rarmodel.model.features import plain
from rarmodel.schema import Instance
from rarmodel.search import one_after_another

from .admission import ModelNeeded, evaluated, short_scope, takes_constants


def entries_read(
    instance: Instance, formulation: Formulation, data: Mapping[str, Any]
) -> frozenset[str] | None:
    """Names of the entries that a formulation reads; None if only its model can tell.

    Additions to another formulation are tried on jobs that all begin at slot 0, or on the schedule
    that runs one job after another.
    """
    reads: frozenset[str] | None = getattr(formulation, "reads", None)
    if reads is not None:
        return reads
    entries = Entries(data)
    if not rules_of(formulation) and takes_constants(formulation, short_scope(instance, entries)):
        return frozenset(entries.asked)
    if not plain(instance):
        return None  # Schedules of wider instances take a search.
    schedule = one_after_another(instance).schedule(instance, "one-after-another")
    horizon = horizon_of(instance)
    extremes, tree = job_extremes(instance), topology(instance.cluster)
    bound = best_bound(instance).slots
    scope = Scope(instance, tree, extremes, horizon, bound, entries, every_schedule=True)
    if isinstance(evaluated(guarded(formulation), scope, schedule), ModelNeeded):
        return None
    return frozenset(entries.asked)
