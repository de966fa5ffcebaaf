"""`rarmodel campaign run`, `status`, `export`, `report` and `figures`."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from campaign_book import Book
from campaign_files import SUPPORT, write_campaign, write_instance

if TYPE_CHECKING:
    from invocation import Invoke


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    monkeypatch.chdir(tmp_path)
    write_instance(tmp_path)
    return tmp_path


TEXT = """\
name: commands
instances: [one.json]
methods: [sjf-bco, "campaign_methods:TURNS"]
"""


def test_run_status_and_export(invoke: Invoke, folder: Path) -> None:
    write_campaign(folder, TEXT)
    done = invoke("campaign", "run", "campaign.yaml", "--output", "out", "--workers", 2)
    assert done.code == 0, done
    assert done.out.split() == ["planned", "2", "done", "2", "failed", "0", "open", "0"]
    assert done.err == ""
    status = invoke("campaign", "status", "out", "--json")
    assert status.json() == {
        "planned": 2,
        "done": 2,
        "failed": 0,
        "skipped": 0,
        "failures": [],
        "interrupted": False,
        "lost": 0,
        "open": 0,
    }
    exported = invoke("campaign", "export", "out", "--output", "copy.parquet")
    assert (exported.code, exported.err) == (0, "copy.parquet: 2 rows\n")
    assert pq.read_table("copy.parquet").num_rows == 2


@pytest.mark.usefixtures("runs_here")
def test_schedules_that_are_gone_are_mentioned_and_made_again(invoke: Invoke, folder: Path) -> None:
    write_campaign(folder, TEXT)
    command = ("campaign", "run", "campaign.yaml", "--output", "out")
    assert invoke(*command).code == 0
    gone, kept = sorted((folder / "out" / "schedules").iterdir())
    was, stays = gone.read_text(), kept.stat().st_mtime_ns
    gone.unlink()
    status = invoke("campaign", "status", "out")
    assert "open     1" in status.out
    assert status.lines == [
        "schedules that are gone: 1; repeat `campaign run` with the same files to make them again"
    ]
    again = invoke(*command)
    assert (again.code, again.err) == (0, "")
    assert gone.read_text() == was
    assert kept.stat().st_mtime_ns == stays
    shutil.rmtree(folder / "out" / "schedules")
    assert invoke("campaign", "status", "out", "--json").json()["lost"] == 2
    assert invoke(*command).code == 0
    assert sorted((folder / "out" / "schedules").iterdir()) == [gone, kept]


def test_a_folder_of_others_is_refused(invoke: Invoke, folder: Path) -> None:
    write_campaign(folder, TEXT)
    (folder / "theirs" / "work").mkdir(parents=True)
    outcome = invoke("campaign", "run", "campaign.yaml", "--output", "theirs")
    assert (outcome.code, outcome.out) == (2, "")
    (line,) = outcome.lines
    assert line.startswith("theirs: holds 'work' and no campaign; name a new or an empty folder")
    assert (folder / "theirs" / "work").is_dir()


def test_failures_are_named_and_exit_with_1(invoke: Invoke, folder: Path) -> None:
    write_campaign(folder, TEXT.replace("TURNS", "RAISES"))
    outcome = invoke("campaign", "run", "campaign.yaml", "--output", "out")
    assert outcome.code == 1
    assert "failed   1" in outcome.out
    (line,) = outcome.lines
    assert line.endswith(": ZeroDivisionError: nothing to divide by")
    again = invoke("campaign", "status", "out")
    assert (again.code, again.out, again.err) == (0, outcome.out, outcome.err)


@pytest.mark.usefixtures("runs_here")
def test_of_many_failures_the_first_are_shown(invoke: Invoke, folder: Path) -> None:
    write_campaign(folder, TEXT.replace("sjf-bco, ", "").replace("TURNS", "RAISES"))
    assert invoke("campaign", "run", "campaign.yaml", "--output", "out").code == 1
    connection = sqlite3.connect(folder / "out" / "ledger.sqlite")
    with connection:
        for i in range(21):
            known = {"run": f"run-{i:02}", "position": i + 1}
            connection.execute("INSERT INTO tasks SELECT :run, task FROM tasks LIMIT 1", known)
            connection.execute(
                "INSERT INTO plan SELECT :position, :run, campaign, limits, instance_name, source, "
                "source_parameters FROM plan LIMIT 1",
                known,
            )
            connection.execute(
                "INSERT INTO outcomes SELECT :run, failed, outcome, recorded FROM outcomes LIMIT 1",
                known,
            )
    connection.close()
    lines = invoke("campaign", "status", "out").lines
    assert len(lines) == 21
    assert lines[-2].startswith("run-18: PartError: method 'raises' failed at ")
    assert lines[-1] == "and 2 more; the table and --json have all errors"
    assert len(invoke("campaign", "status", "out", "--json").json()["failures"]) == 22


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "campaign.yaml"], "--output"),
        (["run", "nothing.yaml", "--output", "out"], "nothing.yaml: cannot be read"),
        (["run", "nothing", "--output", "out"], "neither a file nor a bundled campaign"),
        (["run", "wrong.yaml", "--output", "out"], "wrong.yaml: line 3, methods[0]: no method 'x'"),
        (["run", "wrong.yaml", "--output", "out"], "wrong.yaml: line 2, instances[0]: y.json: c"),
        (["status", "nowhere"], "nowhere: no ledger here"),
        (["export", "nowhere", "--output", "x.parquet"], "nowhere: no ledger here"),
    ],
)
def test_bad_input_exits_with_2(
    invoke: Invoke, folder: Path, arguments: list[str], said: str
) -> None:
    write_campaign(folder, TEXT)
    write_campaign(folder, "name: w\ninstances: [y.json]\nmethods: [x]\n", "wrong.yaml")
    outcome = invoke("campaign", *arguments)
    assert outcome.code == 2
    assert said in outcome.err
    assert not (folder / "out").exists()


def test_figures_are_shown_beside_the_papers(invoke: Invoke, folder: Path) -> None:
    book = Book(folder)
    for seed in (0, 1):
        book.add("figure-4", "sjf-bco", seed, 100 + seed, bound=90)
    book.compared()
    shown = invoke("campaign", "figures", folder)
    assert shown.code == 0
    assert "figure-4: mean completion, in slots" in shown.out
    assert "100 ± 1" in shown.out
    fields = invoke("campaign", "figures", folder, "--json").json()
    assert (fields[0]["published"], fields[0]["mean"]) == (535, 100.5)


def filled(folder: Path) -> Path:
    """A campaign's folder with two finished runs of three, and one that failed."""
    book = Book(folder)
    for seed in (0, 1):
        told = {"capacities": [4, 8 + seed]}
        book.add("mine", "good", seed, 100 + seed, bound=90, told=told)
    book.add("mine", "bad", 0, None, failed=True)
    book.add("mine", "bad", 1, None)
    del book.outcomes[book.planned[-1].task.run]
    book.write()
    return folder


