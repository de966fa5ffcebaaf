"""The file format of certificates: what proves lower bounds, in whole numbers.

A certificate has a claim for each bound, and each claim an argument. `rarmodel.checker` believes
none of the numbers: it forms them again, and compares.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import Count, Name, NonNegativeInteger, Record, Version
from .schedule import ExactValue

Amount = Annotated[int, Field(strict=True)]
"""A whole number of any size."""

Price = Annotated[int, Field(strict=True, ge=0)]
"""A whole number of at least 0, of any size."""


class LimitUse(Record):
    """What jobs use of a resource, or of the cap of a tenant."""

    kind: Literal["resource", "tenant"]
    """Whether it is a resource, or the cap of a tenant."""

    name: Name
    """Name of the resource or the tenant."""


class ExclusiveJobs(Record):
    """Jobs of which no two run at once. Each uses 1 while it runs, and there is 1."""

    kind: Literal["exclusive-jobs"]
    """Kind of what is shared."""

    jobs: Annotated[tuple[Name, ...], Field(min_length=1)]
    """The jobs. Any two of them need more than there is: of all GPUs, of a resource, or of the cap
    of a tenant."""


Shared = Annotated[LimitUse | ExclusiveJobs, Field(discriminator="kind")]
"""What jobs share instead of all GPUs. Where there is a unit, amounts are multiples of it: the
greatest number of which all that jobs use is a multiple."""


class EachJob(Record):
    """Each job by itself: when it completes at the earliest, or what it pays at the least."""

    kind: Literal["each-job"]
    """Kind of the argument."""

    least: dict[Name, ExactValue]
    """By job: its completion at the earliest; for `cost` what it pays, for `total-links` what its
    links count. Where the greatest counts, one job is enough; in sums a job that is missing pays
    0."""


class PricedServers(Record):
    """Prices of GPUs of some servers."""

    servers: tuple[Name, ...] | None = None
    """The servers; absent for all."""

    prices: tuple[Price, ...]
    """(pieces of time) What a GPU costs in a slot."""


class Rounded(Record):
    """What jobs count as: jobs that fit side by side, or one after another, still fit so.

    Above the whole less `threshold` a number counts as the whole, below `threshold` as 0.
    """

    what: Literal["gpus", "slots"]
    """GPUs of a ring, in all GPUs of the cluster; or slots of a job, in those that have a price."""

    threshold: Count
    """At most half of the whole, rounded up."""


class GpuPrices(Record):
    """Prices over time of GPUs, or of something else that jobs share.

    What all jobs pay, and add to the objective, is at least the sum of `least`, and they pay at
    most `room`. With `below`, no schedule has a value of at most `below`, as jobs would pay more
    than `room`. Without it, the value is at least the difference, divided by `scale`.
    """

    kind: Literal["prices"]
    """Kind of the argument."""

    below: ExactValue | None = None
    """A value that is too small, of an objective that is the greatest of terms."""

    of: Shared | None = None
    """What has these prices; absent for GPUs."""

    edges: Annotated[tuple[NonNegativeInteger, ...], Field(min_length=2)]
    """Slots at which prices change, the end last. Before the first and from the last on, GPUs cost
    nothing."""

    kinds: Annotated[tuple[PricedServers, ...], Field(min_length=1)]
    """Each server is in one of them. With `of` there is one, of all servers."""

    rounded: Rounded | None = None
    """Count rings or slots as more than they are; then all servers have one price."""

    scale: Count = 1
    """What a unit of the objective counts, in prices."""

    least: dict[Name, Amount]
    """By job, what it pays and adds to the objective at the least. A job that is missing: 0."""

    room: Price
    """What all GPUs cost, or all that there is of `of`."""


class OneMachine(Record):
    """All GPUs as one machine that does one job after another, for sums of completions.

    With `of`, the machine is as fast as there is at most of that at once.
    """

    kind: Literal["one-machine"]
    """Kind of the argument."""

    of: Shared | None = None
    """What makes the machine; absent for all GPUs."""

    rule: Literal["shortest-first", "heaviest-first"]
    """The least remaining area first; or the greatest weight by area, and its mean busy time."""

    jobs: tuple[Name, ...]
    """The jobs on the machine; each other job counts as alone."""

    completions: ExactValue
    """The sum of the completions of these jobs, by weight, at least."""


class PricedState(Record):
    """A way for a ring to run in a slot, and its price."""

    gpus: Count
    """Size of the ring."""

    servers: Count
    """Number of servers."""

    rings: Count
    """Most rings on a link of these servers, its own included."""

    price: Price
    """Price of a slot."""


class PricedJob(Record):
    """States of the ring of a job, and what its slots are worth."""

    states: tuple[PricedState, ...] = ()
    """States that have a price."""

    least: Price
    """Its slots are worth at least this."""


class SlotPrices(Record):
    """Prices of what can run in a slot: the jobs need more than so many slots are worth."""

    kind: Literal["slot-prices"]
    """Kind of the argument."""

    length: NonNegativeInteger
    """No schedule has so many slots or fewer."""

    jobs: dict[Name, PricedJob]
    """By job. One that is missing is worth nothing."""

    dearest: Price
    """What can run in one slot is worth at most this."""


class PricedGpus(Record):
    """A number of GPUs on a server, and its price."""

    gpus: Count
    """GPUs."""

    price: Price
    """Price of a slot."""


class PricedRing(PricedGpus):
    """A ring that shares links, and its price as a whole."""

    job: Name
    """The job."""

    servers: Count
    """Number of servers."""


class ServerContent(Record):
    """What servers of a size can hold."""

    gpus: Count
    """GPUs of such a server."""

    dearest: Price
    """What it holds is worth at most this."""


class ServerPrices(Record):
    """Prices of what a server can hold in a slot: packed jobs, and pieces of rings."""

    kind: Literal["server-prices"]
    """Kind of the argument."""

    length: NonNegativeInteger
    """No schedule has so many slots or fewer."""

    packed: tuple[PricedGpus, ...] = ()
    """Jobs on one server, by size."""

    lone: tuple[PricedGpus, ...] = ()
    """Pieces of rings that share no links."""

    sharing: tuple[PricedGpus, ...] | None = None
    """Pieces of rings that share links; absent where these have prices as wholes."""

    rings: tuple[PricedRing, ...] = ()
    """Rings that share links, as wholes."""

    least: dict[Name, Price]
    """By job, what its slots are worth at least."""

    dearest: tuple[ServerContent, ...]
    """What servers hold, by their GPUs."""

    excess: Price = 0
    """By how much rings that share links are worth more than pieces on their servers, at most."""


class LanePrices(Record):
    """Prices of workers: all GPUs together cannot hold them for so many slots."""

    kind: Literal["lane-prices"]
    """Kind of the argument."""

    length: NonNegativeInteger
    """No schedule has so many slots or fewer."""

    prices: dict[Name, Price]
    """By job, the price of each of its workers."""

    dearest: tuple[ServerContent, ...]
    """What a GPU of a server of so many GPUs holds, one after another."""


class WideGaps(Record):
    """The time that wide jobs leave on their servers is too short for others."""

    kind: Literal["wide-gaps"]
    """Kind of the argument."""

    length: NonNegativeInteger
    """No schedule has so many slots or fewer."""

    width: Count
    """GPUs of a wide job, at least."""

    busy_or_idle: Price
    """GPU slots that jobs hold or nobody can use, at least."""


class SharedLinks(Record):
    """Rings wider than every server take more of the servers' links than there is."""

    kind: Literal["shared-links"]
    """Kind of the argument."""

    length: NonNegativeInteger
    """No schedule has so many slots or fewer."""

    taken: dict[Name, ExactValue]
    """By job, the slots of links that it takes at least."""


