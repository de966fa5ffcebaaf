"""Tables in LaTeX, with the lines of the package booktabs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .tabular import NONE, is_number

_ESCAPES = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        **dict.fromkeys(map(chr, [*range(32), 127]), " "),
    }
)


def escaped(text: str) -> str:
    """Text as LaTeX shows it unchanged; line breaks become spaces."""
    return text.translate(_ESCAPES)


def latex_table(
    names: Sequence[str], rows: Iterable[Mapping[str, str]], apart_by: str | None = None
) -> str:
    """Rows of text as a `tabular`: numbers to the right, text to the left.

    It begins with a comment that names the package that it needs.

    Parameters
    ----------
    names
        Names of the columns.
    rows
        Texts by column; a missing one is a dash.
    apart_by
        Column of which a new value begins a group of rows, below a line of its own.
    """
    cells = [[row.get(name) or NONE for name in names] for row in rows]
    right = [all(is_number(row[i]) for row in cells) for i in range(len(names))]
    lines = [_line(map(escaped, names)), r"\midrule"]
    before = None
    for row in cells:
        group = None if apart_by is None else row[names.index(apart_by)]
        if before is not None and group != before:
            lines.append(r"\midrule")
        before = group
        lines.append(_line(map(_cell, row)))
    columns = "".join("r" if is_right else "l" for is_right in right)
    return "\n".join(
        [
            f"\\begin{{tabular}}{{{columns}}}  % \\usepackage{{booktabs}}",
            r"\toprule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(text: str) -> str:
    if text == NONE:
        return "--"
    shown = escaped(text)
    return f"$-${shown.removeprefix('-')}" if text[0] == "-" and is_number(text) else shown
