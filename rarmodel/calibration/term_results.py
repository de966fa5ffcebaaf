"""What a comparison of terms finds: held-out errors, constants, and where an instance has them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from rarmodel.errors import UsageError, listed
from rarmodel.files import parse_instance
from rarmodel.model.timing import MAX_OVERLAP
from rarmodel.schema import Instance, StarNetwork

from . import terms
from .colocation_sections import MeasuredSlowdown, listed_pairs, of_kind, with_pairs

RATES = (terms.WITHIN, terms.BETWEEN)
_OF_CONTENTION = (terms.OVERHEAD, terms.LATENCY, terms.OVERLAP)


@dataclass(frozen=True)
class GroupErrors:
    """Held-out errors of a group of rows.

    Attributes
    ----------
    group
        A cluster and a model, a cluster and a placement, or a job.
    rows
        Rows of the group that were left out once.
    mean, worst
        Mean and greatest absolute relative error.
    """

    group: str
    rows: int
    mean: float
    worst: float


@dataclass(frozen=True)
class TermErrors:
    """A term, and held-out errors with it.

    Attributes
    ----------
    term
        Name of the term; `(8)` for the model without terms.
    mean
        Mean absolute relative error of all rows, each predicted by constants fitted without its
        part.
    worst
        The greatest.
    groups
        The errors by group.
    earns
        Whether the term lowered the mean by more than chance does, and was kept for the next ones.
    """

    term: str
    mean: float
    worst: float
    groups: tuple[GroupErrors, ...]
    earns: bool

    @property
    def mean_of_groups(self) -> float:
        """The mean of the groups' means."""
        return mean_of(self.groups)

    @property
    def worst_group(self) -> GroupErrors:
        """The group with the greatest mean."""
        return worst_of(self.groups)


@dataclass(frozen=True)
class PredictorErrors:
    """Held-out errors of a published predictor, beside those of the terms.

    Attributes
    ----------
    predictor
        Its name.
    mean, worst
        Mean and greatest absolute relative error of the same rows.
    groups
        The errors by group.
    difference
        The mean less that with all terms that earn their place.
    standard_error
        Standard error of the difference, row by row.
    """

    predictor: str
    mean: float
    worst: float
    groups: tuple[GroupErrors, ...]
    difference: float
    standard_error: float

    @property
    def mean_of_groups(self) -> float:
        """The mean of the groups' means."""
        return mean_of(self.groups)

    @property
    def worst_group(self) -> GroupErrors:
        """The group with the greatest mean."""
        return worst_of(self.groups)

    @property
    def verdict(self) -> str:
        """The error, and how far it is from that of the terms."""
        points, noise = 100.0 * abs(self.difference), 100.0 * self.standard_error
        side = "above" if self.difference > 0 else "below"
        return (
            f"{self.predictor}: the mean held-out error is {self.mean:.1%}, {points:.1f} points "
            f"{side}, with a standard error of {noise:.1f}"
        )


def mean_of(groups: tuple[GroupErrors, ...]) -> float:
    """The mean of the groups' means: a group counts the same however many rows it has."""
    return math.fsum(one.mean for one in groups) / len(groups)


def worst_of(groups: tuple[GroupErrors, ...]) -> GroupErrors:
    """The group with the greatest mean."""
    return max(groups, key=lambda one: one.mean)


@dataclass(frozen=True)
class AcrossErrors:
    """Errors on a cluster of which only one model was measured by placement.

    Attributes
    ----------
    cluster
        The cluster.
    measured
        The model that was measured there by placement. Of the others only steps on one GPU were
        fitted there; the sizes of their gradients are from the other clusters.
    rows, mean, worst
        Rows of the other models on several GPUs, and their mean and greatest error. The latency is
        0: one model does not tell it from the rate.
    without_terms
        Their mean error without terms.
    """

    cluster: str
    measured: str
    rows: int
    mean: float
    worst: float
    without_terms: float


@dataclass(frozen=True)
class TermConstant:
    """A fitted constant.

    Attributes
    ----------
    name
        Name of the constant, as in an instance.
    cluster, job
        The cluster and the job that it belongs to; None for one of all.
    value
        Its value.
    standard_error
        Standard error; None for a whole number, and where there are too few rows.
    """

    name: str
    cluster: str | None
    job: str | None
    value: float
    standard_error: float | None


@dataclass(frozen=True)
class HeldOut:
    """A row that was predicted by constants fitted without its part.

    Attributes
    ----------
    line
        Line of the file.
    group
        Its group.
    measured, without_terms, predicted
        Measured value, and its predictions without terms and with those that earn their place.
    """

    line: int
    group: str
    measured: float
    without_terms: float
    predicted: float


