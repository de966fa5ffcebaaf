"""Read instances and schedules from JSON or YAML; write files whole or not at all."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from errno import EACCES, EBADF, EINVAL, EISDIR, ELOOP, ENOENT, ENOTDIR
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from .argument_checks import checked, is_path, plain, require
from .argument_checks import path as is_file
from .argument_checks import text as is_text
from .defaults import MAX_MB
from .errors import InputError, Problem
from .json_text import parse_json
from .model.instance_check import check_instance
from .schema import Instance, Schedule
from .schema.base import Record
from .schema.problems import problems_of, show
from .sound_records import remembered, sound
from .yaml_text import Lines, lines_of, located, parse_yaml

_R = TypeVar("_R", bound=Record)

STANDARD_INPUT = "-"
YAML = (".yaml", ".yml")
"""Endings of YAML files."""
_YAML_BEGIN = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n)*(?:---|%YAML|[\w\"'][\w\"' .-]*:(?:\s|$))")
"""Beginning of text that is YAML and not JSON: a key, perhaps after comments."""
CHUNK = 1 << 20
"""Bytes to read at once."""
_LINE = 100
_FLAT = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def read_instance(source: str | os.PathLike[str]) -> Instance:
    """Read an instance from a file, or from standard input if `source` is `-`.

    A file whose name ends in `.yaml` or `.yml` is read as YAML, any other as JSON.

    Raises
    ------
    InputError
        With every problem of the file: not readable, not JSON, not an instance, or a meaningless
        instance (a job whose speed is 0 even alone in its best placement).
    """
    return parse_instance(_read_text(source), _name_of(source))


def read_record(schema: type[_R], source: str | os.PathLike[str]) -> _R:
    """Read any other record from JSON or YAML, or from standard input if `source` is `-`.

    Raises
    ------
    InputError
        With every problem of the file.
    """
    return _record(schema, _document(_read_text(source), _name_of(source)), _name_of(source))


def parse_record(schema: type[_R], content: str | Mapping[str, Any], source: str = "") -> _R:
    """Make any record from JSON text or the decoded object; YAML as in `parse_instance`."""
    return _record(schema, _document(content, source), source)


def parse_instance(content: str | Mapping[str, Any], source: str = "") -> Instance:
    """Make an instance from JSON text or from the decoded object; errors as in `read_instance`.

    Text is YAML if `source` ends in `.yaml` or `.yml`.
    """
    document = _document(content, source)
    instance = _record(Instance, document, source)
    try:
        check_instance(instance, source)
    except InputError as error:
        raise document.refusal(error.problems, source) from error
    return instance


def read_schedule(source: str | os.PathLike[str]) -> Schedule:
    """Read a schedule from a file, or from standard input if `source` is `-`.

    Raises
    ------
    InputError
        With every problem of the file: not readable, not JSON, or not a schedule.
    """
    return parse_schedule(_read_text(source), _name_of(source))


def parse_schedule(content: str | Mapping[str, Any], source: str = "") -> Schedule:
    """Make a schedule from JSON text or the decoded object; YAML as in `parse_instance`."""
    return _record(Schedule, _document(content, source), source)


def read_data(source: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a formulation's extra data: an object, from a file or `-`.

    Raises
    ------
    InputError
        If it is not readable, not JSON or YAML, or not an object.
    """
    name = _name_of(source)
    document = _document(_read_text(source), name)
    data = _object(document, name)
    if document.problems:
        raise document.refusal((), name)
    return dict(data)


def _is_record(value: object) -> str | None:
    return None if isinstance(value, Record) else "an instance, a schedule or the like is expected"


@checked({"record": _is_record})
def to_json(record: Record) -> str:
    """Format a record as JSON; fields that its input left out are left out again.

    Raises
    ------
    InputError
        With every problem of a record that `model_copy` has filled with wrong values.
    """
    try:
        data = record.model_dump(mode="json", exclude_unset=True, warnings="error")
    except PydanticSerializationError:
        data = sound(record).model_dump(mode="json", exclude_unset=True)
    return format_json(data) + "\n"


