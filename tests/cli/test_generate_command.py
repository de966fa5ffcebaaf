"""`rarmodel generate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rarmodel
from rarmodel.files import parse_instance, read_instance, to_json

if TYPE_CHECKING:
    from invocation import Invoke


def test_instance_goes_to_stdout_and_its_sizes_to_stderr(invoke: Invoke) -> None:
    outcome = invoke("generate", "small", "--seed", 3)
    assert outcome.code == 0
    assert outcome.out == to_json(rarmodel.generate("small", seed=3))
    (line,) = outcome.lines
    assert line.startswith("small-6-seed-3: 6 jobs, 3 servers, ")


def test_same_seed_writes_the_same_file(invoke: Invoke, tmp_path: Path) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    for path in (one, two):
        assert invoke("generate", "contention", "--seed", 5, "--output", path).code == 0
    assert one.read_bytes() == two.read_bytes()
    assert read_instance(one) == rarmodel.generate("contention", seed=5)


def test_paper_is_the_default_family(invoke: Invoke) -> None:
    assert parse_instance(invoke("generate").out) == rarmodel.generate("paper")


def test_every_option_is_a_knob(invoke: Invoke) -> None:
    options = {
        "--jobs": 12,
        "--servers": 4,
        "--capacities": "2,4",
        "--sizes": "1:2,3",
        "--iterations": "100..200",
        "--iteration-slots": "0.02..0.1",
        "--execution-slots": "2..20",
        "--gradient-mb": "7",
        "--network-gbps": 25,
        "--racks": 2,
        "--oversubscription": 2,
        "--intra-server-gbps": 300,
        "--reduction-gbps": 500,
        "--alpha": 0.1,
        "--concurrency": 0.25,
        "--overhead-ms-per-server": 1,
        "--slot-seconds": 5,
        "--horizon": 999,
    }
    words = [word for option in options.items() for word in option]
    drawn = parse_instance(invoke("generate", "paper", *words, "--mb-per-job").out)
    assert drawn == rarmodel.generate(
        "paper",
        jobs=12,
        servers=4,
        capacities=(2, 4),
        sizes=((1, 2), (3, 1)),
        iterations=(100, 200),
        iteration_slots=(0.02, 0.1),
        execution_slots=(2, 20),
        gradient_mb=(7.0, 7.0),
        gradient_per_second=False,
        network_gbps=25.0,
        racks=2,
        oversubscription=2.0,
        intra_server_gbps=300.0,
        reduction_gbps=500.0,
        alpha=0.1,
        concurrency=0.25,
        overhead_ms_per_server=1.0,
        slot_seconds=5.0,
        horizon=999,
    )


def test_stars_take_the_times_of_both_passes(invoke: Invoke) -> None:
    words = ["--forward-ms-per-sample", "1.5..2", "--backward-ms", "7"]
    drawn = parse_instance(invoke("generate", "stars", *words).out)
    assert drawn == rarmodel.generate(
        "stars", forward_ms_per_sample=(1.5, 2.0), backward_ms=(7.0, 7.0)
    )


def test_no_contention_and_name(invoke: Invoke) -> None:
    drawn = parse_instance(invoke("generate", "small", "--no-contention", "--name", "bare").out)
    assert drawn == rarmodel.generate("small", contention=False, name="bare")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nope"], "no family 'nope'"),
        (["--jobs", "0"], "0 is not in the range"),
        (["--alpha", "nan"], "'nan' is not a number"),
        (["--sizes", "1:x"], "sizes and weights such as 1:80,2:14 are expected"),
        (["--capacities", "4;8"], "whole numbers such as 4,8,16 are expected"),
        (["--iterations", "1000-6000"], "two numbers such as 1000..6000 are expected"),
        (["--gradient-mb", "a..b"], "two numbers such as 0.5..20 are expected"),
        (["--sizes", "64", "--servers", "1"], "jobs of 64 GPUs: 1 servers have at most 32"),
        (["--name", ""], "name: an empty text"),
        (["--output", "/nowhere/at/all.json"], "cannot be written"),
    ],
    ids=str,
)
def test_bad_options_exit_2_with_a_line(invoke: Invoke, words: list[str], message: str) -> None:
    outcome = invoke("generate", *words)
    assert outcome.code == 2
    assert outcome.out == ""
    assert message in " ".join(outcome.err.split())


def test_generated_instance_can_be_piped_into_solve(invoke: Invoke) -> None:
    text = invoke("generate", "small").out
    assert invoke("solve", "-", stdin=text).code == 0
