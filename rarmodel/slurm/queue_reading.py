"""Turn a queue into an instance, with an account of every job."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import ValidationError

from rarmodel.counting import counted
from rarmodel.errors import FEW, InputError, NoScheduleError, Problem, listed
from rarmodel.model import timing
from rarmodel.model.extremes import iteration_ranges
from rarmodel.schema import Cluster, Instance
from rarmodel.schema.problems import problems_of
from rarmodel.workloads.cluster_rates import cluster_of
from rarmodel.workloads.found_profiles import Found
from rarmodel.workloads.importer import DEFAULT_CONTENTION
from rarmodel.workloads.job_profile import MIDDLE_MODEL, slots_of_work
from rarmodel.workloads.switch_trees import Dealing

from .caveats import PREEMPTION, TREES, TYPES
from .end_times import latest_start
from .expected_durations import Estimate, History, estimate_of, history_of
from .giving_way import Given, giving_way, rank, verb_of, without_given
from .gpu_limits import GpuLimits, held_outside
from .job_profiles import ASSUMED, profile_for
from .licences import LicencesLeft
from .permission import why_not
from .preemption import outranked
from .queue import BELOW_NO_SWITCH, Queue, of_partition, queue_of
from .queue_choices import Choices
from .requests import (
    Request,
    UnusableError,
    by_number,
    predecessors,
    request_of,
    shape_of,
    throttled,
    within,
)
from .ring_parts import parts_of, speeds_of
from .slurm_jobs import HOLDING, SlurmJob, holds_parts
from .slurm_values import value
from .unavailable_gpus import Expected, away, expected_by_slurm, hidden

NO_PROFILE = f"no profile, so they exchange as {MIDDLE_MODEL} does"
"""What the account says of jobs for which a profile is assumed."""
MOST_RANKS = 2
"""Most steps by which the tiers of jobs multiply their weights."""
Fields = dict[str, Any]
"""A job of the model as plain data."""


class Reading(NamedTuple):
    """A queue as an instance.

    Attributes
    ----------
    instance
        The instance; its jobs have Slurm's ids, running ones first, then as Slurm ranks them.
    queue
        What it was read from.
    mine
        Ids of the jobs that rarmodel may touch.
    others
        Ids of waiting jobs that are planned around.
    notes
        Jobs by what was assumed of them, or by why they were left out.
    given
        Running jobs that give way to urgent ones.
    """

    instance: Instance
    queue: Queue
    mine: tuple[str, ...]
    others: tuple[str, ...]
    notes: Mapping[str, Sequence[str]]
    given: Mapping[str, Given] = MappingProxyType({})

    @property
    def assumed(self) -> Sequence[str]:
        """The jobs without a profile that are taken to exchange as the middle one."""
        return self.notes.get(NO_PROFILE, ())

    def lines(self) -> list[str]:
        """The account in lines."""
        jobs = self.instance.jobs
        running = sum(job.running is not None for job in jobs)
        first = (
            f"{self.queue.name}: {counted(len(jobs), 'job')}, {running} running and "
            f"{len(jobs) - running} waiting; {len(self.mine)} held and marked; "
            f"{counted(len(self.instance.cluster.servers), 'server')}, "
            f"{counted(self.instance.cluster.total_gpus, 'GPU')}"
        )
        told = [_told(note, ids) for note, ids in self.notes.items() if ids]
        if unseen := sum(hidden(self.queue).values()):
            known = "held by jobs that Slurm does not show you, that cannot be read, or in shares"
            told.append(
                f"{counted(unseen, 'GPU')}: {known}; taken to be away for --default-seconds"
            )
        if outside := self.queue.outside:
            told.append(f"{counted(len(outside), 'node')}: {BELOW_NO_SWITCH} ({listed(outside)})")
        if sliced := self.queue.sliced:
            told.append(
                f"{counted(len(sliced), 'node')}: slices alone, left out ({listed(sliced)})"
            )
        if trees := self.queue.trees:
            roots = listed([tree.root for tree in trees])
            told.append(f"{len(trees)} trees of switches that no switch joins ({roots})")
        if licences := ", ".join(self._licences()):
            told.append(f"licences that the jobs can use: {licences}")
        if self.queue.preempts:
            told.append(f"{PREEMPTION} ({self.queue.preempts})")
        return [first, *told]

    def _licences(self) -> Iterator[str]:
        """How many there are of each licence that is a resource of the instance."""
        known = self.queue.licences or {}
        for one in self.instance.resources:
            if one.name in known:
                least, most = (f(window.capacity for window in one.windows) for f in (min, max))
                number = f"{most:g}" if least == most else f"{least:g} to {most:g}"
                yield f"{one.name} {number} of {known[one.name].total}"

    def summary(self) -> dict[str, Any]:
        """The account as plain data."""
        return {
            "cluster": self.queue.name,
            "now": self.queue.now.isoformat(),
            "jobs": [job.name for job in self.instance.jobs],
            "mine": [*self.mine],
            "others": [*self.others],
            "notes": {note: [*ids] for note, ids in self.notes.items() if ids},
            "below_no_switch": [*self.queue.outside],
            "trees": {tree.root: [*tree.nodes] for tree in self.queue.trees},
            "preempts": self.queue.preempts,
        } | (
            {}
            if self.queue.licences is None
            else {"licences": {name: one._asdict() for name, one in self.queue.licences.items()}}
        )


def _users(fields: Iterable[Fields]) -> list[str]:
    """The users whose jobs they are: tenants without caps."""
    return sorted({one["tenant"] for one in fields if one["tenant"] is not None})


def _told(note: str, ids: Sequence[str]) -> str:
    few = ", ".join(ids[:FEW]) + (", …" if len(ids) > FEW else "")
    return f"{counted(len(ids), 'job')}: {note} ({few})"


def read(outputs: Mapping[str, str], choices: Choices | None = None) -> Reading:
    """Make an instance from Slurm's outputs, by name as in `outputs.COMMANDS`.

    A job's iterations are its greatest speed times its duration, so that it takes that duration
    alone in its best placement. A job without a profile exchanges as `ASSUMED`.

    Raises
    ------
    InputError
        If an output is not what Slurm prints, or no job can be used.
    UsageError
        If a choice is invalid.
    """
    choices = choices or Choices()
    return _Reader(queue_of(outputs), history_of(outputs.get("sacct", "")), choices).reading()


class _Reader:
    """A reading under way."""

    def __init__(self, queue: Queue, history: History, choices: Choices) -> None:
        self.queue = of_partition(queue, choices.partition)
        self.history, self.choices = history, choices
        self.origin = choices.origin or queue.now
        self._slot = timedelta(seconds=choices.slot_seconds)
        self.notes: dict[str, list[str]] = defaultdict(list)
        self.estimates: dict[str, Estimate] = {}
        self.profiles: dict[str, Found] = {}
        pending = (job for job in queue.jobs.values() if job.state == "PENDING")
        self.priorities = {job.priority for job in pending if not job.is_held}
        nodes = {name: node.gpus for name, node in self.queue.nodes.items()}
        self.speeds = speeds_of(self.queue, choices.gpu_speeds)
        self.parts = parts_of(self.queue, self.speeds)
        self.dealing = Dealing(self.parts.parts, nodes)
        self.chosen = set[tuple[str, str]]()
        self.without_exchange = set[str]()
        self.given: Mapping[str, Given] = {}
        self.importance: Mapping[tuple[int, int], int] = {}
        self.limits = GpuLimits(queue)
        self.outranked = set[str]()
        self.everywhere = queue.jobs  # Jobs of other partitions hold licences, too.
        self.licences = LicencesLeft(queue.licences)
        contention = choices.contention
        self.contention = DEFAULT_CONTENTION if contention is None else contention.given()

    def reading(self) -> Reading:
        """The instance and its account."""
        self._let_give_way()
        jobs = self.queue.jobs.values()
        running = [job for job in jobs if job.state in HOLDING and job.held]
        idle = [job for job in jobs if job.state in HOLDING and not job.held]
        of_parts = [job.id for job in idle if holds_parts(job)]
        waiting = self._ranked()
        left = [job.id for job in jobs if job.state not in {*HOLDING, "PENDING"}]
        unreadable = sorted(self.queue.unreadable)
        self.notes |= {
            "cannot be read: Slurm's output does not say what they are": unreadable,
            "running on parts of GPUs (slices, shards), left out": of_parts,
            "running without GPUs, left out": [job.id for job in idle if job.id not in of_parts],
            "neither waiting nor running, left out": left,
        }
        mine = self._mine(waiting)
        self.outranked = outranked(self.queue, mine)
        for name in sorted(self.choices.named - {job.id for job in mine}):
            job = self.queue.jobs.get(name)
            why = why_not(job, self.queue, self.choices) if job else "not in the queue"
            self.notes[f"named, but {why}"].append(name)
        planned, others = waiting, list[SlurmJob]()
        if self.choices.whose == "mine" or (self.choices.whose is None and mine):
            planned = [job for job in waiting if job in mine or job.id in self.given]
            others = [job for job in waiting if not job.is_held and job.id not in self.given]
            for job in waiting:
                if job.is_held and (why := why_not(job, self.queue, self.choices)):
                    self.notes[f"left out: {why}"].append(job.id)
        self.licences.take_held(
            self.everywhere.values(), {job.id for job in running}, self._held_until
        )
        for job, gpus in held_outside(self.everywhere.values(), {job.id for job in running}):
            self.limits.take(self.limits.of(job), gpus, 0, self._held_until(job))
        fields = [self._running(job) for job in running]
        for given, job in zip(fields, running, strict=True):
            left = given["iterations"] - given["running"]["iterations_done"]
            self.dealing.load(job.held, given["gpus"] * left * self.choices.slot_seconds)
        cluster = self._with_reservations(self._cluster())
        if self.choices.around:
            urgent = {one.to for one in self.given.values()}
            first = [job for job in planned if job.id in urgent]
            cluster = self._around(cluster, running, fields, [*first, *others])
        known = by_number([*running, *planned])
        fields += [one for job in planned if (one := self._waiting(job, known))]
        instance = self._instance(fields, cluster)
        used = {job.name for job in instance.jobs}
        return Reading(
            instance=instance,
            queue=self.queue,
            mine=tuple(job.id for job in mine if job.id in used),
            others=tuple(job.id for job in others),
            notes={note: [*dict.fromkeys(ids)] for note, ids in self.notes.items()},
            given=self.given,
        )

    def _ranked(self) -> list[SlurmJob]:
        """The waiting jobs in Slurm's order."""
        return sorted(
            (job for job in self.queue.jobs.values() if job.state == "PENDING"),
            key=lambda job: (
                *(-one for one in rank(self.queue, job)),
                -job.priority,
                job.record["SubmitTime"],
                _number(job.id),
            ),
        )

    def _mine(self, waiting: Iterable[SlurmJob]) -> list[SlurmJob]:
        """The waiting jobs that rarmodel may touch."""
        return [
            job
            for job in waiting
            if job.id not in self.given and not why_not(job, self.queue, self.choices)
        ]

    def _let_give_way(self) -> None:
        """Let running jobs give way to the urgent ones that are planned, as Slurm will."""
        waiting = self._ranked()
        mine = self._mine(waiting)
        if self.choices.whose == "mine" or (self.choices.whose is None and mine):
            waiting = mine
        self.given = giving_way(self.queue, waiting)
        for name, one in self.given.items():
            note = f"give way: Slurm {verb_of(one.mode)} them to start urgent jobs"
            self.notes[note].append(name)
        self.queue = without_given(self.queue, self.given)
        gone = {*self.given} - {*self.queue.jobs}
        changed = {name: self.queue.jobs[name] for name in self.given if name not in gone}
        kept = {name: job for name, job in self.everywhere.items() if name not in gone}
        self.everywhere = {**kept, **changed}
        ranks = sorted({rank(self.queue, job) for job in self.queue.jobs.values()})
        self.importance = {one: min(i, MOST_RANKS) for i, one in enumerate(ranks)}

    def _around(
        self,
        cluster: Cluster,
        running: list[SlurmJob],
        fields: list[Fields],
        others: list[SlurmJob],
    ) -> Cluster:
        """The cluster, with the GPUs that jobs will hold which only Slurm places.

        Before these go the urgent jobs to which others give way; they are planned, and so only
        keep the others from the room that they get.
        """
        urgent = {one.to for one in self.given.values()}
        if all(job.id in urgent for job in others):
            return cluster
        known = by_number([*running, *others])
        waiting = [one for job in others if (one := self._waiting(job, known))]
        for placed in waiting:
            placed.pop("deadline", None)  # Slurm's order does not know it.
        if not waiting:
            return cluster
        first = self._instance(fields + waiting, cluster)
        names = {one["name"] for one in waiting} & {job.name for job in first.jobs} - urgent
        try:
            expected = [one for one in expected_by_slurm(first) if one.job not in urgent]
            cluster = self._with_reservations(self._cluster(), expected)
            asked = {one["name"]: one for one in waiting}
            for other in expected:
                wanted, slots = asked[other.job], (other.start, other.end)
                self.licences.take(wanted.get("resources", {}), *slots)
                limits = wanted.get("resources_per_gpu", {})
                self.limits.take(limits, sum(other.gpus.values()), *slots)
            note = "not held: planned around, where Slurm is expected to start them"
        except NoScheduleError:
            note = "not held, and not planned around: they can never all run"
        self.notes[note] = [job.id for job in others if job.id in names]
        return cluster

    def _with_reservations(self, bare: Cluster, expected: Sequence[Expected] = ()) -> Cluster:
        found = away(self.queue, self.choices, self.origin, expected)
        if not found:
            return bare
        return Cluster.model_validate(
            {**bare.model_dump(exclude_unset=True), "reservations": found}
        )

    def _cluster(self) -> Cluster:
        nodes = self.queue.nodes
        return cluster_of(
            {name: node.gpus for name, node in nodes.items()},
            self.queue.parents,
            self.choices.rates,
            self.queue.name,
            {name: node.gpu_type for name, node in nodes.items()},
        )

    # Durations -----------------------------------------------------------------------------------

    def _estimate(self, job: SlurmJob) -> Estimate:
        if job.id not in self.estimates:
            found = self.profiles[job.id] = profile_for(job, self.choices.rules)
            lasts = bool(self.outranked & {*job.partitions})
            default = self.choices.default_seconds
            self.estimates[job.id] = estimate_of(job, found, self.history, default, lasts=lasts)
        return self.estimates[job.id]

    def _noted_estimate(self, job: SlurmJob) -> Estimate:
        """The same, told in the account."""
        estimate, found = self._estimate(job), self.profiles[job.id]
        if found.fault:
            self.notes[f"comment not used: {found.fault}"].append(job.id)
        by_iterations = found.profile.iterations is not None
        origin = f"iterations of {found.origin}" if by_iterations else estimate.origin
        self.notes[f"duration from {origin}"].append(job.id)
        return estimate

    def _held_until(self, job: SlurmJob | None) -> int:
        """The slot by which a job outside of the instance ends; None is one that nobody sees."""
        now = self.queue.now
        end = None if job is None else job.moment("EndTime")
        if end is None:
            end = now + timedelta(seconds=self.choices.default_seconds)
        return max(self._at(end), self._at(now) + 1, 1)

    def _slots(self, seconds: float) -> int:
        return math.ceil(round(seconds / self.choices.slot_seconds, 6))

    def _at(self, moment: datetime) -> int:
        """The first slot that begins no earlier."""
        return self._slots((moment - self.origin).total_seconds())

    # Jobs ----------------------------------------------------------------------------------------

    def _content(
        self, job: SlurmJob, size: int, gpu_type: str, *, moldable: bool, is_local: bool
    ) -> Fields:
        """Fields of a job's work, with iterations still to be set.

        Parameters
        ----------
        job, size, gpu_type
            The job, its least ring, and its fastest type of GPU.
        moldable
            Whether it may have several ring sizes.
        is_local
            Whether it stays on one node and one type of GPU: then no exchange matters.
        """
        slots = self._slots(self._noted_estimate(job).seconds)
        profile = self.profiles[job.id].profile
        if profile.exchanges:
            fields = profile.fields(size, gpu_type)
        elif is_local:
            fields = {"batch_size": 1, **self._slots_of_work()}
            self.without_exchange.add(job.id)
        else:
            fields = {**ASSUMED}
            self.notes[NO_PROFILE].append(job.id)
        if moldable:
            fields["global_batch_size"] = fields.pop("batch_size") * size
        if licences := self.licences.of(job):
            fields["resources"] = licences
            self.notes["their licences are resources of the instance"].append(job.id)
        if limits := self.limits.of(job):
            fields["resources_per_gpu"] = dict.fromkeys(limits, 1)
            self.notes["limits of QOS and associations are resources"].append(job.id)
        for name in self.licences.unknown_to(job):
            note = f"licence {name!r} is not one that Slurm lists, so it is not planned"
            self.notes[note].append(job.id)
        return {"name": job.id, **fields, "iterations": slots, "tenant": job.user or None}

    def _slots_of_work(self) -> Fields:
        """An iteration that exchanges nothing, and takes a slot on any number of servers."""
        overhead = self.contention["overhead_ms_per_server"]
        return slots_of_work(self.choices.slot_seconds, overhead, len(self.queue.nodes))

    def _running(self, job: SlurmJob) -> Fields:
        size = sum(map(len, job.held.values()))
        kind = self.queue.nodes[next(iter(job.held))].gpu_type
        fields = self._content(job, size, kind, moldable=False, is_local=len(job.held) == 1)
        estimate, begun = self.estimates[job.id].seconds, job.moment("StartTime") or self.origin
        passed = (self.queue.now - self.origin) / self._slot
        left = self._slots(estimate - (self.origin - begun).total_seconds())
        if job.state == "COMPLETING":
            left = math.floor(passed) + 1
        elif (self.queue.now - begun).total_seconds() >= estimate:
            left = math.ceil(passed) + 1
            self.notes["past their estimate: one slot more"].append(job.id)
        left = max(left, 1)
        held = {name: list(indices) for name, indices in job.held.items()}
        running = {"gpus": held, "iterations_done": max(0, fields["iterations"] - left)}
        fields |= {"gpus": size, "iterations": max(left, fields["iterations"]), "running": running}
        return fields | ({"release": r} if (r := self._release(job)) else {})

    def _waiting(self, job: SlurmJob, known: Mapping[str, Sequence[str]]) -> Fields | None:
        try:
            request = self._in_a_part(job, request_of(job, self.queue))
            after = [*predecessors(job, known), *throttled(job, known)]
            latest = self._latest(job)
            self._require_licences(job, request.sizes[0])
        except UnusableError as error:
            self.notes[f"left out: {error}"].append(job.id)
            return None
        kinds = {self.queue.nodes[name].gpu_type for name in request.nodes}
        kind = max(sorted(kinds), key=lambda one: self.speeds.get(one, 0))
        size = request.sizes[0]
        has_times = bool(self.speeds) and len(kinds) > 1
        is_local = not has_times and 1 in {request.most_nodes, max(request.sizes)}
        moldable = len(request.sizes) > 1
        fields = self._content(job, size, kind, moldable=moldable, is_local=is_local)
        if has_times:
            fields |= self._times(fields, kinds)
        fields |= shape_of(request, self.queue)
        if release := self._release(job):
            fields["release"] = release
        if latest is not None:  # A run takes its iterations at least, so it starts by then.
            fields["deadline"] = latest + fields["iterations"]
        if (given := self.given.get(job.id)) is not None and "REQUEUE" in given.mode:
            after = [*after, given.to]
        if after:
            fields["after"] = after
        if (weight := self._weight(job)) > 1:
            fields["weight"] = weight
        if deadline := job.moment("Deadline"):
            fields["due"] = math.floor((deadline - self.origin) / self._slot)
        return fields

    def _times(self, fields: Fields, kinds: Iterable[str]) -> Fields:
        """Compute times by type of GPU in place of those on the fastest one."""
        plain = {key: fields.pop(key) for key in ("forward_ms_per_sample", "backward_ms")}
        most = max(self.speeds[kind] for kind in kinds)
        return {
            "times": {
                kind: {key: most / self.speeds[kind] * ms for key, ms in plain.items()}
                for kind in sorted(kinds)
            }
        }

    def _in_a_part(self, job: SlurmJob, request: Request) -> Request:
        """A request on the nodes of one part of the cluster, if it may need several nodes."""
        parts, tree_of, type_of = self.parts
        if not parts or request.most_nodes == 1 or max(request.sizes) == 1:
            return request
        inside = {part.root: within(request, part, self.queue) for part in parts}
        room = [part for part in parts if inside[part.root] is not None]
        if not room:
            raise UnusableError(
                f"no tree of switches has room for it, and no switch joins the {len(parts)} trees"
                if not any(type_of.values())
                else "no type of GPU has room for it: --gpu-speed lets its ring have several"
            )
        planned = self.choices.placed.get(job.id, frozenset())
        if kept := [part for part in room if planned and planned <= {*part.nodes}]:
            room = kept
        seconds = self._estimate(job).seconds
        part = self.dealing.deal(job.id, room, request.sizes[0] * seconds)
        if tree := tree_of[part.root]:
            self.notes[f"on the nodes below {tree!r}: no switch joins the trees"].append(job.id)
        if len({tree_of[one.root] for one in room}) > 1:
            self.chosen.add((job.id, TREES))
        if len({type_of[one.root] for one in room}) > 1:
            self.chosen.add((job.id, TYPES))
            told = f"on {type_of[part.root]} alone: nothing is known of how fast types of GPU are"
            self.notes[f"{told} (--gpu-speed)"].append(job.id)
        return inside[part.root] or request

    def _latest(self, job: SlurmJob) -> int | None:
        """The last slot in which a job may start, for its deadline; None without one."""
        latest = latest_start(job, self._estimate(job).seconds)
        if latest is None:
            return None
        if value(job.record, "Licenses") and not self.licences.are_all_known(job):
            raise UnusableError("asks for licences, for which it may wait past its deadline")
        slot = math.floor((latest - self.origin) / self._slot)
        if slot < max(0, self._release(job)):
            raise UnusableError(
                "its time limit would end past its deadline (--deadline), or in the minute before, "
                "and Slurm ends such a job unrun; give it a shorter limit or a later deadline"
            )
        return slot

    def _require_licences(self, job: SlurmJob, gpus: int) -> None:
        if lacking := self.licences.lacking(job) or self.limits.lacking(job, gpus):
            raise UnusableError(lacking)

    def _release(self, job: SlurmJob) -> int:
        """When it was submitted; or when it may start, if its user or Slurm says that it waits."""
        eligible = job.moment("EligibleTime")
        if job.state == "PENDING" and eligible is not None and eligible > self.queue.now:
            return self._at(eligible)
        submitted = job.moment("SubmitTime")
        return 0 if submitted is None else self._at(submitted)

    def _weight(self, job: SlurmJob) -> int:
        """Held jobs have weight 1; priorities of the others are scaled to 1 … 100.

        Jobs of a higher tier weigh a hundred times as much, as Slurm goes by tiers first.
        """
        tier: int = 100 ** self.importance.get(rank(self.queue, job), 0)
        if job.is_held or len(self.priorities) < 2:
            return tier
        low, high = min(self.priorities), max(self.priorities)
        return tier * (1 + round(99 * (min(high, max(low, job.priority)) - low) / (high - low)))

    # Instances -----------------------------------------------------------------------------------

    def _instance(self, fields: list[Fields], cluster: Cluster) -> Instance:
        """The instance of these jobs, without those that it cannot hold."""
        while True:
            if not fields:
                raise InputError([Problem("", "no job with GPUs is left")], self.queue.name)
            try:
                draft = Instance.model_validate(
                    {
                        "schema_version": 1,
                        "name": self.queue.name,
                        "description": self._description({one["name"] for one in fields}),
                        "time": {"slot_seconds": self.choices.slot_seconds, "origin": self.origin},
                        "cluster": cluster,
                        "contention": self.contention,
                        "objective": self.choices.objective,
                        **self._resources_for(fields),
                        "tenants": [{"name": user} for user in _users(fields)],
                        "jobs": fields,
                    }
                )
                break
            except ValidationError as error:
                fields = self._without(fields, problems_of(error))
        return self._with_iterations(draft)

    def _resources_for(self, fields: list[Fields]) -> Fields:
        """Licences and limits on GPUs, if jobs have some."""
        found = self.licences.resources_for(fields) + self.limits.resources_for(fields)
        return {"resources": found} if found else {}

    def _description(self, jobs: set[str]) -> str:
        preempts = f". {PREEMPTION} ({self.queue.preempts})" if self.queue.preempts else ""
        chosen = {told for name, told in self.chosen if name in jobs}
        told = "".join(f". {one}" for one in sorted(chosen))
        return f"Slurm's queue at {self.queue.now.isoformat()}{preempts}{told}"

    def _without(self, fields: list[Fields], problems: Iterable[Problem]) -> list[Fields]:
        """The jobs but those with problems, which the account names."""
        reasons: dict[int, str] = {}
        for place, message in problems:
            if not (found := re.match(r"jobs\[(\d+)\]", place)):
                raise InputError([*problems], self.queue.name)
            reasons.setdefault(int(found[1]), message)
        for i, reason in reasons.items():
            self.notes[f"left out: {reason}"].append(fields[i]["name"])
        return [one for i, one in enumerate(fields) if i not in reasons]

    def _with_iterations(self, draft: Instance) -> Instance:
        """Jobs with a profile get the iterations that take their duration at their best speed.

        So far every job has an iteration for each slot of its duration.
        """
        if self.without_exchange >= {job.name for job in draft.jobs}:
            return draft
        jobs = []
        for job, (best, _) in zip(draft.jobs, iteration_ranges(draft), strict=True):
            profile = self.profiles[job.name].profile
            speed = timing.speed(draft.time.slot_seconds, best)
            if job.name in self.without_exchange:
                jobs.append(job)
            elif speed == 0:
                self.notes["an iteration is longer than a slot: they exchange nothing"].append(
                    job.name
                )
                jobs.append(job.model_copy(update=self._slots_of_work()))
            else:
                iterations = speed * job.iterations
                if profile.iterations is not None:
                    limit = self.queue.jobs[job.name].seconds("TimeLimit")  # Slurm ends it then.
                    most = profile.iterations if limit is None else iterations
                    iterations = min(profile.iterations, most)
                changes: Fields = {"iterations": iterations}
                if job.deadline is not None:
                    shorter = job.iterations - -(-iterations // speed)
                    changes["deadline"] = job.deadline - shorter
                if (running := job.running) is not None:
                    done = min(speed * running.iterations_done, iterations - 1)
                    changes["running"] = running.model_copy(update={"iterations_done": done})
                jobs.append(job.model_copy(update=changes))
        return draft.model_copy(update={"jobs": tuple(jobs)})


def _number(name: str) -> tuple[int, ...]:
    return tuple(map(int, name.split("_")))
