"""Sharing rules: how users of one resource slow each other down, as data.

A user counts on each resource with a weight, a whole number. The load that it meets is the sum of
the weights of the *other* users there. The rule turns this load into a level of contention k, and
the factor `f(α, k)` of (7) divides what the resource gives. A link is a resource, the rings that
cross it are its users, and a ring gets `gbps/f` of it.

All that differs between values of `contention.model` is in these records, and every part asks the
record. So a new rule is a record in `RULES` and a word in `Contention.model` of the schema. If
users weigh differently by it, `engine/formulas.py` must compile its two functions beside those of
`DUTY`. A resource that is no link, such as a GPU that jobs share, belongs here too: its users have
weights, and the same rule gives each its part. Two laws hold for each, and
bounds, proofs and formulations rest on them: a weight does not depend on who else is there, and a
level never falls when the load grows. So a user more never makes another faster.

Where weights differ, jobs may have a sensitivity, and a pressure in place of the weight (section
20). A user then counts to those of each sensitivity with a weight of its own: the product, rounded
up. So a resource has a load for each of the sensitivities, which are few. Both laws still hold.

Weights are whole numbers, so no order of summation matters. The functions of numbers can be
compiled without change, as those in `contention` and `timing`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from math import inf
from typing import NamedTuple

from rarmodel.schema import Contention, Job
from rarmodel.schema.base import BILLION, exactly

from .contention import contention_level, linear_degradation
from .timing import exchange_seconds, overlapped_seconds

UNITS = 2**20
"""The duty of a ring that does nothing but exchange."""


NO_PRESSURE = -1
"""In place of a pressure: what the ring counts follows from its duty."""


class SharingRule(NamedTuple):
    """How users of a resource slow each other down.

    Attributes
    ----------
    name
        Value of `contention.model`.
    text
        What the rule says, for readers.
    weight
        What a user counts: from the seconds of an iteration that it spends on the resource when
        alone, the seconds of all else but forward and backward pass, those of the passes, and how
        far these overlap with the first. It never falls with the first, nor rises with the second
        and third, to the last bit.
    level
        Users that a user meets, itself included, k: from ξ1 and the load of the others. It never
        falls with the load, and is at most 1 without one.
    equal_weights
        Whether each user weighs 1. A load is then the number of others, and all users of a
        resource get the same of it.
    """

    name: str
    text: str
    weight: Callable[[float, float, float, float], int]
    level: Callable[[float, int], float]
    equal_weights: bool

    def factor(self, contention: Contention, others: int) -> float:
        """The factor f by which a load of others slows a user; at least 1, and never falling."""
        level = self.level(contention.concurrency, others)
        return linear_degradation(contention.degradation.alpha, level)

    def share(self, contention: Contention, gbps: float, others: int) -> float:
        """Rate in Gbit/s of a ring on a link of `gbps` beside a load of others, `b^e/f(α, k)`."""
        return gbps / self.factor(contention, others)


def _one(_exchange: float, _rest: float, _compute: float, _overlap: float) -> int:
    """Each user weighs the same."""
    return 1


def rings_at_once(concurrency: float, others: int) -> float:
    """Rings that communicate at the same moment: equation (7), from the number of others."""
    return contention_level(concurrency, others + 1)


def duty_units(exchange: float, rest: float, compute: float, overlap: float) -> int:
    """The part of an iteration that is exchange, `d = T/τ`, rounded up to whole `UNITS`.

    Without overlap this is `T/(T + c)`, with c all else. The form `1/(1 + c/T)` is monotone to the
    last bit: it never falls with the exchange, and never rises with the rest. So is `1/(τ/T)` with
    overlap, where compute and exchange are taken relative to the exchange.

    Parameters
    ----------
    exchange
        Seconds of the exchange, T; 0 for a ring without one, whose duty is 0.
    rest
        Seconds of reduction and overhead.
    compute
        Seconds of forward and backward pass.
    overlap
        How far these overlap with the exchange, γ; 1 if they do not.
    """
    if exchange <= 0.0:
        return 0
    if overlap == 1.0:
        return math.ceil(UNITS / (1.0 + (rest + compute) / exchange))
    both = overlapped_seconds(compute / exchange, 1.0, overlap)
    return math.ceil(UNITS / (both + rest / exchange))


def felt_units(units: int, sensitivity: int) -> int:
    """What a ring counts to one of a sensitivity, `a'·d`, rounded up to whole `UNITS`.

    The product stays below 2^60, so that compiled code has it exactly.

    Parameters
    ----------
    units
        Its duty, d, in `UNITS`.
    sensitivity
        The sensitivity of the other, a', in billionths.
    """
    return -(-units * sensitivity // BILLION)


def pressure_units(pressure: int, sensitivity: int) -> int:
    """The same with a pressure in place of the duty, `a'·b'`; both in billionths."""
    return -(-pressure * sensitivity * UNITS // BILLION**2)


def sensitivity_of(job: Job) -> int:
    """How much other rings on its links slow a job's ring down, a'_j, in billionths."""
    return _billionths(job.network_sensitivity, BILLION)


def pressure_of(job: Job) -> int:
    """How much a job's ring slows others down, b'_j, in billionths, or `NO_PRESSURE`."""
    return _billionths(job.network_pressure, NO_PRESSURE)


def _billionths(factor: float | None, absent: int) -> int:
    return absent if factor is None else int(exactly(factor) * BILLION)


def effective_rings(concurrency: float, others: int) -> float:
    """Rings that a ring meets on a link, itself included: `k = 1 + ξ1·Σ d_i`.

    With ξ1 = 1 and rings that do nothing but exchange it is their number, as in (7).

    Parameters
    ----------
    concurrency
        ξ1, in (0, 1].
    others
        Sum of the duties of the other rings on the link, in `UNITS`.
    """
    return 1.0 + concurrency * (others / UNITS)


COUNT = SharingRule(
    name="count",
    text="each ring on a link counts as one",
    weight=_one,
    level=rings_at_once,
    equal_weights=True,
)
"""The paper's (6) and (7): every ring counts as one."""

