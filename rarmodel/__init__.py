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
    from .api.altering import what_if as what_if
    from .api.alternatives import WhatIf as WhatIf
    from .api.certifying import certificate as certificate
    from .api.certifying import check as check
    from .api.comparing import compare as compare
    from .api.comparison import Comparison as Comparison
    from .api.formulating import formulate as formulate
    from .api.formulating import relax as relax
    from .api.inputs import calibrate as calibrate
    from .api.inputs import compare_models as compare_models
    from .api.inputs import compare_terms as compare_terms
    from .api.inputs import generate as generate
    from .api.inputs import import_trace as import_trace
    from .api.library_listing import describe as describe
    from .api.library_listing import list_families as list_families
    from .api.library_listing import list_instances as list_instances
    from .api.listing import parts as parts
    from .api.plotting import plot as plot
    from .api.plotting import report as report
    from .api.plotting import report_simulations as report_simulations
    from .api.serving import frontier as frontier
    from .api.serving import import_requests as import_requests
    from .api.simulating import simulate as simulate
    from .api.solving import solve as solve
    from .api.sources import load_instance as load_instance
    from .api.verification import audit as audit
    from .api.verification import verify as verify
    from .auditor import Audit as Audit
    from .calibration import Calibration as Calibration
    from .checker import Checked as Checked
    from .description import Description as Description
    from .errors import InputError as InputError
    from .errors import NoScheduleError as NoScheduleError
    from .errors import PartError as PartError
    from .errors import RarmodelError as RarmodelError
    from .errors import UsageError as UsageError
    from .errors import VerificationError as VerificationError
    from .files import read_instance as read_instance
    from .files import read_schedule as read_schedule
    from .files import to_json as to_json
    from .files import write_text as write_text
    from .limits import Limits as Limits
    from .methods import Result as Result
    from .schema import Instance as Instance
    from .schema import Schedule as Schedule
    from .schema.certificate import Certificate as Certificate
    from .serving import Frontier as Frontier
    from .verifier import Report as Report

__version__: str

_get, __dir__, __all__ = exports(__name__)


def __getattr__(name: str) -> Any:
    if name != "__version__":
        return _get(name)
    from importlib.metadata import version  # noqa: PLC0415 - slow, and few need it

    return version(__name__)
