"""A schedule carried out: what the variables of models stand for, by names."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from rarmodel.model.gpu_sharing import losses
from rarmodel.model.interruptions import checkpoint_interval, kept_iterations, may_stop
from rarmodel.model.timing import restore_slots
from rarmodel.schema import Job, Replica, Schedule
from rarmodel.schema.schedule import Held
from rarmodel.verifier import Period, Ring, Run, run_of, simulate

from .scope import Scope


class SimulatedSegment(NamedTuple):
    """A segment of a job as it was simulated; without interruptions the only one.

    Attributes
    ----------
    start, up, end
        The slots from which on it holds its GPUs, makes progress, and does not hold them any more.
    workers
        Workers by server, in the order of servers.
    own
        Whether a job that runs at slot 0 goes on here on its GPUs.
    first
        Whether another job's first segment begins here, without a restoration.
    gpus
        Its GPUs by server, in the order of servers, ascending.
    """

    start: int
    up: int
    end: int
    workers: Mapping[str, int]
    own: bool
    first: bool
    gpus: Mapping[str, tuple[int, ...]]


class Iterations(NamedTuple):
    """Iterations of a job at the begin of a slot, up to all that it has to do.

    Attributes
    ----------
    done, kept
        What it has done by then; what it keeps of that, if a segment ends there.
    """

    done: int
    kept: int


class ScheduleOutcome:
    """A simulated schedule, by the names of jobs, servers and links.

    Attributes
    ----------
    scope
        The scope of its models.
    start, end
        By job: start slot, and completion; without a completion, the slot after the horizon's end.
    workers
        By job: workers by server in its first segment, if above 0, in the order of servers.
    segments
        By job: its segments, one after another.
    replicas
        The replicas of services.
    latest
        The latest completion.
    """

    def __init__(self, scope: Scope, schedule: Schedule) -> None:
        self.scope = scope
        by_job = {assignment.job: assignment for assignment in schedule.assignments}
        index, restore = scope.server_index, restore_slots(scope.instance)
        runs: list[Run] = []
        for j, job in scope.jobs.items():
            before = None
            for segment in by_job[j].segments:
                counts = {index[s]: len(gpus) for s, gpus in segment.gpus.items() if gpus}
                inside = dict(sorted(counts.items()))
                own = tuple((index[s], gpu) for s, gpus in segment.gpus.items() for gpu in gpus)
                run = run_of(scope.instance, job, segment, inside, restore, before)
                runs.append(run._replace(gpus=own))
                before = len(runs) - 1
        self._runs, self._course = runs, simulate(scope.instance, runs)
        late, names = scope.horizon + 1, list(scope.servers)
        self.start = {j: by_job[j].start for j in scope.jobs}
        self.end = dict.fromkeys(scope.jobs, late)
        self.segments: dict[str, list[SimulatedSegment]] = {j: [] for j in scope.jobs}
        held = (segment for j in scope.jobs for segment in by_job[j].segments)
        for run, segment, completed, until in zip(
            runs, held, self._course.completion, self._course.ends, strict=True
        ):
            j, first = run.job.name, run.follows is None
            self.segments[j].append(
                SimulatedSegment(
                    run.start,
                    run.start + run.restore,
                    late if until is None else until,
                    {names[s]: count for s, count in run.workers.items()},
                    first and self._goes_on(run.job, segment),
                    first and run.job.running is None,
                    {names[s]: tuple(sorted(segment.gpus[names[s]])) for s in run.workers},
                )
            )
            if completed is not None:
                self.end[j] = completed
        self.workers = {j: segments[0].workers for j, segments in self.segments.items()}
        self.replicas = schedule.services
        self.latest = max(self.end.values())

    def _goes_on(self, job: Job, segment: Held) -> bool:
        """Whether a job that runs at slot 0 stays where it is."""
        if job.running is None or not may_stop(self.scope.instance, job):
            return job.running is not None
        return job.running.goes_on(segment.start, segment.gpus)

    @cached_property
    def links(self) -> dict[str, frozenset[str]]:
        """By job: the links that its ring uses in its first segment."""
        tree = self.scope.tree
        return {
            run.job.name: frozenset(tree.links[l].node for l in tree.links_used(run.workers))
            for run in self._runs
            if run.follows is None
        }

    @cached_property
    def _periods(self) -> list[Period]:
        return list(self._course.periods)

    @cached_property
    def _begins(self) -> list[int]:
        return [period.start for period in self._periods]

    def _period(self, t: int) -> Period | None:
        at = bisect_right(self._begins, t) - 1
        return self._periods[at] if at >= 0 and t < self._periods[at].end else None

    def runs(self, j: str, t: int) -> bool:
        """Whether a job has started and not completed in a slot."""
        return self.start[j] <= t < self.end[j]

    def at(self, j: str, t: int) -> SimulatedSegment | None:
        """The segment in which a job holds GPUs in a slot; None if it holds none."""
        return next((one for one in self.segments[j] if one.start <= t < one.end), None)

    def keeps(self, j: str, t: int) -> bool:
        """Whether a job that ran at slot 0 still holds the GPUs that it had."""
        segment = self.at(j, t)
        return segment is not None and segment.own

    def iterations(self, j: str) -> list[Iterations]:
        """Iterations of a job at the begin of each slot, and after the last."""
        job, first = self.scope.jobs[j], self.segments[j][0]
        done = 0 if job.running is None else job.running.iterations_done
        moved = job.running is not None and not first.own
        kept = kept_iterations(done, checkpoint_interval(job)) if moved else done
        found = [Iterations(done, kept)]
        for t in range(self.scope.horizon):
            ring = self.ring(j, t)
            done = min(job.iterations, kept + (ring.speed if ring else 0))
            held = self.at(j, t)
            over = held is not None and held is not self.at(j, t + 1) and done < job.iterations
            kept = kept_iterations(done, checkpoint_interval(job)) if over else done
            found.append(Iterations(done, kept))
        return found

    def ring(self, j: str, t: int) -> Ring | None:
        """The state of a job's ring in a slot; None if the job is inactive or is restored."""
        period = self._period(t) if self.runs(j, t) else None
        return period.rings.get(j) if period else None

    def on_gpu(self, s: str, g: int, t: int) -> list[str]:
        """The jobs that have a worker on a GPU of a server in a slot."""
        here = ((j, self.at(j, t)) for j in self.segments)
        return [j for j, one in here if one is not None and g in one.gpus.get(s, ())]

    def replicas_of_slices(self, s: str, g: int, t: int) -> bool:
        """Whether replicas that hold slices are on a GPU of a server in a slot."""
        return any(one.start <= t < one.end and g in one.gpus.get(s, ()) for one in self._of_slices)

    @cached_property
    def _of_slices(self) -> list[Replica]:
        """The replicas that hold slices."""
        sliced = {
            (service.name, variant.name)
            for service in self.scope.instance.services
            for variant in service.variants
            if variant.slices is not None
        }
        return [one for one in self.replicas if (one.service, one.variant) in sliced]

    def load_beside(self, j: str, t: int) -> int:
        """The greatest load of others that make progress on a job's GPUs in a slot, in `UNITS`."""
        segment, lost, index = self.at(j, t), losses(self.scope.instance), self.scope.index
        if segment is None:
            return 0
        return max(
            sum(
                lost.of(index[j], index[i])
                for i in self.on_gpu(s, g, t)
                if i != j and self.ring(i, t) is not None
            )
            for s, gpus in segment.gpus.items()
            for g in gpus
        )

    def rings_on(self, l: str, t: int) -> int:
        """The number of rings on a link in a slot."""
        period = self._period(t)
        return period.links.get(l, 0) if period else 0
