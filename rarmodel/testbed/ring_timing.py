"""Carry out a plan, and write what it measures as a table that `calibrate` reads."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from rarmodel.calibration import Measurement
from rarmodel.defaults import TESTBED_MBIT, TESTBED_SECONDS
from rarmodel.errors import RarmodelError, UsageError
from rarmodel.model import exchange_bits

from .measurement_plan import Plan, Ring, Together
from .network import lent
from .real_rings import Work, measured

_SETTLE_PART = 0.3
"""Time to settle, as a part of the time to measure: rings interleave within 10 to 20 iterations."""
_LEAST_ITERATIONS = 6
_COLUMNS = (
    *("run", "job", "links", "gpus", "servers", "concurrent_jobs", "gradient_mb", "compute_ms"),
    *("iteration_ms", "part"),
)


@dataclass(frozen=True)
class Timing:
    """A ring beside others, and its time.

    Attributes
    ----------
    run
        The rings that ran at the same time.
    number
        Its place among them, from 0.
    iterations
        Iterations measured.
    iteration_ms, exchange_ms
        Mean time of an iteration, and of its exchange, in milliseconds.
    """

    run: Together
    number: int
    iterations: int
    iteration_ms: float
    exchange_ms: float

    @property
    def ring(self) -> Ring:
        """The ring."""
        return self.run.rings[self.number]

    @property
    def job(self) -> str:
        """Name of the job."""
        return self.ring.name or f"job {self.number + 1}"

    def measurement(self) -> Measurement:
        """The row of a table for `calibrate`."""
        ring = self.ring
        return Measurement(
            job=self.job,
            gpus=len(ring.servers),
            servers=len(set(ring.servers)),
            concurrent_jobs=self.run.crowd[self.number],
            gradient_mb=ring.gradient_mb,
            compute_ms=ring.compute_ms,
            iteration_ms=round(self.iteration_ms, 4),
            run=self.run.name,
            links=" ".join(f"s{link}" for link in ring.links),
            part=self.run.part,
        )


def measure(
    plan: Plan,
    *,
    seconds: float = TESTBED_SECONDS,
    servers: int | None = None,
    mbit: float | None = None,
    buffer_ms: float | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[list[Timing]]:
    """Carry out a plan on the testbed that is up, or on one that is up meanwhile.

    Parameters
    ----------
    plan
        The rings to run.
    seconds
        Time to measure each run; longer where iterations are long.
    servers, mbit, buffer_ms
        Servers, rate of links in Mbit/s and length of queues in milliseconds of a testbed of its
        own; by default 6, 100 and 20.
    progress
        Is told of each run before it begins.

    Yields
    ------
    list
        The rings of each run, when it is over.

    Raises
    ------
    UsageError
        If there can be no testbed, or it has too few servers.
    RarmodelError
        If a ring fails, or takes too long.
    """
    with lent(servers, mbit, buffer_ms) as there:
        if plan.servers > there:
            raise UsageError(f"the plan needs {plan.servers} servers; the testbed has {there}")
        for number, run in enumerate(plan.runs):
            progress(f"run {number + 1} of {len(plan.runs)}: {run.name}")
            least = _LEAST_ITERATIONS * _slowest(run, mbit or TESTBED_MBIT)
            yield _timings(run, max(seconds, least))


def _slowest(run: Together, mbit: float) -> float:
    """Seconds of the slowest iteration, as (8) has it with all rings at once."""
    return max(
        exchange_bits(ring.gradient_mb, len(ring.servers)) * crowd / (mbit * 1e6)
        + ring.compute_ms * 1e-3
        for ring, crowd in zip(run.rings, run.crowd, strict=True)
    )


def _timings(run: Together, seconds: float) -> list[Timing]:
    works = [Work(ring.servers, ring.gradient_mb, ring.compute_ms * 1e-3) for ring in run.rings]
    timings = []
    for number, each in enumerate(measured(works, seconds, _SETTLE_PART * seconds)):
        if not each:
            message = f"{run.name}: a ring did not complete an iteration in {seconds:.3g} s"
            raise RarmodelError(f"{message}; measure for longer")
        whole = 1e3 * (each[-1].end - each[0].begin) / len(each)
        exchange = 1e3 * fmean(one.end - one.exchange for one in each)
        timings.append(Timing(run, number, len(each), whole, exchange))
    return timings


def table_of(timings: Sequence[Timing]) -> str:
    """The table in CSV; empty cells where a run belongs to no part."""
    rows = [timing.measurement().model_dump(exclude_none=True) for timing in timings]
    return csv_of([{column: row.get(column, "") for column in _COLUMNS} for row in rows])


def csv_of(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows with the same columns in CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