DUTY = SharingRule(
    name="duty",
    text="rings on a link count by the time in which they exchange alone",
    weight=duty_units,
    level=effective_rings,
    equal_weights=False,
)
"""By duty: a ring counts with the part of its time in which it exchanges, alone in its placement.

A ring that computes between exchanges leaves its links idle meanwhile, so it slows others less than
the count says. The duty is a constant of job and placement: the load of a link is linear in who
uses it, and local to it.

Among placements of one job, duty is *not* monotone: more overhead or a slower GPU makes a ring
slower and its duty smaller. A ring in a worse place can be the better neighbour.
"""

RULES: Mapping[str, SharingRule] = {rule.name: rule for rule in (COUNT, DUTY)}
"""Every rule by its name, the value of `contention.model`."""


def sharing_rule(contention: Contention) -> SharingRule:
    """The rule of an instance's contention."""
    return RULES[contention.model]


class RingOnLinks(NamedTuple):
    """A ring between servers, as a user of its links.

    Attributes
    ----------
    links
        Indices of the links that it uses, at least one.
    bits
        Bits that a worker exchanges.
    rest
        Seconds of all else in (8) that does not overlap with the exchange: reduction and overhead.
    compute
        Seconds of forward and backward pass. Without overlap they may be part of the rest.
    latency
        Seconds of latency in an iteration.
    overlap
        How far the exchange overlaps with the passes, γ.
    most_gbps
        The most in Gbit/s that its network cards reach.
    pressure, sensitivity
        How much it slows others down, or `NO_PRESSURE`; how much they slow it down; in billionths.
    """

    links: tuple[int, ...]
    bits: float
    rest: float
    compute: float = 0.0
    latency: float = 0.0
    overlap: float = 1.0
    most_gbps: float = inf
    pressure: int = NO_PRESSURE
    sensitivity: int = BILLION

    def weight(self, rule: SharingRule, gbps: float, sensitivity: int = BILLION) -> int:
        """What it counts on each of its links by a rule.

        Parameters
        ----------
        rule
            The rule.
        gbps
            What its links leave it when alone.
        sensitivity
            Sensitivity of the ring to which it counts so.
        """
        if self.pressure != NO_PRESSURE and not rule.equal_weights:
            return pressure_units(self.pressure, sensitivity)
        exchange = exchange_seconds(self.bits, min(gbps, self.most_gbps), self.latency)
        own = rule.weight(exchange, self.rest, self.compute, self.overlap)
        return own if rule.equal_weights else felt_units(own, sensitivity)