def test_report_of_a_folder_and_of_its_table_are_one_page(invoke: Invoke, folder: Path) -> None:
    pytest.importorskip("altair")
    outcome = invoke("campaign", "report", filled(folder), "--output", "folder.html")
    assert outcome == (0, "", "")
    invoke("campaign", "export", folder, "--output", "table.parquet")
    outcome = invoke("campaign", "report", "table.parquet", "--output", "table.html")
    assert outcome == (0, "", "")
    page = Path("folder.html").read_text(encoding="utf-8")
    assert "<summary>capacities=[4,9]</summary>" in page
    far = "; <strong>1 is still to be done</strong>, and all numbers are of what there is so far"
    assert '<p class="over">mine</p>\n<h1>' in page
    assert '<p class="facts">3 runs, of which 1 failed' + far in page
    assert Path("table.html").read_text(encoding="utf-8") == page.replace(far, "")


def test_profiles_and_gaps_of_a_folder_and_of_its_table_are_one_picture(
    invoke: Invoke, folder: Path
) -> None:
    pytest.importorskip("altair")
    book = Book(folder)
    for seed in (0, 1):
        for method, value in (("good", 100 + seed), ("bad", 150)):
            book.add("mine", method, seed, value, bound=90, log=[(0.5, 200, 80), (2.0, value, 90)])
    book.write()
    assert invoke("campaign", "plot", folder, "--output", "folder.svg") == (0, "", "")
    invoke("campaign", "export", folder, "--output", "table.parquet")
    parts = ("--part", "profile", "--part", "gap", "--part", "own-gap")
    outcome = invoke("campaign", "plot", "table.parquet", "--output", "table.svg", *parts)
    assert outcome == (0, "", "")
    picture = Path("folder.svg").read_text(encoding="utf-8")
    assert Path("table.svg").read_text(encoding="utf-8") == picture
    assert "performance profile over 2 problems" in picture
    assert "mean over 2 problems" in picture
    invoke("campaign", "report", folder, "--output", "page.html")
    assert "Over all problems" in Path("page.html").read_text(encoding="utf-8")
    assert invoke("campaign", "plot", folder, "--output", "figure.pdf") == (0, "", "")
    assert Path("figure.pdf").read_bytes().startswith(b"%PDF-")
    for arguments, said in (
        (("--output", "x.txt"), "x.txt: a picture's name ends in one of .png, .svg, .pdf"),
        (("--output", "x.pdf", "--part", "time-profile"), "no method proves an optimum"),
        (("--output", "x.pdf", "--part", "gaps"), "no part 'gaps' of these plots"),
    ):
        refused = invoke("campaign", "plot", folder, *arguments)
        assert refused.code == 2
        assert said in refused.err
        assert refused.err.count("\n") == 1


