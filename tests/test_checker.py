"""The checker of certificates: true ones pass, tampered ones fail, and no false bound is proven."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from certificate_lies import greatest_proven, lies
from depth import first
from documents import instance_data, job_data
from preemptive_optimum import optima as preemptive_optima
from rules import RULES
from wide_instances import FEATURES, OBJECTIVES, random_wide
from wide_optimum import optima

import rarmodel
from rarmodel import Instance
from rarmodel.bounds import bounds, tightened
from rarmodel.bounds.arguments import in_file
from rarmodel.bounds.proven import objective_bounds
from rarmodel.checker import check, digest
from rarmodel.files import parse_instance, to_json
from rarmodel.instances import names
from rarmodel.limits import Limits
from rarmodel.model import horizon_of
from rarmodel.model.features import PREEMPTION, QUOTAS, RESOURCES
from rarmodel.model.objectives import Value, objective
from rarmodel.schema.certificate import BoundClaim, Certificate

Data = dict[str, Any]
FILES = Path(__file__).parents[1] / "instances"
BUNDLED = [name for name in names() if (FILES / f"{name}.json").exists()]
LIBRARY = [name for name in names() if name not in BUNDLED]
LARGE = ("paper-160", "philly-2869ce")


def certificate_of(instance: Instance, name: str, value: Value, bound: str) -> Certificate | None:
    """The certificate of a bound by its own argument, once through its file."""
    aim = objective(name)
    found = next(one for one in bounds() if one.name == bound)
    argument = found.certify and found.certify(instance, aim, value)
    if argument is None:
        return None
    claim = BoundClaim(objective=name, value=in_file(value), bound=bound, argument=argument)
    made = Certificate(
        schema_version=1,
        instance=instance.name,
        instance_sha256=digest(instance),
        claims=(claim,),
    )
    return Certificate.model_validate(json.loads(to_json(made)))


def certificates(instance: Instance, *, slow: bool = True) -> Iterator[Certificate]:
    """One for each bound that proves something, of each objective."""
    for name in OBJECTIVES:
        asked = instance.model_copy(update={"objective": name})
        aim = objective(name)
        proven = list(objective_bounds(asked, aim))
        for one in bounds() if slow else ():
            if one.tighten and one.supports(asked, aim):
                tight = tightened(one, asked, aim, 0)
                proven += [] if tight is None else [tight]
        certifying = {one.name for one in bounds() if one.certify}
        for value, bound in proven:
            if bound not in certifying:
                continue
            found = certificate_of(asked, name, value, bound)
            assert found is not None, (name, bound, value)
            yield found


def require_proven(instance: Instance, *, slow: bool = True) -> int:
    """All its certificates pass; their number."""
    found = list(certificates(instance, slow=slow))
    for certificate in found:
        checked = check(instance, certificate)
        assert checked.outcome == "proven", checked.findings
    return len(found)


# True certificates


@pytest.mark.parametrize("name", [name for name in BUNDLED if name not in LARGE])
def test_certificates_of_bundled_instances_pass(name: str) -> None:
    assert require_proven(rarmodel.load_instance(name)) > 15


@pytest.mark.parametrize("name", first(4, [*LARGE, *LIBRARY[::20]]))
def test_certificates_of_quick_bounds_of_large_instances_pass(name: str) -> None:
    assert require_proven(rarmodel.load_instance(name), slow=False) > 15


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARY)
def test_certificates_of_the_library_pass(name: str) -> None:
    assert require_proven(rarmodel.load_instance(name)) > 15


@pytest.mark.slow
@pytest.mark.parametrize("family", ["contention", "paper", "small", "spread", "wide"])
@pytest.mark.parametrize("seed", range(5))
def test_certificates_of_families_pass(family: str, seed: int) -> None:
    assert require_proven(rarmodel.generate(family, seed=seed)) > 15


@pytest.mark.parametrize("seed", range(24))
def test_certificates_with_any_features_pass(seed: int) -> None:
    random = Random(seed)
    some = FEATURES if seed % 4 == 0 else random.sample(FEATURES, random.randint(0, 6))
    instance = random_wide(random, {*some, *([PREEMPTION.name] if seed % 3 == 0 else [])})
    assert require_proven(instance) > 5


@pytest.mark.parametrize("seed", range(12))
def test_certificates_of_what_resources_prove_pass(seed: int) -> None:
    random = Random(seed)
    some = random.sample(FEATURES, random.randint(0, 4))
    some += [RESOURCES.name, QUOTAS.name, *([PREEMPTION.name] if seed % 3 == 0 else [])]
    instance = random_wide(random, set(some), jobs=4)
    found = [one.claims[0].bound for one in certificates(instance, slow=False)]
    assert {"use of resources", "one after another"} & set(found)
    require_proven(instance, slow=False)


# Tampered ones

TIGHT = rarmodel.load_instance("two-servers")  # Its optimum is 12 slots, and all bounds meet it.
GAPS = rarmodel.generate("contention", seed=6)


def rings(servers: tuple[int, ...], *jobs: tuple[int, int], due: int | None = None) -> Instance:
    """Jobs of so many GPUs and slots, due after so many."""
    fields = {} if due is None else {"due": due}
    rows = [
        job_data(f"j{i}", gpus=gpus, iterations=10 * slots, **fields)
        for i, (gpus, slots) in enumerate(jobs)
    ]
    return parse_instance(instance_data(*rows, servers=servers))


WIDE = rings((4,), (3, 2), (3, 2), (3, 1))  # One after another: 5 slots.
LONG = rings((2,), (1, 3), (1, 3), (1, 3))  # No two after each other in 5 slots.
LATE = rings((2,), (1, 3), (1, 3), (2, 2), (1, 1), due=4)
DUE = rings((1,), (1, 3), (1, 2), (1, 1), due=1)  # Shortest first: 0 and 2 and 5 slots late.


def sharing(capacity: object, *jobs: tuple[int, int, int], **fields: object) -> Instance:
    """Jobs of so many GPUs and slots that use so much of a resource."""
    rows = [
        job_data(f"j{i}", gpus=gpus, iterations=10 * slots, resources={"x": amount}, **fields)
        for i, (gpus, slots, amount) in enumerate(jobs)
    ]
    data = instance_data(*rows, servers=(4, 4))
    return parse_instance({**data, "resources": [{"name": "x", "capacity": capacity}]})


USERS = [(1, 2, 2), (1, 3, 1), (1, 3, 2), (1, 3, 1)]  # They use 16 in all.
POWER = sharing(3, *USERS)
SLOW = sharing([{"from": 0, "to": 3, "capacity": 1}, {"from": 3, "capacity": 3}], *USERS)
ALONE = sharing(1, (1, 2, 1), (2, 3, 1), (1, 4, 1), (1, 5, 0), due=3)
WHOLE: list[tuple[str, Instance, str, str, Value]] = [
    ("each-job", TIGHT, "makespan", "longest job", 8),
    ("each-job", TIGHT, "cost", "cheapest placements", Fraction(1, 75)),
    ("each-job", TIGHT, "total-links", "fewest links", 2),
    ("prices", TIGHT, "makespan", "area", 12),
    ("prices", TIGHT, "max-flow", "overfull intervals", 12),
    ("prices", TIGHT, "total-completion", "prices of GPUs", 32),
    ("prices", TIGHT, "max-stretch", "prices of GPUs", Fraction(3, 2)),
    ("prices", WIDE, "makespan", "wide jobs", 5),
    ("prices", LONG, "makespan", "long jobs", 6),
    ("prices", LATE, "late-jobs", "room before due slots", 1),
    ("prices", LATE, "max-tardiness", "overfull intervals", 2),
    ("one-machine", DUE, "total-tardiness", "earliest due jobs", 7),
    ("one-machine", TIGHT, "total-completion", "mean busy times", 30),
    ("one-machine", TIGHT, "total-flow", "mean busy times", 30),
    ("slot-prices", TIGHT, "makespan", "configurations", 12),
    ("server-prices", TIGHT, "makespan", "server configurations", 12),
    ("lane-prices", TIGHT, "makespan", "cutting stock", 12),
    ("last-job", TIGHT, "max-flow", "makespan", 12),
    ("shared-links", TIGHT, "makespan", "shared links", 8),
    ("wide-gaps", GAPS, "makespan", "wide gaps", 273),
    ("prices", POWER, "makespan", "use of resources", 6),
    ("prices", POWER, "max-flow", "use of resources", 6),
    ("prices", SLOW, "makespan", "use of resources", 8),  # 3 in three slots, and 13 in five.
    ("one-machine", POWER, "total-completion", "use of resources", 15),
    ("one-machine", ALONE, "total-flow", "one after another", 21),
    ("one-machine", ALONE, "total-tardiness", "one after another", 9),
    ("prices", ALONE, "makespan", "one after another", 9),
    ("prices", ALONE, "max-tardiness", "one after another", 6),
    ("prices", ALONE, "late-jobs", "use of resources", 3),
]
UP = {"value", "below", "length", "makespan", "completions", "busy_or_idle"}
"""Numbers that claim more if they are greater, as those by job do."""
DOWN = {"room", "dearest", "excess"}
"""Those that claim more if they are less."""
BY_JOB = {"least", "taken"}


@cache
def whole(place: int) -> Data:
    """One of the certificates, as its file has it."""
    kind, instance, name, bound, value = WHOLE[place]
    asked = instance.model_copy(update={"objective": name})
    found = certificate_of(asked, name, value, bound)
    assert found is not None
    assert check(instance, found).outcome == "proven"
    data: Data = json.loads(to_json(found))
    assert data["claims"][0]["argument"]["kind"] == kind
    return data


def leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """All numbers, with their places."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))
        elif isinstance(value, int) or re.fullmatch(r"-?\d+/\d+", str(value)):
            yield (*path, key), value


