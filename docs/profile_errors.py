"""Write errors of profiles, and network pressures, as fitted to tables of measurements.

    python docs/profile_errors.py step_times.csv contention_pairs.csv

`rarmodel calibrate` says which columns the tables have. The errors are held-out ones, with the
terms that earn their place, by model and cluster; they go into `rarmodel/workloads/profiles.csv`.
Sensitivity and pressure are those of a model in all of its shapes together; they go into
`rarmodel/workloads/network_pressures.csv`. The first table takes six minutes.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from rarmodel.calibration import terms
from rarmodel.calibration.published_tables import Pair, PublishedTable, read_published
from rarmodel.calibration.term_comparison import compare_terms
from rarmodel.calibration.term_results import TermComparison

FOLDER = Path(__file__).parents[1] / "rarmodel" / "workloads"
CLUSTERS = {"T4": "aws", "A100": "dgx", "RTX6000": "quad"}
"""Clusters of the measurements, by type of GPU."""
MODELS = {
    "resnet18_cifar10": "cifar10",
    "resnet50": "imagenet",
    "MobileNetV3": "mobilenet_v3_large",
    "GraphSage": "graphsage",
    "FSDP": "fsdp",
    "Transformer-XL": "transformer_xl",
    "DLRM": "dlrm",
    "MoE": "moe",
}
"""Models of one table by their names in another, where these differ."""


def held_out(found: TermComparison) -> dict[str, float]:
    """By group: the mean held-out error with all terms that earn their place."""
    best = [one for one in found.terms if one.earns][-1]
    return {one.group: one.mean for one in best.groups}


def with_errors(rows: Iterable[Mapping[str, str]], errors: Mapping[str, float]) -> list[list[str]]:
    """Rows of the table of profiles, with the errors of those that were measured by placement."""
    found = []
    for row in rows:
        group = f"{CLUSTERS.get(row['hardware'])} {MODELS.get(row['model'], row['model'])}"
        error = f"{errors[group]:.3f}" if row["compute_source"] == "Sia" else ""
        found.append([*[value for name, value in row.items() if name != "error"], error])
    return found


def by_model(table: PublishedTable) -> PublishedTable:
    """The pairs without the shapes of their jobs."""
    rows = cast("tuple[Pair, ...]", table.rows)
    shapeless = (
        row.model_copy(
            update={"job": row.job.partition(",")[0], "beside": row.beside.partition(",")[0]}
        )
        for row in rows
    )
    return replace(table, rows=tuple(shapeless))


def pressures(found: TermComparison) -> list[list[str]]:
    """Rows of the table of network pressures."""
    values = {(one.name, one.job): one.value for one in found.constants}
    return [
        [
            MODELS.get(model, model),
            f"{values[terms.SENSITIVITY, model]:.4g}",
            f"{values[terms.PRESSURE, model]:.4g}",
            f"{error:.3f}",
            "DeepShare",
        ]
        for model, error in held_out(found).items()
    ]


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def main(steps: str, pairs: str) -> None:
    """Write both tables anew."""
    found = compare_terms(by_model(read_published(pairs)))
    header = ("model", "sensitivity", "pressure", "error", "source")
    write(FOLDER / "network_pressures.csv", header, pressures(found))
    profiles = FOLDER / "profiles.csv"
    with profiles.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name != "error"]
    errors = held_out(compare_terms(read_published(steps)))
    write(profiles, [*names, "error"], with_errors(rows, errors))


if __name__ == "__main__":
    main(*sys.argv[1:])
