"""Labels beside rows, grouped so that they fit: every row is named, alone or in a range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import altair as alt

from rarmodel.schema import Cluster

from .style import rows, shade

LETTERS = 24
"""Default length of the longest label of a row."""
Kinds = Sequence[tuple[str, ...]]
"""(rows) Types of GPU in each row."""
LETTER = 6.0
"""Width of a letter of a label, in pixels."""
KIND = 10
"""Longest kind in a label."""
MOST_KINDS = 2
"""Most kinds that a label lists."""
LABEL = 12.5
"""Height of a row's label, in pixels."""
COUNTS = (2, 5, 10, 20, 25, 50)
"""Rows of equal height in a range; then fifty times as many, and so on."""


class Level(NamedTuple):
    """Labels of all rows at one level of detail.

    Attributes
    ----------
    least
        Height of the lowest row or range, in the unit of the edges.
    names
        Name of each row; for a range of rows, the names of the first and the last.
    edges
        (names + 1) Beginning and end of each row or range.
    """

    least: float
    names: tuple[str, ...]
    edges: tuple[float, ...]


def levels(
    names: Sequence[str],
    edges: Sequence[float],
    racks: Sequence[str] | None = None,
    *,
    letters: int = LETTERS,
    kinds: Kinds | None = None,
) -> tuple[Level, ...]:
    """Labels from one for each row to a few for all, each with more rows in a range.

    Parameters
    ----------
    names
        Names of the rows; at least one.
    edges
        (names + 1) Beginning and end of each row, ascending.
    racks
        The rack of each row. If whole racks are together, one of the levels names them.
    letters
        Longest label, without kinds.
    kinds
        Kinds of each row, such as its type of GPU, which labels name.
    """
    alone = [_short(name, letters) + _of_kind(kinds, i, i + 1) for i, name in enumerate(names)]
    rows = Level(_least(edges), tuple(alone), tuple(edges))
    found = [rows, *_ranges(names, edges, letters, kinds)]
    if racks and 1 < len(set(racks)) < len(racks):
        runs = [(rack, len(list(run))) for rack, run in groupby(racks)]
        if len(runs) == len(set(racks)):
            ends = [0]
            for _, length in runs:
                ends.append(ends[-1] + length)
            limits = [edges[end] for end in ends]
            by_rack = levels(
                [rack for rack, _ in runs],
                limits,
                letters=letters,
                kinds=kinds and [_kinds_in(kinds, a, b) for a, b in pairwise(ends)],
            )
            found = [level for level in found if level.least < by_rack[0].least] + list(by_rack)
    return tuple(found)


def row_labels(
    found: Sequence[Level], height: float, y: alt.Y, span: str, inside: str = "true"
) -> list[alt.Chart]:
    """Labels beside the rows of a chart, and lines between the rows.

    Parameters
    ----------
    found
        Labels from fine to coarse; the finest that fits is shown.
    height
        Height of the chart in pixels.
    y
        The axis of the rows, with the field `row`.
    span
        Expression of the number of rows in view, in the unit of the edges.
    inside
        Expression whether `datum.row` is in view.
    """
    columns: dict[str, list[Any]] = {key: [] for key in ("row", "name", "above", "most")}
    above = 0.0
    for i, level in enumerate(found):
        most = level.least * height / LABEL if i + 1 < len(found) else 1e12
        if most <= above or above >= found[0].edges[-1]:
            continue
        for name, (low, high) in zip(level.names, pairwise(level.edges), strict=True):
            for column, value in zip(
                columns.values(), ((low + high) / 2, name, above, most), strict=True
            ):
                column.append(value)
        above = most
    labels = rows(columns).transform_filter(
        f"datum.above < {span} && {span} <= datum.most && {inside}"
    )
    text = labels.mark_text(
        align="right", baseline="middle", clip=False, color=shade("quiet"), fontSize=11
    ).encode(x=alt.value(-6), y=y, text="name:N")
    return [text]


def rows_title(title: str, found: Sequence[Level], height: float) -> alt.Chart:
    """What the rows are: the title of an axis, beside the longest label."""
    longest = max(len(name) for level in found for name in level.names)
    return (
        rows({"title": [title]})
        .mark_text(angle=270, baseline="bottom", clip=False, color=shade("quiet"), fontSize=11)
        .encode(x=alt.value(-LETTER * longest - 10), y=alt.value(height / 2), text="title:N")
    )


def racks_of(cluster: Cluster) -> list[str] | None:
    """The switch directly above each server; None in a star."""
    if cluster.network.kind == "star":
        return None
    above = {link.node: link.parent for link in cluster.network.links}
    return [above[server.name] for server in cluster.servers]


def kinds_of(cluster: Cluster) -> Kinds | None:
    """The type of each server's GPUs; None if there are no two types."""
    kinds = [(server.gpu_type,) if server.gpu_type else () for server in cluster.servers]
    return kinds if len(set(kinds)) > 1 else None


def _of_kind(kinds: Kinds | None, begin: int, end: int) -> str:
    """The kinds of a range of rows, for its label."""
    found = [_short(kind, KIND) for kind in _kinds_in(kinds or (), begin, end)]
    if len(found) > MOST_KINDS:
        return f" · {len(found)} types"
    return f" · {', '.join(found)}" if found else ""


def _kinds_in(kinds: Kinds, begin: int, end: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kind for each in kinds[begin:end] for kind in each))


def _ranges(
    names: Sequence[str],
    edges: Sequence[float],
    letters: int,
    kinds: Kinds | None,
) -> Iterator[Level]:
    """Levels of ranges, until there are few ranges."""
    before = len(names)
    for least in _targets([b - a for a, b in pairwise(edges)]):
        limits = [0]
        for i, edge in enumerate(edges):
            if edge - edges[limits[-1]] >= least - 1e-9:
                limits.append(i)
        # What is left is too low for a label of its own.
        limits = [*(limits[:-1] or [0]), len(names)]
        if len(limits) - 1 < before:
            before = len(limits) - 1
            ends = tuple(edges[i] for i in limits)
            found = [
                _range(names[a:b], letters) + _of_kind(kinds, a, b) for a, b in pairwise(limits)
            ]
            yield Level(_least(ends), tuple(found), ends)


def _targets(spans: Sequence[float]) -> Iterator[float]:
    """Least heights of ranges to try, ascending, up to half of all rows."""
    low, total = min(spans), sum(spans)
    if low < max(spans):
        while low * 1.4 <= total / 2:
            low *= 1.4
            yield low
        return
    power = 1
    while True:
        for count in COUNTS:
            if count * power * low > total / 2:
                return
            yield count * power * low
        power *= COUNTS[-1]


def _range(names: Sequence[str], letters: int) -> str:
    """Label of a range of rows: its first and its last."""
    if len(names) == 1:
        return _short(names[0], letters)
    return f"{_short(names[0], letters // 2)}–{_short(names[-1], letters // 2)}"


def _short(name: str, letters: int) -> str:
    """A long name without its middle: host names differ at their beginning or end."""
    if len(name) <= letters:
        return name
    return f"{name[: (letters - 1) // 2]}…{name[-(letters // 2) :]}"


def _least(edges: Sequence[float]) -> float:
    return min(b - a for a, b in pairwise(edges))
