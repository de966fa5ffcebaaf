"""The policies by name, each a placement rule, an order of jobs, and the numbers to try."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf

from rarmodel.errors import UsageError
from rarmodel.methods import constructive_methods
from rarmodel.schema import Instance

from .bisection import Parameters, Policy
from .ranking import BREAK_TIES, FIRST
from .rules import first_fit_rule, list_scheduling_rule, random_rule, sjf_bco_rule


def smallest_first(instance: Instance) -> list[int]:
    """Jobs in non-decreasing number of GPUs G_j, ties in input order."""
    return sorted(range(len(instance.jobs)), key=lambda i: instance.jobs[i].size)


def seed_only(instance: Instance, seed: int) -> Sequence[Parameters]:
    """One try, with the seed as parameter."""
    return [(float(seed),)]


def distinct_kappas(instance: Instance) -> list[int]:
    """The values of κ that separate job sizes differently: 1, and each size of a job.

    Any other κ in `1 … max G_j` separates the jobs as the largest of these below it does.
    """
    return sorted({1} | {job.size for job in instance.jobs})


def make_sjf_bco(
    name: str = "sjf-bco",
    *,
    servers_factor: float = 1.0,
    occupied_first: bool = False,
    kappas: Callable[[Instance], Sequence[int]] = distinct_kappas,
) -> Policy:
    """SJF-BCO, Algorithm 1, with its parameters.

    Parameters
    ----------
    name
        Name of the policy.
    servers_factor
        λ_j, the same for all jobs: LBSGF looks at servers of `λ·G_j` GPUs in all.
    occupied_first
        Read FA-FFP as the paper's text does (servers that host a job come first) rather than as
        its pseudo-code (least accumulated time comes first).
    kappas
        The values of κ to try for each limit.

    Returns
    -------
    Policy
        Its `vary` takes `kappa`, the one value of κ to try, and `servers_factor`.
    """
    occupied = FIRST if occupied_first else BREAK_TIES
    description = "the paper's SJF-BCO: small jobs first, wide ones on few servers"
    if occupied_first:
        description = "SJF-BCO that packs small jobs onto servers already in use"
    return Policy(
        name,
        sjf_bco_rule,
        smallest_first,
        partial(_each_kappa, kappas, servers_factor, float(occupied)),
        vary=partial(_varied, name, kappas, occupied_first, servers_factor),
        description=description,
    )


def _each_kappa(
    kappas: Callable[[Instance], Sequence[int]],
    servers_factor: float,
    occupied: float,
    instance: Instance,
    seed: int,
) -> Sequence[Parameters]:
    return [(float(kappa), servers_factor, occupied) for kappa in kappas(instance)]


def _varied(
    name: str,
    kappas: Callable[[Instance], Sequence[int]],
    occupied_first: bool,  # noqa: FBT001 - fixed by `partial`
    default_factor: float,
    *,
    kappa: int | None = None,
    servers_factor: float | None = None,
) -> Policy:
    if kappa is not None and not (type(kappa) is int and kappa >= 1):
        raise UsageError(f"kappa {kappa!r}: it must be a whole number of at least 1")
    if servers_factor is None:
        servers_factor = default_factor
    if type(servers_factor) not in {int, float} or not 0 < servers_factor < inf:
        raise UsageError(f"servers_factor {servers_factor!r}: it must be a number above 0")
    return make_sjf_bco(
        name,
        servers_factor=servers_factor,
        occupied_first=occupied_first,
        kappas=kappas if kappa is None else partial(_one_kappa, kappa),
    )


def _one_kappa(kappa: int, instance: Instance) -> list[int]:
    return [kappa]


sjf_bco = make_sjf_bco()
sjf_bco_occupied_first = make_sjf_bco("sjf-bco-occupied-first", occupied_first=True)
first_fit = Policy(
    "first-fit", first_fit_rule, description="jobs in input order, on the first GPUs available"
)
list_scheduling = Policy(
    "list-scheduling",
    list_scheduling_rule,
    description="jobs in input order, on the least busy GPUs available",
)
random_placement = Policy(
    "random",
    random_rule,
    parameters=seed_only,
    bisect=False,
    description="jobs in input order, on GPUs at random",
)


def installed_policies() -> list[Policy]:
    """All installed placement policies by name: built in, or from other packages."""
    return [method for method in constructive_methods() if isinstance(method, Policy)]
