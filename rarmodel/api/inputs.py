"""Instances and constants from other sources: random families, traces, measurements."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from rarmodel import registry
from rarmodel.defaults import MAX_MB
from rarmodel.errors import UsageError
from rarmodel.schema import Instance

from .arguments import (
    asked_to_calibrate,
    asked_to_compare_models,
    asked_to_compare_terms,
    asked_to_generate,
    asked_to_import,
)
from .sources import Source, load_instance, with_objective

if TYPE_CHECKING:
    from rarmodel.calibration import (
        Calibration,
        Measurement,
        Measurements,
        ModelComparison,
        PublishedTable,
        Rates,
        TermComparison,
    )
    from rarmodel.workloads import Imported


@asked_to_generate
def generate(
    family: str = "paper",
    *,
    name: str | None = None,
    contention: bool = True,
    objective: str | Sequence[str] | None = None,
    **knobs: Any,
) -> Instance:
    """Generate a random instance of a family; the same arguments give the same instance.

    Parameters
    ----------
    family
        `paper` (the paper's experiments), `contention` (large gradients on slow links), `spread`
        (the same, where nearly every ring must spread), `stars` (few rings on small servers, hard
        to prove optimal), `small` (within reach of the exact formulations) or `wide` (the paper's
        jobs with arrivals, two types of GPU, several ring sizes and due slots).
    name
        Name of the instance. The default has family, jobs and seed.
    contention
        If False, gradients and overhead are 0, so that only GPUs are scarce.
    objective
        Name of the instance's objective, or several, the most important first; by default the
        makespan.
    **knobs
        `seed`, `jobs`, `servers`, `sizes` and all other fields of `workloads.Timed`, or of
        `workloads.Stars` for that family. `features` takes an object or a list:
        `{"releases": {"within": 0.5}}` or `["releases:within=0.5"]`.

    Raises
    ------
    UsageError
        If there is no such family, setting, feature or objective, or a value is out of its range.
    """
    from rarmodel.workloads import families  # noqa: PLC0415 - few need it
    from rarmodel.workloads.generate import generate as draw  # noqa: PLC0415

    settings = families.settings_of(family, knobs, contention=contention)
    named = families.name_of(settings) if name is None else name
    drawn = draw(settings, named, families.description_of(settings))
    return with_objective(drawn, objective)


@asked_to_import
def import_trace(
    source: str | os.PathLike[str],
    *,
    servers: int | None = None,
    gpus_per_server: int | None = None,
    gpu_slices: int | None = None,
    cluster: str | os.PathLike[str] | None = None,
    slurm_conf: str | os.PathLike[str] | None = None,
    slurm_topology: str | os.PathLike[str] | None = None,
    rates: Mapping[str, float] | None = None,
    contention: Mapping[str, float] | bool = True,
    **choices: Any,
) -> Imported:
    """Make an instance from a trace: Philly, Muri, Gavel, Tiresias, Helios, Acme, sacct, any CSV.

    Parameters
    ----------
    source
        The trace, plain or gzipped; `-` for standard input.
    servers, gpus_per_server, gpu_slices, cluster, slurm_conf, slurm_topology, rates
        The cluster; see `workloads.platform_of`.
    contention
        Values of `alpha`, `concurrency` and `overhead_ms_per_server` that differ from the default;
        False for gradients and overhead of 0.
    **choices
        `arrivals`, `window`, `group`, `max_jobs`, `columns` and all other fields of
        `workloads.Choices`. With `arrivals="zero"` all jobs wait at slot 0, as in the paper.

    Returns
    -------
    Imported
        The instance, and an account of every row.

    Raises
    ------
    InputError
        If a file or a row is unusable, or no row becomes a job.
    UsageError
        If an option is unknown or out of its range, or options exclude each other.
    """
    from rarmodel import workloads  # noqa: PLC0415 - few need it

    known = {field.name for field in fields(workloads.Choices)} - {"contention"}
    if unknown := sorted(choices.keys() - known):
        raise UsageError(registry.unknown("option", unknown, sorted(known)))
    platform = workloads.platform_of(
        servers=servers,
        gpus_per_server=gpus_per_server,
        gpu_slices=gpu_slices,
        cluster=_path(cluster),
        slurm_conf=_path(slurm_conf),
        slurm_topology=_path(slurm_topology),
        rates=rates,
        contention=None if isinstance(contention, bool) else contention,
    )
    try:
        chosen = workloads.Choices(**choices, contention=contention is not False)
    except TypeError as error:
        given = ", ".join(f"{name}={value!r}" for name, value in choices.items())
        raise UsageError(f"{given}: a value of the wrong type") from error
    return workloads.import_trace(
        os.fspath(source),
        platform.cluster,
        platform.contention,
        chosen,
        platform.partitions,
        trees=platform.trees,
        outside=platform.outside,
        licences=platform.licences,
    )


def _path(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.fspath(path)


@asked_to_calibrate
def calibrate(
    table: str | os.PathLike[str] | Iterable[Measurement | Mapping[str, Any]] | None = None,
    *,
    nccl_tests: Iterable[str | os.PathLike[str]] = (),
    instance: Source | None = None,
    rates: Mapping[str, float] | None = None,
    contention: Mapping[str, float] | None = None,
    message_mb: tuple[float, float] | None = None,
    model: str | None = None,
    max_size_mb: float | None = None,
) -> Calibration:
    """Fit ξ1, α and ξ2 to measured times, and rates to the output of nccl-tests.

    Parameters
    ----------
    table
        A CSV file of measurements, `-` for standard input, or rows with the fields of
        `calibration.Measurement`.
    nccl_tests
        Files with the output of `all_reduce_perf`. A ring on one server measures
        `intra_server_gbps`, any other `network_gbps`.
    instance
        Instance that supplies the rates you neither give nor measure, and the values of constants
        that the measurements leave open.
    rates
        Known rates: `network_gbps`, `intra_server_gbps`, `reduction_gbps`.
    contention
        Constants that are given and not fitted: `concurrency`, `alpha`,
        `overhead_ms_per_server`.
    message_mb
        Least and greatest size in MB of the all-reduces to use; by default 16 MB and more.
    model
        Model of contention whose constants are fitted: `count` or `duty`; by default the
        instance's, or `count`. By duty, each row has `run` and `compute_ms`, and `links` if it is
        on several servers; the rows of a run are all rings that ran together.
    max_size_mb
        Greatest size in MB, unzipped, of the table and of each file of nccl-tests; 512 by default.

    Returns
    -------
    Calibration
        Constants with their uncertainty, and measured beside predicted times.

    Raises
    ------
    InputError
        If a file is malformed, a rate is missing, or the measurements determine nothing.
    UsageError
        If an option is unknown or out of its range, or options exclude each other.
    """
    from rarmodel import calibration  # noqa: PLC0415 - few need it

    known = _rates(rates)
    span = calibration.DEFAULT_SPAN if message_mb is None else message_mb
    if not 0 <= span[0] <= span[1]:
        raise UsageError(f"messages of {span[0]:g} to {span[1]:g} MB: least and greatest expected")
    most = _most(max_size_mb)
    return calibration.calibrate(
        None if table is None else _measurements(table, most),
        [calibration.read_run(os.fspath(source), most) for source in nccl_tests],
        rates=known,
        instance=None if instance is None else load_instance(instance),
        given=contention,
        span=span,
        model=model,
    )


@asked_to_compare_models
def compare_models(
    table: str | os.PathLike[str] | Iterable[Measurement | Mapping[str, Any]],
    *,
    instance: Source | None = None,
    rates: Mapping[str, float] | None = None,
    contention: Mapping[str, float] | None = None,
    seed: int = 0,
    max_size_mb: float | None = None,
) -> ModelComparison:
    """Fit the constants of each model of contention to one part of a table, and test them.

    Parameters
    ----------
    table
        A CSV file of measurements, `-` for standard input, or rows with the fields of
        `calibration.Measurement`. Each row has `run`, `links` and `compute_ms`, and the rows of a
        run are all rings that ran at the same time. `part` says which rows are fitted and which
        tested; without it, rarmodel draws half of the runs to fit.
    instance, rates, contention, max_size_mb
        As in `calibrate`.
    seed
        Seed of the draw.

    Returns
    -------
    ModelComparison
        Constants and errors of each model.

    Raises
    ------
    InputError
        If the table is malformed, or lacks what the comparison needs.
    UsageError
        If an option is unknown or out of its range.
    """
    from rarmodel import calibration  # noqa: PLC0415 - few need it

    known = _rates(rates)
    if instance is not None:
        known = known.over(load_instance(instance))
    return calibration.compare_models(
        _measurements(table, _most(max_size_mb)), rates=known, given=contention, seed=seed
    )


def is_published(source: str, max_size_mb: float | None = None) -> bool:
    """Whether a file is a table in a published layout, for `compare_terms`."""
    from rarmodel import calibration  # noqa: PLC0415 - few need it

    return calibration.is_published(source, _most(max_size_mb))


@asked_to_compare_terms
def compare_terms(
    table: str | os.PathLike[str],
    *,
    test: str | os.PathLike[str] | None = None,
    gpu_type: str | None = None,
    seed: int = 0,
    max_size_mb: float | None = None,
) -> TermComparison:
    """Say which terms of the model earn their place on measured GPUs, and fit their constants.

    Parameters
    ----------
    table
        A CSV file in a published layout: step times by placement (`cluster`, `model`,
        `gpus_by_server`, `batch_per_gpu`, `step_seconds`), all-reduces (`cluster`, `gpus`,
        `gpus_by_server`, `bytes`, `median_ms`), pairs of jobs (`job (model,gpus,servers)`,
        `beside`, `throughput_ratio`) or pairs on the same GPUs (`gpu_type`, `job`, `beside`,
        `ratio`, `ratio_beside`, or Lucid's columns). Or Gavel's file of throughputs in JSON.
    test
        Another table of the same layout, which the fitted constants predict.
    gpu_type
        Of pairs on the same GPUs, use those on this type of GPU.
    seed
        Seed of the draw of the parts of the cross-validation.
    max_size_mb
        Greatest size in MB of each table, unzipped; 512 by default.

    Returns
    -------
    TermComparison
        Held-out errors term by term, and the constants of the terms that earn their place.

    Raises
    ------
    InputError
        If a table is malformed or too small.
    UsageError
        If an option is out of its range.
    """
    from rarmodel import calibration  # noqa: PLC0415 - few need it

    most = _most(max_size_mb)

    def read(source: str | os.PathLike[str]) -> PublishedTable:
        found = calibration.read_published(os.fspath(source), most)
        return found if gpu_type is None else calibration.of_gpu_type(found, gpu_type)

    return calibration.compare_terms(
        read(table), test=None if test is None else read(test), seed=seed
    )


def _rates(rates: Mapping[str, float] | None) -> Rates:
    from rarmodel.calibration import Rates  # noqa: PLC0415

    known = {field.name for field in fields(Rates)}
    if unknown := sorted(set(rates or {}) - known):
        raise UsageError(registry.unknown("rate", unknown, sorted(known)))
    return Rates(**(rates or {}))


def _most(max_size_mb: float | None) -> float:
    most = MAX_MB if max_size_mb is None else max_size_mb
    if not most > 0:
        raise UsageError(f"max size {most} MB: it must be above 0")
    return most


def _measurements(
    table: str | os.PathLike[str] | Iterable[Measurement | Mapping[str, Any]], max_size_mb: float
) -> Measurements:
    from rarmodel import calibration  # noqa: PLC0415

    if isinstance(table, str | os.PathLike):
        return calibration.read_measurements(os.fspath(table), max_size_mb)
    return calibration.made_measurements(table)
