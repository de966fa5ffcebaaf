"""The pages as a code host shows them: plain Markdown, whose links work there as on the website."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
READ_RAW = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("features/*.md")),
    *sorted(DOCS.glob("formulations/*.md")),
    *sorted(DOCS.glob("notes/*.md")),
]
"""All pages but the API reference, whose text Sphinx takes from the code."""


class Link(NamedTuple):
    """A link or an image, with its text."""

    target: str
    text: str


def tokens(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)


def inline(text: str) -> Iterator[list[Token]]:
    """What each paragraph, heading, cell and the like is made of."""
    return (token.children or [] for token in tokens(text) if token.type == "inline")


def links(text: str) -> Iterator[Link]:
    for children in inline(text):
        for i, token in enumerate(children):
            if token.type == "link_open":
                ends = (j for j in range(i, len(children)) if children[j].type == "link_close")
                content = "".join(part.content for part in children[i : next(ends)])
                yield Link(str(token.attrs["href"]), content.strip())
            elif token.type == "image":
                yield Link(str(token.attrs["src"]), token.content.strip())


def anchors(text: str) -> set[str]:
    """Anchors that code hosts give the headings of a page."""
    found: set[str] = set()
    for token, following in pairwise(tokens(text)):
        if token.type == "heading_open":
            plain = "".join(part.content for part in following.children or []).lower()
            anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
            again = sum(bool(re.fullmatch(rf"{re.escape(anchor)}(-\d+)?", one)) for one in found)
            found.add(f"{anchor}-{again}" if again else anchor)
    return found


def unshown(text: str) -> list[str]:
    """What only Sphinx understands: roles, directives, targets, lists of definitions."""
    found = [t.info for t in tokens(text) if t.type == "fence" and t.info.startswith("{")]
    for children in inline(text):
        for before, code in pairwise(children):
            if code.type == "code_inline" and re.search(r"\{[\w:.+-]+\}$", before.content):
                found.append(before.content[before.content.rindex("{") :] + f"`{code.content}`")
        lines = "".join("\n" if p.type == "softbreak" else p.content or "·" for p in children)
        found += re.findall(r"(?m)^(?::::.*|: .*|\([\w-]+\)=|%.*)$", lines)
    return found


def wrong_links(page: Path) -> list[str]:
    """Links of a page without text, or to a file or a heading that is not there."""
    wrong = []
    for link in links(page.read_text(encoding="utf-8")):
        parts = urlsplit(link.target)
        target = page.parent / unquote(parts.path) if parts.path else page
        if not link.text:
            wrong.append(f"{link.target} has no text")
        if parts.scheme:
            continue
        if not target.exists():
            wrong.append(f"{link.target} leads to no file")
        elif parts.fragment and parts.fragment not in anchors(target.read_text(encoding="utf-8")):
            wrong.append(f"{link.target} leads to no heading")
    return wrong


def pages_linked(page: Path) -> list[Path]:
    """Pages that a page links to, in order."""
    targets = (urlsplit(link.target) for link in links(page.read_text(encoding="utf-8")))
    return [
        (page.parent / target.path).resolve()
        for target in targets
        if not target.scheme and target.path.endswith(".md")
    ]


@pytest.mark.parametrize("page", READ_RAW, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page_reads_well_on_a_code_host(page: Path) -> None:
    assert unshown(page.read_text(encoding="utf-8")) == []
    assert wrong_links(page) == []


def test_what_only_sphinx_understands_is_found() -> None:
    assert unshown(
        "(target)=\n\n# Heading {ref}`there`\n\nA {py:func}`~a.b` in $\\{1, 2\\}$ and `code`.\n\n"
        "```{code-block} py\n:caption: a.py\n```\n\n:::{note}\nA note\n:::\n\n"
        "term\n: definition\n\n| a |\n|---|\n| {py:mod}`c` |\n\n% a comment\n\n"
        "```py\nx = {py}\n```\n\n<!--\n```{toctree}\na\n```\n-->\n"
    ) == [
        *("{code-block} py", "(target)=", "{ref}`there`", "{py:func}`~a.b`"),
        *(":::{note}", ":::", ": definition", "{py:mod}`c`", "% a comment"),
    ]


def test_links_that_do_not_work_on_a_code_host_are_found(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# The `b` page, (1)–(3)\n\n## Twice\n\n## Twice\n")
    page = tmp_path / "a.md"
    page.write_text(
        "[](b.md) [fine](b.md#the-b-page-13) [fine](b.md#twice-1) [`fine`](https://example.org)\n"
        "[dead](c.md) [dead](b.md#thrice) ![](none.png) [fine](#a)\n\n```\n[code](d.md)\n```\n\n# A"
    )
    assert wrong_links(page) == [
        "b.md has no text",
        "c.md leads to no file",
        "b.md#thrice leads to no heading",
        "none.png has no text",
        "none.png leads to no file",
    ]


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        ahead += [other for other in pages_linked(page) if other not in reached]
    assert [page for page in READ_RAW if page not in reached] == []


ROOMS = [
    *(DOCS / f"{room}.md" for room in ("index", "tutorials", "real-clusters", "guides")),
    *(DOCS / f"{room}.md" for room in ("reference", "paper", "internals")),
]
"""Pages that list others, and that the sidebar of the website opens and closes."""


def navigated(room: Path) -> list[Path]:
    """Pages below a room in the website's navigation, in its order."""
    tree = re.search(
        r"(?s)```\{toctree\}\n(?::.+?\n)*\n(.+?)\n```", room.read_text(encoding="utf-8")
    )
    assert tree is not None, f"{room} has no list for the website"
    return [(room.parent / f"{page}.md").resolve() for page in tree[1].split("\n")]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.stem)
def test_room_lists_the_pages_that_the_website_navigates_in_its_order(room: Path) -> None:
    text = room.read_text(encoding="utf-8")
    below = navigated(room)
    # The last lists of the page: links may stand in the text before them.
    listed = re.findall(r"(?m)^(?:- |\|[^|\n]*\| ?)\[[^\]]+\]\(([^)#]+\.md)\)", text)
    assert [(room.parent / link).resolve() for link in listed] == below


def test_every_page_is_in_one_room() -> None:
    pages = [page for room in ROOMS for page in navigated(room)]
    assert len(set(pages)) == len(pages)
    guide = {page for page in READ_RAW if page.is_relative_to(DOCS) and "notes" not in page.parts}
    assert {DOCS / "index.md", *pages} == {*guide, DOCS / "api" / "index.md"}


def test_readme_and_index_list_no_page_twice() -> None:
    for page, heading in (
        (ROOT / "README.md", "## Documentation"),
        (DOCS / "index.md", "## Rooms"),
    ):
        text = page.read_text(encoding="utf-8").split(heading)[1]
        listed = [link.target for link in links(text) if not urlsplit(link.target).scheme]
        assert sorted(set(listed)) == sorted(listed)