@checked({"path": is_file, "text": is_text})
def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text so that no reader sees half of it; errors as in `write_bytes`."""
    try:
        content = text.encode()
    except ValueError as error:
        raise unusable(error, _path_name(path), "cannot be written") from error
    write_bytes(path, content)


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file so that no reader sees half of it: write beside it, then rename.

    Raises
    ------
    InputError
        If the file cannot be written; the previous content stays.
    """
    check_writable(path)
    target = Path(path)
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(content)  # A pipe or a device cannot be replaced.
        else:
            _replace(_real(target), content)
    except (OSError, ValueError) as error:
        raise unusable(error, _path_name(path), "cannot be written") from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Check early whether a file can be written.

    Raises
    ------
    InputError
        If the path is a folder, its folder does not exist, or you lack the permission.
    """
    try:
        obstacle = _obstacle(Path(path))
    except (OSError, ValueError) as error:
        raise unusable(error, _path_name(path), "cannot be written") from error
    if obstacle:
        reason = OSError(obstacle, os.strerror(obstacle))
        raise unusable(reason, _path_name(path), "cannot be written")


def _obstacle(target: Path) -> int:
    """The error number that keeps a file from being written; 0 if none does."""
    if target.is_dir():
        return EISDIR
    real = _real(target)
    if real.is_symlink():
        return ELOOP
    folder = real.parent
    if not folder.is_dir():
        return ENOTDIR if folder.exists() else ENOENT
    return 0 if os.access(target if target.exists() else folder, os.W_OK) else EACCES


def _real(path: Path) -> Path:
    """Resolve symbolic links, except those that lead to themselves.

    On those `Path.resolve` raises RuntimeError in some versions of Python.
    """
    return Path(os.path.realpath(path))


def _replace(target: Path, content: bytes) -> None:
    """Write a file beside another, then let it replace the other."""
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".rarmodel-")
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        beside.chmod(mode)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def format_json(value: object, indent: int = 0) -> str:
    """Format JSON so that everything that fits a line is on one line, such as a job."""
    if not isinstance(value, dict | list) or not value:
        return _FLAT.encode(value)
    if not _is_long(value) and len(flat := _FLAT.encode(value)) + indent <= _LINE:
        return flat
    inner = indent + 2
    if isinstance(value, dict):
        items = [f"{_FLAT.encode(k)}: {format_json(v, inner)}" for k, v in value.items()]
        opening, closing = "{", "}"
    else:
        items = [format_json(v, inner) for v in value]
        opening, closing = "[", "]"
    body = ",\n".join(" " * inner + item for item in items)
    return f"{opening}\n{body}\n{' ' * indent}{closing}"


def _is_long(value: object) -> bool:
    """Whether a part of a value has too many entries for a line, at 3 characters each.

    This avoids writing out a long list only to find that it does not fit a line.
    """
    if not isinstance(value, dict | list):
        return False
    entries = value.values() if isinstance(value, dict) else value
    return 3 * len(value) > _LINE + 3 or any(map(_is_long, entries))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _name_of(source: str | os.PathLike[str]) -> str:
    return "standard input" if source == STANDARD_INPUT else _path_name(source)


def _path_name(path: str | os.PathLike[str]) -> str:
    if not is_path(path):
        require({"file": path}, {"file": is_file})
    return os.fspath(path) or "''"


def may_exist(path: str | os.PathLike[str]) -> bool:
    """Whether a path exists, or the system does not tell us; then reading it reports the reason."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return True


def hides(path: str | os.PathLike[str]) -> bool:
    """Whether a path is read where a name of the bundle is the same; a folder cannot be read."""
    try:
        return Path(path).exists() and not Path(path).is_dir()
    except (OSError, ValueError):
        return True


def read_bytes(
    source: str | os.PathLike[str], max_mb: float = MAX_MB, cure: str = ""
) -> tuple[str, bytes]:
    """Name and content of a file or of standard input; parameters and errors as in `open_input`."""
    with open_input(source, max_mb, cure) as (name, stream):
        return name, stream.read()


