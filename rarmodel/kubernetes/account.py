"""The account of a reading: every object was used, or left out for a reason."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rarmodel.counting import counted
from rarmodel.errors import FEW, one_line

from .objects import Key


class Account(NamedTuple):
    """What became of the objects of some files.

    Attributes
    ----------
    total
        All objects in the files, however often they came.
    used
        Objects that the instance was made of.
    left_out
        The others by reason; an object that came again is there once for each further time.
    """

    total: int
    used: tuple[Key, ...]
    left_out: Mapping[str, tuple[str, ...]]

    def lines(self) -> Iterator[str]:
        """The account in lines."""
        out = sum(map(len, self.left_out.values()))
        yield f"{counted(self.total, 'object')}: {len(self.used)} used, {out} left out"
        yield f"used: {_kinds(self.used)}"
        for reason, names in self.left_out.items():
            few = ", ".join(names[:FEW]) + (", …" if len(names) > FEW else "")
            yield one_line(f"left out: {counted(len(names), 'object')}: {reason} ({few})")

    def summary(self) -> dict[str, Any]:
        """The account as plain data."""
        return {
            "objects": self.total,
            "used": [key.called for key in self.used],
            "left_out": {reason: [*names] for reason, names in self.left_out.items()},
        }


def _kinds(keys: tuple[Key, ...]) -> str:
    counts = Counter(key.kind for key in keys)
    return one_line(", ".join(counted(n, kind) for kind, n in sorted(counts.items()))) or "none"


class Bookkeeper:
    """Notes what became of each object; the last word counts, except that used stays used."""

    def __init__(self) -> None:
        self._used: set[Key] = set()
        self._reasons: dict[Key, str] = {}

    def use(self, *keys: Key) -> None:
        """Some objects are part of the instance."""
        self._used.update(keys)

    def leave_out(self, reason: str, *keys: Key) -> None:
        """Some objects are no part of it."""
        self._reasons |= dict.fromkeys(keys, reason)

    def account(
        self, objects: Mapping[Key, object], extra: Mapping[str, tuple[str, ...]], total: int
    ) -> Account:
        """The account.

        Parameters
        ----------
        objects
            All objects.
        extra
            What else came, by reason.
        total
            How many all are together.
        """
        left: dict[str, list[str]] = defaultdict(list)
        for key in objects:
            if key not in self._used:
                left[self._reasons.get(key, "nothing in the instance rests on it")].append(
                    key.called
                )
        for reason, names in extra.items():
            left[reason] += names
        ordered = sorted(left.items(), key=lambda one: (-len(one[1]), one[0]))
        used = tuple(key for key in objects if key in self._used)
        return Account(total, used, {reason: tuple(names) for reason, names in ordered if names})
