"""The process that runs CP-SAT, because OR-Tools and highspy before 1.16 cannot share one.

Both contain a library of the same name, HiGHS, in different versions. Whichever is loaded first is
used by the other, which then fails. So this file runs as a program and imports nothing from
rarmodel. Each line of standard input is a request in JSON, or `stop`, which ends the current
search. The end of input ends the program. Standard output has one JSON object per line: `begins`
when the model has been read, `log` and `progress` as they come, and at last an `answer` or a
`refusal` for each request.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path
from queue import SimpleQueue
from typing import Any

ONE = "ONE_VAR_CONSTANT"
"""Pyomo's MPS writer makes the objective's constant the coefficient of this variable."""

MAX_MULTIPLE = 10**9
"""Greatest factor that makes the numbers of a row whole."""


FAR = 2.0**53
"""Greater bounds count as none: beyond this, floats no longer represent every whole number."""


MAX_DENOMINATOR = 10**6
NOISE = 1e-13
"""Greatest distance of a float from a fraction of such a denominator, relative to its size."""


MOST_IN_ROW = 2**62
"""Greatest sum of a row, whatever its variables are: of |coefficient × variable|, and its side.

CP-SAT computes rows in 64 bits and keeps one bit for differences of two of them; its own check of a
model has the same limit, but gets no number that 64 bits cannot hold. Presolve up to 9.15 adds in
32 bits in one place: `rarmodel.solver_faults` turns that off.
"""

MOST_IN_OBJECTIVE = 2**53
"""The same of the objective: CP-SAT states values and bounds as floats, which must be exact."""


STRATEGIES = ("core", "default_lp", "no_lp", "objective_lb_search", "max_lp", "quick_restart")
"""CP-SAT's strategies for cumulative constraints, those that prove most first; it takes as many as
there are threads."""


class RefusalError(Exception):
    """CP-SAT cannot accept the model; or an option, of which the message is then a mapping."""


def say(**message: Any) -> None:
    """Write one object to standard output."""
    print(json.dumps(message), flush=True)


def exact(value: float) -> Fraction:
    """The fraction for which a float stands: 0.1 + 0.2 is three tenths."""
    fraction = Fraction(repr(value))
    simple = fraction.limit_denominator(MAX_DENOMINATOR)
    off = abs(float(simple - fraction))
    return simple if off <= NOISE * max(1.0, abs(value)) else fraction


def whole(values: list[float], what: str) -> tuple[list[int], int]:
    """Express numbers as whole multiples of one divided by the second result.

    Raises
    ------
    RefusalError
        If there is no such multiple of reasonable size.
    """
    fractions = [exact(value) for value in values]
    multiple = math.lcm(*(fraction.denominator for fraction in fractions))
    if multiple > MAX_MULTIPLE:
        raise RefusalError(f"{what} has numbers that cannot be made whole by scaling")
    return [int(fraction * multiple) for fraction in fractions], multiple


def read(path: str) -> tuple[Any, dict[str, Any], int, float]:
    """A model from an MPS file, variables by name, and the objective's multiple and constant."""
    from ortools.linear_solver.python import model_builder  # noqa: PLC0415
    from ortools.sat.python import cp_model  # noqa: PLC0415

    source = model_builder.Model()
    text = Path(path).read_text(encoding="utf-8")
    if not source.import_from_mps_string(text):
        raise RefusalError("OR-Tools cannot read the model")
    helper = source.helper
    model = cp_model.CpModel()
    columns: list[Any] = []
    reach: list[int] = []
    names: dict[str, Any] = {}
    for i in range(helper.num_variables()):
        name = helper.var_name(i)
        low, high = helper.var_lower_bound(i), helper.var_upper_bound(i)
        if name == ONE:
            columns.append(model.new_constant(1))
            reach.append(1)
            continue
        if not helper.var_is_integral(i):
            raise RefusalError(f"variable {name} is continuous; CP-SAT takes whole numbers only")
        if max(abs(low), abs(high)) > FAR:
            raise RefusalError(f"variable {name} has no bounds; CP-SAT needs both")
        low, high = math.ceil(low - 1e-9), math.floor(high + 1e-9)
        if low > high:
            # An empty domain: the model is infeasible, which CP-SAT calls invalid.
            model.add_bool_or([])
            high = low
        columns.append(model.new_int_var(low, high, name))
        reach.append(max(abs(low), abs(high)))
        names[name] = columns[-1]
    for row in range(helper.num_constraints()):
        add_row(model, columns, reach, helper, row)
    used = [
        i
        for i in range(len(columns))
        if helper.var_objective_coefficient(i) and helper.var_name(i) != ONE
    ]
    constant = helper.objective_offset() + sum(
        helper.var_objective_coefficient(i)
        for i in range(len(columns))
        if helper.var_name(i) == ONE
    )
    numbers = [helper.var_objective_coefficient(i) for i in used]
    far = [reach[i] for i in used]
    try:
        # With its constant, so that a relative gap is one of the objective as it stands.
        weights, multiple = whole([*numbers, constant], "the objective")
        require_small(weights, [*far, 1], MOST_IN_OBJECTIVE, "the objective")
        constant = 0.0
    except RefusalError:
        weights, multiple = whole([*numbers, 0.0], "the objective")
        require_small(weights, [*far, 1], MOST_IN_OBJECTIVE, "the objective")
    terms = cp_model.LinearExpr.weighted_sum([columns[i] for i in used], weights[:-1])
    model.minimize(terms + weights[-1])
    if invalid := model.validate():
        raise RefusalError(" ".join(invalid.split()))
    return model, names, multiple, constant


