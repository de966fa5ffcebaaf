"""Check certificates of lower bounds: a reader that believes nothing.

For each claim this file forms both sides of the argument again, by its own methods and in exact
whole numbers, from the instance and the model's plain functions alone. It uses nothing of the code
that finds bounds, and no solver. `docs/certificates.md` says why each argument proves its bound.

A claim is *proven*, or *wrong*: a number in it is not true, or the numbers do not say what is
claimed. It is *not checked* where the argument is a search that only a solver can repeat, where a
number is too large to form again, or where the instance uses what this file does not know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from heapq import heappop, heappush
from itertools import combinations, pairwise
from math import ceil, inf, prod
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.model import (
    best_share,
    horizon_of,
    instance_digest,
    lone_options,
    paces,
    topology,
    used,
    windows,
)
from rarmodel.model.held_parts import held_parts
from rarmodel.model.interruptions import interrupts, may_stop
from rarmodel.model.lone import allowed_servers, groups_of, within_gbps
from rarmodel.model.objectives import Objective, Shape, Term, Value, exact, objective
from rarmodel.model.topology import Topology
from rarmodel.model.usage_limits import Use, usage_limits
from rarmodel.schema import Instance, Job
from rarmodel.schema import certificate as form

SHARED_GPUS = "shared GPUs"
KNOWN = frozenset(
    (
        "objectives other than the makespan",
        *("releases", "deadlines", "dependencies"),
        *("server lists", "spreads", "levels", "ring sizes", "GPU types", "running jobs"),
        *("rates within servers", "reservations", "quotas", "resources", "contention by duty"),
        *("network pressures", "latency", "overlap", "network cards", "GPU memory", "preemption"),
        SHARED_GPUS,
    )
)
"""Features of instances that this file knows. Some of them only rule out schedules."""
MOST_NODES = 300_000
"""Branches of the search for what can run in a slot, at most."""
MOST_PATTERNS = 20_000
"""Numbers of slots in the states of a ring to try; with more, parts of slots are worth least."""
MOST_STEPS = 2_000_000_000
"""Steps of a dynamic program, at most."""
SAFE = 2**62
"""Whole numbers below it, and their sums and differences of two, fit into 64 bits."""

Outcome = Literal["proven", "not checked", "wrong"]
Ints = npt.NDArray[np.int64]


class Finding(NamedTuple):
    """What became of a claim.

    Attributes
    ----------
    place
        The claim, such as `claims[0]`, or the number in it that is wrong.
    outcome
        `proven`, `not checked` or `wrong`.
    message
        The bound that is proven, or why it is not.
    """

    place: str
    outcome: Outcome
    message: str


@dataclass(frozen=True)
class Checked:
    """What became of a certificate.

    Attributes
    ----------
    instance
        Name of the instance.
    findings
        One for each claim.
    """

    instance: str
    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        """The worst of the claims' outcomes: `proven`, `not checked` or `wrong`."""
        found = {finding.outcome for finding in self.findings}
        return next(one for one in ("wrong", "not checked", "proven") if one in found)

    def summary(self) -> dict[str, Any]:
        """The same as plain data: the output of `check --json`."""
        claims = [finding._asdict() for finding in self.findings]
        return {"instance": self.instance, "outcome": self.outcome, "claims": claims}


class _WrongError(Exception):
    """A number is not true. The arguments are its place in the argument, and a message."""


class _NotCheckedError(Exception):
    """Nobody looked, for this reason."""


class _Case(NamedTuple):
    """A claim to be checked."""

    instance: Instance
    objective: Objective
    value: Fraction


def check(instance: Instance, certificate: form.Certificate) -> Checked:
    """Check a certificate against its instance; see the head of this file."""
    if certificate.instance_sha256 != digest(instance):
        why = f"the certificate is not of instance {instance.name!r}, as the digests differ"
        return Checked(instance.name, (Finding("instance_sha256", "wrong", why),))
    places = (f"claims[{i}]" for i in range(len(certificate.claims)))
    findings = map(partial(_finding, instance), certificate.claims, places)
    return Checked(instance.name, tuple(findings))


def _finding(instance: Instance, claim: form.BoundClaim, place: str) -> Finding:
    """What becomes of a claim."""
    told = f"{claim.objective} is at least {claim.value} ({claim.bound})"
    if unknown := used(instance).keys() - KNOWN:
        why = f"the checker does not know {', '.join(sorted(unknown))}"
        return Finding(place, "not checked", f"{told}: not checked: {why}")
    try:
        _require(_Case(instance, objective(claim.objective), Fraction(claim.value)), claim.argument)
    except _NotCheckedError as why:
        return Finding(place, "not checked", f"{told}: not checked: {why}")
    except _WrongError as error:
        where, message = error.args
        return Finding(f"{place}.{where}", "wrong", message)
    return Finding(place, "proven", told)


def digest(instance: Instance) -> str:
    """The digest of all on which bounds depend; the objective's name stands in the claim."""
    return instance_digest(instance.model_copy(update={"objective": "makespan"}))


def _require(case: _Case, argument: form.Argument) -> None:
    """Raise an error unless an argument proves a claim."""
    if isinstance(argument, form.Refuted):
        if argument.model is None:
            raise _NotCheckedError(f"{argument.by} refuted {argument.below}")
        raise _NotCheckedError(f"ask a solver to refute {argument.model}")
    if not isinstance(argument, form.EachJob | form.GpuPrices | form.OneMachine | form.LastJob):
        _of_makespan(case, argument.length + 1)
        _holds_without(case, SHARED_GPUS)
    known = {job.name for job in case.instance.jobs}
    of = getattr(argument, "of", None)
    places = [(name, argument) for name in ("least", "jobs", "prices", "taken")]
    for name, record in [*places, ("of.jobs", of)]:
        for job in getattr(record, name.removeprefix("of."), ()):
            if job not in known:
                raise _WrongError(f"argument.{name}", f"the instance has no job {job!r}")
    checks: dict[type[Any], Callable[[_Case, Any], None]] = {
        form.EachJob: _each_job,
        form.GpuPrices: _prices,
        form.OneMachine: _one_machine,
        form.SlotPrices: _slot_prices,
        form.ServerPrices: _server_prices,
        form.LanePrices: _lane_prices,
        form.WideGaps: _wide_gaps,
        form.SharedLinks: _shared_links,
        form.LastJob: _last_job,
    }
    checks[type(argument)](case, argument)


# What all arguments need


def _of_makespan(case: _Case, proven: Value) -> None:
    if case.objective.name != "makespan":
        raise _WrongError("objective", "the argument is about the makespan alone")
    _enough(case, proven)


def _enough(case: _Case, proven: Value | float) -> None:
    """The claim must not be above what the argument proves."""
    if case.value > proven:
        raise _WrongError("value", f"{case.value} is claimed, and {proven} is what follows")


def _no_more(place: str, claimed: Value, formed: Value | float) -> None:
    if claimed > formed:
        raise _WrongError(f"argument.{place}", f"{claimed} is claimed, and it is {formed} at most")


def _no_less(place: str, claimed: Value, formed: Value | float) -> None:
    if claimed < formed:
        raise _WrongError(f"argument.{place}", f"{claimed} is claimed, and it is {formed} at least")


def _more(left: Value, right: Value) -> None:
    if left <= right:
        message = f"the jobs need {left}, which is no more than {right}"
        raise _WrongError("argument", message)


