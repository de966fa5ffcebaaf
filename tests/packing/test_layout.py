"""Facts about servers and jobs that decide how jobs are packed."""

from __future__ import annotations

from documents import instance_of, job_data

from rarmodel import generate
from rarmodel.packing import layout_of


def test_the_packed_bound_says_whether_jobs_that_fit_a_server_must_spread() -> None:
    """Two of 12 GPUs run one after another on the server of 16; the jobs of 2 have room beside."""
    jobs = [job_data(name, gpus, iterations=10) for name, gpus in (("a", 12), ("b", 12), ("c", 2))]
    layout = layout_of(instance_of(*jobs, servers=[16, 8]))
    assert layout.packed_bound == layout.packed[:2].sum()
    crowded = layout_of(generate("contention", seed=6)).packed_bound
    assert crowded > 279  # Spread, its jobs need less.
    assert layout_of(generate("contention", seed=3)).packed_bound < 284
