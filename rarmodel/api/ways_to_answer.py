"""The two ways to answer what-if: jobs that arrive are simulated, others are solved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from rarmodel import registry
from rarmodel.changes import Alternative
from rarmodel.defaults import DEFAULT_METHOD, DEFAULT_PLACEMENT, DEFAULT_POLICY
from rarmodel.errors import UsageError
from rarmodel.methods import Method, Result
from rarmodel.model import handled, unhandled
from rarmodel.schema import Instance

from .figures import Figure, of_result, of_simulation
from .simulating import simulate
from .solving import solve

if TYPE_CHECKING:
    from rarmodel import online

Reported = Callable[[float | None, float | None], None]
"""Takes value and bound during a solve."""
Played = Callable[[str, "online.Progress"], None]
"""Takes the title of a simulation, and how far it is."""


class Question(NamedTuple):
    """An alternative on an instance.

    Attributes
    ----------
    alternative, instance
        The alternative, and the instance with its changes.
    seed
        Seed of the run.
    title
        What the run is called while it goes on.
    progress, played
        Told of a solve, and of a simulation, while it goes on.
    """

    alternative: Alternative
    instance: Instance
    seed: int
    title: str
    progress: Reported | None = None
    played: Played | None = None


class Answer(NamedTuple):
    """What came of an alternative on an instance."""

    outcome: online.Simulation | Result
    figures: dict[Figure, float | None]
    notes: tuple[str, ...] = ()


class Way(Protocol):
    """A way to answer."""

    @property
    def told(self) -> str:
        """It in words."""
        ...

    def unfit(self, alternative: Alternative, instance: Instance) -> str | None:
        """Why it does not take an instance, in a line; None if it does."""
        ...

    def answer(self, question: Question) -> Answer:
        """What comes of an alternative."""
        ...


@dataclass(frozen=True)
class Simulated:
    """By simulation under a policy."""

    policy: online.Policy
    placement: online.Placement

    @property
    def told(self) -> str:
        """Policy and placement."""
        return f"policy {self.policy.name}, placement {self.placement.name}"

    def _policy(self, alternative: Alternative) -> online.Policy:
        found: online.Policy = registry.find("policies", alternative.part("policy") or self.policy)
        return found

    def unfit(self, alternative: Alternative, instance: Instance) -> str | None:
        """Why the policy does not take an instance; None if it does."""
        from rarmodel.online.verified_play import unsuitable  # noqa: PLC0415 - loads Numba

        return unsuitable(instance, self._policy(alternative))

    def answer(self, question: Question) -> Answer:
        """The simulation of an alternative."""
        alternative, played = question.alternative, question.played
        found = simulate(
            question.instance,
            self._policy(alternative),
            placement=alternative.part("placement") or self.placement,
            seed=question.seed,
            progress=None if played is None else lambda _, far: played(question.title, far),
        )
        return Answer(found, of_simulation(found), found.notes)


@dataclass(frozen=True)
class Solved:
    """By a method."""

    method: Method
    limits: Mapping[str, Any]

    @property
    def told(self) -> str:
        """The method."""
        return f"method {self.method.name}"

    def _method(self, alternative: Alternative) -> Method:
        found: Method = registry.find("methods", alternative.part("method") or self.method)
        return found

    def unfit(self, alternative: Alternative, instance: Instance) -> str | None:
        """Which features of an instance the method does not handle; None if it handles all."""
        method = self._method(alternative)
        return unhandled(instance, handled(method), method.name) or None

    def answer(self, question: Question) -> Answer:
        """The solve of an alternative."""
        found = solve(
            question.instance,
            method=self._method(question.alternative),
            seed=question.seed,
            progress=question.progress,
            **self.limits,
        )
        return Answer(found, of_result(question.instance, found))


def way_to_answer(
    alternatives: Sequence[Alternative],
    instances: Sequence[Instance],
    *,
    policy: str | online.Policy | None,
    placement: str | online.Placement | None,
    method: str | Method | None,
    limits: Mapping[str, Any],
) -> Way:
    """By simulation if a policy or a placement is named, or if no method is and jobs arrive.

    Raises
    ------
    UsageError
        If both a policy and a method are named, or limits of solves where there is none.
    """

    def some(name: str) -> bool:
        return any(one.part(name) is not None for one in alternatives)

    plays = policy is not None or placement is not None or some("policy") or some("placement")
    solves = method is not None or some("method")
    if plays and solves:
        raise UsageError(
            "policies and placements are simulated, and methods solve; name one or the other"
        )
    arrive = any(job.release > 0 for instance in instances for job in instance.jobs)
    if plays or (arrive and not solves):
        if given := [name.replace("_", " ") for name, one in limits.items() if one is not None]:
            why = "a policy is named" if plays else "jobs arrive after slot 0"
            raise UsageError(
                f"{' and '.join(given)}: for solves, and alternatives are simulated, as {why}; "
                "leave this out, or name a method"
            )
        return Simulated(
            registry.find("policies", policy or DEFAULT_POLICY),
            registry.find("placements", placement or DEFAULT_PLACEMENT),
        )
    return Solved(registry.find("methods", method or DEFAULT_METHOD), limits)
