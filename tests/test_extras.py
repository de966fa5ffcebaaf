"""What runs without the libraries that few need, and what is said where one is missing."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from rarmodel.errors import UsageError
from rarmodel.extras import imported

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyarrow", "scipy", "pandas"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "pyarrow" else found(name, *rest)
from rarmodel.__main__ import main
sys.argv[0] = "rarmodel"
main()
"""

CAMPAIGN = {
    "name": "small",
    "instances": ["two-servers"],
    "methods": ["first-fit"],
}


def rarmodel(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command where PyArrow, SciPy and pandas are missing."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_campaign_without_pyarrow_has_a_table_in_csv(tmp_path: Path) -> None:
    (tmp_path / "small.json").write_text(json.dumps(CAMPAIGN))
    done = rarmodel(tmp_path, "campaign", "run", "small.json", "--output", "out")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out" / "table.csv").open(encoding="utf-8", newline="") as table:
        (row,) = csv.DictReader(table)
    assert (row["method"], row["makespan"]) == ("first-fit", "20")
    assert not (tmp_path / "out" / "table.parquet").exists()
    refused = rarmodel(tmp_path, "campaign", "export", "out", "--output", "table.parquet")
    assert refused.returncode == 2
    assert refused.stderr == (
        "Parquet files need pyarrow, which is not installed; install it with: "
        "pip install 'rarmodel[parquet]'\n"
    )


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(UsageError) as refused:
        imported("scipy.optimize", "calibration", "fits to measured times")
    assert str(refused.value) == (
        "fits to measured times need scipy, which is not installed; install it with: "
        "pip install 'rarmodel[calibration]'"
    )


def test_an_extra_that_is_there_is_imported() -> None:
    assert imported("scipy.optimize", "calibration", "fits").__name__ == "scipy.optimize"
