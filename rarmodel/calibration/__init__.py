"""Calibration: fit the constants of contention, and rates, to measurements on a real cluster."""

from .bandwidth import DEFAULT_SPAN, Bandwidth, bandwidths
from .calibration import Calibration, Parameter, Rates, Residual
from .colocation_sections import MeasuredSlowdown
from .estimate import calibrate
from .measurement import Measurement
from .measurement_table import Measurements, made_measurements, read_measurements
from .model_comparison import Errors, ModelComparison, ModelFit, compare_models
from .nccl_tests import read_run
from .published_tables import PublishedTable, is_published, of_gpu_type, read_published
from .run import Message, Run
from .term_comparison import compare_terms
from .term_results import (
    AcrossErrors,
    GroupErrors,
    HeldOut,
    PredictorErrors,
    TermComparison,
    TermConstant,
    TermErrors,
)

__all__ = [
    "DEFAULT_SPAN",
    "AcrossErrors",
    "Bandwidth",
    "Calibration",
    "Errors",
    "GroupErrors",
    "HeldOut",
    "MeasuredSlowdown",
    "Measurement",
    "Measurements",
    "Message",
    "ModelComparison",
    "ModelFit",
    "Parameter",
    "PredictorErrors",
    "PublishedTable",
    "Rates",
    "Residual",
    "Run",
    "TermComparison",
    "TermConstant",
    "TermErrors",
    "bandwidths",
    "calibrate",
    "compare_models",
    "compare_terms",
    "is_published",
    "made_measurements",
    "of_gpu_type",
    "read_measurements",
    "read_published",
    "read_run",
]
