"""Watch a queue: plan again as it changes, and hand back what is due.

rarmodel holds each job until its start is near, and then tells Slurm where and when. So a new plan
costs nothing: only jobs that are due were ever handed back.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from rarmodel.errors import InputError, NoScheduleError, UsageError, one_line
from rarmodel.model.objectives import objective
from rarmodel.schema import Schedule

from .applying import LEAD_SECONDS, Applied, StaleError, checked
from .carrying_out import carried_out
from .plan_changes import Command
from .plans import Plan
from .program_outputs import Run, SlurmError, live
from .program_outputs import run as run_on_this_machine
from .queue import Queue
from .queue_account import Reading
from .queue_choices import Choices
from .queue_reading import read
from .returning import Former
from .slurm_jobs import HOLDING, SlurmJob

EVERY, THRESHOLD, MOST = 60.0, 0.05, 50
"""Seconds between two looks, least gain that changes a plan, most jobs handed back at once."""
CHANGES = {"update", "release", "uhold", "hold"}
"""Commands of `scontrol` that change a job."""


class _Due(NamedTuple):
    """When a job that was handed back shall start, and its way back."""

    start: datetime
    former: Former


@dataclass
class Watch:
    """A queue under watch.

    Attributes
    ----------
    plan
        Plans a reading.
    choices
        What to read of the queue.
    every
        Seconds from one look to the next.
    threshold
        A plan that still holds is changed only for a gain above this part of its value.
    most
        Most jobs that are handed back at one look.
    run
        Runs Slurm's commands.
    tell
        Is told, a line each, what is done and every command.
    clock
        The time, in UTC.
    commands
        All commands that changed something, in order.
    """

    plan: Callable[[Reading], Plan]
    choices: Choices
    every: float = EVERY
    threshold: float = THRESHOLD
    most: int = MOST
    run: Run = run_on_this_machine
    tell: Callable[[str], None] = print
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    commands: list[Command] = field(default_factory=list)
    _kept: Schedule | None = None
    _due: dict[str, _Due] = field(default_factory=dict)
    _begun: dict[str, _Due] = field(default_factory=dict)
    _released: set[str] = field(default_factory=set)
    _left: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for name, least in (("every", 1e-3), ("threshold", 0), ("most", 1)):
            if not getattr(self, name) >= least:
                raise UsageError(f"{name} {getattr(self, name)}: at least {least:g} is expected")

    def watch(self, looks: int | None = None) -> None:
        """Look again and again, until so many looks are done or the user interrupts.

        An interruption leaves every job either held or handed back.
        """
        try:
            while looks is None or looks > 0:
                begun = time.monotonic()
                try:
                    self.look()
                except (SlurmError, InputError, NoScheduleError) as error:
                    self._say(str(error).splitlines()[0])
                looks = None if looks is None else looks - 1
                if looks is None or looks > 0:
                    time.sleep(max(0.0, begun + self.every - time.monotonic()))
        except KeyboardInterrupt:
            self._say(f"stopped after {len(self.commands)} commands; held jobs stay held")

    def look(self) -> Applied | None:
        """Read, plan where that gains enough, and hand back what is due."""
        outputs = live(self.run)
        choices = replace(self.choices, whose="mine", left=frozenset(self._left))
        try:
            reading = read(outputs, choices)
        except InputError as error:
            self._say(f"nothing to plan: {error}")
            return None
        if self._take_back_what_is_stuck(reading.queue):
            return None  # The next look plans these again.
        if not reading.mine:
            return None
        kept = self._still_good(reading, outputs, choices)
        made = self.plan(reading)
        schedule, applied = made.schedule, None
        if kept is not None and not self._gains(made, kept):
            applied, schedule = kept, self._kept or schedule
        else:
            self._say(f"new plan of {len(reading.mine)} held jobs: {made.lines()['gain']}")
            for told in made.head():
                self._say(told)
            try:
                applied = checked(schedule, live(self.run), choices, partly=True)
            except (StaleError, UsageError) as error:
                first = str(error).splitlines()[0]
                self._say(f"stale at once, planned again at the next look: {first}")
                return None
            for change in applied.stale:
                self._say(f"planned again at the next look: {change}")
            for told in applied.left:
                self._say(f"left held: {told}")
        self._kept = schedule
        return self._hand_back(applied, reading.queue)

    def _still_good(
        self, reading: Reading, outputs: Mapping[str, str], choices: Choices
    ) -> Applied | None:
        """The plan of before for the jobs that are still held, if it has them all and holds."""
        if self._kept is None:
            return None
        left = tuple(one for one in self._kept.assignments if one.job in reading.mine)
        if {one.job for one in left} != set(reading.mine):
            return None
        try:
            return checked(self._kept.model_copy(update={"assignments": left}), outputs, choices)
        except StaleError as error:
            self._say(f"the plan no longer holds: {error.changes[0]}")
            return None

    def _gains(self, made: Plan, kept: Applied) -> bool:
        """Whether a new plan gains enough over the one that is kept."""
        goal, before = made.result.objective[0], _value(made, kept)
        if before is None or goal.value is None:
            return True
        return before - float(goal.value) > self.threshold * before

    def _hand_back(self, applied: Applied, queue: Queue) -> Applied | None:
        """Change the jobs that start before the next look, the first ones first."""
        soon = self.clock() + timedelta(seconds=self.every + LEAD_SECONDS)
        near = [one for one in applied.plan if one.start <= soon]
        if not near:
            return None
        due = replace(applied, plan=tuple(near[: self.most]))
        former = {one.job: one for one in applied.former}
        # Known before the first command, so that an interruption forgets none.
        self._due |= {one.job: _Due(one.start, former[one.job]) for one in due.plan}
        done = carried_out(due, self._noted, self._say)
        for difference in done.differences:
            self._say(difference)
        return done

    def _take_back_what_is_stuck(self, queue: Queue) -> bool:
        """Hold jobs that were handed back and cannot start: their nodes are lost, or GPUs held.

        A job that someone has held since is theirs. Tell whether the next look must plan anew.
        """
        stuck = False
        for name, due in [*self._begun.items()]:
            job = queue.jobs.get(name)
            if job is None:
                del self._begun[name]
            elif job.state == "PENDING":  # Requeued, and still bound to the nodes of its plan.
                del self._begun[name]
                if not job.is_held:
                    stuck = True
                    self._take_back(name, due)
        for name, due in [*self._due.items()]:
            job = queue.jobs.get(name)
            if job is None or job.state != "PENDING" or job.is_held:
                del self._due[name]  # It runs, or has ended, or someone holds it.
                if job is not None and job.state in HOLDING:
                    self._begun[name] = due
                if job is not None and job.is_held and name in self._released:
                    stuck = True
                    self._left.add(name)
                    self._say(f"left alone: job {name} is held by someone since its release")
            elif any(map(queue.why_lost, job.nodes)) or self._is_late(job, due.start, queue):
                stuck = True
                self._take_back(name, due)
        return stuck

    def _take_back(self, name: str, due: _Due) -> None:
        try:
            for command in due.former.commands():
                self._say(shlex.join(command))
                self._noted(command)
        except SlurmError as error:  # It has just started, or ended.
            self._say(str(error))
        self._released.discard(name)
        self._due.pop(name, None)

    def _noted(self, command: Sequence[str]) -> str:
        """Run a command; note it if it changes something."""
        if command[1] in CHANGES:
            self.commands.append(tuple(command))
        answer = self.run(command)
        if command[1] == "release":
            self._released.add(command[2])
        return answer

    def _is_late(self, job: SlurmJob, start: datetime, queue: Queue) -> bool:
        """Whether a job should have started. Slurm may end one with a deadline; held it is safe."""
        patience = 2 * LEAD_SECONDS
        if job.moment("Deadline") is None:
            patience = max(self.every, patience)
        return queue.now > start + timedelta(seconds=patience)

    def _say(self, text: str) -> None:
        self.tell(one_line(f"{self.clock():%Y-%m-%dT%H:%M:%SZ} {text}"))


def _value(made: Plan, kept: Applied) -> float | None:
    """What a kept plan is worth by the objective of a new one, from the new one's slot 0 on."""
    report, instance = kept.report, made.instance
    goal = objective(made.result.objective[0].name)
    if report is None or report.objective is None or not report.feasible:
        return None
    if not goal.of_completions:
        return float(report.objective[goal.name])
    then, now = report.time.origin, instance.time.origin
    ends = [report.completion.get(job.name) for job in instance.jobs]
    if then is None or now is None:
        return None
    slots = (then - now).total_seconds() / instance.time.slot_seconds
    known = [round(end + slots) for end in ends if end is not None]
    return float(goal.value(instance, known)) if len(known) == len(ends) else None