def require_small(numbers: list[int], reach: list[int], most: int, what: str) -> None:
    """Refuse a sum of whole multiples of variables that can become too large.

    Parameters
    ----------
    numbers
        The multiples.
    reach
        The greatest absolute value of each variable.
    most
        The greatest sum.
    what
        The sum's name, for the refusal.
    """
    if sum(abs(number) * far for number, far in zip(numbers, reach, strict=True)) > most:
        raise RefusalError(f"{what} has numbers too large to add up exactly")


def add_row(model: Any, columns: list[Any], reach: list[int], helper: Any, row: int) -> None:
    """Add one linear constraint."""
    from ortools.sat.python import cp_model  # noqa: PLC0415

    what = f"constraint {helper.constraint_name(row)}"
    numbers, multiple = whole(list(helper.constraint_coefficients(row)), what)
    places = list(helper.constraint_var_indices(row))
    # The left side is whole, so its bounds may be rounded.
    low, high = helper.constraint_lower_bound(row), helper.constraint_upper_bound(row)
    least = math.ceil(exact(low) * multiple) if math.isfinite(low) else None
    greatest = math.floor(exact(high) * multiple) if math.isfinite(high) else None
    for side in (least, greatest):
        if side is not None:
            require_small([*numbers, side], [*(reach[i] for i in places), 1], MOST_IN_ROW, what)
    expression = cp_model.LinearExpr.weighted_sum([columns[i] for i in places], numbers)
    if least is not None:
        model.add(expression >= least)
    if greatest is not None:
        model.add(expression <= greatest)


def set_own(parameters: Any, options: dict[str, Any]) -> None:
    """Set the user's parameters; text has the type that a parameter has at present.

    Raises
    ------
    RefusalError
        If there is no such parameter, or no such value.
    """
    known = [name for name in dir(type(parameters)) if name.islower() and name[0] != "_"]
    for name, value in options.items():
        if name not in known or callable(getattr(parameters, name)):
            names = [one for one in known if not callable(getattr(parameters, one))]
            raise RefusalError({"option": name, "known": names})
        present = getattr(parameters, name)
        try:
            setattr(parameters, name, value_like(present, value))
        except (TypeError, ValueError, AttributeError) as error:
            expected = "another value" if hasattr(present, "__len__") else "a number"
            if isinstance(present, bool):
                expected = "true or false"
            elif names := list(getattr(type(present), "__members__", ())):
                expected = f"one of {', '.join(names)}"
            refusal = {"option": name, "value": value, "expected": expected}
            raise RefusalError(refusal) from error


def value_like(present: Any, value: Any) -> Any:
    """A value of the type of another one, also from text."""
    if isinstance(present, bool):
        words = {"true": True, "on": True, "false": False, "off": False}
        return value if isinstance(value, bool) else words.get(str(value).lower(), value)
    if isinstance(present, int | float) and isinstance(value, str):
        return type(present)(float(value)) if float(value) == int(float(value)) else float(value)
    members = getattr(type(present), "__members__", {})
    return members.get(value, value) if isinstance(value, str) else value


def check(options: dict[str, Any]) -> None:
    """Check options without a model, and answer nothing."""
    from ortools.sat.python import cp_model  # noqa: PLC0415

    say(begins=True)
    set_own(cp_model.CpSolver().parameters, options)
    say(answer=None)


