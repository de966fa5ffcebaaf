"""Formulations: Pyomo models of the scheduling problem, found by name."""

if __name__ != "rarmodel.formulations":
    raise ImportError(
        f"this folder is imported as rarmodel.formulations, not as {__name__}; "
        "install the project (pip install -e .) and import rarmodel.formulations"
    )

from .component import Component
from .formulation import Formulation, ModelClass
from .plan import Plan, put
from .scope import Allows, AllowsAt, Scope

__all__ = ["Allows", "AllowsAt", "Component", "Formulation", "ModelClass", "Plan", "Scope", "put"]