@dataclass(frozen=True)
class TermComparison:
    """Terms of the model, one after another, on a table of measurements.

    Attributes
    ----------
    source
        The table.
    layout
        What the table has.
    terms
        The terms, in the order in which they were tried.
    across
        Errors across clusters; empty where a table does not tell them.
    constants
        Constants of the terms that earn their place, fitted to all rows.
    rows
        The rows that were held out.
    tested
        Errors on another table, by group; empty without one.
    notes
        Notes, one line each.
    predictors
        Errors of published predictors on the same rows; empty where none is known.
    slowdowns
        Measured slowdowns of pairs of kinds; empty where a table has none.
    """

    source: str
    layout: str
    terms: tuple[TermErrors, ...]
    across: tuple[AcrossErrors, ...]
    constants: tuple[TermConstant, ...]
    rows: tuple[HeldOut, ...]
    tested: tuple[GroupErrors, ...]
    notes: tuple[str, ...]
    predictors: tuple[PredictorErrors, ...] = ()
    slowdowns: tuple[MeasuredSlowdown, ...] = ()

    @property
    def best(self) -> TermErrors:
        """The errors with all terms that earn their place."""
        return [one for one in self.terms if one.earns][-1]

    @property
    def verdicts(self) -> tuple[str, ...]:
        """A sentence on each term, whether it earns its place, and on each predictor."""
        found = []
        before = self.terms[0]
        for one in self.terms[1:]:
            change = f"the mean held-out error goes from {before.mean:.1%} to {one.mean:.1%}"
            earns = "earns its place" if one.earns else "does not earn its place"
            found.append(f"{one.term}: {earns}, {change}")
            before = one if one.earns else before
        return (*found, *(one.verdict for one in self.predictors))

    def sections(self) -> dict[str, Any]:
        """The constants as sections of an instance, and profiles of jobs.

        With one cluster these are `cluster`, `contention` and `profiles`, else `clusters` has such
        sections by name. Network cards, which belong to servers, are in `servers`. Measured pairs
        on the same GPUs are in `colocation`; their clusters are types of GPU.
        """
        if self.slowdowns:
            return self._sections_of_pairs()
        shared: dict[str, dict[str, Any]] = {}
        for one in self.constants:
            if one.cluster is None and one.job is not None:
                shared.setdefault(one.job, {})[one.name] = one.value
        clusters: dict[str, dict[str, Any]] = {}
        for one in self.constants:
            if one.cluster is None:
                continue
            found = clusters.setdefault(one.cluster, {})
            if one.job is None:
                _put(found, one)
            else:
                profiles = found.setdefault("profiles", {})
                profiles.setdefault(one.job, dict(shared.get(one.job, {})))[one.name] = one.value
        if not clusters:
            return {"profiles": shared} if shared else {}
        return next(iter(clusters.values())) if len(clusters) == 1 else {"clusters": clusters}

    def _sections_of_pairs(self) -> dict[str, Any]:
        """The same of pairs on the same GPUs, by type of GPU if there are several."""
        types: dict[str, dict[str, dict[str, float]]] = {}
        for one in self.slowdowns:
            kinds = types.setdefault(one.gpu_type, {})
            kinds.setdefault(one.kind, {})
            kinds.setdefault(one.beside, {})
        for constant in self.constants:
            kinds = types[constant.cluster or ""]
            of = kinds if constant.job is None else [constant.job]
            for kind in of:
                kinds[kind][constant.name] = constant.value
        found = {
            gpu_type: {
                "colocation": listed_pairs(self.slowdowns, gpu_type),
                "profiles": {kind: of_kind(values) for kind, values in kinds.items()},
            }
            for gpu_type, kinds in types.items()
        }
        return next(iter(found.values())) if len(found) == 1 else {"clusters": found}

    def applied(self, instance: Instance) -> Instance:
        """A copy of an instance with the constants of the table's one cluster.

        Pairs on the same GPUs go to the jobs of their kinds.

        Raises
        ------
        UsageError
            If the table has no cluster, or several, or if no job has a kind of the table.
        """
        found = self.sections()
        if self.slowdowns:
            if "clusters" in found:
                types = listed(list(found["clusters"]))
                raise UsageError(f"{self.source} has {types}; choose one by --gpu-type")
            return with_pairs(instance, found, self.source)
        if "cluster" not in found and "contention" not in found:
            why = "several clusters" if "clusters" in found else "no cluster"
            raise UsageError(f"{self.source} has {why}; an instance takes constants of one")
        data = instance.model_dump(mode="json", exclude_unset=True)
        rates = dict(found.get("cluster", {}))
        if not isinstance(instance.cluster.network, StarNetwork):
            rates.pop("network", None)
        data["cluster"].update(rates)
        for server in data["cluster"]["servers"]:
            server.update(found.get("servers", {}))
        fitted = found.get("contention", {}).items()
        data["contention"].update({name: one for name, one in fitted if name in _OF_CONTENTION})
        return parse_instance(data, self.source)

    def summary(self) -> dict[str, Any]:
        """The whole result as plain data."""
        return {
            "source": self.source,
            "layout": self.layout,
            "terms": [
                {
                    "term": one.term,
                    "mean": one.mean,
                    "mean_of_groups": one.mean_of_groups,
                    "worst": one.worst,
                    "earns": one.earns,
                    "groups": [asdict(group) for group in one.groups],
                }
                for one in self.terms
            ],
            "predictors": [
                {**asdict(one), "mean_of_groups": one.mean_of_groups} for one in self.predictors
            ],
            "verdicts": list(self.verdicts),
            "across": [asdict(one) for one in self.across],
            "constants": [asdict(one) for one in self.constants],
            "slowdowns": [one._asdict() for one in self.slowdowns],
            "tested": [asdict(one) for one in self.tested],
            "rows": [asdict(one) for one in self.rows],
            "notes": list(self.notes),
        }


def _put(found: dict[str, Any], one: TermConstant) -> None:
    """Put a constant of a cluster where an instance has it."""
    if one.name == terms.BETWEEN:
        found.setdefault("cluster", {})["network"] = {"kind": "star", "gbps": one.value}
    elif one.name in RATES:
        found.setdefault("cluster", {})[one.name] = one.value
    elif one.name in _OF_CONTENTION:
        value = min(one.value, MAX_OVERLAP) if one.name == terms.OVERLAP else one.value
        found.setdefault("contention", _paper())[one.name] = value
    elif one.name == terms.CARDS:
        found.setdefault("servers", {})[one.name] = int(one.value)


def _paper() -> dict[str, Any]:
    """The numbers of contention that no such table tells: without any loss."""
    return {"concurrency": 1.0, "degradation": {"kind": "linear", "alpha": 0.0}}
