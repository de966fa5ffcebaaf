"""Priority rules: jobs in an order, and each that fits holds its GPUs.

A moldable job has its ring size of least area. Where jobs may be interrupted, rules that do so give
GPUs in their order to running and waiting jobs alike; where not, running jobs go on.
"""

from __future__ import annotations

from rarmodel.model.features import ALL

from ..policy import Decision, Policy, ranked
from ..state import DURATIONS, State


def _in_order_of_arrival(_: State) -> Decision:
    return Decision(blocks=True)


def _each_in_order_of_arrival(_: State) -> Decision:
    return Decision()


def _shortest(state: State) -> Decision:
    return Decision(ranked(state.remaining))


def _least_service(state: State) -> Decision:
    return Decision(ranked(state.remaining * state.gpus))


def _greatest_priority(state: State) -> Decision:
    """Greatest `jobs[].priority` first, in order of arrival, each that fits.

    Running jobs give way to those of a greater priority that find no room otherwise, and to no
    others (section 18).
    """
    return Decision(ranked(-state.priority), priority=state.priority)


def _earliest_due(state: State) -> Decision:
    return Decision(ranked(state.due))


FIFO = Policy(
    "fifo",
    _in_order_of_arrival,
    "in order of arrival; a job that does not fit keeps all later ones waiting",
    handles=ALL,
)
FIFO_BACKFILL = Policy(
    "fifo-backfill",
    _each_in_order_of_arrival,
    "in order of arrival, each waiting job that fits",
    handles=ALL,
)
SJF = Policy(
    "sjf",
    _shortest,
    "shortest first, each waiting job that fits",
    knows=DURATIONS,
    handles=ALL,
)
SRTF = Policy(
    "srtf",
    _shortest,
    "least remaining time first, each that fits",
    DURATIONS,
    interrupts=True,
    handles=ALL,
)
SRSF = Policy(
    "srsf",
    _least_service,
    "least remaining time times GPUs first, each that fits",
    DURATIONS,
    interrupts=True,
    handles=ALL,
)
EDF = Policy(
    "edf",
    _earliest_due,
    "earliest due first, jobs without a due slot last, each that fits",
    interrupts=True,
    handles=ALL,
)
PRIORITY = Policy(
    "priority",
    _greatest_priority,
    "greatest priority first, each that fits; running jobs give way to greater ones",
    interrupts=True,
)
