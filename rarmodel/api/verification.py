"""Verify schedules, and audit the paper's claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rarmodel.defaults import AUDIT_SECONDS
from rarmodel.errors import UsageError
from rarmodel.limits import Limits
from rarmodel.model import unhandled
from rarmodel.verifier import Report
from rarmodel.verifier import verify as _verify

from .arguments import asked_to_audit, asked_with_schedule
from .formulation_choices import solvers_for
from .sources import ScheduleSource, Source, load_instance, load_schedule, with_objective

if TYPE_CHECKING:
    from rarmodel.auditor import Audit
    from rarmodel.solvers import Solver


@asked_with_schedule
def verify(
    instance: Source,
    schedule: ScheduleSource,
    *,
    objective: str | Sequence[str] | None = None,
) -> Report:
    """Check a schedule, from a file or in memory, against an instance.

    Parameters
    ----------
    instance
        An instance, a file, or the name of a bundled instance.
    schedule
        The schedule, or its file.
    objective
        Values to report, instead of the instance's objective; see `solve`.

    Raises
    ------
    InputError
        If instance or schedule is malformed. A schedule that breaks constraints is no error here:
        the report has the violations.
    """
    problem = with_objective(load_instance(instance), objective)
    return _verify(problem, load_schedule(schedule))


@asked_to_audit
def audit(
    instance: Source,
    schedule: ScheduleSource | None = None,
    *,
    solver: str | Solver | None = None,
    time_limit: float | None = AUDIT_SECONDS,
    threads: int | None = None,
    seed: int = 0,
    log: Callable[[str], None] | None = None,
    progress: Callable[[float | None, float | None], None] | None = None,
) -> Audit:
    """Check the paper's Lemmas 2, 3, 4 and Theorem 5 on one schedule.

    Parameters
    ----------
    instance
        An instance, a file, or the name of a bundled instance.
    schedule
        Schedule to audit, from a file or in memory; by default that of SJF-BCO.
    solver
        Solver for the least limit θ*_u and the optimum T*; the default is that of `solve`.
    time_limit
        Seconds for θ*_u and T* together; None for no limit. SJF-BCO itself runs to its end.
    threads, seed, log, progress
        See `Limits`.

    Raises
    ------
    InputError
        If instance or schedule is malformed.
    UsageError
        If a name is unknown, or the instance is wider than the paper's problem.
    NoScheduleError
        If you give no schedule and SJF-BCO finds none within the horizon.
    VerificationError
        If the schedule breaks a constraint.
    """
    limits = Limits(time_limit, 0.0, threads, seed, log, progress)
    problem = load_instance(instance)
    from rarmodel.auditor import HANDLES  # noqa: PLC0415 - loads Numba and Pyomo
    from rarmodel.auditor import audit as _audit  # noqa: PLC0415

    if why := unhandled(problem, HANDLES, "the audit of the paper's claims"):
        raise UsageError(why)
    claimed = None if schedule is None else load_schedule(schedule)
    from rarmodel.formulations.time_indexed import TIME_INDEXED  # noqa: PLC0415

    chosen = solvers_for(TIME_INDEXED, solver)
    if TIME_INDEXED.model_class not in chosen[0].model_classes:
        raise UsageError(
            f"solver {chosen[0].name!r} does not solve {TIME_INDEXED.model_class} models"
        )
    return _audit(problem, chosen, limits, claimed)