class LastJob(Record):
    """Some job completes no earlier than the makespan of any schedule, and its term counts."""

    kind: Literal["last-job"]
    """Kind of the argument."""

    makespan: Count
    """The makespan, at least."""

    argument: Argument
    """Why."""


class Refuted(Record):
    """A search found no schedule. The checker cannot repeat it."""

    kind: Literal["refuted"]
    """Kind of the argument."""

    by: Name
    """The search or the solver that refuted all smaller values."""

    below: ExactValue
    """The greatest value that it refuted, or one above every value that it refuted."""

    model: Name | None = None
    """File of a model without a solution, for a solver to refute. It stands beside the
    certificate."""


Argument = Annotated[
    EachJob
    | GpuPrices
    | OneMachine
    | SlotPrices
    | ServerPrices
    | LanePrices
    | WideGaps
    | SharedLinks
    | LastJob
    | Refuted,
    Field(discriminator="kind"),
]
"""Why a bound is true."""


class BoundClaim(Record):
    """A lower bound on an objective, and why it is true."""

    objective: Name
    """Name of the objective."""

    value: ExactValue
    """No schedule of the instance has less."""

    bound: Name
    """Name of the bound, or of the solver that proved it."""

    at_most: dict[Name, ExactValue] = Field(default_factory=dict)
    """Values of more important objectives. The bound holds for schedules that exceed none of them;
    without any, for every schedule."""

    argument: Argument
    """Why."""


class Certificate(Record):
    """What proves lower bounds of an instance."""

    schema_version: Version
    """Version of the file format."""

    instance: Name
    """Name of the instance."""

    instance_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """Digest of the instance; its objective does not count."""

    claims: Annotated[tuple[BoundClaim, ...], Field(min_length=1)]
    """The bounds."""


LastJob.model_rebuild()
BoundClaim.model_rebuild()
Certificate.model_rebuild()
