"""Groups of rings that share links, against trying all of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st

from rarmodel import generate
from rarmodel.bounds.cheapest_forms import IMPOSSIBLE, LONE, SHARING, Cuts, Forms
from rarmodel.bounds.ring_groups import RingGroups
from rarmodel.bounds.server_configurations import server_configuration_bound

rings = st.tuples(st.integers(0, 3), st.integers(1, 6), st.integers(1, 4), st.integers(0, 2))
"""Job, GPUs, servers, and speed beside another ring."""


@examples(60)
@given(
    st.lists(rings.filter(lambda r: r[1] >= r[2]), min_size=1, max_size=6),
    st.integers(1, 5),
    st.integers(1, 10),
    st.integers(0, 10**9),
)
def test_dearest_groups_are_those_of_trying_everything(
    rows: list[tuple[int, int, int, int]], servers: int, gpus: int, seed: int
) -> None:
    table = np.array(sorted(rows), np.int64).T.copy()
    forms = Forms(table[0], table[1], table[2], np.array([table[3] + 1, table[3]]))
    groups = RingGroups(forms, [gpus, *[0] * (servers - 1)])
    random = np.random.default_rng(seed)
    prices = random.integers(0, 20, len(groups.form))
    costs = Cuts(random.integers(0, 20, 3), servers, gpus).costs
    found = {group.servers: group for group in groups.dearest(prices, costs)}
    best: dict[int, int] = {}
    for chosen in product((False, True), repeat=len(groups.form)):
        taken = np.flatnonzero(chosen)
        form = groups.form[taken]
        size, most = int(forms.size[form].sum()), 1 + int((forms.servers[form] - 1).sum())
        if len(taken) > len(set(forms.job[form])) or size > gpus:
            continue
        for m in range(2, min(servers, most) + 1):
            if costs[m, size] < IMPOSSIBLE:
                excess = int(prices[taken].sum()) - int(costs[m, size])
                best[m] = max(best.get(m, -IMPOSSIBLE), excess)
    assert {m: group.excess for m, group in found.items()} == best
    for m, group in found.items():
        form = groups.form[group.rings]
        assert len(set(forms.job[form])) == len(form)
        assert forms.size[form].sum() == group.gpus
        assert m <= 1 + (forms.servers[form] - 1).sum()
        assert prices[group.rings].sum() - costs[m, group.gpus] == group.excess
    assert all(groups.form[groups.ring[form]] == form for form in groups.form)
    can_share = (forms.servers > 1) & (forms.speeds[SHARING] > 0)
    assert ((groups.ring >= 0) == can_share).all()
    assert (forms.speeds[LONE] > 0).all()


def test_rings_as_wholes_prove_more_than_their_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = generate("spread", seed=9)
    whole = server_configuration_bound(instance, 0)
    monkeypatch.setattr("rarmodel.bounds.ring_groups.MOST_RINGS", 0)
    assert (whole, server_configuration_bound(instance, 0)) == (963, 959)


@pytest.mark.parametrize("limit", ["MOST_RINGS", "MOST_WORK"])
def test_many_rings_are_looked_at_by_pieces(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.array([[0, 0], [3, 4], [2, 2]], np.int64)
    forms = Forms(table[0], table[1], table[2], np.ones((2, 2), np.int64))
    assert RingGroups(forms, [2, 2]).fits
    monkeypatch.setattr(f"rarmodel.bounds.ring_groups.{limit}", 1)
    assert not RingGroups(forms, [2, 2]).fits


def test_without_rings_that_share_a_cluster_may_be_large() -> None:
    one = np.ones(1, np.int64)
    forms = Forms(one, one, one, np.ones((2, 1), np.int64))
    groups = RingGroups(forms, [8] * 100_000)
    assert groups.fits
    assert groups.dearest(np.zeros(0, np.int64), np.zeros((2, 2), np.int64)) == []


def test_few_rings_on_large_servers_are_looked_at_by_pieces() -> None:
    forms = Forms(np.arange(6), np.full(6, 512), np.full(6, 60), np.ones((2, 6), np.int64))
    assert not RingGroups(forms, [200] * 60).fits
    assert RingGroups(forms, [20] * 60).fits
