"""Model profiles: gradient, batch and compute time by model name and GPUs.

The table is `profiles.csv`; `NOTICE.md` beside it names its sources.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from rarmodel import registry
from rarmodel.errors import UsageError


class Profile(NamedTuple):
    """A measurement of a model, or an estimate.

    Attributes
    ----------
    model
        Name of the model.
    batch_size
        Samples in the mini-batch of each GPU.
    gpus
        GPUs of the ring.
    compute_ms
        Forward and backward pass of one mini-batch in milliseconds.
    iteration_ms
        One iteration of the ring in milliseconds, with exchange, if measured.
    gradient_mb
        Size of the gradient in MB.
    measured
        Whether the compute time was measured; otherwise it is an estimate.
    hardware
        Type of GPU.
    fitted
        Whether the gradient was fitted to measured steps; otherwise it is that of the parameters.
    source
        Where its compute time is from.
    error
        Mean relative error of (8), with overlap and latency, on steps of several GPUs that the fit
        had not seen; None where nobody has published such steps.
    """

    model: str
    batch_size: int
    gpus: int
    compute_ms: float
    iteration_ms: float | None
    gradient_mb: float
    measured: bool
    hardware: str
    fitted: bool = False
    source: str = ""
    error: float | None = None


LICENCES = {
    "Muri": "Apache-2.0",
    "Gavel": "MIT",
    "ElasticFlow": "Apache-2.0",
    "Sia": "Apache-2.0",
    "DeepShare": "Apache-2.0",
    "estimate": "Apache-2.0",
}
"""Licence of each source; `NOTICE.md` has their addresses. Estimates are rarmodel's."""


_ALIASES = {
    "lm": "lstm_lm",
    "a3c_pong": "a3c",
    "inception3": "inception_v3",
    "inception4": "inception_v4",
    "shufflenet": "shufflenet_v2_x1_0",
    "cifar10": "resnet18_cifar10",
    "imagenet": "resnet50",
    "bert_base": "bert",
    "gpt2_small": "gpt2",
}
"""Other names in traces for models of the table; `cifar10` and `imagenet` are Pollux's."""

_EXACT = {"ResNet-18": "resnet18_cifar10"}
"""Names with another meaning when written so: Gavel's ResNet-18 trains on CIFAR-10."""


@cache
def profiles() -> Mapping[str, tuple[Profile, ...]]:
    """The table, by model."""
    text = (files("rarmodel.workloads") / "profiles.csv").read_text(encoding="utf-8")
    table: dict[str, list[Profile]] = {}
    for row in csv.DictReader(text.splitlines()):
        profile = Profile(
            row["model"],
            int(row["batch_size"]),
            int(row["gpus"]),
            float(row["compute_ms"]),
            float(row["iteration_ms"]) if row["iteration_ms"] else None,
            float(row["gradient_mb"]),
            not row["compute_source"].startswith("estimate"),
            row["hardware"],
            row["gradient_source"].startswith("fitted"),
            row["compute_source"].partition(":")[0],
            float(row["error"]) if row["error"] else None,
        )
        table.setdefault(profile.model, []).append(profile)
    return {model: tuple(found) for model, found in table.items()}


def known_model(name: str) -> str | None:
    """The model of the table for a name, in any spelling; None if there is none."""
    if name in _EXACT:
        return _EXACT[name]
    return _by_spelling().get(_spelling(name))


@cache
def _by_spelling() -> Mapping[str, str]:
    return {_spelling(model): model for model in profiles()} | {
        _spelling(alias): model for alias, model in _ALIASES.items()
    }


def _spelling(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


@cache
def profile_of(
    model: str, gpus: int, batch_size: int | None, gpu_type: str | None = None
) -> Profile:
    """The profile of a model of the table for a ring.

    The profile is one of the type of GPU, if the table has any, or else of the type that the table
    names first for the model. It has the nearest batch size by
    ratio, and the largest number of GPUs that is not above the ring's. Compute time grows in
    proportion to the batch.
    """
    table = profiles()[model]
    of_type = tuple(row for row in table if gpu_type and is_type(gpu_type, row.hardware))
    table = of_type or tuple(row for row in table if row.hardware == table[0].hardware)
    wanted = batch_size or table[0].batch_size
    nearest = min(
        {profile.batch_size for profile in table},
        key=lambda size: (max(size, wanted) / min(size, wanted), size),
    )
    # Every batch size of the table has a row with one GPU.
    rows = [row for row in table if row.batch_size == nearest and row.gpus <= gpus]
    found = max(rows, key=lambda row: row.gpus)
    if wanted == nearest:
        return found
    return found._replace(
        batch_size=wanted, compute_ms=found.compute_ms * wanted / nearest, iteration_ms=None
    )


def is_type(gpu_type: str, name: str) -> bool:
    """Whether a type of GPU is one of that name: V100 names V100M32 and Tesla-V100-SXM2 too.

    A10 does not name A100.
    """
    found = re.escape(name.lower())
    return re.search(rf"(?<![a-z0-9]){found}(?![0-9])", gpu_type.lower()) is not None


_DRAWN = {"V100", "A100"}
"""GPUs of the models that are drawn for jobs of which nothing is known."""


@cache
def _measured_models() -> tuple[str, ...]:
    first = ((model, rows[0]) for model, rows in profiles().items())
    return tuple(sorted(model for model, row in first if row.measured and row.hardware in _DRAWN))


def assigned_model(seed: int, job: str) -> str:
    """A random measured model for a job of unknown model, by seed and name.

    The choice is a hash, so that a job has the same model in every excerpt of a trace.
    """
    models = _measured_models()
    digest = hashlib.sha256(f"{seed}:{job}".encode("utf-8", "backslashreplace")).digest()
    return models[int.from_bytes(digest[:8], "big") % len(models)]


def require_model(name: str) -> str:
    """The model of the table for a name.

    Raises
    ------
    UsageError
        If there is no such model.
    """
    if (model := known_model(name)) is None:
        known = sorted(profiles())
        hint = registry.meant(name, known)
        raise UsageError(f"no profile of model {name!r}; choose one of {', '.join(known)}{hint}")
    return model
