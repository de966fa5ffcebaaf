"""The question whether a schedule is as short as a target, for constraint programming.

It is asked with exact speeds on stars and trees. In the program's model a job may hold its GPUs
longer, a ring may count on a link that it does not use, and a ring may be slower than it is. So a
solution's starts and placements make a schedule that is at most as long, since rings only get
faster where others end earlier; and every schedule is a solution.

By duty there are more speeds than numbers of rings, and no answer: the depth-first search has all
of the time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from rarmodel.bounds.configurations import Cut
from rarmodel.bounds.ring_states import Spreading
from rarmodel.model import best_share, plain_pace, timing, topology
from rarmodel.model.sharing_rule import sharing_rule
from rarmodel.schema import Instance
from rarmodel.solver_faults import settings

from .verdict import NOT_KNOWN, Verdict, plan_of

PROGRAM = Path(__file__).with_name("timetable_process.py")
GRACE = 1.0
"""Seconds that the program may take past its time, to begin and to end."""
MOST_SECONDS = 1e6
LEXICOGRAPHIC = 6
"""Jobs that tell equal servers apart."""


class Timetables:
    """Timetables of a plain instance, for targets and classes of placements.

    Parameters
    ----------
    instance
        The problem.
    spreadings
        (jobs) The classes of placements of each job.
    """

    def __init__(self, instance: Instance, spreadings: Sequence[Sequence[Spreading]]) -> None:
        self._instance, self._spreadings = instance, spreadings
        tree = topology(instance.cluster)
        gpus = [server.gpus for server in instance.cluster.servers]
        rings = min(len(instance.jobs), max(tree.most_rings, default=1) or 1)
        self._shares = [
            [best_share(instance, link.gbps, p) for p in range(1, rings + 1)] for link in tree.links
        ]
        below: list[list[int]] = [[] for _ in tree.links]
        for server, path in enumerate(tree.paths):
            for link in path:
                below[link].append(server)
        self._data: dict[str, Any] = {"gpus": gpus, "below": below, "peers": self._peers()}
        self._jobs: list[dict[str, Any]] = [
            {
                "size": job.size,
                "iterations": job.iterations_left,
                "forms": [self._form(j, spreading[0].servers) for spreading in spreadings[j]],
            }
            for j, job in enumerate(instance.jobs)
        ]

    def _peers(self) -> list[tuple[int, int]]:
        """Pairs of equal servers that follow each other."""
        tree = topology(self._instance.cluster)
        last: dict[tuple[int, str, float], int] = {}
        pairs = []
        for s, server in enumerate(self._instance.cluster.servers):
            link = tree.links[tree.paths[s][0]]
            kind = server.gpus, link.parent, link.gbps
            if kind in last:
                pairs.append((last[kind], s))
            last[kind] = s
        return pairs

    def _form(self, j: int, servers: int) -> dict[str, Any]:
        """A job on so many servers: its speeds, and the most rings that leave it each of them."""
        pace = plain_pace(self._instance, j)
        if servers == 1:
            speed = pace.speed(1, self._instance.cluster.intra_server_gbps)
            slots = timing.slots_needed(pace.iterations, speed) if speed else None
            return {"servers": 1, "slots": slots}
        by_link = [
            [min(pace.speed(servers, share), pace.iterations) for share in shares]
            for shares in self._shares
        ]
        speeds = sorted({speed for row in by_link for speed in row if speed > 0}, reverse=True)
        limits = [[sum(other >= speed for other in row) for row in by_link] for speed in speeds]
        return {"servers": servers, "speeds": speeds, "limits": limits}

    def _priced(self, j: int, k: int, cut: Cut | None) -> dict[str, Any]:
        """A form of a job, with a price for each of its speeds.

        A speed has the price of the slowest state that is no slower: it allows the most rings.
        """
        form: dict[str, Any] = self._jobs[j]["forms"][k]
        speeds = [state.speed for state in self._spreadings[j][k]]
        prices = (0,) * len(speeds) if cut is None else cut.prices[j, k]
        if "slots" in form:
            return form | {"prices": prices[:1]}
        states = [sum(speed >= own for speed in speeds) - 1 for own in form["speeds"]]
        return form | {"prices": [prices[state] for state in states]}

    @property
    def able(self) -> bool:
        """Whether there are answers: where rings are alike."""
        return sharing_rule(self._instance.contention).equal_weights

    def ask(
        self,
        target: int,
        within: Sequence[Collection[int]],
        jobs: Sequence[int],
        cut: Cut | None,
        seconds: float,
        threads: int,
    ) -> Verdict:
        """Whether a schedule of some jobs in these classes has at most the target's length.

        Parameters
        ----------
        target
            Slots.
        within
            (jobs of the instance) The classes that each job may take, by index.
        jobs
            The jobs to schedule.
        cut
            What prices say about schedules of these classes and this length, if known.
        seconds
            Time for an answer; neither part of the verdict comes without one.
        threads
            Threads of the solver.
        """
        if not self.able:
            return NOT_KNOWN
        asked = [
            self._jobs[j]
            | {
                "forms": [self._priced(j, k, cut) for k in sorted(within[j])],
                "worth": 0 if cut is None else cut.least(j),
            }
            for j in jobs
        ]
        seconds = min(seconds, MOST_SECONDS)
        order = sorted(range(len(asked)), key=lambda i: -asked[i]["size"] * asked[i]["iterations"])
        request = self._data | {
            "horizon": target,
            "jobs": asked,
            "apart": order[:LEXICOGRAPHIC],
            "dearest": 0 if cut is None else cut.dearest,
            "slack": 0
            if cut is None
            else target * cut.dearest - sum(job["worth"] for job in asked),
            "seconds": seconds,
            "threads": threads,
            "settings": settings("ortools"),
        }
        answer = _answer(request, seconds + GRACE)
        if answer is None or answer["status"] == "UNKNOWN":
            return NOT_KNOWN
        if answer["status"] == "INFEASIBLE":
            return Verdict(impossible=True)
        return Verdict(impossible=False, plan=plan_of(answer["starts"], answer["workers"]))


def _answer(request: dict[str, Any], seconds: float) -> dict[str, Any] | None:
    """Run the program; None if it fails or takes too long."""
    try:
        done = subprocess.run(  # noqa: S603
            [sys.executable, str(PROGRAM)],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=seconds,
            check=True,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except (subprocess.SubprocessError, json.JSONDecodeError):
        return None
    return answer
