"""The formulas in columns are the model's own plain functions, number by number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_tables import ring

from rarmodel import model
from rarmodel.calibration import terms
from rarmodel.model import RingOnLinks, timing
from rarmodel.model.contention import cards_gbps
from rarmodel.schema import Contention
from rarmodel.schema.base import BILLION

positive = st.floats(1e-3, 1e4)


def seconds_by_the_model(
    workers: int, servers: int, least: int, samples: int, mb: float, values: dict[str, float]
) -> float:
    """The time of an iteration, by the plain functions that the verifier calls."""
    gbps = values["intra_server_gbps"]
    if servers > 1:
        gbps = cards_gbps(values["network_gbps"], least, int(values["network_cards"]))
    compute = timing.pass_seconds(values["forward_ms_per_sample"], samples, values["backward_ms"])
    return model.iteration_seconds(
        model.exchange_bits(mb, workers),
        gbps,
        timing.latency_seconds(values["latency_ms"], workers),
        0.0,
        model.overhead_seconds(values["overhead_ms_per_server"], servers),
        compute,
        values["overlap"],
    )


@given(
    placed=st.lists(st.integers(1, 8), min_size=1, max_size=4),
    samples=st.integers(1, 512),
    mb=positive,
    values=st.fixed_dictionaries(
        {
            "forward_ms_per_sample": positive,
            "backward_ms": positive,
            "intra_server_gbps": positive,
            "network_gbps": positive,
            "overhead_ms_per_server": st.floats(0, 100),
            "latency_ms": st.floats(0, 10),
            "overlap": st.one_of(st.just(1.0), st.floats(1.0, 20.0)),
            "network_cards": st.integers(1, 8).map(float),
        }
    ),
    known=st.booleans(),
)
def test_predictions_are_the_models_own(
    placed: list[int], samples: int, mb: float, values: dict[str, float], known: bool
) -> None:
    rings = ring(" ".join(map(str, placed)), samples, mb if known else np.nan)
    columns = {name: np.array([one]) for name, one in values.items()}
    if not known:
        columns["gradient_mb"] = np.array([mb])
    expected = seconds_by_the_model(sum(placed), len(placed), min(placed), samples, mb, values)
    # The model rounds the times that overlap to 30 binary digits, to be monotone to the last bit.
    assert terms.ring_seconds(rings, columns)[0] == pytest.approx(expected, rel=1e-8)


@given(
    duty=st.floats(0.01, 0.99),
    sensitivity=st.integers(0, 3 * BILLION),
    pressure=st.integers(0, 3 * BILLION),
)
def test_a_pair_is_two_rings_on_the_links_that_both_use(
    duty: float, sensitivity: int, pressure: int
) -> None:
    gbps, links = 10.0, (0, 1)
    job = RingOnLinks(links, duty * gbps * 1e9, 1.0 - duty, sensitivity=sensitivity)
    other = RingOnLinks(links, 1e9, 1.0, pressure=pressure)
    contention = Contention.model_validate(
        {
            "model": "duty",
            "concurrency": 1.0,
            "degradation": {"kind": "linear", "alpha": 0.0},
            "overhead_ms_per_server": 0.0,
        }
    )
    share = model.bandwidths(contention, [gbps, gbps], [job, other])[0]
    beside = model.iteration_seconds(job.bits, share, 0.0, job.rest, 0.0, 0.0, 1.0)
    # The job alone takes one second. The model rounds the product up to parts of 2^20.
    found = terms.ratio_beside(duty * sensitivity / BILLION, pressure / BILLION)
    assert found == pytest.approx(1.0 / beside, rel=2e-6)


def test_gpus_in_groups_are_servers_of_that_size() -> None:
    values = {"intra_server_gbps": 1000.0, "network_gbps": 100.0, "overhead_ms_per_server": 1.0}

    def seconds(placed: str, **more: float) -> float:
        return float(terms.ring_seconds(ring(placed, 0, 64.0), values | more)[0])

    assert seconds("4", gpus_joined=2.0) == seconds("2 2")
    assert seconds("2", gpus_joined=2.0) == seconds("2")
    assert seconds("4", gpus_joined=np.inf) == seconds("4")
