"""Types of options, and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import rich_click as click

from rarmodel.defaults import MAX_MB, SLOT_SECONDS
from rarmodel.limits import MAX_THREADS

from .number_types import Number, Whole

JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON for programs instead of text."
)


class Span(click.ParamType):  # type: ignore[type-arg] # generic in newer versions only
    """A range `A..B`; a single number `A` means `A..A`."""

    name = "span"

    def __init__(self, kind: type[int] | type[float]) -> None:
        self.kind = kind

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Convert text to the least and the greatest value."""
        low, dots, high = value.partition("..")
        try:
            return self.kind(low), self.kind(high if dots else low)
        except ValueError:
            example = "1000..6000" if self.kind is int else "0.5..20"
            self.fail(f"{value!r}; two numbers such as {example} are expected.", param, ctx)


class Counts(click.ParamType):  # type: ignore[type-arg] # generic in newer versions only
    """Whole numbers separated by commas."""

    name = "counts"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Convert text to whole numbers."""
        try:
            return tuple(int(part) for part in value.split(","))
        except ValueError:
            self.fail(f"{value!r}; whole numbers such as 4,8,16 are expected.", param, ctx)


class Weights(click.ParamType):  # type: ignore[type-arg] # generic in newer versions only
    """Sizes with weights: `1:80,2:14`; a size without a weight has weight 1."""

    name = "weights"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Convert text to pairs of size and weight."""
        try:
            pairs = [part.partition(":") for part in value.split(",")]
            return tuple((int(size), int(weight) if colon else 1) for size, colon, weight in pairs)
        except ValueError:
            self.fail(f"{value!r}; sizes and weights such as 1:80,2:14 are expected.", param, ctx)


SEVERAL = "This option may be given several times."
"""The last sentence in the help of options that add up."""

POSITIVE = Number(0, min_open=True)

SEED = click.option(
    "--seed",
    type=Whole(0, 2**31 - 1),
    metavar="N",
    default=0,
    show_default=True,
    help="Seed of all random numbers. The same seed gives the same result, with the same number of "
    "threads and if no time limit cuts the run short.",
)
THREADS = click.option(
    "--threads",
    type=Whole(1),
    metavar="N",
    help="Threads of search and of the solver. By default search uses all processors, and the "
    f"solver chooses its own number. At most {MAX_THREADS}, or one for each processor.",
)
MAX_SIZE = click.option(
    "--max-size",
    "max_size_mb",
    type=POSITIVE,
    metavar="MB",
    default=MAX_MB,
    show_default=True,
    help="Refuse files larger than this many MB, unzipped.",
)


def _one_or_listed(names: str) -> str | list[str]:
    """One name, or the names between commas; a comma at the end makes a list of one."""
    listed = [name.strip() for name in names.removesuffix(",").split(",")]
    return listed if "," in names else listed[0]


def objective_option(text: str) -> Callable[..., Any]:
    """Add the option for objectives, with this help."""
    return click.option(
        "--objective",
        metavar="NAME[,NAME…]",
        callback=lambda _context, _option, names: names and _one_or_listed(names),
        help=f"{text}, or several, the most important first.",
    )


OBJECTIVE = objective_option("Objective to minimise instead of the instance's")


def scheduler_option(runs: str) -> Callable[..., Any]:
    """Add the option for a Dask scheduler, whose workers do this."""
    return click.option(
        "--scheduler",
        metavar="ADDRESS",
        help=f"Address of a Dask scheduler whose workers {runs}, such as tcp://host:8786.",
    )


SLOT_LENGTH = click.option(
    "--slot-seconds",
    type=POSITIVE,
    metavar="SECONDS",
    default=SLOT_SECONDS,
    show_default=True,
    help="Length of a slot in seconds.",
)


def together(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Several options as one decorator."""
    return lambda function: reduce(lambda inner, option: option(inner), reversed(options), function)


def iterations_option(same: str) -> Callable[..., Any]:
    """Add the option that ends search after some iterations, and so always with the same answer."""
    return click.option(
        "--iterations",
        type=Whole(1),
        metavar="N",
        help="Stop search after N iterations. The same seed and threads then give the same "
        f"{same}.",
    )


HORIZON = click.option(
    "--horizon",
    type=Whole(1),
    metavar="SLOTS",
    help="Number of slots of the instance. By default it always suffices.",
)


def horizon_instead(whose: str) -> Callable[..., Any]:
    """Add the option for a horizon instead of the one that these instances have."""
    return click.option(
        "--horizon",
        type=Whole(1),
        metavar="SLOTS",
        help=f"Number of slots in which all jobs must complete, instead of {whose}. A low one "
        "makes the models of formulations small.",
    )


INSTANCE = click.argument("instance")
DATA = click.option(
    "--data",
    metavar="FILE",
    help="JSON or YAML file with the formulation's extra data, such as weights; - for stdin.",
)
START = click.option(
    "--start",
    metavar="FILE",
    help="File with a feasible schedule from which to start; no answer is worse. - for stdin.",
)
STARTS = click.option(
    "--start",
    "starts",
    multiple=True,
    metavar="FILE",
    help="File with a feasible schedule from which to start; no answer is worse. Give one for each "
    f"INSTANCE, in their order; - for stdin. {SEVERAL}",
)


def _named_values(_context: Any, _option: Any, given: tuple[str, ...]) -> dict[str, str]:
    """Names and values of `NAME=VALUE`."""
    parts = [one.partition("=") for one in given]
    for whole, (name, equals, _) in zip(given, parts, strict=True):
        if not (name and equals):
            raise click.BadParameter(
                f"{whole!r}; a name and a value such as presolve=off are meant"
            )
    return {name: value for name, _, value in parts}


SOLVER_OPTIONS = click.option(
    "--solver-option",
    "solver_options",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_named_values,
    help=f"Option of the solver by its own name, such as mip_heuristic_effort=0.2. {SEVERAL}",
)
BOUNDS = click.option(
    "--bound",
    "bounds",
    multiple=True,
    metavar="NAME",
    help="Bound to use beside the installed ones, as package.module:Name; `rarmodel list bounds` "
    f"lists those. {SEVERAL}",
)
NEIGHBOURHOODS = click.option(
    "--neighbourhood",
    "neighbourhoods",
    multiple=True,
    metavar="NAME",
    help="Neighbourhood that search uses beside the installed ones, as package.module:Name; "
    f"`rarmodel list neighbourhoods` lists those. {SEVERAL}",
)


MODEL_ONLY = click.option(
    "--model-only",
    is_flag=True,
    help="Let each formulation's solver do with the formulation's model alone: without search, "
    "proof, bounds of rarmodel's and starting solution. So formulations can be compared.",
)

limits = together(
    click.option(
        "--gap",
        type=Number(0, 1, max_open=True),
        metavar="PART",
        default=0.0,
        show_default=True,
        help="Stop when (value - bound) / value is at most PART; 0.01 is 1 %.",
    ),
    THREADS,
    SEED,
    click.option("--log", is_flag=True, default=False, help="Show the solver's log on stderr."),
)
"""The options that limit a solve."""
