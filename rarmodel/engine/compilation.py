"""Compilation with Numba, kept on disk until any source that it was made from changes.

Numba's own cache notices a change of the file in which a function stands, but not of what that
function calls in other files, whose code is compiled into it: an edit, or an upgrade of rarmodel
below somebody's compiled placement rule, would go unnoticed. So the key of each entry includes a
digest of every source file of rarmodel that compiled code can come from.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

_F = TypeVar("_F", bound=Callable[..., Any])
_COMPILED_FOLDERS = ("bounds", "engine", "heuristics", "model", "search")


@cache
def _sources_digest() -> str:
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for folder in _COMPILED_FOLDERS:
        for file in sorted((package / folder).glob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


class _SourcesCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of compiled functions, with the sources' digest in each key."""

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), _sources_digest())


def compiled(
    function: _F,
    *,
    signature: Any = None,
    inner: bool = False,
    by_pointer: bool = False,
    allocates: bool = False,
    parallel: bool = False,
) -> _F:
    """Compile a function with Numba.

    Parameters
    ----------
    function
        The function; written to disk when compiled, if it stands in a file.
    signature
        Compile now, and for these types only; by default on the first call, for its types.
    inner
        Only compiled code calls the function: this halves the time that compilation takes.
    by_pointer
        The function can be handed to compiled code as an argument.
    allocates
        The function makes arrays. The others do without Numba's reference counts, whose atomic
        operations at each access to an array would take most of the engine's time.
    parallel
        Other threads may run meanwhile: the function releases the interpreter's lock.
    """
    dispatcher = numba.njit(
        no_cfunc_wrapper=not by_pointer,
        no_cpython_wrapper=inner,
        forceinline=inner,
        _nrt=allocates,
        nogil=parallel,
    )(function)
    with contextlib.suppress(RuntimeError):  # typed at a prompt: there is no place for a cache
        dispatcher._cache = _SourcesCache(function)
    if signature is not None:
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    return cast("_F", dispatcher)
