"""The kinds of parts: what a part of each is, and must have, and how one asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "methods",
    "formulations",
    "solvers",
    "objectives",
    "bounds",
    "neighbourhoods",
    "policies",
    "placements",
]


@dataclass(frozen=True)
class About:
    """What there is to say of a kind of parts.

    Attributes
    ----------
    singular
        One part of it.
    sentence
        What such a part does.
    members
        What it must have.
    option
        The option that takes an installed one; None if there is none.
    elsewhere
        Names that parts have in papers and in other systems, with those that they have here; they
        are only suggested.
    """

    singular: str
    sentence: str
    members: tuple[str, ...]
    option: str | None = None
    elsewhere: Mapping[str, str] = field(default_factory=dict)


KINDS: dict[Kind, About] = {
    "methods": About(
        "method",
        "A method makes a schedule, and may prove a bound.",
        ("name", "__call__"),
        option="--method",
        elsewhere={
            "edd": "earliest-due-first",
            "edf": "earliest-due-first",
            "fcfs": "fifo-backfill",
            "fifo": "fifo-backfill",
            "ff": "first-fit",
            "ls": "list-scheduling",
            "rand": "random",
            "sjf": "shortest-first",
            "smith": "weighted-shortest-first",
            "spt": "shortest-first",
            "wspt": "weighted-shortest-first",
        },
    ),
    "formulations": About(
        "formulation",
        "A formulation states an instance as a program for a solver.",
        (
            *("name", "build", "load", "plan", "size", "unfit"),
            *("model_class", "objective", "restricts", "proves"),
        ),
        option="--formulation",
        elsewhere={
            "compact": "time-indexed-compact",
            "paper": "rar-ddls",
            "preemptive": "time-indexed-preemptive",
        },
    ),
    "solvers": About(
        "solver",
        "A solver finds the optimum of a formulation, and proves it.",
        ("name", "model_classes", "version", "solve"),
        option="--solver",
        elsewhere={
            "cp-sat": "cpsat",
            "google-or-tools": "cpsat",
            "grb": "gurobi",
            "gurobipy": "gurobi",
            "highspy": "highs",
            "or-tools": "cpsat",
            "ortools": "cpsat",
            "pyscipopt": "scip",
        },
    ),
    "objectives": About(
        "objective",
        "An objective is what a schedule is to make small.",
        ("name", "unit", "terms", "value"),
        option="--objective",
        elsewhere={
            "average-jct": "total-flow",
            "avg-jct": "total-flow",
            "cmax": "makespan",
            "flow-time": "total-flow",
            "jct": "total-flow",
            "lateness": "max-tardiness",
            "lmax": "max-tardiness",
            "mean-flow": "total-flow",
            "mean-jct": "total-flow",
            "price": "cost",
            "slowdown": "max-stretch",
            "tardiness": "total-tardiness",
            "tardy-jobs": "late-jobs",
            "twct": "total-completion",
        },
    ),
    "bounds": About(
        "bound",
        "A bound proves that no schedule is better than a value.",
        ("name", "prove", "tighten", "rank", "supports"),
    ),
    "neighbourhoods": About(
        "neighbourhood",
        "A neighbourhood makes a schedule better, as part of `search`.",
        ("name", "improve", "supports"),
    ),
    "policies": About(
        "policy",
        "A policy decides, as jobs arrive, who holds GPUs.",
        ("name", "decide", "knows", "interrupts", "elastic", "round_slots"),
        option="--policy",
        elsewhere={
            "2d-las": "las",
            "2dlas": "las",
            "backfill": "fifo-backfill",
            "easy": "fifo-backfill",
            "elasticflow": "elastic-deadline",
            "fcfs": "fifo",
            "ftf": "finish-time-fairness",
            "gavel": "gavel-max-min",
            "least-attained-service": "las",
            "max-min-fairness": "gavel-max-min",
            "mlfq": "las",
            "shortest-first": "sjf",
            "spt": "sjf",
            "srpt": "srtf",
            "themis": "finish-time-fairness",
            "tiresias": "las",
            "tiresias-g": "gittins",
            "tiresias-gittins": "gittins",
            "tiresias-l": "las",
            "tiresias-las": "las",
        },
    ),
    "placements": About(
        "placement",
        "A placement chooses the GPUs for a job to which a policy gives some.",
        ("name", "place"),
        option="--placement",
        elsewhere={
            "ada-srsf": "contention-aware",
            "consolidated": "consolidate",
            "ff": "first-fit",
            "pack": "consolidate",
            "packed": "consolidate",
        },
    ),
}
"""All kinds: parts of one are found in the entry-point group `rarmodel.` and its name."""

LISTED: dict[str, str] = {
    **{kind: about.sentence for kind, about in KINDS.items()},
    "reports": "A report looks at schedules or instances; these come with rarmodel.",
    "models": "A model is what a job trains; its profile comes from measurements of others.",
}
"""What is listed, each with a sentence: the kinds, and commands that say what they handle."""
