"""Solves before anything is known, for tests of what goes on within them."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from rarmodel.exact.known import NO_BOUND, Known, recorder_of
from rarmodel.formulations import Formulation
from rarmodel.formulations.entries import Entries
from rarmodel.formulations.guarded import guarded
from rarmodel.limits import Limits
from rarmodel.schema import Instance
from rarmodel.solvers.highs import HIGHS


def known_of(instance: Instance, formulation: Formulation, **data: Any) -> Known:
    """A solve without a limit, before anything is known."""
    begun, limits = perf_counter(), Limits()
    return Known(
        instance=instance,
        formulation=guarded(formulation),
        solvers=[HIGHS],
        limits=limits,
        data=Entries(data),
        session=None,
        recorder=recorder_of(instance, formulation, limits, begun),
        begun=begun,
        bound=NO_BOUND,
    )
