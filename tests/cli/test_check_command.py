"""`rarmodel check`, and `solve --certificate`: what proves a bound, by way of files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rarmodel
from rarmodel import UsageError

if TYPE_CHECKING:
    from invocation import Invoke


@pytest.fixture
def certificate(invoke: Invoke, tmp_path: Path) -> Path:
    path = tmp_path / "certificate.json"
    outcome = invoke("solve", "two-servers", "--method", "first-fit", "--certificate", path)
    assert outcome.code == 0
    return path


def change(path: Path, **fields: Any) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    data["claims"][0] |= fields
    path.write_text(json.dumps(data), encoding="utf-8")


def test_a_certificate_is_written_and_proven(invoke: Invoke, certificate: Path) -> None:
    outcome = invoke("check", "two-servers", certificate)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[0] == "proven: makespan is at least 12 (area)"
    found = invoke("check", "two-servers", certificate, "--json").json()
    assert (found["instance"], found["outcome"]) == ("two-servers", "proven")
    assert found["claims"][0]["place"] == "claims[0]"


def test_a_wrong_number_is_named_and_exits_2(invoke: Invoke, certificate: Path) -> None:
    change(certificate, value=13)
    outcome = invoke("check", "two-servers", certificate)
    assert outcome.code == 2
    message = "claims[0].value: 13 is claimed, and 12 is what follows"
    assert outcome.lines == [f"{certificate}: {message}"]
    assert "proven: total-links is at least 2 (fewest links)" in outcome.out


def test_a_certificate_of_another_instance_exits_2(invoke: Invoke, certificate: Path) -> None:
    outcome = invoke("check", "rack-tree", certificate)
    assert (outcome.code, outcome.out) == (2, "")
    assert "instance_sha256: the certificate is not of instance 'rack-tree'" in outcome.err


def test_a_malformed_certificate_exits_2_with_the_place(invoke: Invoke, certificate: Path) -> None:
    change(certificate, value=1.5)
    outcome = invoke("check", "two-servers", certificate)
    assert outcome.code == 2
    assert "claims[0].value: 1.5; a whole number" in outcome.err


def test_what_only_a_search_has_proven_exits_1_and_has_a_model(
    invoke: Invoke, certificate: Path
) -> None:
    refuted = {"kind": "refuted", "by": "proof", "below": 12, "model": "twelve.lp"}
    change(certificate, value=13, bound="proof", argument=refuted)
    outcome = invoke("check", "two-servers", certificate)
    assert outcome.code == 1
    told = "makespan is at least 13 (proof): not checked: ask a solver to refute twelve.lp"
    assert outcome.out.splitlines()[0] == told


def test_no_file_is_overwritten_by_a_certificate(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "both.json"
    outcome = invoke("solve", "two-servers", "--output", path, "--certificate", path)
    assert (outcome.code, path.exists()) == (2, False)
    assert "--output and --certificate would both write it" in outcome.err.replace(
        "--certificate and --output", "--output and --certificate"
    )


def test_a_search_that_refutes_has_two_claims_and_a_model_without_solution(
    tmp_path: Path,
) -> None:
    instance = rarmodel.generate("small", seed=24, jobs=6)
    result = rarmodel.solve(instance, objective=["makespan"], threads=1)
    assert result.lower_bound == 8
    found = rarmodel.certificate(instance, result, output=tmp_path / "six.json")
    assert [(claim.value, claim.argument.kind) for claim in found.claims] == [
        (7, "prices"),
        (8, "refuted"),
    ]
    assert (tmp_path / "six-7-slots.lp").exists()
    checked = rarmodel.check(instance, tmp_path / "six.json")
    assert [finding.outcome for finding in checked.findings] == ["proven", "not checked"]


def test_bounds_under_added_constraints_have_no_certificate() -> None:
    result = replace(rarmodel.solve("two-servers", method="first-fit"), restricted=True)
    with pytest.raises(UsageError, match="the formulation adds constraints"):
        rarmodel.certificate("two-servers", result)
