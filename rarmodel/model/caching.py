"""Cache results that depend on an instance or cluster alone, for as long as that lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import ref

from rarmodel.schema import Cluster, Instance

_K = TypeVar("_K", Instance, Cluster)
_T = TypeVar("_T")


def once_per_instance(function: Callable[[_K], _T]) -> Callable[[_K], _T]:
    """Make a function cache its result for each instance, or for each cluster.

    An instance never changes; a changed copy is another instance. The result must not change
    either. It must not refer to the instance, which would keep both for ever. Exceptions are not
    cached.
    """
    known: dict[int, tuple[ref[_K], _T]] = {}

    @wraps(function)
    def remembered(instance: _K) -> _T:
        key = id(instance)
        found = known.get(key)
        if found is not None and found[0]() is instance:
            return found[1]

        def forget(gone: ref[_K]) -> None:
            # The number may be another instance's by now.
            if key in known and known[key][0] is gone:
                del known[key]

        result = function(instance)
        known[key] = ref(instance, forget), result
        return result

    return remembered
