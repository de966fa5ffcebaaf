"""Compilation with Numba, kept on disk until any source that it was made from changes.

Numba's own cache notices a change of the file in which a function stands, but not of what that
function calls in other files, whose code is compiled into it: an edit, or an upgrade of rarmodel
below somebody's compiled placement rule, would go unnoticed. So the key of each entry includes a
digest of every source file of rarmodel that compiled code can come from.

What is compiled takes half a minute when it happens, and no time later. `told` says so meanwhile.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar, cast

from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.registry import CPUDispatcher

from rarmodel.duration import duration

_F = TypeVar("_F", bound=Callable[..., Any])
_COMPILED_FOLDERS = ("bounds", "engine", "heuristics", "model", "search")
_LOG = logging.getLogger("rarmodel")


@cache
def _sources_digest() -> str:
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for folder in _COMPILED_FOLDERS:
        for file in sorted((package / folder).glob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


class _SourcesCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of compiled functions, with the sources' digest and options in each key."""

    def __init__(self, function: Callable[..., Any], options: dict[str, bool]) -> None:
        super().__init__(function)
        self._options = tuple(sorted(options.items()))

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), _sources_digest(), self._options)


class _Inner(CPUDispatcher):  # type: ignore[misc]
    """A function that is compiled into its callers, and by itself where Python calls it."""

    def __call__(self, *arguments: Any) -> Any:
        """Call it from Python: a placement rule may be a plain function."""
        return _outer(self.py_func)(*arguments)


@cache
def _outer(function: _F) -> _F:
    return compiled(function)


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
        The function is compiled into its callers: this halves the time that compilation takes.
        Only where Python calls it, it is compiled by itself as well.
    by_pointer
        The function is handed to compiled code as an argument; for Python the same holds.
    allocates
        The function makes arrays. The others do without Numba's reference counts, whose atomic
        operations at each access to an array would take most of the engine's time.
    parallel
        Other threads may run meanwhile: the function releases the interpreter's lock.
    """
    by_itself = not (inner or by_pointer)
    options = {
        "nopython": True,
        "no_cfunc_wrapper": not by_pointer,
        "no_cpython_wrapper": not by_itself,
        "forceinline": inner,
        "_nrt": allocates,
        "nogil": parallel,
    }
    dispatcher = (CPUDispatcher if by_itself else _Inner)(function, targetoptions=options)
    with contextlib.suppress(RuntimeError):  # typed at a prompt: there is no place for a cache
        dispatcher._cache = _SourcesCache(function, options)
    if signature is not None:
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    return cast("_F", dispatcher)


class _Watch(event.Listener):  # type: ignore[misc]
    """Says when the first compilation begins, and knows how long it is since then."""

    def __init__(self) -> None:
        self._begun: float | None = None
        self.seconds = 0.0

    def on_start(self, _: event.Event) -> None:
        """Hear that Numba begins to compile a function."""
        if self._begun is None:
            self._begun = perf_counter()
            _LOG.info("rarmodel compiles what it needs, once; later runs load it from disk")

    def on_end(self, _: event.Event) -> None:
        """Hear that Numba has compiled a function."""
        self.seconds = perf_counter() - (self._begun or 0.0)


_watched = False


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Say if anything is compiled in here, and how long that took.

    It is said on the log `rarmodel` at level INFO, once, however these contexts are nested. What is
    loaded from disk is not compiled.
    """
    global _watched  # noqa: PLW0603 - Numba's events are the process's, and so is this
    if _watched:
        yield
        return
    watch, _watched = _Watch(), True
    try:
        with event.install_listener("numba:compile", watch):
            yield
    finally:
        _watched = False
    if watch.seconds:
        _LOG.info("compiled in %s, which no method's seconds include", duration(watch.seconds))