def test_methods_are_compared_in_one_table(invoke: Invoke, folder: Path) -> None:
    pytest.importorskip("altair")
    book = Book(folder)
    for servers in (10, 5):
        book.add("mine", "good", 0, 100 * servers, bound=90, servers=servers)
        book.add("mine", "bad_one", 0, 150 * servers, servers=servers)
    book.write()
    shown = invoke("campaign", "table", folder, "--over", "servers")
    assert (shown.code, shown.err) == (0, "")
    assert "Mean value over servers" in shown.out
    (line,) = [line for line in shown.out.splitlines() if "bad_one" in line]
    assert line.split()[-2:] == ["750.0", "1,500.0"]
    assert invoke(*("campaign", "table", folder, "--over", "servers", "--output", "table.tex")) == (
        0,
        "",
        "",
    )
    assert r"bad\_one & 750.0 & 1,500.0 \\" in Path("table.tex").read_text(encoding="utf-8")
    rows = invoke("campaign", "table", folder, "--json").json()
    assert [(row["method"], row["runs"], row["mean value"]) for row in rows] == [
        ("good", 2, 750),
        ("bad_one", 2, 1125),
    ]
    refused = invoke("campaign", "table", folder, "--over", "kappa")
    assert (refused.code, refused.out) == (2, "")
    assert "no setting 'kappa' varies; choose from servers" in refused.err


@pytest.mark.parametrize("table", [True, False])
def test_report_of_schedules_needs_them(invoke: Invoke, folder: Path, *, table: bool) -> None:
    pytest.importorskip("altair")
    source = filled(folder)  # Without its schedules.
    invoke("campaign", "export", folder, "--output", "table.parquet")
    given = "table.parquet" if table else source
    outcome = invoke("campaign", "report", given, "--simulations", "--output", "arriving.html")
    assert outcome.code == 2
    assert outcome[2].count("\n") == 1
    assert not Path("arriving.html").exists()


@pytest.mark.parametrize(
    ("source", "output", "said"),
    [
        ("nowhere", "x.html", "nowhere: cannot be read: no such file or directory"),
        ("empty", "x.html", "empty: no ledger here; `rarmodel campaign run FILE --output` this"),
        ("begun", "x.html", "begun: no run has finished or failed yet"),
        ("campaign.yaml", "x.html", "campaign.yaml: not a Parquet file; a campaign's folder or"),
        ("cut.parquet", "x.html", "cut.parquet: not a Parquet file"),
        ("other.parquet", "x.html", "other.parquet: not the table of a campaign: no column 'camp"),
        ("none.parquet", "x.html", "none.parquet: no run has finished or failed yet"),
        ("text.parquet", "x.html", "text.parquet: column 'makespan': '100 slots'; numbers above"),
        (".", "none/x.html", "none/x.html: cannot be written: no such file or directory"),
        (".", "empty", "empty: cannot be written: is a directory"),
    ],
)
def test_what_cannot_be_reported_is_one_line(
    invoke: Invoke, folder: Path, source: str, output: str, said: str
) -> None:
    pytest.importorskip("altair")
    filled(folder)
    for name in ("empty", "begun"):
        Path(name).mkdir()
    begun = Book(Path("begun"))
    begun.add("mine", "good", 0, 1)
    begun.outcomes.clear()
    begun.write()
    write_campaign(folder, TEXT)
    invoke("campaign", "export", folder, "--output", "cut.parquet")
    table = pq.read_table("cut.parquet")
    Path("cut.parquet").write_bytes(Path("cut.parquet").read_bytes()[:-40])
    pq.write_table(pa.table({"a": [1], "makespan": [2]}), "other.parquet")
    pq.write_table(table.slice(0, 0), "none.parquet")
    place = table.schema.get_field_index("makespan")
    texts = pa.array(["100 slots"] * table.num_rows)
    pq.write_table(table.set_column(place, "makespan", texts), "text.parquet")
    outcome = invoke("campaign", "report", source, "--output", output)
    assert outcome.code == 2
    (line,) = outcome.lines
    assert said in line
    assert not Path(output).is_file()


def test_report_without_the_extra_says_how_to_get_it(
    invoke: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    outcome = invoke("campaign", "report", filled(folder), "--output", "x.html")
    assert outcome.code == 2
    (line,) = outcome.lines
    assert line.endswith("install it with: pip install 'rarmodel[plot]'")
