"""Schedule ring-all-reduce training jobs on GPU clusters.

>>> import rarmodel
>>> result = rarmodel.solve("two-servers", formulation="time-indexed")
>>> result.status
'optimal'

Each name below loads its module on first use, so that importing rarmodel is light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .lazy import exports

if TYPE_CHECKING:
    from .api import (
        Comparison,
        audit,
        calibrate,
        compare,
        compare_models,
        describe,
        formulate,
        generate,
        import_trace,
        list_bounds,
        list_families,
        list_formulations,
        list_instances,
        list_methods,
        list_neighbourhoods,
        list_objectives,
        list_placements,
        list_policies,
        list_reports,
        list_solvers,
        load_instance,
        plot,
        report,
        report_simulations,
        simulate,
        solve,
        verify,
    )
    from .auditor import Audit
    from .calibration import Calibration
    from .description import Description
    from .errors import (
        InputError,
        NoScheduleError,
        PartError,
        RarmodelError,
        UsageError,
        VerificationError,
    )
    from .files import read_instance, read_schedule, to_json, write_text
    from .limits import Limits
    from .methods import Result
    from .schema import Instance, Schedule
    from .verifier import Report

__version__: str

_HOMES = {
    "Audit": "auditor",
    "Calibration": "calibration",
    "Comparison": "api",
    "Description": "description",
    "InputError": "errors",
    "Instance": "schema",
    "Limits": "limits",
    "NoScheduleError": "errors",
    "PartError": "errors",
    "RarmodelError": "errors",
    "Report": "verifier",
    "Result": "methods",
    "Schedule": "schema",
    "UsageError": "errors",
    "VerificationError": "errors",
    "audit": "api",
    "calibrate": "api",
    "compare": "api",
    "compare_models": "api",
    "describe": "api",
    "formulate": "api",
    "generate": "api",
    "import_trace": "api",
    "list_bounds": "api",
    "list_families": "api",
    "list_formulations": "api",
    "list_instances": "api",
    "list_methods": "api",
    "list_neighbourhoods": "api",
    "list_objectives": "api",
    "list_placements": "api",
    "list_policies": "api",
    "list_reports": "api",
    "list_solvers": "api",
    "load_instance": "api",
    "plot": "api",
    "read_instance": "files",
    "read_schedule": "files",
    "report": "api",
    "report_simulations": "api",
    "simulate": "api",
    "solve": "api",
    "to_json": "files",
    "verify": "api",
    "write_text": "files",
}

__all__ = [
    "Audit",
    "Calibration",
    "Comparison",
    "Description",
    "InputError",
    "Instance",
    "Limits",
    "NoScheduleError",
    "PartError",
    "RarmodelError",
    "Report",
    "Result",
    "Schedule",
    "UsageError",
    "VerificationError",
    "audit",
    "calibrate",
    "compare",
    "compare_models",
    "describe",
    "formulate",
    "generate",
    "import_trace",
    "list_bounds",
    "list_families",
    "list_formulations",
    "list_instances",
    "list_methods",
    "list_neighbourhoods",
    "list_objectives",
    "list_placements",
    "list_policies",
    "list_reports",
    "list_solvers",
    "load_instance",
    "plot",
    "read_instance",
    "read_schedule",
    "report",
    "report_simulations",
    "simulate",
    "solve",
    "to_json",
    "verify",
    "write_text",
]

_get, __dir__ = exports(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    if name != "__version__":
        return _get(name)
    from importlib.metadata import version  # noqa: PLC0415 - slow, and few need it

    return version(__name__)
