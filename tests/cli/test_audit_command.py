"""`rarmodel audit`: tables, JSON, schedules from files, and refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from documents import assignment_data, instance_data, job_data, schedule_data

import rarmodel
from rarmodel.auditor import Range

if TYPE_CHECKING:
    from invocation import Invoke

CLAIMS = [
    "lemma-2",
    "lemma-2-equality",
    "lemma-3",
    "lemma-3-real",
    "lemma-4",
    "lemma-4-load",
    "lemma-4-attained",
    "theorem-5",
    "theorem-5-attained",
]


def write(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_claims_are_a_table_with_both_sides(invoke: Invoke) -> None:
    outcome = invoke("audit", "theorem-5-fails")
    assert outcome.code == 0
    assert outcome.err == ""
    lines = outcome.out.splitlines()
    assert lines[:2] == ["instance     theorem-5-fails", "schedule     sjf-bco, verified"]
    assert "limit        3 slots (3 s; returned by Algorithm 1)" in lines
    rows = [line.split() for line in lines]
    assert [row[0] for row in rows if row and row[0] in CLAIMS] == CLAIMS
    assert ["lemma-3", "yes", "3", "3", "makespan", "≤", "n_g·Ŵ_max"] in rows
    assert ["theorem-5", "no", "3", "2", "makespan", "≤", "n_g·φ·(u/l)·T*"] in rows


def test_open_claim_is_unknown(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = rarmodel.audit("theorem-5-fails")
    first = replace(audit.claims[0], holds=None, right=Range(2, 4))
    monkeypatch.setattr(
        "rarmodel.api.verification.audit", lambda *_, **__: replace(audit, claims=(first,))
    )
    outcome = invoke("audit", "theorem-5-fails")
    assert outcome.code == 0
    row = outcome.out.splitlines()[-1].split()
    assert row[:6] == ["lemma-2", "unknown", "3", "2", "to", "4"]
    (claim,) = invoke("audit", "theorem-5-fails", "--json").json()["claims"]
    assert (claim["holds"], claim["right"]) == (None, None)
    assert (claim["right_low"], claim["right_high"]) == (2, 4)


def test_json_has_claims_with_what_they_mean(invoke: Invoke) -> None:
    outcome = invoke("audit", "lemma-3-fails", "--json")
    assert outcome.code == 0
    assert outcome.err == ""
    summary = outcome.json()
    assert (summary["instance"], summary["method"]) == ("lemma-3-fails", "sjf-bco")
    assert summary["optimum"] == summary["optimum_low"] == summary["optimum_high"] == 1
    claims = {claim["claim"]: claim for claim in summary["claims"]}
    assert list(claims) == CLAIMS
    assert all(claim["meaning"] for claim in claims.values())
    lemma_3 = claims["lemma-3"]
    assert (lemma_3["left"], lemma_3["right"], lemma_3["holds"]) == (3, 2, False)
    assert (claims["lemma-3-real"]["right"], claims["lemma-3-real"]["holds"]) == (6, True)


def test_given_schedule_is_audited(
    invoke: Invoke, instance_file: Path, schedule_file: Path
) -> None:
    summary = invoke("audit", instance_file, "--schedule", schedule_file, "--json").json()
    assert summary["method"] == "by hand"
    assert (summary["limit"], summary["limit_returned"]) == (2, False)
    outcome = invoke("audit", instance_file, "--schedule", schedule_file)
    assert "limit        2 slots (2 s; the tightest that the schedule keeps)" in outcome.out


@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["table", "json"])
def test_broken_schedule_exits_1_with_a_line_for_each_violation(
    invoke: Invoke, instance_file: Path, tmp_path: Path, as_json: list[str]
) -> None:
    broken = [assignment_data("a", 19, s0=[0, 1]), assignment_data("b", 19, s0=[1])]
    path = write(tmp_path / "broken.json", schedule_data(*broken))
    outcome = invoke("audit", instance_file, "--schedule", path, *as_json)
    assert outcome.code == 1
    assert outcome.out == ""
    assert [line.removeprefix(f"{path}: ").partition(":")[0] for line in outcome.lines] == [
        "capacity",
        "horizon",
    ]


def test_schedule_may_come_from_standard_input(invoke: Invoke, instance_file: Path) -> None:
    stdin = json.dumps(schedule_data())
    assert invoke("audit", instance_file, "--schedule", "-", stdin=stdin).code == 0
    outcome = invoke("audit", "-", "--schedule", "-", stdin=stdin)
    assert outcome.code == 2
    assert outcome.lines == ["only one input can come from stdin"]


def test_schedule_for_another_instance_is_a_note_on_stderr(
    invoke: Invoke, instance_file: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "s.json", {**schedule_data(), "instance": "another"})
    outcome = invoke("audit", instance_file, "--schedule", path)
    assert outcome.code == 0
    assert outcome.lines == [f"{path}: note: made for instance 'another', taken for 'example'"]


def test_no_schedule_exits_1_in_a_line(invoke: Invoke, tmp_path: Path) -> None:
    path = write(tmp_path / "i.json", instance_data(job_data("a", iterations=210)))
    outcome = invoke("audit", path, "--json")
    assert outcome.code == 1
    assert outcome.out == ""
    reason = "no schedule is shorter than 21 slots (longest job), and the horizon is 20"
    assert outcome.lines == [f"example: nothing to audit: {reason}"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no-such"], "no-such: neither a file nor a bundled instance"),
        (["two-servers", "--schedule", "no-such.json"], "no-such.json: cannot be read"),
        (["two-servers", "--solver", "no-such"], "no-such"),
        (["two-servers", "--time-limit", "0"], "0"),
        (["two-servers", "--time-limit", "nan"], "nan"),
        (["two-servers", "--threads", "0"], "0"),
    ],
    ids=str,
)
def test_bad_input_exits_2(invoke: Invoke, arguments: list[str], says: str) -> None:
    outcome = invoke("audit", *arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert says in outcome.err
