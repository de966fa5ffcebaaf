"""Formulations: Pyomo models of the scheduling problem, found by name."""

if __name__ != "rarmodel.formulations":
    raise ImportError(
        f"this folder is imported as rarmodel.formulations, not as {__name__}; "
        "install the project (pip install -e .) and import rarmodel.formulations"
    )

from .formulation import Component, Formulation, ModelClass, Plan, Scope, put

__all__ = ["Component", "Formulation", "ModelClass", "Plan", "Scope", "put"]
