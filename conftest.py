"""Run the examples of README.md and of the pages in docs/ as tests.

A page is one test, run in a copy of docs/examples. `python` blocks are executed, or compared if
they are interactive sessions; a block below a line with the name of a file, such as `rules.json`:,
is written to that file, or compared with the one in docs/examples; each `$ rarmodel` or
`$ python -m rarmodel` of a `console` block is run, and all it prints compared.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import logging
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import SkipTest, mock

import pytest
from sybil import Document, Example, Region, Sybil
from sybil.example import SybilFailure
from sybil.parsers.abstract.lexers import BlockLexer
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser, SkipParser

EXAMPLES = Path(__file__).parent / "docs" / "examples"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


CAPTIONED = BlockLexer(
    re.compile(r"^`(?P<file>[\w.-]+)`:\n\n```\w+\n", re.MULTILINE), r"(?<=\n)```"
)


def captioned_blocks(document: Document) -> Iterator[Region]:
    """Blocks below the name of a file."""
    for region in CAPTIONED(document):
        region.evaluator = write_file
        yield region


def write_file(example: Example) -> str | None:
    """Write a block to its file; what differs if it stands for an example's file."""
    name, source = example.region.lexemes["file"], example.region.lexemes["source"]
    original = EXAMPLES / name
    if original.exists() and original.read_text(encoding="utf-8") != source:
        return f"{name} differs from {original}"
    Path(name).write_text(source, encoding="utf-8")
    return None


def run(line: str, namespace: dict[str, object]) -> str:
    """What a command prints, to stdout and stderr."""
    words = shlex.split(line)
    if words == ["echo", "$?"]:
        return str(namespace["exit code"])
    target = words[-1] if words[-2:-1] == [">"] else None
    if words[:3] == ["python", "-m", "rarmodel"]:
        words = words[2:]
    if words[0] != "rarmodel":
        raise ValueError(f"not a rarmodel command: {line}")
    from rarmodel.cli import main  # noqa: PLC0415

    errors = io.StringIO()
    output = io.StringIO() if target else errors
    with (
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
        mock.patch.object(sys, "argv", words[: -2 if target else None]),
        pytest.raises(SystemExit) as end,
    ):
        main()
    namespace["exit code"] = end.value.code
    if target:
        Path(target).write_text(output.getvalue(), encoding="utf-8")
    return errors.getvalue()


def console(example: Example) -> str | None:
    """Run the commands of a block; what differs from the output that it shows."""
    for block in f"\n{example.parsed}".split("\n$ ")[1:]:
        command, _, expected = block.replace("\\\n", "").partition("\n")
        shown = doctest.Example(command, expected)
        actual = run(command, example.namespace)
        if not doctest.OutputChecker().check_output(shown.want, f"{actual.rstrip()}\n", FLAGS):
            return f"$ {command}\n" + doctest.OutputChecker().output_difference(
                shown, actual, FLAGS
            )
    return None


PAGES = Sybil(
    parsers=[
        captioned_blocks,
        CodeBlockParser("console", console),
        PythonCodeBlockParser(doctest_optionflags=FLAGS),
        SkipParser(),
    ],
    patterns=["README.md", "docs/*.md"]
    + [f"docs/{folder}/*.md" for folder in ("features", "formulations", "notes")],
)


class Page(pytest.Item):
    """All examples of a page, in order: they share names and files."""

    def runtest(self) -> None:
        """Run the examples in order."""
        from runs_here import runs_in_this_process  # noqa: PLC0415

        with (
            runs_in_this_process(),
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
            contextlib.chdir(folder),
            # By its name, as "" stands for another folder in processes of `spawn`.
            mock.patch.object(sys, "path", [folder, *sys.path]),
            # Pages show what is printed when everything is compiled.
            mock.patch.object(logging.getLogger("rarmodel"), "disabled", new=True),
        ):
            shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
            shutil.copytree(EXAMPLES, Path(folder, "docs", "examples"))
            for example in PAGES.parse(self.path).examples():
                with contextlib.suppress(SkipTest):
                    example.evaluate()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: object) -> object:
        """The page's line, what was expected and what came, without a traceback."""
        failed = isinstance(excinfo.value, SybilFailure)
        return str(excinfo.value) if failed else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the test stands."""
        return self.path, None, f"{self.path.name}: examples"


class PageFile(pytest.File):
    """A page; empty if it has no examples."""

    def collect(self) -> Iterator[Page]:
        """The one test."""
        if any(PAGES.parse(self.path).examples()):
            yield Page.from_parent(self, name="examples")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> PageFile | None:
    """Collect pages beside test modules."""
    return PageFile.from_parent(parent, path=file_path) if PAGES.should_parse(file_path) else None
