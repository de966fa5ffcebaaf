"""Rates from runs of nccl-tests."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measurements import FORMS, nccl_output

from rarmodel.calibration import Bandwidth, Message, Run, bandwidths, read_run
from rarmodel.errors import InputError
from rarmodel.model import exchange_bits, reduction_seconds

ALL = (0.0, math.inf)


def run(path: Path, text: str) -> Run:
    path.write_text(text, encoding="utf-8")
    return read_run(str(path))


def made(gpus: int, servers: int, gbps: float, reduction: float, *sizes: float) -> Run:
    """A run that (8) explains exactly."""
    messages = [
        Message(
            line,
            size,
            exchange_bits(size, gpus) / (gbps * 1e9) + reduction_seconds(size, gpus, reduction),
            in_place=False,
        )
        for line, size in enumerate(sizes)
    ]
    return Run("run", gpus, servers, tuple(messages))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("servers", [1, 2])
def test_rate_of_a_ring_is_found_in_every_form(tmp_path: Path, form: str, servers: int) -> None:
    text = nccl_output(servers=servers, gbps=93.5, form=form)
    (found,) = bandwidths([run(tmp_path / "run.txt", text)], (16, math.inf), math.inf)
    assert found.name == ("intra_server_gbps" if servers == 1 else "network_gbps")
    assert found.gbps == pytest.approx(93.5, rel=1e-3)
    assert found.low == pytest.approx(93.5, rel=1e-3)


@settings(deadline=None)
@given(st.integers(2, 64), st.floats(0.1, 5000), st.floats(0.1, 5000))
def test_reduction_is_taken_off(gpus: int, gbps: float, reduction: float) -> None:
    (found,) = bandwidths([made(gpus, 2, gbps, reduction, 20.0, 500.0)], ALL, reduction)
    assert found.gbps == pytest.approx(gbps, rel=1e-5)
    (source, message), *_ = found.messages
    assert found.seconds(source, message, reduction) == pytest.approx(message.seconds, rel=1e-5)


def test_small_messages_that_take_the_latency_do_not_count(tmp_path: Path) -> None:
    text = nccl_output(latency=500e-6, sizes=[2**n for n in range(10, 34)])
    source = run(tmp_path / "run.txt", text)
    (large,) = bandwidths([source], (1000.0, math.inf), math.inf)
    (every,) = bandwidths([source], ALL, math.inf)
    assert large.gbps == pytest.approx(80, rel=0.01)
    assert every.gbps < 20
    assert (len(large.messages), len(every.messages)) == (8, 48)


def test_runs_of_one_kind_count_together() -> None:
    runs = [made(4, 2, 50.0, math.inf, 100.0), made(8, 4, 200.0, math.inf, 100.0)]
    inside = made(8, 1, 900.0, math.inf, 100.0)
    network, intra = bandwidths([*runs, inside], ALL, math.inf)
    assert (network.name, intra.name) == ("network_gbps", "intra_server_gbps")
    assert [network.gbps, intra.gbps] == pytest.approx([100.0, 900.0])
    assert [network.low, network.high] == pytest.approx([50.0, 200.0])
    assert isinstance(network, Bandwidth)


def test_run_without_a_message_of_the_size_is_refused_with_its_sizes() -> None:
    with pytest.raises(InputError) as caught:
        bandwidths([made(4, 2, 50.0, math.inf, 1.0, 4.5)], (16.0, math.inf), math.inf)
    assert caught.value.lines() == ["run: no message of 16 to inf MB; the sizes are 1 to 4.5 MB"]


def test_reduction_slower_than_the_whole_is_refused_with_the_least_rate() -> None:
    with pytest.raises(InputError) as caught:
        bandwidths([made(8, 1, 1840.0, math.inf, 100.0)], ALL, 400.0)
    assert caught.value.lines() == [
        (
            "run: line 0: the reduction alone takes longer at 400 Gbit/s; "
            "reduction_gbps above 920 is expected"
        )
    ]