def changed(data: Data, path: tuple[Any, ...], number: Any) -> Certificate:
    """The certificate with another number."""
    other: Any = copy.deepcopy(data)
    inner = other
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = number
    return Certificate.model_validate(other)


def false(path: tuple[Any, ...], number: Any) -> int | str | None:
    """A number that makes the claim false; None where no number alone does."""
    name, above = path[-1], path[-2]
    exact = Fraction(number)
    if name in UP or above in BY_JOB or name == "least":
        return in_file(2 * exact + 1 if name not in UP else exact + 1)
    if name in DOWN:
        return int(exact) // 2 if exact > 0 else None
    if path[-3:-1] == ("argument", "prices"):  # Of a worker.
        return int(10 * exact)
    if above == "prices" or name == "price":
        return 0 if exact > 0 else None
    return None


@pytest.mark.parametrize("place", range(len(WHOLE)))
def test_each_tampered_number_is_found(place: int) -> None:
    instance, data = WHOLE[place][1], whole(place)
    for path, number in leaves(data["claims"]):
        other = false(path, number)
        if other is not None:
            found = check(instance, changed(data, ("claims", *path), other))
            assert found.outcome == "wrong", (path, number, other)


def test_a_hundred_numbers_are_tampered_with() -> None:
    every = [
        path
        for place in range(len(WHOLE))
        for path, number in leaves(whole(place)["claims"])
        if false(path, number) is not None
    ]
    assert len(every) >= 100


