"""The session for wider instances: why it ends, and what it takes from others."""

from __future__ import annotations

from documents import instance_of, job_data

from rarmodel.bounds import ValueBound
from rarmodel.limits import PROVEN, Limits
from rarmodel.schema import Instance
from rarmodel.search import session_of
from rarmodel.search.wide import WideSession


def queue() -> Instance:
    """Jobs one after another on one GPU: their total flow is at least 10 + 20 + 30 slots."""
    jobs = [job_data(f"job-{j}", iterations=100) for j in range(3)]
    instance = instance_of(*jobs, servers=[1], horizon=100)
    return instance.model_copy(update={"objective": "total-flow"})


def test_it_ends_at_the_optimum_or_within_the_gap() -> None:
    session = session_of(queue(), Limits(threads=1))
    assert isinstance(session, WideSession)
    assert session.run(iterations=100) == PROVEN
    assert session.values == (60.0,)
    wide = session_of(queue(), Limits(threads=1, gap=0.9))
    assert isinstance(wide, WideSession)
    wide._bounds = (ValueBound(30, "known"),)
    assert wide.run(iterations=100) == "the value is within the gap of the lower bound"
    open_ = session_of(queue(), Limits(threads=1, gap=0.4))
    assert isinstance(open_, WideSession)
    open_._bounds = (ValueBound(30, "known"),)
    assert open_.run(iterations=3) == "iteration limit"


def test_it_takes_only_what_is_better() -> None:
    session = session_of(queue(), Limits(threads=1))
    session.run(iterations=100)
    best = session.schedule("search")
    other = session_of(queue(), Limits(threads=1))
    assert other.take(best)
    assert other.values == session.values
    assert not other.take(best)
    assert not other.take(None)
    assert not other.raise_bound(None)
    assert not other.raise_bound(other.bound)
