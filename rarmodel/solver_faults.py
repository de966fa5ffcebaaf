"""Faults of solvers that make answers wrong or end the process, and the settings against them.

A fault belongs to versions of a solver. Whoever uses a solver, through an adapter or directly, asks
here for the settings that the installed version needs. A new fault is one more entry of `FAULTS`,
and a model in `tests/solvers/test_faults.py` that shows it or shows that its setting is in force.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from typing import NamedTuple

Setting = bool | int | float | str


class Fault(NamedTuple):
    """A fault of some versions of a solver.

    Attributes
    ----------
    package
        The solver's distribution.
    name
        What is at fault.
    wrong
        What happens, in a sentence.
    source
        Where it is reported or shown.
    option, value
        The setting that avoids it. Values of an option in `MASKS` are bits, and add up.
    since, before
        The first version that has it, and the first that has it no longer; None if no version
        before, or none yet, is known to be free of it.
    continuous
        Whether only models with continuous variables need the setting.
    """

    package: str
    name: str
    wrong: str
    source: str
    option: str
    value: Setting
    since: tuple[int, ...] | None = None
    before: tuple[int, ...] | None = None
    continuous: bool = False


MASKS = frozenset({"presolve_rule_off"})
"""Options whose values are bits."""

INCLUSION = Fault(
    "ortools",
    "presolve of linear rows with at-most-one constraints",
    "CP-SAT adds the coefficients of a row's Booleans up in 32 bits; from 2^31 on it takes a row "
    "that holds under a condition for one that always holds, and proves wrong optima by it",
    "https://github.com/google/or-tools/issues/5293",
    "presolve_inclusion_work_limit",
    0,
    before=(9, 16),
)

ENUMERATION = Fault(
    "highspy",
    "presolve rule enumeration",
    "HiGHS loses all solutions of some programs, and says that there are none",
    "tests/search/test_lanes.py",
    "presolve_rule_off",
    1 << 16,
)

PROBING = Fault(
    "highspy",
    "presolve rule probing",
    "HiGHS loses the best solutions of some programs, or all of them, by the order in which other "
    "rules come before; with the rule off no order does, and proofs take no longer",
    "tests/solvers/probing.mps",
    "presolve_rule_off",
    1 << 15,
)

AGGREGATOR = Fault(
    "highspy",
    "presolve rule aggregator",
    "HiGHS 1.15.1 never leaves it on some models without most of their constraints, which a "
    "diagnosis makes, whatever its time limit; the rule was seen to save no time",
    "rarmodel.exact.diagnosis",
    "presolve_rule_off",
    1 << 12,
    continuous=True,
)

ORDERING = Fault(
    "pyscipopt",
    "METIS in the orderings of Ipopt's MUMPS",
    "SCIP's heuristics for non-linear models write past their memory at times, and the whole "
    "process ends; the setting is one of Ipopt's, which SCIP reads from a file",
    "https://github.com/scipopt/scip/issues/211",
    "mumps_pivot_order",
    0,
)

FAULTS = (INCLUSION, ENUMERATION, PROBING, AGGREGATOR, ORDERING)
"""The known ones.

Not here, as no version that rarmodel allows has them: singleton columns in HiGHS 1.14 (HiGHS issue
2957), a wrong optimum from HiGHS 1.13 on (2980), dominated columns in HiGHS 1.14 (3090).
"""


def settings(
    package: str, version: str | None = None, *, continuous: bool = False
) -> dict[str, Setting]:
    """The settings that avoid a version's faults, by option.

    Parameters
    ----------
    package
        The solver's distribution.
    version
        Its version; None for the installed one. All faults count if that is not known.
    continuous
        Whether the model has continuous variables.
    """
    if version is None:
        try:
            version = installed_version(package)
        except PackageNotFoundError:
            version = None
    numbers = None if version is None else _numbers(version)
    return _together(
        fault
        for fault in FAULTS
        if fault.package == package
        and (continuous or not fault.continuous)
        and (numbers is None or _has(fault, numbers))
    )


def _numbers(version: str) -> tuple[int, ...]:
    """The version as numbers: 9.15.6755 is (9, 15, 6755)."""
    release = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, release[0].split("."))) if release else ()


def _has(fault: Fault, version: tuple[int, ...]) -> bool:
    late = fault.since is None or version >= fault.since
    return late and (fault.before is None or version < fault.before)


def _together(faults: Iterable[Fault]) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for fault in faults:
        old, new = found.get(fault.option), fault.value
        both = fault.option in MASKS and isinstance(old, int) and isinstance(new, int)
        found[fault.option] = old | new if both else new  # type: ignore[operator]
    return found
