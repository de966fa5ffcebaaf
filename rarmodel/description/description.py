"""The summary of an instance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rarmodel.bounds import (
    LowerBound,
    ValueBound,
    all_bounds,
    best_bound,
    impossible,
    jobs_behind,
    objective_bounds,
    value_bounds,
)
from rarmodel.counting import nouns
from rarmodel.duration import duration
from rarmodel.errors import listed
from rarmodel.model import horizon_of, never_complete
from rarmodel.model.objectives import MAKESPAN, Objective, objectives_of
from rarmodel.model.objectives import number as plain
from rarmodel.schema import Instance, StarNetwork
from rarmodel.tabular import MOST_ROWS, frame, html_lines, html_rows, number

from .times_and_links import JobTimes, Level, Size, job_times, network, size_of
from .used_features import Use, uses_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Description:
    """A summary of an instance: sizes, execution times, load and lower bounds.

    Attributes
    ----------
    instance
        The instance.
    servers
        Pairs of GPUs per server and number of such servers, largest first.
    levels
        The network's links by level, from the root.
    oversubscription
        Least and greatest ratio of the rate of the links below a switch to the rate of its uplink;
        None if no switch has an uplink.
    jobs
        Each job, in order.
    sizes
        The jobs by size, smallest first.
    load
        Slots for which all GPUs are busy if every job holds its fewest GPU slots: those of its best
        placement alone, or of its best ring size for that.
    bounds
        Lower bounds on the makespan that need no search.
    objectives
        The objectives, the most important first, each with the best bound that needs no search.
    uses
        What the instance uses beyond the paper's problem.
    reasons
        Why there is no schedule, as far as that is easily proven: a job that never completes, a
        bound above the horizon, or a deadline that a job misses even alone.
    """

    instance: Instance = field(repr=False)
    servers: tuple[tuple[int, int], ...]
    levels: tuple[Level, ...]
    oversubscription: tuple[float, float] | None
    jobs: tuple[JobTimes, ...] = field(repr=False)
    sizes: tuple[Size, ...]
    load: float
    bounds: tuple[LowerBound, ...]
    objectives: tuple[tuple[Objective, ValueBound], ...]
    uses: tuple[Use, ...]
    reasons: tuple[str, ...]

    @property
    def best(self) -> LowerBound:
        """The greatest of the bounds; of equal bounds the first."""
        return best_bound(self.instance)

    @property
    def behind(self) -> tuple[str, ...]:
        """Names of the jobs that make the best bound, those that add most first.

        None are there if all jobs do.
        """
        return jobs_behind(self.instance, MAKESPAN, ValueBound(*self.best))

    @property
    def by_length(self) -> bool:
        """Whether the makespan alone is minimised."""
        return [one for one, _ in self.objectives] == [MAKESPAN]

    @property
    def infeasible(self) -> bool:
        """Whether no schedule meets the horizon and the deadlines, as far as is easily proven."""
        return bool(self.reasons)

    def lines(self) -> dict[str, str]:
        """The summary as a dictionary of names and formatted values."""
        instance, time = self.instance, self.instance.time
        cluster, contention = instance.cluster, instance.contention
        found = {"instance": instance.name}
        if instance.description:
            found["description"] = instance.description
        found |= {"slot": duration(time.slot_seconds), "horizon": self._horizon()}
        if time.origin is not None:
            found["origin"] = f"{time.origin}"
            if time.horizon is not None:
                found["horizon ends"] = f"{time.end(time.horizon)}"
        few = ", ".join(f"{count:,} of {gpus} GPUs" for gpus, count in self.servers[:MOST_ROWS])
        more = len(self.servers) - MOST_ROWS
        part = [] if time.horizon is None else [f"{self.load / time.horizon:.1%} of the horizon"]
        rates = f"{cluster.intra_server_gbps:g} Gbit/s in a ring"
        return found | {
            "servers": few + (f" and {more} sizes more" if more > 0 else ""),
            "GPUs": self._gpus(),
            "network": self._network(),
            "in a server": f"{rates}, {cluster.reduction_gbps:g} Gbit/s reduced",
            "contention": (
                f"ξ1 {contention.concurrency:g}, α {contention.degradation.alpha:g}, "
                f"ξ2 {contention.overhead_ms_per_server:g} ms per server"
            ),
            "jobs": f"{len(self.jobs):,}",
            "load": f"{time.told(self.load, *part, form=',.1f')} of all GPUs",
            "contention costs": self._cost(),
            **self._bounds(),
            **({"infeasible": "; ".join(self.reasons)} if self.infeasible else {}),
        }

    def _horizon(self) -> str:
        time = self.instance.time
        if time.horizon is not None:
            return time.told(time.horizon)
        if never_complete(self.instance):
            return "none; no number of slots is enough"
        return f"none; {time.told(horizon_of(self.instance))} are enough"

    def _bounds(self) -> dict[str, str]:
        """A bound on each objective."""
        time = self.instance.time
        if self.by_length:
            found = {"lower bound": time.told(self.best.slots, self.best.name)}
            if self.behind:
                found["behind it"] = f"{nouns(len(self.behind), 'job')} {listed(self.behind)}"
            return found
        return {
            one.name: f"at least {one.told(bound.value, time, bound.name)}"
            for one, bound in self.objectives
        }

    def _gpus(self) -> str:
        """All GPUs, and those of each type."""
        types = Counter(self._types())
        each = ", ".join(f"{count:,} {kind}" for kind, count in types.most_common(MOST_ROWS))
        total = f"{self.instance.cluster.total_gpus:,}"
        return f"{total}: {each}" if types else total

    def _types(self) -> dict[str, int]:
        """GPUs of each type."""
        types: Counter[str] = Counter()
        for server in self.instance.cluster.servers:
            if server.gpu_type is not None:
                types[server.gpu_type] += server.gpus
        return dict(types)

    def use_rows(self) -> list[dict[str, str]]:
        """What the instance uses beyond the paper's problem, as rows of formatted values."""
        return [
            {"uses": use.name, "first place": use.place, "in numbers": use.detail}
            for use in self.uses
        ]

    def _network(self) -> str:
        network = self.instance.cluster.network
        if isinstance(network, StarNetwork):
            return f"star, {network.gbps:g} Gbit/s to each server"
        levels = ", ".join(f"{level.links:,} × {_span(level.gbps)} Gbit/s" for level in self.levels)
        text = f"tree, links from the root: {levels}"
        if self.oversubscription is not None:
            text += f"; oversubscription {_span(self.oversubscription)}"
        return text

    def _cost(self) -> str:
        """The greatest slowdown by placement and contention, over the jobs."""
        if any(job.most_slots is None for job in self.jobs):
            return "a job can come to a halt"
        most = max((job.most_slots or 0) / job.least_slots for job in self.jobs)
        return f"a job takes up to {most:.3g} times its least time"

    def size_rows(self) -> list[dict[str, str]]:
        """The jobs by size, as rows of formatted values."""
        time = self.instance.time
        total = sum(size.gpu_slots for size in self.sizes)
        return [
            {
                "GPUs": _sizes(size.gpus),
                "jobs": f"{size.jobs:,}",
                "iterations": _span(size.iterations),
                "slots alone": _span(size.least_slots),
                "wall-clock": " to ".join(
                    dict.fromkeys(duration(time.seconds(slots)) for slots in size.least_slots)
                ),
                "servers": _span(size.servers),
                "worst alone": number(size.slowest_alone),
                "with contention": number(size.most_slots),
                "load": f"{size.gpu_slots / total:.1%}",
            }
            for size in self.sizes
        ]

    def job_rows(self) -> Iterator[dict[str, str]]:
        """The jobs, as rows of formatted values."""
        time = self.instance.time
        for job in self.jobs:
            yield {
                "job": job.name,
                "GPUs": _sizes(job.gpus),
                "iterations": str(job.iterations),
                "slots alone": str(job.least_slots),
                "wall-clock": duration(time.seconds(job.least_slots)),
                "servers": str(job.servers),
                "on one": number(job.packed),
                "on several": number(job.spread),
                "worst alone": number(job.slowest_alone),
                "with contention": number(job.most_slots),
            }

    def bound_rows(self) -> list[dict[str, str]]:
        """The bounds on the objectives, as rows of formatted values."""
        time = self.instance.time
        if not self.by_length:
            return [
                {"objective": one.name, "lower bound": bound.name, "at least": told}
                for one, best in self.objectives
                for bound in dict.fromkeys((*objective_bounds(self.instance, one), best))
                if (told := one.told(bound.value, time))
            ]
        return [
            {
                "lower bound": bound.name,
                "slots": str(bound.slots),
                "wall-clock": duration(time.seconds(bound.slots)),
            }
            for bound in self.bounds
        ]

    def summary(self, *, jobs: bool = False) -> dict[str, Any]:
        """The summary as plain data: the output of `describe --json`.

        Parameters
        ----------
        jobs
            Whether to list each job.
        """
        instance, time = self.instance, self.instance.time
        cluster, contention = instance.cluster, instance.contention
        return {
            "instance": instance.name,
            "description": instance.description,
            "slot_seconds": time.slot_seconds,
            "origin": None if time.origin is None else time.origin.isoformat(),
            "horizon": time.horizon,
            "horizon_seconds": None if time.horizon is None else time.seconds(time.horizon),
            "gpus": cluster.total_gpus,
            "gpu_types": self._types(),
            "servers": [{"gpus": gpus, "servers": count} for gpus, count in self.servers],
            "network": cluster.network.kind,
            "levels": [asdict(level) for level in self.levels],
            "oversubscription": self.oversubscription,
            "intra_server_gbps": cluster.intra_server_gbps,
            "reduction_gbps": cluster.reduction_gbps,
            "concurrency": contention.concurrency,
            "alpha": contention.degradation.alpha,
            "overhead_ms_per_server": contention.overhead_ms_per_server,
            "contention_model": contention.model,
            "jobs": len(self.jobs),
            "sizes": [asdict(size) for size in self.sizes],
            "load": self.load,
            "bounds": [bound._asdict() for bound in self.bounds],
            "lower_bound": self.best.slots,
            "bound_jobs": list(self.behind),
            "bound_name": self.best.name,
            "objectives": [
                {"name": one.name, "bound": plain(bound.value), "bound_name": bound.name}
                for one, bound in self.objectives
            ],
            "uses": [use._asdict() for use in self.uses],
            "infeasible": self.infeasible,
            "reasons": list(self.reasons),
            "each_job": [asdict(job) for job in self.jobs] if jobs else None,
        }

    def to_frame(self) -> pd.DataFrame:
        """The jobs as a pandas data frame, with the fields of `JobTimes`.

        Raises
        ------
        UsageError
            If pandas is not installed.
        """
        return frame(asdict(job) for job in self.jobs)

    def _repr_html_(self) -> str:
        sizes = self.size_rows()
        return (
            html_lines(self.instance.name, self.lines())
            + (html_rows("Beyond the paper's problem", self.use_rows()) if self.uses else "")
            + html_rows("Jobs by size", sizes[:MOST_ROWS], len(sizes))
            + html_rows("Lower bounds", self.bound_rows())
        )


