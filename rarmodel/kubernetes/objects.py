"""Objects of a cluster as `kubectl get … -o json` prints them, from one file or a folder.

An object is known by group, kind, namespace and name. The same one may come several times, as from
two commands, or in two versions of its kind; the newest counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rarmodel.errors import InputError, Problem
from rarmodel.files import STANDARD_INPUT, YAML, read_data

ENDINGS = (".json", *YAML)
"""Endings of the files that are read in a folder."""
MOST_DEEP = 4
"""Lists in lists are read so deep; kubectl makes none."""


class Key(NamedTuple):
    """What an object is known by.

    Attributes
    ----------
    group
        Group of its kind, such as `batch`; empty for pods, nodes and the like.
    kind, namespace, name
        Its kind and name; no namespace if it belongs to the cluster.
    """

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def called(self) -> str:
        """The object for people, such as `Pod team-a/train-0`."""
        return f"{self.kind} {self.place}"

    @property
    def place(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Found(NamedTuple):
    """The objects of some files.

    Attributes
    ----------
    objects
        Each object once.
    repeated
        Objects that came again, as often as they did.
    nameless
        Entries that are no objects with kind and name: where they are.
    """

    objects: Mapping[Key, Mapping[str, Any]]
    repeated: tuple[Key, ...]
    nameless: tuple[str, ...]

    @property
    def total(self) -> int:
        """All objects that came, however often."""
        return len(self.objects) + len(self.repeated) + len(self.nameless)


def read_objects(source: str | os.PathLike[str]) -> Found:
    """The objects in a file, in the files of a folder, or on standard input if it is `-`.

    Raises
    ------
    InputError
        With every file that cannot be read, or if there is none.
    """
    documents, problems = list[tuple[str, Mapping[str, Any]]](), list[Problem]()
    folder = Path(source)
    try:
        is_folder = os.fspath(source) != STANDARD_INPUT and folder.is_dir()
        files = sorted(folder.iterdir()) if is_folder else [Path(source)]
    except (OSError, ValueError) as error:
        raise InputError([Problem("", f"cannot be read: {error}")], os.fspath(source)) from error
    if is_folder:
        files = [one for one in files if one.suffix.lower() in ENDINGS]
        if not files:
            message = f"no file in it ends in {', '.join(ENDINGS)}"
            raise InputError([Problem("", message)], os.fspath(source))
    for one in files:
        try:
            documents.append((one.name, read_data(one if is_folder else source)))
        except InputError as error:
            problems += [Problem(": ".join((str(one), p.place)), p.message) for p in error.problems]
    if problems:
        raise InputError([Problem(p.place.removesuffix(": "), p.message) for p in problems])
    return objects_of(documents)


def objects_of(documents: Iterable[tuple[str, Mapping[str, Any]]]) -> Found:
    """The objects of some documents, each with the name of its file."""
    best: dict[Key, Mapping[str, Any]] = {}
    repeated, nameless = list[Key](), list[str]()
    for place, one in (found for name, data in documents for found in _each(name, data, {})):
        key = _key(one)
        if key is None:
            nameless.append(place)
        elif key not in best:
            best[key] = one
        else:
            repeated.append(key)
            best[key] = max(best[key], one, key=_age)
    objects = {key: best[key] for key in sorted(best)}
    return Found(objects, tuple(sorted(repeated)), tuple(sorted(nameless)))


def _each(
    place: str, data: object, inherited: Mapping[str, str], depth: int = 0
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each object in a document, with its place; those of a typed list have the list's kind."""
    if not isinstance(data, Mapping):
        yield place, {}
        return
    kind, items = data.get("kind"), data.get("items")
    is_list = not isinstance(kind, str) or kind.endswith("List")
    if not (is_list and isinstance(items, list)) or depth == MOST_DEEP:
        yield place, {**inherited, **data}
        return
    typed: dict[str, str] = {}
    if isinstance(kind, str) and kind != "List" and isinstance(data.get("apiVersion"), str):
        typed = {"kind": kind.removesuffix("List"), "apiVersion": data["apiVersion"]}
    for i, one in enumerate(items):
        yield from _each(f"{place}: items[{i}]", one, typed, depth + 1)


def _key(one: Mapping[str, Any]) -> Key | None:
    version, kind, metadata = one.get("apiVersion"), one.get("kind"), one.get("metadata")
    if not isinstance(metadata, Mapping) or not isinstance(kind, str) or not kind:
        return None
    name, namespace = metadata.get("name"), metadata.get("namespace") or ""
    if not isinstance(name, str) or not name or not isinstance(namespace, str):
        return None
    key = Key(group_of(version), kind, namespace, name)
    return key if is_text(key) else None


def is_text(value: object) -> bool:
    """Whether all text in a value can be written, which halves of surrogate pairs cannot."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def group_of(version: object) -> str:
    """The group of an `apiVersion` such as `batch/v1`."""
    return version.rpartition("/")[0] if isinstance(version, str) else ""


def _age(one: Mapping[str, Any]) -> tuple[int, str]:
    """What is greater for the newer of two copies; of two that are as new, any but the same."""
    version = one["metadata"].get("resourceVersion")
    number = int(version) if isinstance(version, str) and version.isdecimal() else 0
    return number, json.dumps(one, sort_keys=True, default=str)
