"""Campaign files, and tables of campaigns without what may differ."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from documents import instance_data, job_data

from rarmodel.campaigns.results_table import MEASURED

SUPPORT = Path(__file__).parent

Row = dict[str, Any]

TURNS = """\
name: turns
instances: [one.json]
methods:
  - method: campaign_methods:TURNS
    parameters: {seconds: 0.3}
seeds: 0..7
"""


def write_instance(folder: Path, name: str = "one", jobs: int = 2) -> Path:
    """An instance of one-GPU jobs in a file of its name."""
    data = instance_data(*(job_data(f"j{i}", iterations=10 + i) for i in range(jobs)))
    path = folder / f"{name}.json"
    path.write_text(json.dumps({**data, "name": name}), encoding="utf-8")
    return path


def write_campaign(folder: Path, text: str, name: str = "campaign.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def rows(folder: Path) -> list[Row]:
    """Rows of a campaign's table."""
    found: list[Row] = pq.read_table(folder / "table.parquet").to_pylist()
    return found


def lasting(folder: Path) -> list[Row]:
    """The same without what may differ if the same runs are done again."""
    return [{k: v for k, v in row.items() if k not in MEASURED} for row in rows(folder)]


def recorded(folder: Path) -> dict[str, str]:
    """Each outcome in a ledger as it stands there, by run."""
    connection = sqlite3.connect(folder / "ledger.sqlite")
    try:
        return dict(connection.execute("SELECT run, outcome || recorded FROM outcomes"))
    finally:
        connection.close()
