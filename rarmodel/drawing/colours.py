"""Colours: cool colours for the GPUs of jobs, warm colours for the network.

All colours are mid-tones that are distinct from white and near-black backgrounds. They are also
distinct from each other under the common kinds of colour blindness: shades of one ramp differ in
lightness, and colours on top of each other differ in temperature.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rarmodel.counting import counted
from rarmodel.schema import Instance

SIZES = ("#d6e8ac", "#a5d8b0", "#67bdbf", "#3f9ac6", "#3a74b8", "#414c9e")
"""Colours from jobs with few GPUs to jobs with many."""
MAX_CLASSES = 7
UNKNOWN = "#9aa0a8"
"""Colour of a job that the instance does not have."""
INK, PAPER = "#10161d", "#ffffff"
NETWORK = "#e8590c"
"""Edge of a ring that crosses the network."""
FAULT = "#c00000"
AWAY = "#8a929b"
"""Hatching of GPUs that are reserved."""
SERVING = "#2a9d78"
"""Hatching of GPUs that replicas of services hold."""
MOMENT = "#a3507f"
"""Releases, due slots and deadlines of jobs."""
BOUND = "#0b7a4b"
EDGE = "#6f7a86"
"""Colour of boxes around points."""
OTHER = "#9aa0a8"
"""Colour of a line until the reader selects its schedule."""

STRONG = (
    *("#2f6fb5", "#c98a1b", "#2a9d78", "#a3507f", "#6fb1dc"),
    *("#8a6d3b", "#5b5fa8", "#d9694a", "#7c8792", "#a5b52f"),
)
TENANTS = tuple(colour for colour in reversed(STRONG) if colour != "#d9694a")
"""Colours of tenants: those of lines from the other end, without the one like the edge of a ring
over several servers."""
DASHES = ((1, 0), (6, 3), (2, 2), (6, 2, 2, 2))
"""Dashes of lines, as lengths of dash and gap: one for each round through the colours."""

WARM = ("#f2c87973", "#f2a53cd9", "#e8701aff", "#c92f1cff", "#8f1436ff")
"""Colours for numbers of rings on links, from a lone ring; 0 has no colour."""
COOL = ("#67bdbf59", "#3f9ac6cc", "#3a74b8ff", "#2f4a9cff")
"""Colours for the share of GPUs held, from a small share; 0 has no colour."""


SIZE, TENANT = "size", "tenant"
BY = (SIZE, TENANT)
"""What the colour of a job can say: its number of GPUs, or whose it is."""
MOST_TENANTS = len(TENANTS)
"""Most tenants with a colour of their own: those with the most jobs."""
NO_TENANT = "no tenant"


class JobClass(NamedTuple):
    """A class of jobs with similar numbers of GPUs, or of one tenant, and its colour."""

    name: str
    colour: str


@dataclass(frozen=True)
class Colouring:
    """A colour for each job of an instance, the same in every schedule of it.

    Attributes
    ----------
    classes
        Classes by number of GPUs, ascending, or by tenant; the legend shows them.
    tops
        The most GPUs of each class but the last, and a number that is at least those of the last.
    shades
        Shade of each job by its index, one of three, so that neighbours are distinct.
    tenants
        Of classes by tenant, the class of each job by its index; None for one without a tenant.
    """

    classes: tuple[JobClass, ...]
    tops: tuple[int, ...]
    shades: tuple[int, ...]
    tenants: tuple[int | None, ...] | None = None

    @property
    def unknown(self) -> str:
        """Name of the jobs in no class."""
        return "unknown size" if self.tenants is None else NO_TENANT

    def class_of(self, job: int, size: int | None) -> int | None:
        """The class of a job with a ring of some size, by its index.

        None for rings of no size, and for jobs that the instance lacks: their indices are greater.
        """
        if job >= len(self.shades):
            return None
        if self.tenants is not None:
            return self.tenants[job]
        return None if size is None else bisect_left(self.tops, size)


def colouring(instance: Instance) -> Colouring:
    """Colours of an instance's jobs by their number of GPUs; a moldable job may have several."""
    sizes = sorted({size for job in instance.jobs for size in job.sizes})
    tops = sizes
    if len(sizes) > MAX_CLASSES:
        powers = range((sizes[-1] - 1).bit_length() + 1)
        step = -(-len(powers) // MAX_CLASSES)
        tops = [2**power for power in [*powers[step - 1 :: step], powers[-1]]]
    members: dict[int, list[int]] = {}
    for size in sizes:
        members.setdefault(bisect_left(tops, size), []).append(size)
    colours = ramp(SIZES, len(members)) if len(members) > 1 else [SIZES[2]]
    before: Counter[int] = Counter()
    shades = []
    for job in instance.jobs:
        number = bisect_left(tops, job.sizes[-1])
        shades.append(before[number] % 3)
        before[number] += 1
    return Colouring(
        classes=tuple(
            JobClass(_sizes(own), colour)
            for own, colour in zip(members.values(), colours, strict=True)
        ),
        tops=tuple(tops[number] for number in members),
        shades=tuple(shades),
    )


def colouring_by_tenant(instance: Instance) -> Colouring:
    """Colours of an instance's jobs by tenant; those with few jobs share one."""
    of_jobs = [job.tenant for job in instance.jobs]
    counts = Counter(name for name in of_jobs if name is not None)
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    own = ranked if len(ranked) <= MOST_TENANTS else ranked[: MOST_TENANTS - 1]
    classes = [JobClass(name, TENANTS[i]) for i, name in enumerate(sorted(own))]
    number = {one.name: i for i, one in enumerate(classes)}
    if len(own) < len(ranked):
        more = f"{len(ranked) - len(own)} other tenants"
        classes.append(JobClass(more, TENANTS[len(classes)]))
    before: Counter[int | None] = Counter()
    found, shades = list[int | None](), list[int]()
    for name in of_jobs:
        found.append(None if name is None else number.get(name, len(own)))
        shades.append(before[found[-1]] % 3)
        before[found[-1]] += 1
    return Colouring(tuple(classes), (), tuple(shades), tuple(found))


def ink_on(colour: str) -> str:
    """The colour of readable text on a colour: dark or white."""
    parts = [channel / 255 for channel in _channels(colour)]
    light = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]
    return INK if luminance > 0.2 else PAPER  # Both have a contrast of at least 4 there.


class Line(NamedTuple):
    """The style of a line, for a chart and its legend."""

    name: str
    colour: str
    dash: tuple[int, ...]


def lines_of(names: Sequence[str]) -> list[Line]:
    """Distinct lines: by colour, and by dashes if there are more lines than colours."""
    return [
        Line(name, STRONG[i % len(STRONG)], DASHES[i // len(STRONG) % len(DASHES)])
        for i, name in enumerate(names)
    ]


def ramp(colours: tuple[str, ...], steps: int) -> list[str]:
    """Evenly spaced colours from the first to the last."""
    found = []
    for step in range(steps):
        at = step / max(1, steps - 1) * (len(colours) - 1)
        i = min(int(at), len(colours) - 2)
        found.append(mixed(colours[i], colours[i + 1], at - i))
    return found


def mixed(one: str, other: str, part: float) -> str:
    """A colour between two others: `part` of the way from one to the other."""
    pairs = zip(_channels(one), _channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in pairs)


def _sizes(sizes: Sequence[int]) -> str:
    """Name of a class: its numbers of GPUs."""
    low, high = sizes[0], sizes[-1]
    return f"{low:,}–{high:,} GPUs" if low < high else counted(low, "GPU")


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in range(1, len(colour), 2)]