@contextmanager
def open_input(
    source: str | os.PathLike[str], max_mb: float = MAX_MB, cure: str = ""
) -> Iterator[tuple[str, BinaryIO]]:
    """Name of a file or of standard input, and its content as a stream that can be read again.

    Parameters
    ----------
    source
        The file; `-` for standard input. A pipe can be read only once, so it is read whole.
    max_mb
        Greatest size in MB.
    cure
        Advice to the user about a larger file, for the end of a sentence.

    Raises
    ------
    InputError
        If the file cannot be read or is too large.
    """
    name = _name_of(source)
    try:
        with _opened(source) as stream:
            yield name, _again(stream, source, name, max_mb, cure)
    except OSError as error:
        raise unusable(error, name, "cannot be read") from error


def too_large(max_mb: float, name: str, cure: str) -> InputError:
    """The error for a file that is too large."""
    return InputError([Problem("", f"more than {max_mb:g} MB{cure}")], name)


def _opened(source: str | os.PathLike[str]) -> AbstractContextManager[BinaryIO]:
    if source != STANDARD_INPUT:
        try:
            return Path(source).open("rb")
        except ValueError as error:  # A byte 0 in its name.
            raise OSError(EINVAL, str(error)) from error
    if sys.stdin is None or sys.stdin.closed:
        raise OSError(EBADF, "it is closed")
    return nullcontext(sys.stdin.buffer)


def _again(
    stream: BinaryIO, source: str | os.PathLike[str], name: str, max_mb: float, cure: str
) -> BinaryIO:
    """A seekable stream of the same content, if it is not too large."""
    if source != STANDARD_INPUT:
        status = os.fstat(stream.fileno())
        if status.st_size > max_mb * 1e6:
            raise too_large(max_mb, name, cure)
        if stat.S_ISREG(status.st_mode) and status.st_size:  # Files of /proc say 0, and have more.
            return stream
    held = io.BytesIO()
    while chunk := stream.read(CHUNK):
        held.write(chunk)
        if held.tell() > max_mb * 1e6:
            raise too_large(max_mb, name, cure)
    held.seek(0)
    return held


def _read_text(source: str | os.PathLike[str]) -> str:
    name, raw = read_bytes(source)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        kind = "YAML" if _is_yaml(name, "") else "JSON"
        message = f"not UTF-8 text (byte {error.start}); {kind} in UTF-8 is expected"
        raise InputError([Problem("", message)], name) from error


def unusable(error: OSError | ValueError, name: str, what: str) -> InputError:
    """The system's error about a file or folder, in one line; a name can contain a byte 0."""
    reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    return InputError([Problem("", f"{what}: {reason[:1].lower()}{reason[1:]}")], name)


class _Document(NamedTuple):
    """A decoded text, its repeated fields, and a way to add lines to places."""

    data: object
    problems: Sequence[Problem] = ()
    lines: Callable[[], Lines] = dict

    def refusal(self, problems: Iterable[Problem], source: str) -> InputError:
        """The error for these problems, with the lines of their places if known."""
        lines = self.lines()
        found = [located(problem, lines) for problem in problems] if lines else problems
        return InputError([*self.problems, *found], source)


def _document(content: str | Mapping[str, Any], source: str) -> _Document:
    """Decode JSON or YAML text."""
    if not isinstance(content, str):
        try:
            return _Document(plain(content))
        except RecursionError as error:
            raise InputError([Problem("", "nested too deeply")], source) from error
    if not _is_yaml(source, content):
        return _Document(*parse_json(content, source))
    data, problems, root = parse_yaml(content, source, "an object in YAML")
    return _Document(data, problems, lambda: lines_of(root))


def _is_yaml(name: str, text: str) -> bool:
    """Whether text is YAML: by the file's name, or on standard input by the first line."""
    if name == _name_of(STANDARD_INPUT):
        return _YAML_BEGIN.match(text) is not None
    return name.lower().endswith(YAML)


def _object(document: _Document, source: str) -> Mapping[str, Any]:
    if not isinstance(document.data, Mapping):
        message = f"the top level is {show(document.data)}; an object is expected"
        raise InputError([Problem("", message)], source)
    return document.data


def _record(schema: type[_R], document: _Document, source: str) -> _R:
    data = _object(document, source)
    try:
        record = schema.model_validate(data)
    except ValidationError as error:
        raise document.refusal(problems_of(error), source) from error
    if document.problems:
        raise document.refusal((), source)
    return remembered(record)