def test_certificates_of_tampered_instances_are_wrong() -> None:
    other = rarmodel.load_instance("rack-tree")
    for place in range(len(WHOLE)):
        found = check(other, Certificate.model_validate(whole(place)))
        assert (found.outcome, found.findings[0].place) == ("wrong", "instance_sha256")


@pytest.mark.parametrize(
    ("of", "message"),
    [
        ({"kind": "resource", "name": "y"}, "no job uses anything of a resource 'y'"),
        ({"kind": "tenant", "name": "x"}, "no job uses anything of a cap of tenant 'x'"),
        ({"kind": "exclusive-jobs", "jobs": ["j0", "j1"]}, "jobs 'j0' and 'j1' can run at once"),
        ({"kind": "exclusive-jobs", "jobs": ["j0", "j0"]}, "jobs 'j0' and 'j0' can run at once"),
        ({"kind": "exclusive-jobs", "jobs": ["j9"]}, "the instance has no job 'j9'"),
    ],
)
@pytest.mark.parametrize("kind", ["prices", "one-machine"])
def test_what_jobs_do_not_share_proves_nothing(kind: str, of: Data, message: str) -> None:
    place = next(i for i, one in enumerate(WHOLE) if one[0] == kind and one[1] is POWER)
    data = copy.deepcopy(whole(place))
    data["claims"][0]["argument"]["of"] = of
    found = check(POWER, Certificate.model_validate(data))
    assert (found.outcome, found.findings[0].message) == ("wrong", message)


