"""Rings that share links, with constants of contention, for property-based tests of sharing."""

from __future__ import annotations

from math import inf

from hypothesis import strategies as st

from rarmodel.model import RingOnLinks
from rarmodel.model.sharing_rule import DUTY, NO_PRESSURE
from rarmodel.model.timing import MAX_OVERLAP
from rarmodel.schema import Contention
from rarmodel.schema.base import BILLION

LINKS = 4


def contention(concurrency: float = 1.0, alpha: float = 0.0, model: str = DUTY.name) -> Contention:
    """Constants of contention, by a sharing rule."""
    return Contention.model_validate(
        {
            "concurrency": concurrency,
            "degradation": {"kind": "linear", "alpha": alpha},
            "overhead_ms_per_server": 0.0,
            "model": model,
        }
    )


def contentions(*models: str) -> st.SearchStrategy[Contention]:
    """Any constants, by one of some rules."""
    return st.builds(contention, st.floats(0.01, 1.0), st.floats(0.0, 2.0), st.sampled_from(models))


RATES = st.lists(st.floats(0.01, 100.0), min_size=LINKS, max_size=LINKS)
RINGS = st.lists(
    st.builds(
        RingOnLinks,
        st.sets(st.integers(0, LINKS - 1), min_size=1).map(lambda links: tuple(sorted(links))),
        st.floats(1e3, 1e11),
        st.floats(0.0, 100.0),
        st.just(0.0) | st.floats(0.0, 100.0),
        st.just(0.0) | st.floats(0.0, 10.0),
        st.just(1.0) | st.floats(1.0, MAX_OVERLAP),
        st.just(inf) | st.floats(0.01, 100.0),
        st.just(NO_PRESSURE),
        st.just(BILLION),
    ),
    min_size=1,
    max_size=6,
)
