"""Features by name: in which order they are drawn, and how a user asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from rarmodel import registry
from rarmodel.errors import UsageError
from rarmodel.schema.problems import problems_of, show

from .cluster_state import Quotas, Reservations, Resources, RunningJobs
from .feature import Drawn
from .gpu_parts import GpuMemory, SharedGpus
from .network_pressures import NetworkPressures
from .network_terms import Latency, NetworkCards, Overlap
from .places import GpuTypes, RingSizes, ServerLists, ServerRates, Spreads
from .racks import Levels
from .sweeps import Sweeps
from .times import Deadlines, Dependencies, DueSlots, Releases
from .weights_and_prices import Preemption, Prices, Priorities, Weights

# Later ones may rest on earlier ones: deadlines on all that a schedule must keep.
KNOWN: Mapping[str, type[Drawn]] = {
    kind.name: kind
    for kind in (
        *(GpuTypes, ServerRates, Latency, Overlap, NetworkCards),
        *(NetworkPressures, GpuMemory, SharedGpus),
        *(ServerLists, RingSizes, Spreads, Levels, Quotas, Resources),
        *(
            RunningJobs,
            Releases,
            Dependencies,
            Sweeps,
            Reservations,
            DueSlots,
            Deadlines,
            Weights,
            Priorities,
            Prices,
            Preemption,
        ),
    )
}
"""All features that can be drawn by name, in the order in which they are drawn."""

FORM = "NAME[:PARAMETER=VALUE,…]"


def features_of(asked: object) -> tuple[Drawn, ...]:
    """The features that a user asks for, in the order in which they are drawn.

    Parameters
    ----------
    asked
        An object of parameters by name, such as `{"releases": {"within": 0.5}, "weights": {}}`; or
        a text such as `releases:within=0.5`; or a list of such texts and of features. Names may be
        written with hyphens in place of blanks. In a text, `A..B` is a range and `A+B` a list.

    Raises
    ------
    UsageError
        With every unknown name and every parameter that is unknown or out of its range.
    """
    found: dict[str, Drawn] = {}
    problems: list[str] = []
    for spelled, parameters in _given(asked, problems):
        name = next((name for name in KNOWN if _spelling(name) == _spelling(spelled)), None)
        if name is None:
            hint = registry.meant(spelled, KNOWN)
            problems.append(f"no feature {spelled!r}; choose from {', '.join(KNOWN)}{hint}")
        elif name in found:
            problems.append(f"feature {name!r} is asked for twice")
        elif isinstance(parameters, Drawn):
            found[name] = parameters
        else:
            try:
                found[name] = KNOWN[name].model_validate(parameters)
            except ValidationError as error:
                problems += [
                    f"feature {': '.join(filter(None, [name, place]))}: {message}"
                    for place, message in problems_of(error)
                ]
    if problems:
        raise UsageError("; ".join(problems))
    return tuple(found[name] for name in KNOWN if name in found)


def told(feature: Drawn) -> str:
    """A feature as text that `features_of` takes: its name, and the parameters that were given."""
    given = feature.model_dump(exclude_unset=True)
    parameters = ",".join(f"{name}={_text(value)}" for name, value in given.items())
    return ":".join(filter(None, [feature.name.replace(" ", "-"), parameters]))


def _spelling(name: str) -> str:
    return name.strip().lower().replace("-", " ").replace("_", " ")


def _given(asked: object, problems: list[str]) -> Iterator[tuple[str, Any]]:
    """Name and parameters of each feature."""
    if isinstance(asked, Mapping):
        yield from ((str(name), {} if value is None else value) for name, value in asked.items())
        return
    for one in asked if isinstance(asked, list | tuple) else [asked]:
        if isinstance(one, Drawn):
            yield one.name, one
        elif isinstance(one, str):
            yield _parsed(one, problems)
        else:
            problems.append(f"features {show(one)}: an object, or a list of {FORM}, is expected")


def _parsed(text: str, problems: list[str]) -> tuple[str, dict[str, Any]]:
    name, colon, rest = text.partition(":")
    parameters: dict[str, Any] = {}
    for pair in rest.split(",") if colon else ():
        parameter, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or parameter in parameters:
            problems.append(f"feature {text!r}: {FORM} is expected, with each parameter once")
        parameters[parameter] = _value(value)
    return name, parameters


def _value(text: str) -> Any:
    """A number, a range `A..B`, a list `A+B`, or text."""
    low, dots, high = text.partition("..")
    if dots:
        return [_value(low), _value(high)]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.split("+") if "+" in text else text


def _text(value: Any) -> str:
    if isinstance(value, tuple | list):
        numbers = len(value) == 2 and all(isinstance(part, int | float) for part in value)
        return (".." if numbers else "+").join(map(_text, value))
    return str(value)
