"""A model that is complete needs no rules, and can be pickled without them."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyomo.environ as pyo


def without_rules(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """Drop the functions by which Pyomo made components, if Python cannot pickle them.

    Everything that they made stays. Pyomo would call them again only for an index that they left
    out.
    """
    for component in model.component_objects():
        for name, rule in vars(component).items():
            if name.startswith("_rule") and rule is not None and not _can_be_pickled(rule):
                setattr(component, name, None)
    return model


def _can_be_pickled(value: object) -> bool:
    try:
        pickle.dumps(value)
    except (AttributeError, TypeError, pickle.PicklingError):
        return False
    return True
