"""Arguments of public functions: what each may be, and one error with all that are wrong.

Whoever works in notebooks passes NumPy's numbers, texts for numbers, or a name where a list is
meant. A check says what an argument must be; `checked` applies checks to a function, by the names
of its parameters, and turns NumPy's numbers into Python's.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from .errors import UsageError, one_line

_P = ParamSpec("_P")
_R = TypeVar("_R")

Check = Callable[[Any], str | None]
"""What is wrong with a value, for the end of a sentence that begins with it; None if nothing is."""
_LONGEST = 60
"""Most characters of a value in a message."""


def is_whole(value: object) -> bool:
    """Whether a value is a whole number; True and False are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_path(value: object) -> bool:
    """Whether a value is the name of a file, and not bytes or an open file."""
    return isinstance(value, str) or (
        isinstance(value, os.PathLike) and isinstance(os.fspath(value), str)
    )


def whole(least: int, most: int | None = None, *, most_words: str = "") -> Check:
    """A whole number in a range; `most_words` says why there is a greatest."""
    words = f"it must be a whole number of at least {least}"
    if most is not None:
        words = f"it must be a whole number from {least} to {most}{most_words}"

    def check(value: object) -> str | None:
        fits = is_whole(value) and least <= value and (most is None or value <= most)  # type: ignore[operator]
        return None if fits else words

    return check


def is_number(value: object) -> str | None:
    """A number; True and False are none."""
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    return None if fits else "it must be a number"


def number(words: str, fits: Callable[[float], bool]) -> Check:
    """A number for which `fits` holds; the words say so."""
    return lambda value: is_number(value) or (None if fits(value) else words)


def optional(check: Check) -> Check:
    """The same, or None."""
    return lambda value: None if value is None else check(value)


def truth(value: object) -> str | None:
    """True or False."""
    return None if isinstance(value, bool) else "it must be True or False"


def text(value: object) -> str | None:
    """A text."""
    return None if isinstance(value, str) else "it must be a text"


def function(value: object) -> str | None:
    """Something that can be called."""
    return None if callable(value) else "it must be a function"


def path(value: object) -> str | None:
    """The name of a file."""
    return None if is_path(value) else f"the name of a file is expected{_instead(value)}"


def entries(value: object) -> str | None:
    """Named values."""
    return None if isinstance(value, Mapping) else "a dict is expected"


def numbers(value: object) -> str | None:
    """Named numbers."""
    if not isinstance(value, Mapping):
        return "a dict is expected"
    bad = [f"{name!r} must be a number" for name, one in value.items() if is_number(one)]
    return ", ".join(bad) or None


def several(value: object) -> str | None:
    """A list or anything else to go through; a single name is none, though it is a sequence."""
    if isinstance(value, str):
        return f"a list is expected, such as [{shown(value)}]"
    single = isinstance(value, bytes | Mapping | os.PathLike) or not isinstance(value, Iterable)
    return "a list is expected" if single else None


def names(value: object) -> str | None:
    """A name, or a list of names."""
    if isinstance(value, str):
        return None
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return None
    return "a name or a list of names is expected"


def expected(words: str, *kinds: type) -> Check:
    """An object of some types, or the name of a file."""

    def check(value: object) -> str | None:
        fits = isinstance(value, kinds) or is_path(value)
        return None if fits else f"{words} is expected{_instead(value)}"

    return check


def _instead(value: object) -> str:
    return "; give the file's name instead" if hasattr(value, "read") else ""


def shown(value: object) -> str:
    """A value in a message: itself if it is a number or a text, and otherwise its type."""
    if value is None or isinstance(value, str | int | float | bytes):
        whole_text = repr(value)
        cut = len(whole_text) > _LONGEST
        return one_line(whole_text[: _LONGEST - 1] + "…" if cut else whole_text)
    kind = type(value).__name__
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


def wrong(values: Mapping[str, Any], checks: Mapping[str, Check]) -> list[str]:
    """A sentence for each value that is wrong."""
    said = ((name, value, checks[name](value)) for name, value in values.items() if name in checks)
    words = (
        (name.replace("_", " ").replace(" mb", " MB"), value, why) for name, value, why in said
    )
    return [f"{name} {shown(value)}: {why}" for name, value, why in words if why]


def require(values: Mapping[str, Any], checks: Mapping[str, Check]) -> None:
    """Refuse values.

    Raises
    ------
    UsageError
        With all that are wrong.
    """
    if found := wrong(values, checks):
        raise UsageError("; ".join(found))


def checked(checks: Mapping[str, Check]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Let a function refuse arguments that are wrong, all at once; defaults are right.

    Parameters
    ----------
    checks
        Checks by the names of parameters; the function need not have all of them.
    """

    def around(function: Callable[_P, _R]) -> Callable[_P, _R]:
        signature = inspect.signature(function)

        @wraps(function)
        def call(*args: _P.args, **options: _P.kwargs) -> _R:
            try:
                given = signature.bind(*args, **options)
            except TypeError:  # A parameter that is missing or unknown: Python says so best.
                return function(*args, **options)
            for name, value in given.arguments.items():
                if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                    value = {option: scalar(one) for option, one in value.items()}  # noqa: PLW2901
                given.arguments[name] = scalar(value)
            asked = {
                name: value
                for name, value in given.arguments.items()
                if value is not signature.parameters[name].default
            }
            require(asked, checks)
            return function(*given.args, **given.kwargs)

        return call

    return around


def scalar(value: Any) -> Any:
    """A number, text or truth value of NumPy's as Python's; anything else as it is."""
    if type(value).__module__ == "numpy" and not getattr(value, "shape", (0,)):
        return value.item()
    return value


_PLAIN = frozenset({str, int, float, bool, type(None)})


def plain(value: Any) -> Any:
    """Data with NumPy's numbers and arrays, or with records of rarmodel's, as plain Python data."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if callable(dump := getattr(value, "model_dump", None)):
        return plain(dump(exclude_unset=True, by_alias=True, warnings=False))
    if callable(listed := getattr(value, "tolist", None)):
        found = listed()
        return found if type(found) is type(value) else plain(found)
    return value
