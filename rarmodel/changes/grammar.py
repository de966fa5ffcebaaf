"""How changes are written, and which there are: `NAME=VALUE`, or `NAME.KEY=VALUE`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from rarmodel import registry
from rarmodel.argument_checks import shown
from rarmodel.errors import Problem, UsageError
from rarmodel.kinds import Kind
from rarmodel.schema import Instance

from .caps import arrivals, preemption, resource, tenant
from .gpu_types import faster_gpus, other_type, price
from .network import all_links, links_of_level, links_of_servers, links_within_servers
from .reservations import reserve
from .servers import down, more_or_fewer

Apply = Callable[[Instance, str, str], Instance]
"""The instance with a change, from the instance, the key and the value."""


class Known(NamedTuple):
    """A change that there is.

    Attributes
    ----------
    form
        How it is written.
    about
        What it does, in words.
    apply
        The instance with the change; None if it changes the run, and not the instance.
    keyed
        Whether it has a key, may have one, or has none (None).
    repeats
        Whether an alternative may have several.
    part
        The kind of part that its value names.
    """

    form: str
    about: str
    apply: Apply | None = None
    keyed: bool | None = None
    repeats: bool = False
    part: Kind | None = None


KNOWN: Mapping[str, Known] = {
    "servers": Known(
        "servers=+4", "more servers, or fewer: -2, +4:h100 of a type, +4:s0 like a server",
        more_or_fewer, repeats=True,
    ),
    "down": Known("down=s3", "one server down", down, repeats=True),
    "network-gbps": Known("network-gbps=100", "rate of each server's link", links_of_servers),
    "network": Known("network=x2", "all links of the network, by a factor", all_links),
    "links": Known("links.LEVEL=200", "rate of the links of a level", links_of_level, keyed=True),
    "intra-server-gbps": Known(
        "intra-server-gbps=600", "rate of a ring within one server", links_within_servers
    ),
    "gpu-type": Known(
        "gpu-type=a100:h100:x1.8", "one type of GPU by another, so many times as fast",
        other_type, repeats=True,
    ),
    "gpu-speed": Known("gpu-speed=x1.5", "all GPUs faster", faster_gpus),
    "price": Known("price.a100=2.5", "price of a GPU for an hour", price, keyed=False),
    "reserve": Known(
        "reserve=s0:8@0..600", "a reservation, in slots, by date or by time of day",
        reserve, repeats=True,
    ),
    "tenant": Known("tenant.NAME=16", "a tenant's cap on GPUs, or none", tenant, keyed=True),
    "resource": Known("resource.NAME=8", "capacity of a resource", resource, keyed=True),
    "arrivals": Known("arrivals=x1.5", "jobs arrive faster", arrivals),
    "preemption": Known(
        "preemption=60", "jobs may be interrupted at a cost in seconds, or none", preemption
    ),
    "policy": Known("policy=srtf", "another policy", part="policies"),
    "placement": Known("placement=first-fit", "another placement", part="placements"),
    "method": Known("method=sjf-bco", "another method", part="methods"),
}  # fmt: skip
"""All changes, by name."""


class Change(NamedTuple):
    """A change that somebody asks for."""

    name: str
    key: str
    value: str

    @property
    def told(self) -> str:
        """Its name, with the key."""
        return f"{self.name}.{self.key}" if self.key else self.name

    @property
    def apply(self) -> Callable[[Instance], Instance] | None:
        """What makes it; None if it changes the run."""
        apply = KNOWN[self.name].apply
        return None if apply is None else partial(_applied, self, apply)


def _applied(change: Change, apply: Apply, instance: Instance) -> Instance:
    return apply(instance, change.key, change.value)


class Alternative(NamedTuple):
    """Changes that are made together, beside the unchanged instance.

    Attributes
    ----------
    label
        How it was written.
    changes
        The changes, in their order.
    """

    label: str
    changes: tuple[Change, ...]

    def part(self, name: str) -> str | None:
        """The policy, the placement or the method that it asks for."""
        return next((one.value for one in self.changes if one.name == name), None)


UNCHANGED = Alternative("unchanged", ())
"""Beside which alternatives stand."""


def parse_alternatives(texts: Sequence[str]) -> tuple[list[Alternative], list[Problem]]:
    """Read alternatives, each with changes between commas.

    Returns
    -------
    tuple
        The alternatives, with those of their changes that are sound, and every problem.
    """
    problems = list[Problem]()
    found = []
    for text in texts:
        changes = []
        for part in text.split(","):
            try:
                changes.append(_change(part.strip()))
            except UsageError as error:
                problems.append(Problem(place_of(text), str(error)))
        problems += [Problem(place_of(text), why) for why in _twice(changes)]
        found.append(Alternative(text.strip(), tuple(changes)))
    labels = [one.label for one in found]
    problems += [
        Problem(place_of(label), "it is given twice")
        for label in dict.fromkeys(labels)
        if labels.count(label) > 1
    ]
    return found, problems


def place_of(label: str) -> str:
    """An alternative as the place of a problem."""
    return f"change {shown(label)}"


def _change(text: str) -> Change:
    name, equals, value = (part.strip() for part in text.partition("="))
    name, dot, key = name.partition(".")
    name = name.replace("_", "-")
    if name not in KNOWN:
        if not text:
            raise UsageError(f"it is empty; a change such as {KNOWN['servers'].form} is expected")
        raise UsageError(registry.unknown("change", [name], KNOWN))
    known = KNOWN[name]
    if not (equals and value):
        raise UsageError(f"{name} has no value; {known.form} is expected")
    if known.keyed and not key:
        raise UsageError(f"{name} says not which; {known.form} is expected")
    if dot and (known.keyed is None or not key):
        raise UsageError(f"{name}.{key}: {known.form} is expected")
    if known.part is not None:
        registry.find(known.part, value)
    return Change(name, key, value)


def _twice(changes: Sequence[Change]) -> Iterator[str]:
    told = [one.told for one in changes if not KNOWN[one.name].repeats]
    for name in dict.fromkeys(told):
        if told.count(name) > 1:
            yield f"{name} is given twice"
