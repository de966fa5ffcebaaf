"""Compile all code for exact solutions before time is measured."""

from __future__ import annotations

from rarmodel.engine.compilation import told
from rarmodel.engine.enumerate import all_schedules
from rarmodel.heuristics import constructive_methods, prepare_method
from rarmodel.model import best_placements
from rarmodel.schema import Instance
from rarmodel.search import SEARCH


def prepare(instance: Instance) -> None:
    """Compile methods, search, engine and enumeration, once in an installation's life."""
    first = instance.model_copy(update={"jobs": instance.jobs[:1]})
    with told():
        for method in constructive_methods():
            prepare_method(method, first)
        SEARCH.prepare(instance)
        all_schedules(first, [best_placements(first)], [[1]], 0, 1, 1)
