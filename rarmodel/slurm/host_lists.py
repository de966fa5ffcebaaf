"""Names of nodes as Slurm writes them: node[1-4,7]."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator


def folded(names: Iterable[str]) -> str:
    """A host list of these names, each group of the same name and digits folded."""
    groups: dict[tuple[str, int | None, str], list[int | str]] = {}
    for name in names:
        found = re.fullmatch(r"(.*?)(\d{1,18})(\D*)", name)
        if found is None:
            groups.setdefault((name, None, ""), []).append(name)
        else:
            # Numbers with zeros before them have a width of their own, as in node01.
            width = len(found[2]) if found[2].startswith("0") else 0
            groups.setdefault((found[1], width, found[3]), []).append(int(found[2]))
    return ", ".join(_told(*key, numbers) for key, numbers in groups.items())


def _told(before: str, width: int | None, after: str, numbers: list[int | str]) -> str:
    if width is None:
        return before
    ranges = [*_ranges(sorted({int(one) for one in numbers}))]
    told = [
        f"{first:0{width}}" + (f"-{last:0{width}}" if last > first else "")
        for first, last in ranges
    ]
    single = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
    return f"{before}{told[0]}{after}" if single else f"{before}[{','.join(told)}]{after}"


def _ranges(numbers: list[int]) -> Iterator[tuple[int, int]]:
    first = last = numbers[0]
    for one in numbers[1:]:
        if one != last + 1:
            yield first, last
            first = one
        last = one
    yield first, last
