"""The program that decides by CP-SAT whether a schedule is as short as a target.

It runs in its own process, because OR-Tools and highspy before 1.16 cannot share one; it imports
nothing from rarmodel. Standard input is a request in JSON, standard output the answer; see
`timetable`.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter
from typing import Any

BEGUN = perf_counter()  # Loading OR-Tools counts as time.

from ortools.sat.python import cp_model  # noqa: E402

MOST_IN_ROW = 2**53
"""Greatest sum of the rows that tell equal servers apart."""


class Timetable:
    """The model of a request."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.model = cp_model.CpModel()
        self.horizon: int = request["horizon"]
        self.gpus: list[int] = request["gpus"]
        self.below: list[list[int]] = request["below"]
        self.slots = range(self.horizon)
        self.starts: list[Any] = []
        self.ends: list[Any] = []
        self.workers: list[list[Any]] = []
        self.held: list[list[tuple[Any, Any]]] = [[] for _ in self.gpus]
        self.everywhere: list[tuple[Any, int]] = []
        self.on_link: list[list[list[Any]]] = [[[] for _ in self.slots] for _ in self.below]
        self.at_most: dict[tuple[int, int, int], Any] = {}
        self.worth: list[list[Any]] = [[] for _ in self.slots]
        for job in request["jobs"]:
            self._add_job(job, request["slack"])
        self._limit_gpus()
        self._limit_rings()
        self._tell_apart(request["peers"], request["apart"])
        # No slot is worth more, so none is worth much less: all jobs are worth so much at least.
        for row in self.worth:
            self.model.add_linear_constraint(
                sum(row), request["dearest"] - request["slack"], request["dearest"]
            )
        # A schedule that is read backwards is one, too: each slot has the same jobs.
        first = request["apart"][0]
        self.model.add(self.starts[first] + self.ends[first] <= self.horizon)

    def _add_job(self, job: dict[str, Any], slack: int) -> None:
        """A job takes one of its forms: a number of servers, all at once and from one start."""
        model, horizon, size = self.model, self.horizon, job["size"]
        forms = [model.new_bool_var("") for _ in job["forms"]]
        model.add_exactly_one(forms)
        start, end = model.new_int_var(0, horizon, ""), model.new_int_var(0, horizon, "")
        length = model.new_int_var(1, horizon, "")
        workers = [model.new_int_var(0, min(size, gpus), "") for gpus in self.gpus]
        there = [model.new_bool_var("") for _ in self.gpus]
        for s, (count, used) in enumerate(zip(workers, there, strict=True)):
            model.add(count >= 1).only_enforce_if(used)
            model.add(count == 0).only_enforce_if(~used)
            interval = model.new_optional_interval_var(start, length, end, used, "")
            self.held[s].append((interval, count))
        model.add(sum(workers) == size)
        servers = [form["servers"] for form in job["forms"]]
        model.add(sum(there) == cp_model.LinearExpr.weighted_sum(forms, servers))
        self.everywhere.append((model.new_interval_var(start, length, end, ""), size))
        self.starts.append(start)
        self.ends.append(end)
        self.workers.append(workers)
        packed = [(form, f) for form, f in zip(job["forms"], forms, strict=True) if "slots" in form]
        for form, chosen in packed:
            if form["slots"] is None or form["slots"] > horizon:
                model.add(chosen == 0)
            else:
                model.add(length == form["slots"]).only_enforce_if(chosen)
        spread = [
            (form, f) for form, f in zip(job["forms"], forms, strict=True) if "speeds" in form
        ]
        active = self._active(start, end)
        worth = []
        for form, chosen in packed:
            price = form["prices"][0]
            for t in self.slots:
                here = model.new_bool_var("")
                model.add_bool_or(here, ~chosen, ~active[t])
                model.add_implication(here, chosen)
                model.add_implication(here, active[t])
                self.worth[t].append(price * here)
            worth.append(price * (form["slots"] or 0) * chosen)
        if spread:
            rings = self._rings(size, workers, active, spread)
            for t, row in enumerate(self._progress(job["iterations"], active, rings, spread)):
                self.worth[t] += row
                worth += row
            for form, chosen in spread:
                if form["speeds"]:
                    least = -(-job["iterations"] // form["speeds"][0])
                    model.add(length >= least).only_enforce_if(chosen)
        model.add_linear_constraint(sum(worth), job["worth"], job["worth"] + slack)

    def _active(self, start: Any, end: Any) -> list[Any]:
        """Whether a job runs in each slot."""
        model = self.model
        begun = [model.new_bool_var("") for _ in self.slots]
        over = [model.new_bool_var("") for _ in self.slots]
        model.add(start == sum(1 - one for one in begun))
        model.add(end == sum(1 - one for one in over))
        active = []
        for t in self.slots:
            if t:
                model.add_implication(begun[t - 1], begun[t])
                model.add_implication(over[t - 1], over[t])
            active.append(model.new_bool_var(""))
            model.add(active[t] == begun[t] - over[t])
        return active

    def _rings(
        self, size: int, workers: list[Any], active: list[Any], spread: list[tuple[Any, Any]]
    ) -> list[list[Any]]:
        """Whether a job's ring is on each link in each slot, if it is spread: at least then."""
        model = self.model
        some = model.new_bool_var("")
        model.add(some == sum(chosen for _, chosen in spread))
        rings = []
        for link, servers in enumerate(self.below):
            outside, inside = model.new_bool_var(""), model.new_bool_var("")
            number = sum(workers[s] for s in servers)
            model.add(number == 0).only_enforce_if(outside)
            model.add(number == size).only_enforce_if(inside)
            row = []
            for t in self.slots:
                here = model.new_bool_var("")
                model.add_bool_or(here, outside, inside, ~some, ~active[t])
                self.on_link[link][t].append(here)
                row.append(here)
            rings.append(row)
        return rings

    def _progress(
        self,
        iterations: int,
        active: list[Any],
        rings: list[list[Any]],
        spread: list[tuple[Any, Any]],
    ) -> list[list[Any]]:
        """In each slot a spread ring has at most one speed, which the rings beside it leave it.

        The result is what its speed is worth in each slot.
        """
        model = self.model
        some = sum(chosen for _, chosen in spread)
        by_slot: list[list[Any]] = [[] for _ in self.slots]
        done = []
        worth: list[list[Any]] = [[] for _ in self.slots]
        for form, chosen in spread:
            if not form["speeds"]:
                model.add(chosen == 0)
            levels = zip(form["speeds"], form["limits"], form["prices"], strict=True)
            for speed, limits, price in levels:
                for t in self.slots:
                    at = model.new_bool_var("")
                    model.add_implication(at, chosen)
                    by_slot[t].append(at)
                    done.append(speed * at)
                    worth[t].append(price * at)
                    for link, most in enumerate(limits):
                        literals = [~at, ~rings[link][t]]
                        if most:
                            literals.append(self._at_most(link, t, most))
                        model.add_bool_or(literals)
        for t in self.slots:
            model.add(sum(by_slot[t]) <= active[t])
        model.add(sum(done) >= iterations * some)
        return worth

    def _at_most(self, link: int, t: int, most: int) -> Any:
        """Whether at most so many rings are on a link in a slot."""
        if (link, t, most) not in self.at_most:
            self.at_most[link, t, most] = self.model.new_bool_var("")
        return self.at_most[link, t, most]

    def _limit_rings(self) -> None:
        for (link, t, most), kept in self.at_most.items():
            self.model.add(sum(self.on_link[link][t]) <= most).only_enforce_if(kept)

    def _limit_gpus(self) -> None:
        for gpus, held in zip(self.gpus, self.held, strict=True):
            self.model.add_cumulative([i for i, _ in held], [n for _, n in held], gpus)
        sizes = [size for _, size in self.everywhere]
        self.model.add_cumulative([i for i, _ in self.everywhere], sizes, sum(self.gpus))

    def _tell_apart(self, peers: list[tuple[int, int]], apart: list[int]) -> None:
        """Equal servers come in falling order of what some jobs have there."""
        base = max(self.gpus) + 1
        while apart and base ** len(apart) > MOST_IN_ROW:  # Fewer jobs tell less, but no lies.
            apart = apart[:-1]
        for first, second in peers:
            weights = [base**i for i in range(len(apart))]
            for_first, for_second = (
                cp_model.LinearExpr.weighted_sum([self.workers[j][s] for j in apart], weights)
                for s in (first, second)
            )
            self.model.add(for_first >= for_second)


def main() -> None:
    """Answer the request."""
    request = json.load(sys.stdin)
    timetable = Timetable(request)
    solver = cp_model.CpSolver()
    for option, value in request["settings"].items():
        setattr(solver.parameters, option, value)
    solver.parameters.num_workers = request["threads"]
    left = request["seconds"] - (perf_counter() - BEGUN)
    solver.parameters.max_time_in_seconds = max(0.0, left)
    status = solver.solve(timetable.model)
    answer: dict[str, Any] = {"status": "UNKNOWN"}
    if status == cp_model.INFEASIBLE:
        answer["status"] = "INFEASIBLE"
    elif status in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        answer = {
            "status": "FEASIBLE",
            "starts": [solver.value(start) for start in timetable.starts],
            "workers": [[solver.value(one) for one in row] for row in timetable.workers],
        }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
