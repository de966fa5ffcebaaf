"""Compilation with Numba, kept on disk until any source that it was made from changes.

Numba's own cache notices a change of the file in which a function stands, but not of what that
function calls in other files, whose code is compiled into it: an edit, or an upgrade of rarmodel
below somebody's compiled placement rule, would go unnoticed. So the key of each entry includes a
digest of the source files of rarmodel that its code can come from: see `source_files`. For a
function of rarmodel this digest stands in place of the state of its file.

A wheel may bring compiled code: see `rarmodel.wheels`. It is looked at after the cache, and never
written to. If it is for another processor, Python or Numba, it is as if it were not there.

Who runs Python in a checkout imports the package there, and not the one installed. If both would
compile the same code, they share what is on disk: the place is that of the installed package.

What is compiled takes half a minute when it happens, and no time later. `told` says so meanwhile.
Of processes that begin together, one compiles a function, and the others wait to load it.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from time import perf_counter, sleep
from typing import IO, Any, TypeVar, cast

from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.types import Literal
from numba.np import linalg

from rarmodel.duration import duration

from .source_files import PACKAGE, digest_of, digest_of_all

# Numba would load SciPy's linear algebra, for a tenth of a second, just to know that it is there.
_ensure_blas, linalg.ensure_blas = linalg.ensure_blas, lambda: None
import_module("numba.np.arraymath")
linalg.ensure_blas = _ensure_blas

_F = TypeVar("_F", bound=Callable[..., Any])
_LOG = logging.getLogger("rarmodel")
_MOST_WAITING = 60.0
"""Seconds to wait for another process, which may have been stopped while it compiles."""
SHIPPED = "compiled_code"
"""Folder in the package with what a wheel brought, in folders as those of the sources."""
ANY_PROCESSOR = ("generic", "")
"""The name and the features by which Numba compiles for all processors of a kind."""
_UNREADABLE = (AttributeError, EOFError, ImportError, pickle.UnpicklingError)
"""How it fails to load what another version of rarmodel or Numba left."""


@cache
def _installed() -> Path | None:
    """The installed package, if Python imports another one in its place; None if it imports that.

    Python looks at the working folder first, and so does not see the other one.
    """
    for place in sys.path:
        found = Path(place) / PACKAGE.name
        if (found / "engine" / Path(__file__).name).is_file() and not found.samefile(PACKAGE):
            return found
    return None


@cache
def _twin() -> Path | None:
    """The installed package, if it would compile the same code as this one, which hides it."""
    other = _installed()
    return other if other is not None and digest_of_all(other) == digest_of_all() else None


class _Index(IndexDataCacheFile):  # type: ignore[misc]
    """What is compiled of a function of rarmodel, as long as its sources are the same."""

    def __init__(self, folder: str, base: str, file: Path) -> None:
        super().__init__(cache_path=folder, filename_base=base, source_stamp=None)
        self._file = file

    def _load_index(self) -> Any:
        self._source_stamp = digest_of(self._file)  # Only now: many functions are never asked for.
        return super()._load_index()


class _SourcesCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of compiled functions, with the sources' digest and options in each key."""

    def __init__(self, function: Callable[..., Any], options: dict[str, bool]) -> None:
        super().__init__(function)
        self._options = tuple(sorted(options.items()))
        self._has_turn = False
        self._file = file = Path(inspect.getfile(function))
        self._shipped: _Index | None = None
        if PACKAGE not in file.parents:
            return
        part, base = file.relative_to(PACKAGE), self._impl.filename_base
        twin = _twin()
        if twin is not None:
            self._keep_with(str(twin / part))
        self._cache_file = _Index(self._cache_path, base, file)
        shipped = (twin or PACKAGE) / SHIPPED / part.parent
        if shipped.is_dir():
            self._shipped = _Index(str(shipped), base, file)

    def _keep_with(self, file: str) -> None:
        """Keep what is compiled where it is kept for the same function in another file."""
        for kind in self._impl._locator_classes:
            locator = kind.from_function(self._py_func, file)
            if locator is not None:
                self._impl._locator = locator
                self._cache_path = locator.get_cache_path()
                return

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Keep other processes from loading and compiling the same function meanwhile.

        They would compile it too. And two that save different versions of it at once could each
        leave its code under the other's name.
        """
        if self._has_turn:  # It calls itself.
            yield
            return
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):  # Some file systems know no locks.
                name = Path(self._cache_path, f"{self._impl.filename_base}.lock")
                _lock(stack.enter_context(name.open("wb")))
            self._has_turn = True
            try:
                yield
            finally:
                self._has_turn = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load what was compiled earlier, unless another version of rarmodel left it unreadable.

        Numba's index names types by their modules, which an upgrade may have moved.
        """
        try:
            found = super().load_overload(sig, target_context)
        except _UNREADABLE:
            found = None
            with contextlib.suppress(OSError):
                self.flush()
        if found is None and self._shipped is not None:
            with contextlib.suppress(*_UNREADABLE, OSError):
                found = self._load_shipped(self._shipped, sig, target_context)
        return found

    def _load_shipped(self, shipped: _Index, sig: Any, target_context: Any) -> Any:
        """Load what the wheel brought for this processor, or else for any of its kind."""
        codegen = target_context.codegen()
        key = self._index_key(sig, codegen)
        triple, *_ = codegen.magic_tuple()
        for machine in (codegen.magic_tuple(), (triple, *ANY_PROCESSOR)):
            data = shipped.load((key[0], machine, *key[2:]))
            if data is not None:
                return self._impl.rebuild(target_context, data)
        return None

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), digest_of(self._file), self._options)