def test_two_jobs_that_run_already_do_not_exclude_each_other() -> None:
    jobs = [job_data(f"j{i}", iterations=30, resources={"x": 1}) for i in range(2)]
    for i, job in enumerate(jobs):
        job["running"] = {"gpus": {"s0": [i]}, "iterations_done": 0}
    data = {**instance_data(*jobs, servers=(2,)), "resources": [{"name": "x", "capacity": 1}]}
    instance = parse_instance(data)
    both: Data = {"kind": "exclusive-jobs", "jobs": ["j0", "j1"]}
    argument = {"kind": "one-machine", "of": both, "rule": "shortest-first", "jobs": ["j0", "j1"]}
    assert greatest_proven(instance, "total-flow", {**argument, "completions": 99}) is None
    # They keep 2, so the machine does 2 in a slot.
    argument["of"] = {"kind": "resource", "name": "x"}
    assert greatest_proven(instance, "total-flow", {**argument, "completions": 99}) == 5


def test_slots_without_a_limit_have_no_price() -> None:
    window = {"from": 2, "to": 4, "capacity": 1}
    instance = sharing([window], (1, 3, 1), (1, 3, 1))
    argument = {
        "kind": "prices",
        "of": {"kind": "resource", "name": "x"},
        "below": 4,
        "edges": [1, 4],
        "kinds": [{"prices": [1]}],
        "least": {"j0": 2, "j1": 2},
        "room": 3,
    }
    claim: Data = {"objective": "makespan", "value": 5, "bound": "a lie", "argument": argument}
    data: Data = {"schema_version": 1, "instance": instance.name, "claims": [claim]}
    data["instance_sha256"] = digest(instance)
    (found,) = check(instance, Certificate.model_validate(data)).findings
    assert (found.outcome, found.place) == ("wrong", "claims[0].argument.of")
    assert "no limit" in found.message


def require_no_lie(seed: int, *features: str) -> int:
    """No lie that gets through is above the optimum of enumeration; how many got through.

    How many of those that are about resources, if such features are asked for.
    """
    random = Random(seed)
    interrupted = seed % 4 == 0
    some = {*features, *random.sample(FEATURES, random.randint(0, 4))}
    if interrupted:
        instance = random_wide(random, {*some, PREEMPTION.name}, jobs=2, objectives=OBJECTIVES)
        if instance.cluster.total_gpus > 4:
            return 0
        best = preemptive_optima(instance, 7)
    else:
        instance = random_wide(random, some, most_slots=3, objectives=OBJECTIVES)
        starts = [rule(instance, Limits()).schedule for rule in RULES]
        known = [one for one in starts if one is not None]
        best = optima(instance, horizon_of(instance) + 1, known)
    if best is None:
        return 0
    told = 0
    rounds = 4 if features else 1  # Half of such lies name what jobs do not share.
    for name, argument in (lie for _ in range(rounds) for lie in lies(random, instance)):
        value = greatest_proven(instance, name, argument)
        if value is not None:
            told += "of" in argument or not features
            assert value <= best[name], (name, value, best[name], argument)
    return told


@pytest.mark.parametrize("seed", first(12, range(24)))
def test_no_lie_is_above_the_optimum(seed: int) -> None:
    require_no_lie(seed)


def test_lies_get_through_where_they_are_true() -> None:
    assert sum(require_no_lie(seed) for seed in (1, 2, 3)) > 30


@pytest.mark.parametrize("seed", range(12))
def test_no_lie_about_resources_is_above_the_optimum(seed: int) -> None:
    require_no_lie(seed, RESOURCES.name, QUOTAS.name)


def test_lies_about_resources_get_through_where_they_are_true() -> None:
    assert sum(require_no_lie(seed, RESOURCES.name, QUOTAS.name) for seed in (1, 2, 6)) > 10


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_no_lie_of_thousands_is_above_the_optimum(part: int) -> None:
    for seed in range(100 + 40 * part, 140 + 40 * part):
        require_no_lie(seed)
        require_no_lie(seed, RESOURCES.name, QUOTAS.name)


def test_a_result_of_another_horizon_has_no_certificate() -> None:
    result = rarmodel.solve(
        "rack-tree", horizon=12, method="search", time_limit=5, objective="total-completion"
    )
    with pytest.raises(rarmodel.UsageError, match=r"write this as time\.horizon into the instance"):
        rarmodel.certificate("rack-tree", result)
