"""Cache results that depend on an instance alone, for as long as the instance lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import ref

from rarmodel.schema import Instance

_T = TypeVar("_T")


def once_per_instance(function: Callable[[Instance], _T]) -> Callable[[Instance], _T]:
    """Make a function cache its result for each instance.

    An instance never changes; a changed copy is another instance. The result must not change
    either. It must not refer to the instance, which would keep both for ever. Exceptions are not
    cached.
    """
    known: dict[int, tuple[ref[Instance], _T]] = {}

    @wraps(function)
    def remembered(instance: Instance) -> _T:
        key = id(instance)
        found = known.get(key)
        if found is not None and found[0]() is instance:
            return found[1]

        def forget(gone: ref[Instance]) -> None:
            # The number may be another instance's by now.
            if key in known and known[key][0] is gone:
                del known[key]

        result = function(instance)
        known[key] = ref(instance, forget), result
        return result

    return remembered