def describe(instance: Instance) -> Description:
    """Summarise an instance: sizes, execution times, load, bounds.

    Parameters
    ----------
    instance
        The problem. `describe` solves nothing and compiles nothing.
    """
    jobs = tuple(job_times(instance))
    bounds = all_bounds(instance)
    none = impossible(instance)
    levels, ratios = network(instance)
    by_size: dict[tuple[int, ...], list[JobTimes]] = {}
    for job, times in zip(instance.jobs, jobs, strict=True):
        by_size.setdefault(job.sizes, []).append(times)
    sizes = tuple(size_of(by_size[gpus]) for gpus in sorted(by_size))
    capacities = Counter(server.gpus for server in instance.cluster.servers)
    return Description(
        instance=instance,
        servers=tuple(sorted(capacities.items(), reverse=True)),
        levels=levels,
        oversubscription=(min(ratios), max(ratios)) if ratios else None,
        jobs=jobs,
        sizes=sizes,
        load=sum(size.gpu_slots for size in sizes) / instance.cluster.total_gpus,
        bounds=bounds,
        objectives=tuple(zip(objectives_of(instance), value_bounds(instance), strict=True)),
        uses=uses_of(instance),
        reasons=() if none is None else none.reasons,
    )


def _sizes(gpus: int | tuple[int, ...]) -> str:
    return str(gpus) if isinstance(gpus, int) else " or ".join(map(str, gpus))


def _span(ends: tuple[float, float]) -> str:
    """Least and greatest value, or a single value if they are equal."""
    return " to ".join(dict.fromkeys(f"{end:,.10g}" for end in ends))