def _holds_without(case: _Case, *features: str) -> None:
    for feature in features:
        if feature in used(case.instance):
            raise _WrongError("argument.kind", f"this argument does not hold with {feature}")


def _small(*numbers: float) -> None:
    """The product of these numbers is exact in 64 bits."""
    if prod(int(number) for number in numbers) >= SAFE:
        raise _NotCheckedError("its numbers are too great")


def _few(*numbers: int) -> None:
    if prod(numbers) > MOST_STEPS:
        raise _NotCheckedError("it is too large for the checker")


class _Way(NamedTuple):
    """A way to run alone: ring size, number of servers, servers that it can touch, speed, slots."""

    size: int
    servers: int
    allowed: frozenset[int]
    speed: int
    slots: int


def _ways(instance: Instance) -> list[list[_Way]]:
    """(jobs) The ways in which each makes progress alone."""
    found = []
    for job, options in zip(instance.jobs, lone_options(instance), strict=True):
        left = job.iterations_left
        speeds = [(one, one.pace.speed(one.servers, one.gbps)) for one in options]
        found.append(
            [
                _Way(one.pace.size, one.servers, one.allowed, speed, -(-left // speed))
                for one, speed in speeds
                if speed
            ]
        )
    return found


def _soonest(instance: Instance, ways: list[list[_Way]]) -> list[int]:
    """(jobs) Completion at the earliest."""
    if not all(ways):
        raise _NotCheckedError("a job can never complete")
    begins = windows(instance, horizon_of(instance))
    return [
        window.start + min(way.slots for way in own)
        for window, own in zip(begins, ways, strict=True)
    ]


def _resized(instance: Instance, job: Job) -> bool:
    return may_stop(instance, job) and len(job.sizes) > 1


def _area(
    instance: Instance, j: int, own: Sequence[_Way], count: Callable[[int], int]
) -> int | float:
    """The least that a job uses over time, where a ring of so many GPUs counts as so much."""
    job = instance.jobs[j]
    if _resized(instance, job):
        rates = [Fraction(count(way.size), way.speed) for way in own]
        return ceil(job.iterations_left * min(rates)) if rates else inf
    return min((count(way.size) * way.slots for way in own), default=inf)


class _Shared(NamedTuple):
    """What jobs share: GPUs, or something else.

    Where a GPU may be in several jobs, GPUs are counted in parts of one.

    Attributes
    ----------
    uses
        By job, what it uses by its ring size, if it uses something; None for whole GPUs.
    starts
        Slots from which on there is another capacity, ascending from 0.
    capacities
        How much jobs can use from each of these on; None if there is no limit then.
    """

    uses: Mapping[int, Use] | None
    starts: tuple[int, ...]
    capacities: tuple[int | None, ...]

    def use(self, j: int, size: int) -> int:
        """What a job uses with a ring of so many GPUs."""
        if self.uses is None:
            return size
        return self.uses[j].at(size) if j in self.uses else 0

    @property
    def most(self) -> int | None:
        """The greatest capacity; None if there is no limit in some slot."""
        known = [one for one in self.capacities if one is not None]
        return max(known) if len(known) == len(self.capacities) else None


def _shared(instance: Instance, of: form.Shared | None) -> _Shared:
    """What an argument says that jobs share; all GPUs, if it does not say."""
    if of is None:
        parts, least, _ = held_parts(instance)
        gpus = (parts * instance.cluster.total_gpus,)
        if SHARED_GPUS not in used(instance):
            return _Shared(None, (0,), gpus)
        # A worker holds at least the least part that it can hold, wherever it is.
        return _Shared({j: Use(0, one) for j, one in enumerate(least)}, (0,), gpus)
    if isinstance(of, form.ExclusiveJobs):
        index = {job.name: j for j, job in enumerate(instance.jobs)}
        some = [index[name] for name in of.jobs]
        _require_exclusive(instance, some)
        return _Shared(dict.fromkeys(some, Use(1, 0)), (0,), (1,))
    for limit in usage_limits(instance):
        if limit.name == of.name and limit.of_tenant == (of.kind == "tenant"):
            break
    else:
        what = "cap of tenant" if of.kind == "tenant" else "resource"
        raise _WrongError("argument.of", f"no job uses anything of a {what} {of.name!r}")
    # Jobs that run at slot 0 keep what they use; others get what is left.
    running = [(j, job.running.size) for j, job in enumerate(instance.jobs) if job.running]
    kept = sum(limit.uses[j].at(size) for j, size in running if j in limit.uses)
    capacities = tuple(None if one is None else max(one, kept) for one in limit.capacities)
    return _Shared(limit.uses, limit.starts, capacities)


def _require_exclusive(instance: Instance, some: Sequence[int]) -> None:
    """No two of these jobs can run at once: they need more than there is, of GPUs or of a limit.

    If one of them runs at slot 0, what it keeps is no less, and the other gets what is left. Two
    that both run at slot 0 do so at once.
    """
    jobs = instance.jobs
    parts, held, _ = held_parts(instance)
    needs = [({j: min(jobs[j].sizes) * held[j] for j in some}, parts * instance.cluster.total_gpus)]
    for limit in usage_limits(instance):
        if limit.most is not None:
            users = [j for j in some if j in limit.uses]
            least = {j: min(map(limit.uses[j].at, jobs[j].sizes)) for j in users}
            needs.append((least, limit.most))
    for i, k in combinations(some, 2):
        beyond = any(i in need and k in need and need[i] + need[k] > most for need, most in needs)
        if i == k or not beyond or (jobs[i].running and jobs[k].running):
            why = f"jobs {jobs[i].name!r} and {jobs[k].name!r} can run at once"
            raise _WrongError("argument.of.jobs", why)


def _terms(case: _Case) -> dict[int, Term]:
    return {j: t for j, t in enumerate(case.objective.terms(case.instance)) if t is not None}


def _unit(term: Term) -> Fraction:
    return Fraction(term.weight, term.divisor)


def _above(terms: Iterable[Term], value: Fraction) -> Fraction | float:
    """The least value above another that some term can have."""
    found: list[Fraction] = []
    for term in terms:
        unit = _unit(term)
        if term.shape is not Shape.LATE:
            above = (value // unit + 1) * unit
            found.append(max(above, Fraction(0)) if term.shape is Shape.TARDY else above)
        elif value < unit:
            found.append(Fraction(0) if value < 0 else unit)
    return min(found, default=inf)


# Each job by itself


def _each_job(case: _Case, argument: form.EachJob) -> None:
    """Each job completes no earlier, pays no less, or uses no fewer links than alone."""
    instance, aim = case.instance, case.objective
    claimed = {name: Fraction(value) for name, value in argument.least.items()}
    ways = _ways(instance)
    if aim.of_completions:
        formed: list[Value | float] = [*_soonest(instance, ways)]
    elif aim.prices is not None:
        formed = [*_least_prices(case, ways)]
    else:
        formed = [*_least_links(case)]
    for job, least in zip(instance.jobs, formed, strict=True):
        if job.name in claimed:
            _no_more(f"least.{job.name}", claimed[job.name], least)
    if not aim.of_completions:
        _enough(case, sum(claimed.values()))
        return
    values, terms = list[Value](), _terms(case)
    for j, term in terms.items():
        name = instance.jobs[j].name
        if name in claimed:
            if claimed[name].denominator != 1:
                raise _WrongError(f"argument.least.{name}", "a whole number of slots is expected")
            values.append(term.at(int(claimed[name])))
        elif not aim.greatest:
            raise _WrongError("argument.least", f"job {name!r} counts and is missing")
    greatest = max(values, default=-inf if terms else 0)
    _enough(case, greatest if aim.greatest else sum(values))


def _least_prices(case: _Case, ways: list[list[_Way]]) -> Iterator[Value]:
    """(jobs) What each pays at least: GPUs of the cheapest servers for as long as it takes alone.

    A job that may be interrupted pays for each iteration at least what it costs where that is
    least.
    """
    instance, prices = case.instance, case.objective.prices_of(case.instance)
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    servers = instance.cluster.servers

    @cache
    def of_worker(slices: int | None) -> list[Fraction]:
        """(servers) What a worker pays in a slot: the part of a GPU that it takes."""
        there = map(instance.cluster.slices_of, servers)
        parts = (Fraction(slices, n) if slices else Fraction(1) for n in there)
        return [Fraction(price) * part for price, part in zip(prices, parts, strict=True)]

    @cache
    def a_slot(size: int, allowed: frozenset[int], slices: int | None) -> Fraction:
        paid = of_worker(slices)
        each = (
            paid[s]
            for s in sorted(allowed, key=paid.__getitem__)
            for _ in range(min(size, servers[s].gpus))
        )
        return sum((price for price, _ in zip(each, range(size), strict=False)), Fraction(0))

    for job, options, own in zip(instance.jobs, lone_options(instance), ways, strict=True):
        mixes = may_stop(instance, job) and len(own) > 1
        costs: list[Fraction] = []
        for i, one in enumerate(options):
            speed = one.pace.speed(one.servers, one.gbps)
            if not speed:
                continue
            each = a_slot(one.pace.size, one.allowed, job.slices)
            if job.running is not None and i == 0:  # The GPUs that it has.
                held = job.running.gpus.items()
                paid = of_worker(job.slices)
                each = sum((len(gpus) * paid[index[s]] for s, gpus in held), Fraction(0))
            slots = Fraction(job.iterations_left, speed)
            costs.append(each * (slots if mixes else ceil(slots)))
        yield min(costs, default=Fraction(0))


def _least_links(case: _Case) -> Iterator[Value | float]:
    """(jobs) What the links of each ring count at least: 0 where it can be on one server."""
    instance = case.instance
    tree, weights = topology(instance.cluster), case.objective.link_weights_of(instance)
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    tenants = {tenant.name: tenant for tenant in instance.tenants}

    def quota(name: str | None) -> float:
        """GPUs that a tenant may hold, by its own cap and by those of all above it."""
        least = inf
        while name is not None:
            cap = tenants[name].gpus
            least = least if cap is None else min(least, cap)
            name = tenants[name].parent
        return least

    joined = cache(lambda *ring: _joined(tree, weights, *ring))
    parts, least_held, _ = held_parts(instance)
    every = zip(instance.jobs, lone_options(instance), allowed_servers(instance), strict=True)
    for (job, options, allowed), worker in zip(every, least_held, strict=True):
        found: list[Value | float] = []
        if job.running is not None:
            held = {index[name]: len(gpus) for name, gpus in job.running.gpus.items()}
            found.append(sum((weights[link] for link in tree.links_used(held)), start=0))
        if job.running is None or may_stop(instance, job):
            for one in options:
                size, most = one.pace.size, min(one.pace.size, len(allowed))
                if size * worker > parts * quota(job.tenant):
                    continue
                if one.servers == 1:
                    found += [0] if one.pace.speed(1, one.gbps) else []
                    continue
                fewest, equal = 2, False
                if job.spread is not None:
                    fewest, equal = max(2, job.spread.min_servers), job.spread.equal
                    most = min(most, job.spread.max_servers or most)
                while most > 1 and not one.pace.speed(most, one.gbps):
                    most -= 1  # On so many servers it makes no progress.
                for group in groups_of(tree, job.spread, allowed):
                    if not equal:
                        found.append(joined(group, size, fewest, most, 0))
                        continue
                    for n in range(fewest, most + 1):
                        if size % n == 0:
                            found.append(joined(group, n, n, n, size // n))
        least = min(found, default=inf)
        yield 0 if least == inf else least


def _joined(
    tree: Topology,
    weights: Sequence[Value],
    servers: frozenset[int],
    size: int,
    fewest: int,
    most: int,
    each: int,
) -> Value | float:
    """The least weight of links that join servers with so many GPUs.

    From the leaves of the tree upward: for each number of servers below a node, and of their GPUs,
    the least weight of the links between them and the node. With `each`, servers of so many GPUs
    count 1.
    """
    depth: dict[str, int] = {}
    uplink: dict[str, int] = {}
    at: dict[str, dict[tuple[int, int], Value]] = {}
    for s in servers:
        gpus = tree.servers[s].gpus
        if gpus < each:
            continue
        at[tree.servers[s].name] = {(1, 1 if each else min(size, gpus)): 0}
        for height, link in enumerate(tree.paths[s]):
            uplink[tree.links[link].node] = link
            depth[tree.links[link].node] = len(tree.paths[s]) - height
            depth.setdefault(tree.links[link].parent, len(tree.paths[s]) - height - 1)
    best: Value | float = inf
    steps = 0
    for node in sorted(depth, key=lambda node: -depth[node]):
        sets = at.pop(node, {})
        enough = (w for (n, g), w in sets.items() if n >= fewest and g >= size)
        best = min([best, *enough])
        if node not in uplink:
            continue
        link = uplink[node]
        above = at.setdefault(tree.links[link].parent, {})
        before = [((0, 0), Fraction(0)), *above.items()]
        steps += len(sets) * len(before)
        if steps > MOST_NODES:
            raise _NotCheckedError("the network is too large for the checker")
        for (n, g), w in sets.items():
            for (m, h), v in before:
                key = n + m, min(size, g + h)
                weight = w + weights[link] + v
                if n + m <= most and weight < above.get(key, inf):
                    above[key] = exact(Fraction(weight))
    return best


# Prices of GPUs, or of something else that jobs share, over time


def _prices(case: _Case, argument: form.GpuPrices) -> None:
    """Jobs pay at least the sum of `least`, and all that there is costs at most `room`."""
    instance, terms = case.instance, _terms(case)
    edges = argument.edges
    if any(begin >= end for begin, end in pairwise(edges)):
        raise _WrongError("argument.edges", "they do not ascend")
    kinds = _kinds(instance, argument)
    below = None if argument.below is None else Fraction(argument.below)
    if not terms:
        raise _WrongError("argument.kind", "the objective does not rest on completions")
    if (below is None) == case.objective.greatest:
        raise _WrongError("argument.below", "it belongs to objectives that are the greatest term")
    ends = [window.end for window in windows(instance, horizon_of(instance))]
    if below is not None:
        for j, term in terms.items():
            ends[j] = min(ends[j], _latest(term, below))
    elif any(argument.scale % term.divisor for term in terms.values()):
        raise _WrongError("argument.scale", "a term is no whole number of its parts")
    payments = _Payments(instance, argument, kinds, {} if below is not None else terms, ends)
    total = 0
    for job, formed in zip(instance.jobs, payments.each(), strict=True):
        claimed = argument.least.get(job.name, 0)
        _no_more(f"least.{job.name}", claimed, formed)
        total += claimed
    _no_less("room", argument.room, payments.room())
    if below is not None:
        _more(total, argument.room)
        _enough(case, _above(terms.values(), below))
        return
    proven = Fraction(total - argument.room, argument.scale)
    whole = all(term.divisor == 1 for term in terms.values())
    _enough(case, ceil(proven) if whole else proven)


def _latest(term: Term, value: Fraction) -> int:
    """The last completion with a term of at most a value; −1 if there is none."""
    if term.shape is Shape.LATE:
        return -1 if value < 0 else 2**60 if value >= _unit(term) else term.offset
    if term.shape is Shape.TARDY and value < 0:
        return -1
    return term.offset + int(value / _unit(term) // 1)


def _kinds(instance: Instance, argument: form.GpuPrices) -> list[int]:
    """(servers) The kind of each."""
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    kinds = [-1] * len(index)
    for k, kind in enumerate(argument.kinds):
        if len(kind.prices) != len(argument.edges) - 1:
            place = f"argument.kinds[{k}].prices"
            raise _WrongError(place, f"{len(argument.edges) - 1} prices are expected")
        for name in index if kind.servers is None else kind.servers:
            if name not in index or kinds[index[name]] >= 0:
                why = "no server of the instance" if name not in index else "in two kinds"
                raise _WrongError(f"argument.kinds[{k}].servers", f"{name!r} is {why}")
            kinds[index[name]] = k
    if -1 in kinds:
        name = instance.cluster.servers[kinds.index(-1)].name
        raise _WrongError("argument.kinds", f"server {name!r} is in none")
    return kinds


class _Payments:
    """What jobs pay at prices over time, and what all that has these prices costs."""

    def __init__(
        self,
        instance: Instance,
        argument: form.GpuPrices,
        kinds: Sequence[int],
        terms: Mapping[int, Term],
        ends: Sequence[int],
    ) -> None:
        self._instance, self._kinds, self._terms, self._ends = instance, kinds, terms, ends
        self._edges, self._scale = argument.edges, argument.scale
        self._shared = _shared(instance, argument.of)
        self._of_gpus = argument.of is None
        if not self._of_gpus and (len(argument.kinds) > 1 or argument.rounded is not None):
            raise _WrongError("argument.of", "it has one price of all servers, and is not rounded")
        self._prices = [kind.prices for kind in argument.kinds]
        lengths = [end - begin for begin, end in pairwise(argument.edges)]
        self._paid = [
            np.cumsum([0, *(p * n for p, n in zip(row, lengths, strict=True))], dtype=object)
            for row in self._prices
        ]
        self._ways, self._starts = (
            _ways(instance),
            [window.start for window in windows(instance, horizon_of(instance))],
        )
        rounded = argument.rounded
        if rounded is not None and SHARED_GPUS in used(instance):
            raise _WrongError("argument.rounded", "jobs that share GPUs are not rounded")
        self._lanes = rounded is not None and rounded.what == "slots"
        self._whole = 0 if rounded is None else instance.cluster.total_gpus
        if rounded is not None:
            if len(self._prices) > 1:
                raise _WrongError("argument.kinds", "rounded jobs need one price of all servers")
            if self._lanes:
                self._whole = argument.edges[-1] - argument.edges[0]
                if len(lengths) > 1 or terms or interrupts(instance):
                    raise _WrongError("argument.rounded", "slots may not be rounded here")
            if 2 * rounded.threshold > self._whole + 1:
                raise _WrongError("argument.rounded.threshold", "it is above half of the whole")
        self._threshold = 0 if rounded is None else rounded.threshold

    def _use(self, j: int, size: int) -> int:
        """What a ring of so many GPUs of a job counts as."""
        use = self._shared.use(j, size)
        return self._count(use) if self._of_gpus else use

    def _count(self, number: int) -> int:
        """What a number counts as, where numbers are rounded."""
        if number > self._whole - self._threshold:
            return max(self._whole, number) if self._threshold else number
        return 0 if number < self._threshold else number

    def room(self) -> int:
        """What all GPUs cost: jobs that run since slot 0 keep theirs, whatever is reserved."""
        if not self._of_gpus:
            return self._room_of_limit()
        if self._whole and not self._lanes:
            return self._whole * int(self._paid[0][-1])
        instance = self._instance
        held: dict[str, set[int]] = {}
        for job in instance.jobs:
            for name, gpus in (job.running.gpus if job.running else {}).items():
                held.setdefault(name, set()).update(gpus)
        away: dict[str, list[tuple[int, int]]] = {}
        for one in instance.cluster.reservations:
            ends = [] if one.end is None else [(one.end, -one.gpus)]
            away.setdefault(one.server, []).extend([(one.start, one.gpus), *ends])
        total = 0
        for server, kind in zip(instance.cluster.servers, self._kinds, strict=True):
            changes = sorted(away.get(server.name, [])) if not self._lanes else []
            moments = sorted({*self._edges, *(slot for slot, _ in changes)})
            for begin, end in pairwise(moments):
                gone = sum(gpus for slot, gpus in changes if slot <= begin)
                left = max(server.gpus - gone, len(held.get(server.name, ())))
                paid = self._until(kind, np.array([begin, end], object))
                total += left * int(paid[1] - paid[0])
        return total * held_parts(instance).of_gpu

    def _room_of_limit(self) -> int:
        """What all that there is of a limit costs."""
        total = 0
        starts, capacities = self._shared.starts, self._shared.capacities
        for begin, end, capacity in zip(
            starts, (*starts[1:], max(starts[-1], self._edges[-1])), capacities, strict=True
        ):
            paid = self._until(0, np.array([begin, end], object))
            if paid[1] > paid[0] and capacity is None:
                why = f"it has a price, and no limit, in slots from {begin} on"
                raise _WrongError("argument.of", why)
            total += (capacity or 0) * int(paid[1] - paid[0])
        return total

    def _until(self, kind: int, slots: Any) -> Any:
        """What a GPU costs up to each of some slots."""
        edges = np.array(self._edges, object)
        at = np.searchsorted(np.array(self._edges), slots.astype(np.int64), side="right") - 1
        piece = np.clip(at, 0, len(self._edges) - 2)
        inside = np.minimum(np.maximum(slots, edges[0]), edges[-1]) - edges[piece]
        return self._paid[kind][piece] + np.array(self._prices[kind], object)[piece] * inside

    def each(self) -> Iterator[int | float]:
        """(jobs) What each pays, and adds to the objective, at the least."""
        interrupted = interrupts(self._instance)
        known: dict[tuple[object, ...], int | float] = {}
        for j, own in enumerate(self._ways):
            if self._lanes:
                yield self._of_lanes(j, own)
                continue
            if interrupted:
                yield self._interrupted(j, own)
                continue
            offers: dict[tuple[int, int], int] = {}
            for way in own:
                for kind in {
                    self._kinds[s]
                    for s in way.allowed
                    if way.servers > 1 or self._instance.cluster.servers[s].gpus >= way.size
                }:
                    key = kind, self._use(j, way.size)
                    offers[key] = min(way.slots, offers.get(key, way.slots))
            last = 0 if self._instance.jobs[j].running is not None else None
            alike = (
                tuple(sorted(offers.items())),
                self._starts[j],
                self._ends[j],
                last,
                self._terms.get(j),
            )
            if alike not in known:
                each = offers.items()
                payments = (self._least(j, kind, use, n, last) for (kind, use), n in each)
                known[alike] = min(payments, default=inf)
            yield known[alike]

    def _least(self, j: int, kind: int, use: int, slots: int, last: int | None) -> int | float:
        """The least over all starts of a ring that uses so many GPUs of a kind.

        Payment and term change evenly between the starts at which the price of the first or of the
        slot after the last changes, or the term does.
        """
        term, first = self._terms.get(j), self._starts[j]
        end = self._ends[j] - slots if last is None else min(last, self._ends[j] - slots)
        if first > end:
            return inf
        some = {first, end, *self._edges, *(edge - slots for edge in self._edges)}
        if term is not None:
            some |= {term.offset - slots, term.offset - slots + 1}
        starts = np.array(sorted(start for start in some if first <= start <= end), object)
        paid = self._until(kind, starts + slots) - self._until(kind, starts)
        costs = use * paid
        if term is not None:
            costs = costs + np.array([self._term(term, start + slots) for start in starts], object)
        return int(costs.min())

    def _term(self, term: Term, completion: int) -> int:
        return int(term.at(completion) * self._scale)

    def _of_lanes(self, j: int, own: Sequence[_Way]) -> int | float:
        """What a job pays if its slots are rounded: only one that runs within the priced time."""
        begin, end = self._edges
        if self._starts[j] < begin or self._ends[j] > end:
            return 0
        price = self._prices[0][0]
        return min((way.size * self._count(way.slots) * price for way in own), default=inf)

    def _interrupted(self, j: int, own: Sequence[_Way]) -> int | float:
        """The same of a job that may be interrupted: its area in the cheapest slots.

        In each slot it holds at most its greatest ring. Until a slot it pays no less than until the
        end of a piece of time with that slot, and its term is no less than at the begin.
        """
        area = _area(self._instance, j, own, partial(self._use, j))
        first, last = self._starts[j], self._ends[j]
        soonest = first + min((way.slots for way in own), default=0)
        if area == inf or soonest > last:
            return inf
        widest = max(self._use(j, size) for size in self._instance.jobs[j].sizes)
        cheapest = [min(row) for row in zip(*self._prices, strict=True)]
        outside = 2**60  # After the last edge GPUs cost nothing.
        pieces = [(0, 0, self._edges[0]), (0, self._edges[-1], outside)]
        pieces += [(p, *piece) for p, piece in zip(cheapest, pairwise(self._edges), strict=True)]
        pieces.sort()
        term = self._terms.get(j)
        bounds = {soonest, last + 1}
        if term is not None:
            bounds |= {*self._edges, term.offset, term.offset + 1}
        moments = sorted(one for one in bounds if soonest <= one <= last + 1)
        best: int | float = inf
        for begin, beyond in pairwise(moments):
            left, paid = int(area), 0
            for price, low, high in pieces:
                length = min(high, beyond - 1) - max(low, first)
                held = min(left, widest * max(0, length))
                left, paid = left - held, paid + held * price
            if left == 0:
                best = min(best, paid + (0 if term is None else self._term(term, begin)))
        return best


# All GPUs, or something else that jobs share, as one machine


def _one_machine(case: _Case, argument: form.OneMachine) -> None:
    """The least sum of completions on a machine that does in a slot as much as there is at most.

    Shortest first: to go on with the least remaining area makes the sum of completions least.
    Heaviest first: a job completes no earlier than its mean busy time and half of its span, and the
    sum of mean busy times is least if the machine goes on with the greatest weight by area.
    """
    instance, terms = case.instance, _terms(case)
    if case.objective.greatest or not terms:
        raise _WrongError("argument.kind", "the objective is no sum of completions")
    index = {job.name: j for j, job in enumerate(instance.jobs)}
    some = [index[name] for name in argument.jobs]
    if len(set(some)) < len(some) or not set(some) <= terms.keys():
        raise _WrongError("argument.jobs", "a job is there twice, or does not count")
    if any(terms[j].shape is Shape.LATE for j in some):
        raise _WrongError("argument.jobs", "a job does not count by its completion")
    units = {j: _unit(terms[j]) for j in some}
    shared = _shared(instance, argument.of)
    if not shared.most:
        raise _WrongError("argument.of", "there is no limit in some slot, or nothing in any")
    if shared.uses is not None and not set(some) <= shared.uses.keys():
        raise _WrongError("argument.jobs", "a job uses nothing of what the machine is made of")
    machine = _Machine(instance, shared, shared.most)
    if argument.rule == "shortest-first":
        if len(set(units.values())) > 1:
            raise _WrongError("argument.rule", "shortest first is for jobs of one weight")
        formed = machine.shortest_first(some) * next(iter(units.values()), Fraction(0))
    else:
        formed = machine.heaviest_first(units)
    _no_more("completions", Fraction(argument.completions), formed)
    total = Fraction(argument.completions) - sum(units[j] * terms[j].offset for j in some)
    soonest = _soonest(instance, _ways(instance))
    total += sum(terms[j].at(soonest[j]) for j in terms.keys() - set(some))
    whole = all(term.divisor == 1 for term in terms.values())
    _enough(case, ceil(total) if whole else total)


class _Machine:
    """One machine that is no slower than all that jobs share: it does so much in a slot."""

    def __init__(self, instance: Instance, shared: _Shared, speed: int) -> None:
        self._instance, self._shared, self._speed = instance, shared, speed
        self._ways = _ways(instance)
        self._begins = [window.start for window in windows(instance, horizon_of(instance))]

    def _works(self, some: Iterable[int]) -> tuple[list[tuple[int, int]], dict[int, int]]:
        """Jobs by when they can begin, in parts of a slot in which 1 is done; and their areas."""
        areas = {}
        for j in some:
            area = _area(self._instance, j, self._ways[j], partial(self._shared.use, j))
            if area == inf:
                raise _NotCheckedError("a job can never complete")
            areas[j] = int(area)
        return sorted((self._begins[j] * self._speed, j) for j in areas), areas

    def shortest_first(self, some: Iterable[int]) -> Fraction:
        """The least sum of completions, in slots."""
        coming, areas = self._works(some)
        ends = {j: until for j, _, until in _in_turn(coming, areas, lambda _, left: left)}
        return Fraction(sum(ends.values()), self._speed)

    def heaviest_first(self, units: Mapping[int, Fraction]) -> Fraction:
        """The least sum of mean busy times and halves of spans by weight, in slots."""
        coming, areas = self._works(units)
        busy: Counter[int] = Counter()
        for j, begin, until in _in_turn(coming, areas, lambda j, _: -units[j] / areas[j]):
            busy[j] += (until - begin) * (until + begin)
        total = Fraction(0)
        for j, unit in units.items():
            job = self._instance.jobs[j]
            span = min(way.slots for way in self._ways[j])
            if _resized(self._instance, job):
                span = areas[j] // max(self._shared.use(j, size) for size in job.sizes)
            total += unit * (Fraction(busy[j], areas[j]) + self._speed * span)
        return total / (2 * self._speed)


def _in_turn(
    coming: list[tuple[int, int]],
    areas: Mapping[int, int],
    first: Callable[[int, int], Fraction | int],
) -> Iterator[tuple[int, int, int]]:
    """Jobs with the times in which the machine does them: the one of the least `first` goes on.

    `first` is a function of a job and its remaining area.
    """
    waiting: list[tuple[Fraction | int, int, int]] = []
    now = at = 0
    while at < len(coming) or waiting:
        if not waiting:
            now = max(now, coming[at][0])
        while at < len(coming) and coming[at][0] <= now:
            j = coming[at][1]
            heappush(waiting, (first(j, areas[j]), j, areas[j]))
            at += 1
        _, j, left = heappop(waiting)
        until = now + left if at == len(coming) else min(now + left, coming[at][0])
        yield j, now, until
        left, now = left - (until - now), until
        if left:
            heappush(waiting, (first(j, left), j, left))


# Prices of what can run in a slot


class _Ring(NamedTuple):
    """A ring in a form, beside so many rings, its own included, at most: its greatest speed."""

    size: int
    servers: int
    speeds: tuple[int, ...]
    """(rings on a link, from 1) Iterations in a slot."""


def _rings(instance: Instance, most_rings: int) -> list[list[_Ring]]:
    """(jobs) Ring sizes and numbers of servers, with the greatest speed beside other rings.

    A ring on n servers is on the link of each of them: it gets at most its share of the fastest
    link, and no more than the n-th fastest link has.
    """
    if interrupts(instance):
        raise _WrongError("argument.kind", "this argument does not hold with preemption")
    cluster = instance.cluster
    capacities = sorted((server.gpus for server in cluster.servers), reverse=True)
    within = max(within_gbps(cluster, s) for s in range(len(capacities)))
    tree = topology(cluster)
    gbps = sorted((tree.links[path[0]].gbps for path in tree.paths if path), reverse=True)
    most = min(len(instance.jobs), capacities[0], most_rings)
    fastest = max(gbps, default=within)

    @cache
    def shares(sensitivity: int) -> list[float]:
        return [best_share(instance, fastest, p, sensitivity) for p in range(1, most + 1)]

    found = []
    for job, own in zip(instance.jobs, paces(instance), strict=True):
        rings = []
        for size, servers in _shapes(job, capacities):
            pace = min((p for (w, _), p in own.items() if w == size), key=lambda p: p.compute)
            rates = [within]
            if servers > 1:
                rates = [min(share, gbps[servers - 1]) for share in shares(pace.sensitivity)]
            speeds = (min(pace.speed(servers, rate), job.iterations_left) for rate in rates)
            rings.append(_Ring(size, servers, tuple(speeds)))
        found.append([ring for ring in rings if ring.speeds[0]])
    return found


def _shapes(job: Job, capacities: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ring sizes and numbers of servers of a job."""
    if job.running is not None:
        held = job.running.gpus.values()
        yield sum(map(len, held)), len(held)
        return
    for size in job.sizes:
        for servers in range(1, min(size, len(capacities)) + 1):
            allowed = job.spread is None or (
                job.spread.min_servers <= servers <= (job.spread.max_servers or servers)
                and not (job.spread.equal and size % servers)
            )
            if allowed and sum(capacities[:servers]) >= size:
                yield size, servers


def _slot_prices(case: _Case, argument: form.SlotPrices) -> None:
    """In no slot the jobs are worth more than `dearest`, and each needs slots worth `least`.

    A ring that is beside fewer others than a state allows may count as in that state, and is as
    fast as beside as few as no other state allows.
    """
    instance, length = case.instance, argument.length
    total = 0
    choices = []
    for job, rings in zip(
        instance.jobs, _rings(instance, instance.cluster.largest_server), strict=True
    ):
        priced = argument.jobs.get(job.name)
        prices: dict[tuple[int, int, int], int] = {}
        for state in priced.states if priced else ():
            key = state.gpus, state.servers, state.rings
            if key in prices:
                raise _WrongError(f"argument.jobs.{job.name}.states", "a state is there twice")
            prices[key] = state.price
        least: int | float = inf
        own = []
        for ring in rings:
            states = []
            before = 0
            for p in range(1, len(ring.speeds) + 1):
                if (price := prices.get((ring.size, ring.servers, p))) is not None:
                    states.append((ring.speeds[before], price))
                    own.append((ring.size, ring.servers, p, price))
                    before = p
            if before < len(ring.speeds) and ring.speeds[before]:
                states.append((ring.speeds[before], 0))
            least = min(least, _cheapest(states, job.iterations_left, length))
        claimed = priced.least if priced else 0
        _no_more(f"jobs.{job.name}.least", claimed, least)
        total += claimed
        choices.append([one for one in own if one[3] > 0])
    capacities = [server.gpus for server in instance.cluster.servers]
    if any(choices):
        _Dearest(capacities, choices, argument.dearest).require()
    _more(total, length * argument.dearest)


def _cheapest(states: Sequence[tuple[int, int]], iterations: int, length: int) -> int | float:
    """The least price of at most so many slots, in states by speed and price, that do the work."""
    fast = [(speed, price) for speed, price in states if speed]
    if not fast or max(fast)[0] * length < iterations:
        return inf
    fast.sort(reverse=True)
    (top, top_price), rest = fast[0], fast[1:]
    if not rest:
        return -(-iterations // top) * top_price
    _small(length + 1, max(price for _, price in fast) + 1, len(fast))
    _small(length + 1, top, len(fast))
    counts = [min(length, -(-iterations // speed)) + 1 for speed, _ in rest]
    if prod(counts) > MOST_PATTERNS:
        return _in_parts(fast, iterations, length)
    slots = np.indices(counts, np.int64).reshape(len(rest), -1)
    speeds, prices = np.array(rest, np.int64).reshape(-1, 2).T
    left = iterations - speeds @ slots
    first = np.where(left > 0, -(-left // top), 0)
    fits = slots.sum(axis=0) + first <= length
    return int((prices @ slots + first * top_price)[fits].min())


def _in_parts(states: Sequence[tuple[int, int]], iterations: int, length: int) -> int | float:
    """The same with parts of slots, which cost no more: one state, or two that fill the length."""
    best: Fraction | float = inf
    for speed, price in states:
        if speed * length >= iterations:
            best = min(best, Fraction(price * iterations, speed))
        for faster, dearer in states:
            if faster * length >= iterations > speed * length:
                part = Fraction(iterations - speed * length, faster - speed)
                best = min(best, dearer * part + price * (length - part))
    return ceil(best) if isinstance(best, Fraction) else inf


class _Dearest:
    """Search for what can run in a slot and is worth more than a price, job by job.

    Of a server only this counts for the jobs to come: free GPUs, rings on its link, and how many
    more these allow. What all free GPUs could hold, servers aside, ends a branch.
    """

    def __init__(
        self,
        capacities: Sequence[int],
        choices: Sequence[Sequence[tuple[int, int, int, int]]],
        price: int,
    ) -> None:
        rows = [sorted(row, key=lambda one: -one[3]) for row in choices if row]
        self._rows = sorted(rows, key=lambda row: -max(Fraction(one[3], one[0]) for one in row))
        self._price = price
        many = len(self._rows) + 1
        self._start = tuple(sorted(((gpus, 0, many) for gpus in capacities), reverse=True))
        total = sum(capacities)
        _few(total, sum(map(len, self._rows)))
        _small(len(rows) + 1, max(one[3] for row in rows for one in row) + 1)
        best = np.zeros(total + 1, np.int64)
        self._rest = [best]
        for row in reversed(self._rows):
            better = best.copy()
            for size, _, _, worth in row:
                if size <= total:
                    better[size:] = np.maximum(better[size:], best[: total + 1 - size] + worth)
            best = better
            self._rest.append(best)
        self._rest.reverse()

    def require(self) -> None:
        """Raise an error if something is worth more."""
        known: dict[tuple[int, tuple[tuple[int, int, int], ...]], int] = {}
        stack = [(0, self._start, 0)]
        nodes = 0
        while stack:
            j, servers, worth = stack.pop()
            if worth > self._price:
                message = f"{self._price} is claimed, and jobs worth {worth} run in one slot"
                raise _WrongError("argument.dearest", message)
            free = sum(server[0] for server in servers)
            if j == len(self._rows) or worth + int(self._rest[j][free]) <= self._price:
                continue
            if known.get((j, servers), -1) >= worth:
                continue
            known[j, servers] = worth
            nodes += 1
            if nodes > MOST_NODES:
                raise _NotCheckedError("what can run in a slot is too much for the checker")
            stack.append((j + 1, servers, worth))
            for size, number, rings, price in reversed(self._rows[j]):
                after = set(_placed(servers, size, number, rings))
                stack += [(j + 1, one, worth + price) for one in after]


def _placed(
    servers: tuple[tuple[int, int, int], ...], size: int, number: int, limit: int
) -> Iterator[tuple[tuple[int, int, int], ...]]:
    """The servers after a ring has taken GPUs of so many of them; equal servers are alike."""
    if number == 1:
        for s, (free, rings, more) in enumerate(servers):
            if free >= size and (s == 0 or servers[s] != servers[s - 1]):
                yield _sorted(servers, {s: (free - size, rings, more)})
        return

    def spread(s: int, left: int, to_use: int, taken: dict[int, int]) -> Iterator[dict[int, int]]:
        if left == to_use == 0:
            yield taken
            return
        if to_use == 0 or left < to_use or s + to_use > len(servers):
            return
        free, rings, more = servers[s]
        most = min(free, left - to_use + 1) if more >= 1 and rings < limit else 0
        if s and servers[s] == servers[s - 1]:
            most = min(most, taken.get(s - 1, 0))
        for here in range(most, 0, -1):
            yield from spread(s + 1, left - here, to_use - 1, taken | {s: here})
        yield from spread(s + 1, left, to_use, taken)

    for taken in spread(0, size, number, {}):
        changed = {}
        for s, here in taken.items():
            free, rings, more = servers[s]
            changed[s] = free - here, rings + 1, min(more - 1, limit - rings - 1)
        yield _sorted(servers, changed)


def _sorted(
    servers: tuple[tuple[int, int, int], ...], changed: Mapping[int, tuple[int, int, int]]
) -> tuple[tuple[int, int, int], ...]:
    some = [changed.get(s, server) for s, server in enumerate(servers)]
    # A ring takes a GPU at least, so no more rings matter than there are free GPUs.
    kept = [(f, r if min(m, f) else 0, min(m, f)) if r else (f, r, m) for f, r, m in some]
    return tuple(sorted(kept, reverse=True))


# Prices of what a server can hold


def _server_prices(case: _Case, argument: form.ServerPrices) -> None:
    """Servers hold at most `dearest`, rings that share links exceed that by at most `excess`."""
    instance, length = case.instance, argument.length
    rings = _rings(instance, 2)
    capacities = Counter(server.gpus for server in instance.cluster.servers)
    packed = _by_gpus(argument.packed, "packed")
    lone = _by_gpus(argument.lone, "lone")
    sharing = None if argument.sharing is None else _by_gpus(argument.sharing, "sharing")
    wholes: dict[tuple[str, int, int], int] = {}
    for one in argument.rings:
        if (one.job, one.gpus, one.servers) in wholes or sharing is not None:
            raise _WrongError("argument.rings", f"a ring of {one.job!r} has two prices")
        wholes[one.job, one.gpus, one.servers] = one.price
    servers, gpus = _greatest_group(instance, rings, alone=sharing is not None)
    lone_cuts = _cuts(lone, max(capacities), servers, gpus)
    sharing_cuts = lone_cuts
    if sharing is not None:
        sharing_cuts = _cuts(sharing, max(capacities), servers, gpus)
    total = 0
    for job, own in zip(instance.jobs, rings, strict=True):
        least: int | float = inf
        for ring in own:
            size, number = ring.size, ring.servers
            alone, beside = ring.speeds[0], 0
            if number == 1:
                states = [(alone, packed.get(size, 0))]
            else:
                beside = ring.speeds[1] if len(ring.speeds) > 1 else 0
                price = wholes.get((job.name, size, number), 0)
                if sharing is not None:
                    price = int(sharing_cuts[number, size])
                states = [(beside, price)]
                if alone > beside:
                    states.append((alone, int(lone_cuts[number, size])))
            if any(price >= SAFE for _, price in states):
                continue  # The ring does not fit so many servers.
            least = min(least, _cheapest(states, job.iterations_left, length))
        claimed = argument.least.get(job.name, 0)
        _no_more(f"least.{job.name}", claimed, least)
        total += claimed
    dearest = {one.gpus: one.dearest for one in argument.dearest}
    worth = 0
    for gpus_there, number in capacities.items():
        if gpus_there not in dearest:
            raise _WrongError("argument.dearest", f"servers of {gpus_there} GPUs are missing")
        formed = _dearest_content(gpus_there, packed, lone, sharing or {})
        _no_less(f"dearest of {gpus_there} GPUs", dearest[gpus_there], formed)
        worth += number * dearest[gpus_there]
    if sharing is None:
        excess = _greatest_excess(instance, rings, wholes, lone_cuts, length)
        _no_less("excess", argument.excess, excess)
    worth += len(instance.cluster.servers) // 2 * argument.excess
    _more(total, length * worth)


def _by_gpus(priced: Iterable[form.PricedGpus], place: str) -> dict[int, int]:
    found: dict[int, int] = {}
    for one in priced:
        if one.gpus in found:
            raise _WrongError(f"argument.{place}", f"{one.gpus} GPUs have two prices")
        found[one.gpus] = one.price
    return found


def _greatest_group(
    instance: Instance, rings: list[list[_Ring]], *, alone: bool
) -> tuple[int, int]:
    """The most servers and GPUs of one ring, or of rings that share links."""
    spread = [[ring for ring in own if ring.servers > 1] for own in rings]
    more = [max((ring.servers - 1 for ring in own), default=0) for own in spread]
    gpus = [max((ring.size for ring in own), default=0) for own in spread]
    if alone:
        return 1 + max(more), max(gpus)
    total = instance.cluster.total_gpus
    return min(len(instance.cluster.servers), 1 + sum(more)), min(total, sum(gpus))


def _cuts(prices: Mapping[int, int], largest: int, pieces: int, gpus: int) -> Ints:
    """(pieces, GPUs) The cheapest cut of so many GPUs into so many pieces."""
    _few(pieces, gpus, largest)
    _small(pieces + 1, max(prices.values(), default=0) + 1)
    costs = np.full((pieces + 1, gpus + 1), SAFE, np.int64)
    costs[0, 0] = 0
    for n in range(1, pieces + 1):
        for piece in range(1, min(largest, gpus) + 1):
            with_it = costs[n - 1, : gpus + 1 - piece] + prices.get(piece, 0)
            costs[n, piece:] = np.minimum(costs[n, piece:], np.minimum(with_it, SAFE))
    return costs


def _dearest_content(
    gpus: int, packed: Mapping[int, int], lone: Mapping[int, int], sharing: Mapping[int, int]
) -> int:
    """The dearest content of a server: packed jobs, and one piece of a lone ring or any others."""

    def filled(*some: Mapping[int, int]) -> list[int]:
        best = [0] * (gpus + 1)
        for size in range(1, gpus + 1):
            beside = (
                best[size - item] + price
                for prices in some
                for item, price in prices.items()
                if item <= size
            )
            best[size] = max([best[size - 1], *beside])
        return best

    beside = filled(packed)
    with_piece = (beside[gpus - item] + price for item, price in lone.items() if item <= gpus)
    return max([filled(packed, sharing)[gpus], *with_piece])


def _greatest_excess(
    instance: Instance,
    rings: list[list[_Ring]],
    prices: Mapping[tuple[str, int, int], int],
    cuts: Ints,
    length: int,
) -> int:
    """By how much rings that share links are worth more than a cut of their GPUs, at most.

    A group of rings has at most one server more than the sum of their servers, each less one. Rings
    that alone do not complete in so many slots are in no schedule of that length.
    """
    pieces, gpus = cuts.shape[0] - 1, cuts.shape[1] - 1
    _few(pieces + 1, gpus + 1, sum(map(len, rings)))
    _small(len(rings) + 1, max(prices.values(), default=0) + 1)
    nothing = -SAFE
    # By servers beyond the first, the last row for as many or more, and by GPUs.
    worth = np.full((pieces + 1, gpus + 1), nothing, np.int64)
    worth[0, 0] = 0
    for job, own in zip(instance.jobs, rings, strict=True):
        after = worth.copy()
        for ring in own:
            if ring.servers == 1 or len(ring.speeds) < 2 or not ring.speeds[1]:
                continue
            if ring.speeds[0] * length < job.iterations_left:
                continue
            price = prices.get((job.name, ring.size, ring.servers), 0)
            more = ring.servers - 1
            shifted = np.full_like(worth, nothing)
            width = gpus + 1 - ring.size
            if width <= 0:
                continue
            for row in range(pieces + 1):
                to = min(pieces, row + more)
                known = worth[row, :width]
                one = np.where(known > nothing, known + price, nothing)
                shifted[to, ring.size :] = np.maximum(shifted[to, ring.size :], one)
            after = np.maximum(after, shifted)
        worth = after
    greatest = 0
    for servers in range(2, pieces + 1):
        best = worth[servers - 1 :].max(axis=0)
        possible = (best > nothing) & (cuts[servers] < SAFE)
        if possible.any():
            greatest = max(greatest, int((best - cuts[servers])[possible].max()))
    return greatest


# Prices of workers on single GPUs


def _lane_prices(case: _Case, argument: form.LanePrices) -> None:
    """The workers of all jobs are worth more than all GPUs can hold, one after another."""
    instance, length = case.instance, argument.length
    _holds_without(case, "ring sizes", "preemption")
    capacities = Counter(server.gpus for server in instance.cluster.servers)
    dearest = {one.gpus: one.dearest for one in argument.dearest}
    prices = [argument.prices.get(job.name, 0) for job in instance.jobs]
    _small(sum(prices) + 1)
    _few(len(capacities), len(prices), length + 1)
    room = 0
    ways = _ways(instance)
    for gpus, number in capacities.items():
        if gpus not in dearest:
            raise _WrongError("argument.dearest", f"servers of {gpus} GPUs are missing")
        best = np.zeros(length + 1, np.int64)
        for job, own, price in zip(instance.jobs, ways, prices, strict=True):
            # A server that cannot hold a ring has only workers of one that spreads.
            some = (way.slots for way in own if way.servers > 1 or job.size <= gpus)
            slots = min(some, default=None)
            if price and slots is not None and slots <= length:
                best[slots:] = np.maximum(best[slots:], best[: length + 1 - slots] + price)
        _no_less(f"dearest of {gpus} GPUs", dearest[gpus], int(best[-1]))
        room += gpus * number * dearest[gpus]
    worth = sum(job.size * price for job, price in zip(instance.jobs, prices, strict=True))
    _more(worth, room)


# Other arguments


def _wide_gaps(case: _Case, argument: form.WideGaps) -> None:
    """Whatever wide jobs spread, too many GPU slots are busy or idle; see the page."""
    instance, length, width = case.instance, argument.length, argument.width
    _holds_without(case, "ring sizes", "preemption")
    servers = [server.gpus for server in instance.cluster.servers]
    if 2 * width <= max(servers):
        raise _WrongError("argument.width", "wide jobs are wider than half of every server")
    wide: list[tuple[int, int | None]] = []
    busy, shortest = 0, [length + 1]
    for job, own in zip(instance.jobs, _ways(instance), strict=True):
        inside = min((way.slots for way in own if way.servers == 1), default=None)
        spread = min((way.slots for way in own if way.servers > 1), default=None)
        if job.size >= width and inside is not None:
            extra = None if spread is None else job.size * (spread - inside)
            wide.append((inside, extra))
            busy += job.size * inside
            shortest += [] if spread is None else [spread]
        elif own:
            least = min(way.slots for way in own)
            shortest.append(least)
            busy += job.size * least
    most = sum(inside for inside, _ in wide)
    must = most - sum(gpus >= width for gpus in servers) * length
    _few(len(wide) + 1, most + 1)
    # By the time that the jobs which spread would have had, what they take more.
    extra_of: dict[int, int] = {0: 0}
    for inside, extra in wide:
        if extra is not None:
            for time, taken in list(extra_of.items()):
                known = extra_of.get(time + inside)
                if known is None or taken + extra < known:
                    extra_of[time + inside] = taken + extra
        if len(extra_of) > MOST_NODES:
            raise _NotCheckedError("wide jobs are too many for the checker")
    needed: int | float = inf
    for time, taken in extra_of.items():
        gaps = time - must
        if gaps >= 0:
            idle = gaps * (2 * width - max(servers)) if gaps < min(shortest) else 0
            needed = min(needed, busy + taken + idle)
    _no_more("busy_or_idle", argument.busy_or_idle, needed)
    _more(argument.busy_or_idle, instance.cluster.total_gpus * length)


def _shared_links(case: _Case, argument: form.SharedLinks) -> None:
    """Rings that fit no server take parts of the links of all their servers.

    Of p rings on a link each takes 1/p of it. Beside p rings it does at most so many iterations in
    a slot, so an iteration takes at least the least part.
    """
    instance = case.instance
    _holds_without(case, "ring sizes", "GPU types")
    largest = instance.cluster.largest_server
    tree = topology(instance.cluster)
    fastest = max((tree.links[path[0]].gbps for path in tree.paths if path), default=0.0)
    wide = [j for j, job in enumerate(instance.jobs) if job.size > largest]
    rings = min(len(wide), largest)
    total = Fraction(0)
    for j, options in enumerate(lone_options(instance)):
        job = instance.jobs[j]
        if job.name not in argument.taken:
            continue
        fewest = min((one.servers for one in options if one.servers > 1), default=None)
        if j not in wide or fewest is None:
            raise _WrongError(f"argument.taken.{job.name}", "a server can hold this job")
        pace = options[0].pace
        most = max(
            p * pace.speed(fewest, best_share(instance, fastest, p, pace.sensitivity))
            for p in range(1, rings + 1)
        )
        taken = Fraction(fewest * job.iterations_left, most) if most else inf
        claimed = Fraction(argument.taken[job.name])
        _no_more(f"taken.{job.name}", claimed, taken)
        total += claimed
    _more(total, len(instance.cluster.servers) * argument.length)


def _last_job(case: _Case, argument: form.LastJob) -> None:
    """Some job completes no earlier than the makespan, and adds its term, whichever it is."""
    terms = _terms(case)
    if not case.objective.greatest or len(terms) < len(case.instance.jobs):
        raise _WrongError("argument.kind", "the objective is not the greatest term of all jobs")
    inner = _Case(case.instance, objective("makespan"), Fraction(argument.makespan))
    _require(inner, argument.argument)
    _enough(case, min(term.at(argument.makespan) for term in terms.values()))
