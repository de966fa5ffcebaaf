"""The paper's figures beside what a campaign has found."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign_book import Book

from rarmodel.campaigns import Compared, read_campaigns
from rarmodel.campaigns.published_figures import FIGURES, LOWER_BOUND, Figure
from rarmodel.errors import InputError


def test_ratios_are_to_sjf_bco_of_the_same_seed(tmp_path: Path) -> None:
    book = Book(tmp_path)
    for seed, ours, other in ((0, 100, 150), (1, 200, 100), (2, 100, 125)):
        book.add("figure-4", "sjf-bco", seed, ours, bound=seed + 1)
        book.add("figure-4", "first-fit", seed, other, bound=10 * seed)
    book.add("figure-4", "random", 0, 400)
    book.add("figure-4", "random", 1, None)
    book.add("figure-4", "random", 2, 1, failed=True)
    found = book.compared()
    first_fit = found["figure-4", "makespan", "", "first-fit"]
    assert first_fit.ratio == pytest.approx((1.5 + 0.5 + 1.25) / 3)
    assert first_fit.ratio_deviation == pytest.approx(0.5204, abs=1e-4)
    assert first_fit == Compared(
        figure="figure-4",
        measure="makespan",
        setting="",
        method="first-fit",
        published=720,
        published_ratio=720 / 535,
        seeds=3,
        mean=125.0,
        deviation=25.0,
        least=100,
        greatest=150,
        ratio=first_fit.ratio,
        ratio_deviation=first_fit.ratio_deviation,
        above=2,
    )
    random = found["figure-4", "makespan", "", "random"]
    assert (random.seeds, random.ratio, random.deviation, random.above) == (1, 4.0, None, 1)
    bound = found["figure-4", "makespan", "", LOWER_BOUND]
    assert (bound.seeds, bound.least, bound.greatest, bound.published) == (3, 1, 20, None)
    assert found["figure-4", "mean_completion", "", "first-fit"].published_ratio == 450 / 178
    assert ("figure-4", "mean_completion", "", LOWER_BOUND) not in found


def test_along_an_axis_ratios_are_to_its_beginning(tmp_path: Path) -> None:
    book = Book(tmp_path)
    for seed in (0, 1):
        for name, kappa, makespan in (
            ("sjf-bco", 1, 200),
            ("sjf-bco", 8, 100),
            ("sjf-bco-occupied-first", 1, 100),
            ("sjf-bco-occupied-first", 8, 150),
        ):
            book.add("figure-5", name, seed, makespan + seed, bound=50, kappa=kappa)
        book.add("figure-5", "search", seed, 60, bound=55)
    found = book.compared()
    sjf_bco = found["figure-5", "makespan", "κ = 8", "sjf-bco"]
    assert sjf_bco.ratio == pytest.approx((100 / 200 + 101 / 201) / 2)
    assert sjf_bco.published_ratio == 535 / 626
    assert sjf_bco.above == 0
    assert found["figure-5", "makespan", "κ = 8", "sjf-bco-occupied-first"].above == 2
    search = found["figure-5", "makespan", "", "search"]
    assert search.ratio == pytest.approx((60 / 200 + 60 / 201) / 2)
    assert found["figure-5", "makespan", "", LOWER_BOUND].mean == 55


def test_numbers_of_servers_are_kept_apart(tmp_path: Path) -> None:
    book = Book(tmp_path)
    for servers in (10, 20):
        book.add("figure-6", "sjf-bco", 0, 10 * servers, servers=servers)
        book.add("figure-6", "search", 0, 9 * servers, servers=servers, bound=8 * servers)
    found = book.compared()
    assert found["figure-6", "makespan", "servers = 10", "search"].ratio == 0.9
    assert found["figure-6", "makespan", "servers = 10", LOWER_BOUND].mean == 80
    assert found["figure-6", "makespan", "servers = 20", LOWER_BOUND].mean == 160
    assert ("figure-6", "makespan", "servers = 15", "sjf-bco") not in found


def test_a_folder_without_figures_is_refused(tmp_path: Path) -> None:
    book = Book(tmp_path)
    book.add("other", "sjf-bco", 0, 1)
    with pytest.raises(InputError, match="no results of the paper's figures here"):
        book.compared()


@pytest.mark.parametrize("figure", FIGURES)
def test_the_bundled_campaigns_run_every_published_point(figure: Figure) -> None:
    ((campaign, _, _),) = read_campaigns(figure.campaign)
    assert len(campaign.seeds) >= 20
    run: set[tuple[str, object]] = set()
    for entry in campaign.methods:
        name = (figure.setting or "_").partition("_")[2]
        source = dict(campaign.instances[0].vary)
        values = {**source, **entry.vary}.get(name, (None,))
        run |= {(entry.method, value) for value in values}
    assert set(figure.published) <= run
    assert "search" in {entry.method for entry in campaign.methods}
