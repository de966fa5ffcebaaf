"""Unknown names: each message ends with the name that was meant, if one resembles it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import rarmodel
from rarmodel.campaigns.campaign_reader import read_campaigns
from rarmodel.errors import RarmodelError
from rarmodel.library import read_library, write_instances

NOTHING = rarmodel.Schedule(schema_version=1, instance="two-servers", method="x", assignments=())
CASES: dict[str, tuple[Callable[[], object], str]] = {
    "instance": (lambda: rarmodel.load_instance("two-server"), "two-servers"),
    "instance in other letters": (lambda: rarmodel.load_instance("Two_Servers"), "two-servers"),
    "bundled instance as a file": (lambda: rarmodel.load_instance("rack-tre.json"), "rack-tree"),
    "file": (lambda: rarmodel.load_instance("mine.jsn"), "mine.json"),
    "file in a folder": (lambda: rarmodel.load_instance("inner/yuors.yaml"), "yours.yaml"),
    "misspelt file": (lambda: rarmodel.load_instance("mien.json"), "mine.json"),
    "family": (lambda: rarmodel.generate("papr"), "paper"),
    "setting": (lambda: rarmodel.generate("paper", job=3), "jobs"),
    "feature": (lambda: rarmodel.generate("paper", features=["release"]), "releases"),
    "listed family": (lambda: rarmodel.list_instances("exmaples"), "examples"),
    "kind of parts": (lambda: rarmodel.parts("formulation"), "formulations"),
    "written family": (
        lambda: write_instances(read_library(None), "made", "exmaples"),
        "examples",
    ),
    "format": (lambda: _imported(form="phily"), "philly"),
    "field": (lambda: _imported(columns={"gpu": "a"}), "gpus"),
    "option": (lambda: _imported(windows="1h..2h"), "window"),
    "campaign": (lambda: read_campaigns("figure_4"), "figure-4"),
    "part of a picture": (
        lambda: rarmodel.plot("two-servers", NOTHING, parts=["gant"]),
        "gantt",
    ),
    "policy": (lambda: rarmodel.simulate("two-servers", "tiresias"), "las"),
    "placement": (lambda: rarmodel.simulate("two-servers", "las", placement="ff"), "first-fit"),
    "objective": (lambda: rarmodel.solve("two-servers", objective="jct"), "total-flow"),
    "objective in a file": (lambda: rarmodel.load_instance("mine.json"), "makespan"),
    "solver": (
        lambda: rarmodel.solve("two-servers", formulation="time-indexed", solver="ortools"),
        "cpsat",
    ),
}


def _imported(**options: object) -> object:
    return rarmodel.import_trace("trace.csv", servers=1, gpus_per_server=1, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", CASES)
def test_the_name_that_was_meant_is_suggested(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.json").write_text('{"objective": "makespam"}', encoding="utf-8")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "yours.yaml").write_text("{}", encoding="utf-8")
    (tmp_path / "trace.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    ask, meant = CASES[case]
    with pytest.raises(RarmodelError, match=rf"was '{meant}' meant\?"):
        ask()
