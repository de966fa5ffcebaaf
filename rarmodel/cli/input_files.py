"""Files that commands read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rarmodel.errors import UsageError, one_line

from .terminal import say

if TYPE_CHECKING:
    from rarmodel.schema import Instance, Schedule


def share_stdin(*sources: str | None) -> None:
    """Refuse several inputs from standard input, which can be read only once."""
    if sources.count("-") > 1:
        raise UsageError("only one input can come from stdin")


def read_schedules(instance: str, sources: Sequence[str]) -> tuple[Instance, list[Schedule]]:
    """Read an instance and schedules; say which schedules were made for another instance."""
    from rarmodel import files  # noqa: PLC0415 - loads slowly
    from rarmodel.api.sources import load_instance  # noqa: PLC0415 - loads slowly

    share_stdin(instance, *sources)
    problem = load_instance(instance)
    schedules = [files.read_schedule(source) for source in sources]
    for source, schedule in zip(sources, schedules, strict=True):
        if schedule.instance != problem.name:
            instances = f"{schedule.instance!r}, taken for {problem.name!r}"
            say(one_line(f"{source}: note: made for instance {instances}"))
        if (time := schedule.time) and time.slot_seconds != problem.time.slot_seconds:
            made, taken = time.slot_seconds, problem.time.slot_seconds
            say(one_line(f"{source}: note: made for slots of {made:g} s, taken for {taken:g} s"))
    return problem, schedules


def own_objectives(formulations: Sequence[str]) -> dict[str, str]:
    """The objectives of their own that formulations have, by the names of the formulations."""
    from rarmodel import registry  # noqa: PLC0415 - loads slowly
    from rarmodel.model.objectives import MAKESPAN  # noqa: PLC0415 - loads slowly

    found = (registry.find("formulations", name) for name in formulations)
    return {one.name: one.objective for one in found if one.objective != MAKESPAN.name}
