"""Write the options of every command into docs/cli.md, as the help has them.

    python docs/command_line.py

The docs build does the same, so the website is never behind; a test compares the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click

from rarmodel.cli.commands import rarmodel
from rarmodel.cli.help_panels import COMMANDS, ORDER, PLAIN, panels_of

PAGE = Path(__file__).parent / "cli.md"
BEGIN, END = "<!-- options of {} -->", "<!-- end of options -->"
CONTENTS, SHARED = "<!-- all commands -->", "<!-- shared options -->"


def sentence(command: click.Command) -> str:
    """The first sentence of a command's help."""
    text = " ".join((command.help or "").split("\n\n")[0].split())
    return text.replace("|", "\\|")


def usage(name: str, command: click.Command) -> str:
    """How the command is called: its arguments, and the options that must be there."""
    parts = ["rarmodel", name]
    context = click.Context(command)
    for one in command.params:
        if isinstance(one, click.Argument):
            parts.append(one.make_metavar(context))
        elif one.required:
            parts.append(f"{one.opts[0]} {one.metavar}")
    return " ".join(parts)


def contents() -> str:
    """All commands by group, each with a sentence."""
    lines = ["| | command | effect |", "|---|---|---|"]
    for group, some in COMMANDS.items():
        for i, name in enumerate(some):
            about = sentence(rarmodel.commands[name]).rstrip(".")
            lines.append(f"| {group if i == 0 else ''} | [`{name}`](#{name}) | {about} |")
    return "\n".join(line.replace("|  |", "| |") for line in lines)


def options(name: str) -> str:
    """How a command is called, or all commands of a group, and a table of its own options."""
    inner = getattr(rarmodel.commands[name], "commands", {})
    if not inner:
        head = [f"`{usage(name, rarmodel.commands[name])}`"]
    else:
        head = ["| command | effect |", "|---|---|"]
        for part, below in _own(name):
            called = usage(f"{name} {part}".strip(), below).replace("|", "\\|")
            head.append(f"| `{called}` | {sentence(below).rstrip('.')} |")
    shared = shared_options()
    rows, common = list[str](), list[str]()
    for panel, some in _rows(name).items():
        own = {row: of for row, of in some.items() if row not in shared}
        common += [row[0].partition(" ")[0].strip("`") for row in some if row in shared]
        if own and panel != PLAIN:
            rows.append(f"| **{panel}** | |")
        rows += _lines(own, len(_own(name)))
    parts = ["\n".join(head)]
    if rows:
        parts.append("\n".join(["| option | meaning |", "|---|---|", *rows]))
    if common:
        listed = ", ".join(f"`{one}`" for one in dict.fromkeys(common))
        parts.append(f"Also {listed}: see [shared options](#shared-options).")
    return "\n\n".join(parts)


@cache
def shared_options() -> dict[tuple[str, str], list[str]]:
    """Options that mean the same in several commands, with these commands.

    Where an option has several meanings, it is the one that most commands have.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for name in (one for some in COMMANDS.values() for one in some):
        for row in dict.fromkeys(row for some in _rows(name).values() for row in some):
            found.setdefault(row, []).append(name)
    most: dict[str, tuple[str, str]] = {}
    for row, of in found.items():
        name = row[0].partition(" ")[0]
        if len(of) > len(found.get(most.get(name, row), [])) or name not in most:
            most[name] = row
    return {row: of for row, of in found.items() if len(of) > 1 and row in most.values()}


def shared() -> str:
    """A table of the shared options."""
    lines = [f"| {option} | {meaning} |" for option, meaning in shared_options()]
    return "\n".join(["| option | meaning |", "|---|---|", *lines])


def _own(name: str) -> list[tuple[str, click.Command]]:
    """A command, or those of a group, by the last part of the name."""
    command = rarmodel.commands[name]
    inner: dict[str, click.Command] = getattr(command, "commands", {})
    whole = not inner or any(isinstance(one, click.Option) for one in command.params)
    return [*([("", command)] if whole else []), *inner.items()]


def _rows(name: str) -> dict[str, dict[tuple[str, str], list[str]]]:
    """Options with their meaning, by group of options; with the commands that have them."""
    rows: dict[str, dict[tuple[str, str], list[str]]] = {group: {} for group in ORDER}
    for part, below in _own(name):
        for panel, some in panels_of(f"{name} {part}".strip(), below).items():
            for option in some:
                rows[panel].setdefault(_row(below, option), []).append(part or name)
    return rows


def _lines(rows: dict[tuple[str, str], list[str]], commands: int) -> Iterator[str]:
    for (option, meaning), of in rows.items():
        only = "" if len(of) == commands else f" ({', '.join(f'`{one}`' for one in of)})"
        yield f"| {option} | {meaning}{only} |"


def _row(command: click.Command, name: str) -> tuple[str, str]:
    """An option with its value, and its help with its default."""
    option = next(one for one in command.params if name in one.opts)
    if not isinstance(option, click.Option):
        raise TypeError(f"{name} is no option")
    shown = [*option.opts[-1:], *option.secondary_opts]
    value = option.make_metavar(click.Context(command))
    parts = [f"`{one}{'' if option.is_flag else ' ' + value}`" for one in shown]
    meaning = (option.help or "").removesuffix(" This option may be given several times.")
    if option.show_default and not option.is_flag:
        default = option.default
        told = f"{default:g}" if isinstance(default, float) else default
        meaning += f" Default: {told}."
    if option.required:
        meaning += " Required."
    if option.multiple:
        meaning += " Repeatable."
    return ", ".join(parts).replace("|", "\\|"), meaning.replace("|", "\\|")


def renewed(page: str) -> str:
    """The page with its tables made anew, each between its marks."""
    page = _between(page, CONTENTS, contents())
    page = _between(page, SHARED, shared())
    for name in rarmodel.commands:
        page = _between(page, BEGIN.format(name), options(name))
    return page


def _between(page: str, begin: str, text: str) -> str:
    found = re.compile(rf"(?s){re.escape(begin)}\n.*?{re.escape(END)}")
    page, times = found.subn(lambda _: f"{begin}\n\n{text}\n\n{END}", page)
    if times != 1:
        raise ValueError(f"{PAGE.name}: {times} times {begin}")
    return page


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
