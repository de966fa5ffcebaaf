"""Families of random instances, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from rarmodel import registry
from rarmodel.errors import UsageError

from .drawn import features_of, told
from .settings import Settings
from .stars import Stars
from .timed import Timed

PAPER = Timed(
    family="paper",
    jobs=160,
    servers=20,
    capacities=(4, 8, 16, 32),
    sizes=((1, 80), (2, 14), (4, 26), (8, 30), (16, 8), (32, 2)),
    iterations=(1000, 6000),
    iteration_slots=(0.01, 0.05),
    execution_slots=(50, 300),
    horizon=1200,
    # The rest is ours: the paper does not publish it. Contention, slower links and overhead stay
    # within 15 % of an iteration with it, and ξ1 = ξ2 in number, as the paper has it.
    slot_seconds=10.0,
    gradient_mb=(40.0, 80.0),
    gradient_per_second=True,
    batch_sizes=(16, 32, 64, 128),
    network_gbps=100.0,
    intra_server_gbps=1000.0,
    reduction_gbps=1000.0,
    alpha=0.2,
    concurrency=0.5,
    overhead_ms_per_server=0.5,
)
"""The experiments of Yu, Ji, Rajan, Liu, MobiHoc 2022, section 8 of their paper."""

CONTENTION = Timed(
    family="contention",
    jobs=60,
    servers=12,
    capacities=(4, 8, 16),
    sizes=((1, 10), (2, 10), (4, 14), (8, 14), (12, 6), (16, 4), (24, 2)),
    iterations=(1000, 6000),
    iteration_slots=(0.01, 0.05),
    execution_slots=(20, 100),
    horizon=None,
    # With slots of a minute even 16 rings of 24 workers on one link finish an iteration in one.
    slot_seconds=60.0,
    gradient_mb=(100.0, 1500.0),
    gradient_per_second=False,
    batch_sizes=(16, 32, 64, 128),
    network_gbps=10.0,
    intra_server_gbps=600.0,
    reduction_gbps=1000.0,
    alpha=0.5,
    concurrency=1.0,
    overhead_ms_per_server=1.0,
)
"""Gradients up to 1.5 GB on slow links: placement decides how long jobs take."""

SPREAD = replace(
    CONTENTION,
    family="spread",
    jobs=40,
    servers=10,
    capacities=(4,),
    sizes=tuple((gpus, 1) for gpus in range(2, 17)),
)
"""Contention on servers of 4 GPUs, with rings of 2 to 16: nearly every ring must spread."""

STARS = Stars(
    family="stars",
    jobs=12,
    servers=4,
    capacities=(2, 4),
    sizes=tuple((gpus, 1) for gpus in range(1, 7)),
    iterations=(100, 800),
    horizon=None,
    slot_seconds=10.0,
    gradient_mb=(10.0, 200.0),
    batch_sizes=tuple(range(1, 17)),
    forward_ms_per_sample=(1.0, 5.0),
    backward_ms=(5.0, 60.0),
    network_gbps=5.0,
    intra_server_gbps=200.0,
    reduction_gbps=400.0,
    alpha=0.2,
    concurrency=1.0,
    overhead_ms_per_server=5.0,
)
"""Rings of 1 to 6 GPUs on servers of 2 and 4, which share slow links: hard to prove optimal."""

SMALL = Timed(
    family="small",
    jobs=6,
    servers=3,
    capacities=(2, 4),
    sizes=((1, 2), (2, 2), (3, 1), (4, 1)),
    iterations=(10, 40),
    iteration_slots=(0.1, 0.5),
    execution_slots=(2, 8),
    horizon=None,
    slot_seconds=1.0,
    gradient_mb=(20.0, 80.0),
    gradient_per_second=False,
    batch_sizes=(16, 32),
    network_gbps=10.0,
    intra_server_gbps=200.0,
    reduction_gbps=400.0,
    alpha=0.2,
    concurrency=1.0,
    overhead_ms_per_server=2.0,
)
"""A few jobs on a few servers: small enough for the exact formulations."""

WIDE = replace(
    PAPER,
    family="wide",
    horizon=None,
    features=features_of(
        ["gpu-types", "ring-sizes:share=0.25", "releases:within=0.5", "due-slots"]
    ),
)
"""The paper's jobs as real clusters have them: arrivals over about the first third of the best
makespan, two types of GPU, a quarter of the jobs moldable, and due slots."""

FAMILIES: Mapping[str, Settings] = {
    family.family: family for family in (PAPER, CONTENTION, SPREAD, STARS, SMALL, WIDE)
}
"""All families by name."""

_NO_CONTENTION = {"gradient_mb": (0.0, 0.0), "overhead_ms_per_server": 0.0}
"""No exchange and no overhead: only GPUs are scarce."""


def settings_of(family: str, knobs: Mapping[str, Any], *, contention: bool = True) -> Settings:
    """A family's settings with changes.

    A family's own horizon fits its own jobs and servers. If you change these and give no horizon,
    the horizon is one that always suffices.

    Parameters
    ----------
    family
        Name of the family.
    knobs
        The changed settings.
    contention
        If False, gradients and overhead are 0.

    Raises
    ------
    UsageError
        If there is no such family or setting, a value is out of its range, or you give a setting
        that is 0 without contention.
    """
    if family not in FAMILIES:
        hint = registry.meant(family, FAMILIES)
        raise UsageError(f"no family {family!r}; choose one of {', '.join(FAMILIES)}{hint}")
    own = FAMILIES[family]
    known = {field.name for field in fields(own)} - {"family"}
    if unknown := sorted(knobs.keys() - known):
        raise UsageError(registry.unknown("setting", unknown, sorted(known)))
    given = {key: _frozen(value) for key, value in knobs.items()}
    if "features" in knobs:
        given["features"] = features_of(knobs["features"])
    if not contention:
        if twice := sorted(given.keys() & _NO_CONTENTION.keys()):
            raise UsageError(f"{', '.join(twice)}: 0 without contention; choose one")
        given |= _NO_CONTENTION
    changed = {key: value for key, value in given.items() if value != getattr(own, key)}
    if changed.keys() & {*own.load, "features"} and "horizon" not in knobs:
        changed["horizon"] = None
    try:
        return replace(own, **changed)
    except (TypeError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        shown = ", ".join(f"{key}={value!r}" for key, value in knobs.items())
        raise UsageError(f"{shown}: a value of the wrong type") from error


def _frozen(value: Any) -> Any:
    """Turn lists into tuples, so that settings cannot change."""
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def name_of(settings: Settings) -> str:
    """Name of the random instance."""
    return f"{settings.family}-{settings.jobs}-seed-{settings.seed}"


def description_of(settings: Settings) -> str:
    """How the instance was generated: family, seed, and differences from the family."""
    own = asdict(FAMILIES[settings.family])
    changed = [
        f"{key}={value!r}"
        for key, value in asdict(settings).items()
        if value not in (own[key], None) and key not in {"seed", "features"}
    ]
    if settings.features != FAMILIES[settings.family].features:
        changed += [f"features {' '.join(map(told, settings.features)) or 'none'}"]
    but = f", with {', '.join(changed)}" if changed else ""
    return f"Drawn at random from family {settings.family!r}, seed {settings.seed}{but}."
