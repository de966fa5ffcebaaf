"""Draw schedules of an instance, GPU by GPU, as an SVG picture.

    python docs/gantt.py lab.json first-fit sjf-bco time-indexed > gantt.svg

Each name after the instance is a method or a formulation, and names its schedule, whatever found
it. Needs the extra `plot`.
"""

from __future__ import annotations

import sys

import rarmodel
from rarmodel.registry import names

if __name__ == "__main__":
    problem = rarmodel.load_instance(sys.argv[1])
    kinds = ["formulation" if n in names("formulations") else "method" for n in sys.argv[2:]]
    asked = [{kind: name} for kind, name in zip(kinds, sys.argv[2:], strict=True)]
    found = [rarmodel.solve(problem, **options).schedule for options in asked]
    schedules = [
        schedule.model_copy(update={"method": name})
        for schedule, name in zip(found, sys.argv[2:], strict=True)
        if schedule is not None
    ]
    sys.stdout.buffer.write(rarmodel.plot(problem, schedules, form="svg", parts=["gantt"]))
