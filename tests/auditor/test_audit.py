"""Audits against a naive recomputation, on random instances and on the bundled counter-examples."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from random import Random
from typing import Any

import pyomo.environ as pyo
import pytest
from depth import examples
from documents import assignment_data, instance_of, job_data, schedule_of
from enumeration import optimal_makespan
from hypothesis import assume, given, reject
from hypothesis import strategies as st
from naive_audit import Naive, greatest_slots, least_limit, naive_audit
from random_instances import instances, random_instance

import rarmodel
from rarmodel import InputError, NoScheduleError, UsageError, VerificationError
from rarmodel.auditor import Audit, Range
from rarmodel.auditor import least_limit as least_limit_module
from rarmodel.auditor.audit import greatest_slots as enumerated_greatest_slots
from rarmodel.auditor.least_limit import LeastLimit
from rarmodel.heuristics import estimate, run_policy, sjf_bco
from rarmodel.limits import INTERRUPTED, Limits
from rarmodel.model import job_extremes
from rarmodel.schema import Instance
from rarmodel.solvers import Answer
from rarmodel.solvers.highs import HIGHS

COUNTER_EXAMPLES = {
    # claim: the bundled instance, its left side and its right side
    "lemma-2-equality": ("lemma-4-fails", 1, 2),
    "lemma-3": ("lemma-3-fails", 3, 2),
    "lemma-3-real": ("lemma-3-real-fails", 25, 24),
    "lemma-4": ("lemma-4-fails", 2, 1),
    "lemma-4-load": ("theorem-5-fails", 3, 2),
    "theorem-5": ("theorem-5-fails", 3, 2),
}
counter_examples = pytest.mark.parametrize("claim", COUNTER_EXAMPLES)


def with_horizon(instance: Instance, horizon: int) -> Instance:
    time = instance.time.model_copy(update={"horizon": horizon})
    return instance.model_copy(update={"time": time})


def fails(naive: Naive, claim: str) -> bool:
    """Whether a claim fails by the naive numbers, each inequality written out once more."""
    n = naive
    wide, factor = n.largest_job, n.factor
    return {
        "lemma-2": n.estimated_load > n.limit,
        "lemma-2-equality": n.estimated_load != n.limit,
        "lemma-3": n.makespan > wide * n.estimated_load,
        "lemma-3-real": n.makespan > wide * n.real_load,
        "lemma-4": factor is not None and n.limit > factor * n.least_limit,
        "lemma-4-load": factor is not None and n.estimated_load > factor * n.least_limit,
        "theorem-5": factor is not None
        and n.optimum is not None
        and n.makespan > wide * factor * n.optimum,
    }[claim]


def assert_agrees(audit: Audit, naive: Naive) -> None:
    q = audit.quantities
    assert (q.makespan, q.limit, q.returned) == (naive.makespan, naive.limit, True)
    assert (q.estimated_load, q.real_load) == (naive.estimated_load, naive.real_load)
    assert q.largest_job == naive.largest_job
    assert q.factor == Range(naive.factor, naive.factor)
    assert q.least_limit == Range(naive.least_limit, naive.least_limit)
    if naive.optimum is not None:
        assert q.optimum == Range(naive.optimum, naive.optimum)
    for claim in audit.claims:
        if not claim.claim.endswith("-attained"):
            assert claim.holds is not fails(naive, claim.claim), claim


# Counter-examples, by two independent means


@counter_examples
def test_counter_example_fails_by_the_audit(claim: str) -> None:
    name, left, right = COUNTER_EXAMPLES[claim]
    found = next(c for c in rarmodel.audit(name).claims if c.claim == claim)
    assert (found.left, found.right, found.holds) == (left, Range(right, right), False)


@counter_examples
def test_counter_example_fails_by_the_naive_algorithm_and_enumeration(claim: str) -> None:
    name, *_ = COUNTER_EXAMPLES[claim]
    assert fails(numbers(name), claim)


@pytest.mark.parametrize("name", sorted({case[0] for case in COUNTER_EXAMPLES.values()}))
def test_counter_example_has_the_same_numbers_by_both(name: str) -> None:
    assert_agrees(rarmodel.audit(name), numbers(name))


def numbers(name: str) -> Naive:
    # Seven jobs have too many schedules to try them all; nothing there depends on T*.
    naive = naive_audit(rarmodel.load_instance(name), optimum=name != "lemma-3-real-fails")
    assert naive is not None
    return naive


def test_lemma_3_real_counter_example_has_three_jobs_one_after_another_on_different_gpus() -> None:
    audit = rarmodel.audit("lemma-3-real-fails")
    jobs = {a.job: a for a in audit.schedule.assignments}
    row = ["slow-0", "slow-1", "last"]
    starts = [jobs[name].start for name in row]
    assert starts == [0, *(audit.report.completion[name] for name in row[:-1])]
    assert audit.report.completion["last"] == audit.quantities.makespan
    gpus = [{(s, g) for s, held in jobs[name].gpus.items() for g in held} for name in row]
    assert len(set.union(*gpus)) == sum(map(len, gpus)) == 6


@pytest.mark.parametrize("horizon", [26, 60, 1000])
def test_lemma_3_real_counter_example_fails_with_longer_horizons_too(horizon: int) -> None:
    instance = with_horizon(rarmodel.load_instance("lemma-3-real-fails"), horizon)
    claims = {claim.claim: claim for claim in rarmodel.audit(instance, time_limit=0).claims}
    assert (claims["lemma-3-real"].left, claims["lemma-3-real"].right) == (25, Range(24, 24))


def test_lemma_4_fails_by_as_much_as_the_horizon_is_long() -> None:
    instance = with_horizon(rarmodel.load_instance("lemma-4-fails"), 1000)
    found = {claim.claim: claim for claim in rarmodel.audit(instance).claims}
    assert (found["lemma-4"].left, found["lemma-4"].right) == (500, Range(1, 1))


# Random instances


@examples(10)
@given(instances(jobs=3, servers=2), st.sampled_from([8, 11, 14]))
def test_audit_agrees_with_the_naive_recomputation(instance: Instance, horizon: int) -> None:
    assume(instance.cluster.total_gpus <= 5)
    instance = with_horizon(instance, horizon)
    naive = naive_audit(instance)
    if naive is None:
        with pytest.raises(NoScheduleError, match="nothing to audit"):
            rarmodel.audit(instance)
        return
    assert_agrees(rarmodel.audit(instance), naive)


@examples(6)
@given(instances(jobs=8, servers=4), st.integers(20, 200))
def test_lemma_2_always_holds(instance: Instance, horizon: int) -> None:
    try:
        audit = rarmodel.audit(with_horizon(instance, horizon), time_limit=0)
    except NoScheduleError:
        reject()
    assert audit.claims[0].claim == "lemma-2"
    assert audit.claims[0].holds is True


@examples(40)
@given(instances(jobs=10, servers=4), st.integers(0, 3))
def test_makespan_is_within_the_bound_that_the_documentation_proves(
    instance: Instance, more: int
) -> None:
    extremes = job_extremes(instance)
    total = sum(extreme.least_slots for extreme in extremes)
    instance = with_horizon(instance, (2 + more) * total)
    found = run_policy(instance, sjf_bco)
    spread = estimate(instance).spread
    assume(found is not None and spread < inf)
    assert found is not None
    gpus = instance.cluster.total_gpus
    area = sum(j.size * e.least_slots for j, e in zip(instance.jobs, extremes, strict=True))
    least = max(area / gpus, *(e.least_slots for e in extremes), 0)
    largest = max(job.size for job in instance.jobs)
    assert found.makespan <= max(largest, 2 - 1 / gpus) * spread * least + 1e-9


@examples(8)
@given(instances(jobs=3, servers=2), st.sampled_from([8, 14]))
def test_little_time_widens_ranges_and_never_turns_a_verdict(
    instance: Instance, horizon: int
) -> None:
    instance = with_horizon(instance, horizon)
    assume(instance.cluster.total_gpus <= 5)
    try:
        hasty, thorough = rarmodel.audit(instance, time_limit=0), rarmodel.audit(instance)
    except NoScheduleError:
        reject()
    for name in ("least_limit", "optimum"):
        wide, narrow = getattr(hasty.quantities, name), getattr(thorough.quantities, name)
        assert wide.low <= narrow.low <= narrow.high <= wide.high
    for early, late in zip(hasty.claims, thorough.claims, strict=True):
        assert early.holds in {late.holds, None}


@pytest.mark.parametrize("seed", range(8))
def test_attained_spread_is_that_of_all_schedules(seed: int) -> None:
    instance = random_instance(Random(seed), jobs=2, servers=2, tree=False, most_slots=2)
    instance = with_horizon(instance, 6)
    greatest = enumerated_greatest_slots(instance)
    assert greatest is not None
    assert list(greatest.values()) == greatest_slots(instance)
    spread = rarmodel.audit(instance).quantities.attained_spread
    least = [least_slots(instance, name) for name in greatest]
    expected = max(Fraction(g, low) for g, low in zip(greatest.values(), least, strict=True))
    assert spread == Range(expected, expected)


def least_slots(instance: Instance, name: str) -> int:
    (job,) = [j for j, job in enumerate(instance.jobs) if job.name == name]
    return job_extremes(instance)[job].least_slots


def test_too_many_schedules_leave_the_attained_spread_between_this_schedule_and_the_bound() -> None:
    quantities = rarmodel.audit("paper-160", time_limit=0).quantities
    low, high = quantities.attained_spread
    assert low is not None
    assert 1 < low < (quantities.spread or 0) == high


# θ*_u


@dataclass
class Told:
    """A solver that gives a certain answer, and writes certain values to the variables."""

    answer: Answer | BaseException
    values: dict[str, float] = field(default_factory=dict)
    name: str = "told"
    model_classes: frozenset[str] = frozenset({"integer"})

    def version(self) -> str:
        return "1"

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
        if isinstance(self.answer, BaseException):
            raise self.answer
        for variable in model.component_data_objects(pyo.Var):
            variable.set_value(self.values.get(variable.name, 0.0), skip_validation=True)
        return self.answer


def limit_by(solver: Any, instance: Instance) -> LeastLimit:
    return least_limit_module.least_limit(instance, [solver], Limits(time_limit=30, threads=1))


def answer(*, bound: float | None, solved: bool = False, termination: Any = "finished") -> Answer:
    return Answer(termination, solved, bound, 0.0, "said so")


@pytest.fixture(scope="module")
def open_case() -> Instance:
    """An instance that the simple bounds leave open."""
    for seed in range(1000):
        instance = random_instance(
            Random(seed), jobs=5, servers=2, tree=False, most_gpus=3, most_slots=6
        )
        slots = limit_by(Told(answer(bound=None)), instance).slots
        if instance.cluster.total_gpus <= 5 and not slots.known:
            return instance
    raise AssertionError("simple bounds always meet")


def test_least_limit_is_that_of_all_choices_of_gpus(open_case: Instance) -> None:
    least = least_limit(open_case)
    assert limit_by(HIGHS, open_case).slots == Range(least, least)


def test_jobs_too_long_to_share_a_gpu_decide_the_least_limit_without_a_solver() -> None:
    # Two of the three share one of the two GPUs; longest job and area say no more than 3.
    instance = instance_of(*(job_data(name, iterations=20) for name in "abc"), servers=[2])
    never = Told(AssertionError("asked"))
    assert limit_by(never, instance) == LeastLimit(Range(4, 4), "simple bounds meet")


def test_least_limit_without_a_solution_is_a_range_that_holds_it(open_case: Instance) -> None:
    low, high = limit_by(Told(answer(bound=None, termination="time-limit")), open_case).slots
    assert low is not None
    assert high is not None
    assert low <= least_limit(open_case) <= high
    assert low < high


def test_solution_that_shares_nothing_out_is_ignored(open_case: Instance) -> None:
    lying = Told(answer(bound=None, solved=True))
    assert limit_by(lying, open_case) == limit_by(Told(answer(bound=None)), open_case)


def test_bound_above_what_is_attained_is_ignored(open_case: Instance) -> None:
    low, high = limit_by(Told(answer(bound=None)), open_case).slots
    assert limit_by(Told(answer(bound=1e6)), open_case).slots == Range(low, high)
    assert low is not None
    assert limit_by(Told(answer(bound=float(low) + 0.2)), open_case).slots.low == low + 1
    assert limit_by(Told(answer(bound=float(low) + 1e-9)), open_case).slots.low == low


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (UsageError("too large for the licence"), "too large for the licence"),
        (KeyboardInterrupt(), INTERRUPTED),
        (answer(bound=None, termination="interrupted"), INTERRUPTED),
        (answer(bound=None, termination="error"), "said so"),
    ],
    ids=["refused", "Ctrl-C", "interrupted", "error"],
)
def test_solver_that_ends_early_leaves_the_range_and_its_words(
    open_case: Instance, end: Any, words: str
) -> None:
    assert limit_by(Told(end), open_case) == (
        limit_by(Told(answer(bound=None)), open_case).slots,
        words,
    )


def test_optimum_is_not_looked_for_after_an_interrupt(open_case: Instance) -> None:
    audit = rarmodel.audit(with_horizon(open_case, 100), solver=Told(KeyboardInterrupt()))
    assert audit.least_limit_stopped == INTERRUPTED
    assert audit.stopped in {INTERRUPTED, "the makespan meets the lower bound"}


# Schedules from elsewhere


def test_given_schedule_keeps_its_own_load_as_limit() -> None:
    jobs = [job_data("a", gpus=2, iterations=20), job_data("b", iterations=30)]
    schedule = schedule_of(assignment_data("a", 4, s0=[0, 1]), assignment_data("b", 1, s0=[0]))
    audit = rarmodel.audit(instance_of(*jobs), schedule)
    q = audit.quantities
    assert (q.makespan, q.limit, q.returned) == (6, 5, False)
    assert (q.estimated_load, q.real_load, q.largest_job) == (5, 5, 2)
    assert q.optimum == Range(3, 3)
    assert audit.summary()["method"] == "by hand"
    assert {claim.claim: claim.holds for claim in audit.claims}["lemma-2-equality"] is True


def test_given_schedule_that_breaks_a_constraint_is_refused() -> None:
    schedule = schedule_of(assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 0, s0=[0]))
    with pytest.raises(VerificationError, match="GPU 0 of server 's0'"):
        rarmodel.audit(instance_of(), schedule)


def test_sjf_bco_schedule_given_back_has_the_same_numbers_but_the_limit() -> None:
    own = rarmodel.audit("two-servers")
    given_back = rarmodel.audit("two-servers", own.schedule)
    mine, its = own.summary(), given_back.summary()
    assert (mine["limit"], its["limit"]) == (30, 12)
    same = ("makespan", "estimated_load", "real_load", "factor", "least_limit", "optimum")
    assert [mine[name] for name in same] == [its[name] for name in same]


# Everything else


def test_no_schedule_is_said_in_a_line() -> None:
    long = instance_of(job_data("a", iterations=210))
    with pytest.raises(NoScheduleError, match=r"no schedule is shorter than 21 slots \(longest"):
        rarmodel.audit(long)
    tight = with_horizon(rarmodel.load_instance("theorem-5-fails"), 2)
    assert optimal_makespan(tight) == 2
    with pytest.raises(NoScheduleError, match="sjf-bco finds no schedule within the horizon of 2"):
        rarmodel.audit(tight)


def test_interrupted_sjf_bco_returns_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from rarmodel.auditor import audit as module

    def interrupted(*args: Any) -> Any:
        return type("Found", (), {"interrupted": True})()

    monkeypatch.setitem(module.__globals__, "run_policy", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rarmodel.audit("two-servers")


def test_solver_of_another_class_is_a_usage_error() -> None:
    wrong = Told(answer(bound=None), model_classes=frozenset({"nonlinear"}))
    with pytest.raises(UsageError, match="'told' does not solve integer models"):
        rarmodel.audit("two-servers", solver=wrong)


def test_inputs_are_read_as_everywhere() -> None:
    with pytest.raises(InputError, match="neither a file nor a bundled instance"):
        rarmodel.audit("no-such")
    with pytest.raises(InputError, match="cannot be read"):
        rarmodel.audit("two-servers", "no-such.json")


@pytest.mark.parametrize("name", ["two-servers", "lemma-3-real-fails", "paper-160"])
def test_summary_has_no_infinity(name: str) -> None:
    summary = rarmodel.audit(name, time_limit=1).summary()
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["verified"] is True
    assert summary["optimum_low"] <= summary["optimum_high"] <= summary["makespan"]
