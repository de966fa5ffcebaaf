"""Compile all code for exact solutions before time is measured."""

from __future__ import annotations

from rarmodel.engine.compilation import told
from rarmodel.methods import constructive_methods, prepare_method
from rarmodel.model import best_placements, unhandled, used
from rarmodel.model.features import plain
from rarmodel.proof.all_schedules import all_schedules
from rarmodel.schema import Instance
from rarmodel.search import SEARCH, SESSION_HANDLES

from .orders import prepare_orders
from .taken import taken_by


def prepare(instance: Instance) -> None:
    """Compile methods, search, engine and enumeration, once in an installation's life."""
    with told():
        for method in constructive_methods():
            if (taken := taken_by(method, instance)) is not None:
                prepare_method(method, _with_one_job(taken))
        wider = used(instance)
        if wider and unhandled(instance, SESSION_HANDLES, "") is None:
            SEARCH.prepare(instance)
        if not plain(instance):
            return
        short = instance.model_copy(update={"objective": "makespan"}) if wider else instance
        SEARCH.prepare(short)
        first = _with_one_job(short)
        prepare_orders(first)
        all_schedules(first, [best_placements(first)], [[1]], 0, 1, 1)


def _with_one_job(instance: Instance) -> Instance:
    """The instance with its first job only, which then has no others to wait for."""
    first = instance.jobs[0].model_copy(update={"after": ()})
    return instance.model_copy(update={"jobs": (first,)})