def add_cumulatives(model: Any, names: dict[str, Any], cumulatives: list[dict[str, Any]]) -> None:
    """Add cumulative constraints: tasks by start, size, end and demand, as names or numbers."""
    intervals: dict[tuple[Any, ...], Any] = {}
    for cumulative in cumulatives:
        some, demands = [], []
        for *times, demand in cumulative["tasks"]:
            key = tuple(times)
            if key not in intervals:
                parts = [names.get(part, part) for part in key]
                intervals[key] = model.new_interval_var(*parts, f"interval {len(intervals)}")
            some.append(intervals[key])
            demands.append(names.get(demand, demand))
        model.add_cumulative(some, demands, cumulative["capacity"])


def set_for_intervals(parameters: Any) -> None:
    """Let few strategies have all the time, where there are cumulative constraints.

    With one thread that is the first: it raises a bound by sets of jobs that cannot all be early.
    Strategies that take turns learn each for itself, and none closes in its share of the time what
    one closes in all of it. Neighbourhoods of incumbents have none: schedules are for `search`.
    """
    parameters.subsolvers.extend(STRATEGIES)
    parameters.use_lns = False
    parameters.use_feasibility_jump = False
    parameters.num_violation_ls = 0


def solve(request: dict[str, Any], running: list[Any], stopped: threading.Event) -> None:
    """Solve a request and write the answer; `running` has the solver meanwhile."""
    from ortools.sat.python import cp_model  # noqa: PLC0415

    begun = time.perf_counter()
    model, names, multiple, constant = read(request["model"])
    add_cumulatives(model, names, request["cumulatives"])
    for name, value in request["start"].items():
        if name in names:
            model.add_hint(names[name], round(value))
    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.random_seed = request["seed"]
    parameters.relative_gap_limit = request["gap"]
    for option, value in request["settings"].items():
        setattr(parameters, option, value)
    if request["threads"] is not None:
        parameters.num_workers = request["threads"]
    # Workers take turns in a fixed order: the same seed and threads give the same solution.
    parameters.interleave_search = True
    if request["cumulatives"]:
        set_for_intervals(parameters)
    if request["time_limit"] is not None:
        left = request["time_limit"] - (time.perf_counter() - begun)
        parameters.max_time_in_seconds = max(0.0, left)
    set_own(parameters, request["own"])
    known: dict[str, float | None] = {"incumbent": None, "bound": None}

    class Watch(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        """Reports every incumbent."""

        def on_solution_callback(self) -> None:
            known["incumbent"] = self.objective_value / multiple + constant
            say(progress=known)

    def better_bound(bound: float) -> None:
        known["bound"] = bound / multiple + constant
        if request["progress"]:
            say(progress=known)

    # What CP-SAT states at the end is no bound if it stopped before it had one.
    solver.best_bound_callback = better_bound
    if request["log"]:
        parameters.log_search_progress = True
        parameters.log_to_stdout = False
        solver.log_callback = lambda line: say(log=line)
    say(begins=True)
    running.append(solver)
    if stopped.is_set():
        parameters.max_time_in_seconds = 0.0
    status = solver.solve(model, Watch() if request["progress"] else None)
    running.clear()
    found = status in {cp_model.OPTIMAL, cp_model.FEASIBLE}
    if status == cp_model.OPTIMAL:
        known["bound"] = solver.best_objective_bound / multiple + constant
    say(
        answer={
            "status": solver.status_name(status),
            "values": {name: solver.value(v) for name, v in names.items()} if found else None,
            "value": solver.objective_value / multiple + constant if found else None,
            "branches": solver.num_branches,
            "bound": known["bound"] if found or status == cp_model.UNKNOWN else None,
        }
    )


def listen(
    requests: SimpleQueue[dict[str, Any]], running: list[Any], stopped: threading.Event
) -> None:
    """Pass on requests; stop the current search on `stop`; end when nobody reads any longer."""
    for line in sys.stdin:
        if line.strip() != "stop":
            stopped.clear()
            requests.put(json.loads(line))
        else:
            stopped.set()  # In case the search has not begun yet.
            for solver in list(running):
                solver.stop_search()
    os._exit(0)  # Also while a model is read, or OR-Tools holds on.


def main() -> None:
    """Answer requests until input ends."""
    requests: SimpleQueue[dict[str, Any]] = SimpleQueue()
    running: list[Any] = []
    stopped = threading.Event()
    threading.Thread(target=listen, args=(requests, running, stopped), daemon=True).start()
    while True:
        try:
            request = requests.get()
            if "check" in request:
                check(request["check"])
            else:
                solve(request, running, stopped)
        except RefusalError as refusal:
            say(refusal=refusal.args[0])


if __name__ == "__main__":
    main()