def _lock(file: IO[bytes]) -> None:
    """Lock a file until it is closed; go on without after a time.

    Raises
    ------
    OSError
        If it cannot be locked here.
    """
    if sys.platform == "win32":
        return
    import fcntl  # noqa: PLC0415 - there is none on Windows

    last = perf_counter() + _MOST_WAITING
    while perf_counter() < last:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sleep(0.02)
        else:
            return


class _Compiled(CPUDispatcher):  # type: ignore[misc]
    """A function that Numba compiles."""

    def compile(self, sig: Any) -> Any:
        """Compile it for some types, or load what any process has compiled."""
        if not isinstance(self._cache, _SourcesCache):
            return super().compile(sig)
        # Numba's lock comes first, as another thread may hold it and wait for a turn.
        with global_compiler_lock, self._cache.turn():
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Find the version for the types of a call in compiled code, or compile it.

        Numba would compile one more version for each argument that is a constant.
        """
        args = tuple(arg.literal_type if isinstance(arg, Literal) else arg for arg in args)
        return super().get_call_template(args, kws)


class _InnerCode(JITCodeLibrary):  # type: ignore[misc]
    """Code that only its callers optimise and turn into machine code, with their own."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


class _InnerCompiler(Compiler):  # type: ignore[misc]
    """What compiles an inner function; Numba would make machine code that nobody calls."""

    def __init__(self, typing: Any, target: Any, _: Any, *arguments: Any) -> None:
        super().__init__(typing, target, _InnerCode(target.codegen(), "inner"), *arguments)
        self.state.flags.no_compile = True


class _Inner(_Compiled):
    """A function that is compiled into its callers, and by itself where Python calls it."""

    def __init__(self, function: Callable[..., Any], targetoptions: dict[str, bool]) -> None:
        super().__init__(function, targetoptions=targetoptions, pipeline_class=_InnerCompiler)

    def add_overload(self, result: Any) -> None:
        """Make a version known to its callers, by a key in place of an address."""
        key = object()
        self.targetctx.insert_user_function(key, result.fndesc, [result.library])
        self.overloads[tuple(result.signature.args)] = result._replace(entry_point=key)

    def __call__(self, *arguments: Any) -> Any:
        """Call it from Python: a placement rule may be a plain function."""
        return _outer(self.py_func)(*arguments)


class _ByPointer(_Compiled):
    """A function that compiled code calls by pointer; for Python it is compiled once more."""

    def __call__(self, *arguments: Any) -> Any:
        """Call it from Python."""
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
        The function is compiled into its callers, and written to disk with them: this halves the
        time that compilation takes. Where Python calls it, it is compiled by itself as well.
    by_pointer
        The function is handed to compiled code as an argument; for Python the same holds.
    allocates
        The function makes arrays. The others do without Numba's reference counts, whose atomic
        operations at each access to an array would take most of the engine's time.
    parallel
        Other threads may run meanwhile: the function releases the interpreter's lock.
    """
    options = {
        "nopython": True,
        "no_cfunc_wrapper": not by_pointer,
        "no_cpython_wrapper": inner or by_pointer,
        "forceinline": inner,
        "_nrt": allocates,
        "nogil": parallel,
    }
    kind = _Inner if inner else _ByPointer if by_pointer else _Compiled
    dispatcher = kind(function, targetoptions=options)
    if not inner:
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

    def on_start(self, begun: event.Event) -> None:
        """Hear that Numba begins to compile a function."""
        if self._begun is None:
            self._begun = perf_counter()
            if (other := _installed()) is not None and _twin() is None:
                _LOG.warning(
                    "Python imports rarmodel from %s, and not the one installed in %s, whose code "
                    "is another; so rarmodel compiles again. Run Python in another folder, or "
                    "install this one: pip install -e .",
                    PACKAGE,
                    other,
                )
            _LOG.info("rarmodel compiles what it needs, once; later runs load it from disk")
        _LOG.debug("compiles %s", begun.data["dispatcher"].py_func.__name__)

    def on_end(self, _: event.Event) -> None:
        """Hear that Numba has compiled a function."""
        self.seconds = perf_counter() - (self._begun or 0.0)


_watched = False


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Say if anything is compiled in here, and how long that took.

    It is said on the log `rarmodel` at level INFO, once, however these contexts are nested. Level
    DEBUG names each function. What is loaded from disk is not compiled.
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
        _LOG.info("compiled in %s (not counted in any method's seconds)", duration(watch.seconds))
