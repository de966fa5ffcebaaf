"""Calibration: fit the constants of contention, and rates, to measurements on a real cluster."""

from .bandwidth import DEFAULT_SPAN, Bandwidth, bandwidths
from .calibration import Calibration, Parameter, Rates, Residual
from .estimate import calibrate
from .measurement import Measurement
from .measurement_table import Measurements, made_measurements, read_measurements
from .model_comparison import Errors, ModelComparison, ModelFit, compare_models
from .nccl_tests import read_run
from .run import Message, Run

__all__ = [
    "DEFAULT_SPAN",
    "Bandwidth",
    "Calibration",
    "Errors",
    "Measurement",
    "Measurements",
    "Message",
    "ModelComparison",
    "ModelFit",
    "Parameter",
    "Rates",
    "Residual",
    "Run",
    "bandwidths",
    "calibrate",
    "compare_models",
    "made_measurements",
    "read_measurements",
    "read_run",
]
