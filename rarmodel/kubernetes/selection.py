"""Which nodes a pod may use: taints, labels and affinity, as Kubernetes reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .schema import (
    Labels,
    NodeTerm,
    PodSpec,
    PodTemplate,
    PodTerm,
    Requirement,
    Selector,
    Taint,
    Toleration,
)

HOSTNAME = "kubernetes.io/hostname"
_STATES = "node.kubernetes.io/"
"""Taints that tell the state of a node, which its conditions tell as well."""
_BINDING = {"NoSchedule", "NoExecute"}


class UnreadableError(Exception):
    """A demand that is not read; the text says which."""


def refused(
    taints: Iterable[Taint], tolerations: Iterable[Toleration], resource: str
) -> tuple[bool, bool]:
    """Whether a node's taints keep pods away, and whether a taint for GPUs had to be forgiven.

    Clusters that mark nodes with GPUs by the name of the resource let pods that ask for it tolerate
    that as they are made (`ExtendedResourceToleration`); templates do not show it yet.
    """
    tolerated, forgiven = tuple(tolerations), False
    for taint in taints:
        if taint.effect not in _BINDING or taint.key.startswith(_STATES):
            continue
        if any(_tolerates(one, taint) for one in tolerated):
            continue
        if taint.key != resource:
            return True, False
        forgiven = True
    return False, forgiven


def _tolerates(one: Toleration, taint: Taint) -> bool:
    if one.effect and one.effect != taint.effect:
        return False
    if one.operator == "Exists":
        return not one.key or one.key == taint.key
    return one.key == taint.key and one.value == taint.value


def selects(spec: PodSpec, name: str, labels: Labels) -> bool:
    """Whether a node has the labels and the name that a pod asks for.

    Raises
    ------
    UnreadableError
        If it asks in a way that is not read.
    """
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    required = spec.affinity.node_affinity.required
    if required is None:
        return True
    return any(_meets_term(term, name, labels) for term in required.node_selector_terms)


def _meets_term(term: NodeTerm, name: str, labels: Labels) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    return all(meets(one, labels) for one in term.match_expressions) and all(
        meets(one, {"metadata.name": name}) for one in term.match_fields
    )


def matches(selector: Selector | None, labels: Labels) -> bool:
    """Whether labels are those asked for; no selector asks for nothing that there is."""
    return (
        selector is not None
        and all(labels.get(key) == value for key, value in selector.match_labels.items())
        and all(meets(one, labels) for one in selector.match_expressions)
    )


def meets(one: Requirement, labels: Mapping[str, str]) -> bool:
    """Whether labels meet a demand.

    Raises
    ------
    UnreadableError
        If its operator is none of Kubernetes.
    """
    value = labels.get(one.key)
    if one.operator == "In":
        return value in one.values
    if one.operator == "NotIn":
        return value not in one.values
    if one.operator == "Exists":
        return value is not None
    if one.operator == "DoesNotExist":
        return value is None
    if one.operator in {"Gt", "Lt"}:
        try:
            number, limit = int(value or ""), int(one.values[0])
        except (ValueError, IndexError):
            return False
        return number > limit if one.operator == "Gt" else number < limit
    raise UnreadableError(f"asks for nodes by operator {one.operator!r}")


def one_pod_a_node(template: PodTemplate) -> bool:
    """Whether pods must be on nodes of their own, apart from others like them.

    Raises
    ------
    UnreadableError
        If it asks for other pods near it, or apart from it, in another way.
    """
    affinity, labels = template.spec.affinity, template.metadata.labels
    apart = affinity.pod_anti_affinity.required
    if any(not _of_itself(one, labels) or one.topology_key != HOSTNAME for one in apart):
        raise UnreadableError("asks to be apart from other pods (podAntiAffinity)")
    return bool(apart)


def levels_with_others(template: PodTemplate) -> list[str]:
    """Levels of the network within which pods must be together with others like them.

    Raises
    ------
    UnreadableError
        If it asks to be near other pods.
    """
    near = template.spec.affinity.pod_affinity.required
    if any(not _of_itself(one, template.metadata.labels) for one in near):
        raise UnreadableError("asks to be near other pods (podAffinity)")
    return [one.topology_key for one in near]


def _of_itself(term: PodTerm, labels: Labels) -> bool:
    return matches(term.label_selector, labels)
