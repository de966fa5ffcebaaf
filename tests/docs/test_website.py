"""The website as Sphinx builds it: each page under its name, and no dead link."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from ast import literal_eval
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from elements import Elements

pytest.importorskip("sphinx")

DOCS = Path(__file__).parents[2] / "docs"
SOURCES = sorted(
    path.relative_to(DOCS)
    for path in DOCS.rglob("*.md")
    if not {"_build", "notes"} & set(path.relative_to(DOCS).parts)
)
GROUPS = {"rarmodel.policies", "rarmodel.placements"}
"""Groups of entry points, which are named like modules and are none."""
SPHINX = "import gc, sys, sphinx.cmd.build as build; gc.disable(); sys.exit(build.main())"
"""`sphinx-build`, which would look for garbage a fifth of the time."""
SOURCES_OF_CODE = "sphinx.ext.viewcode"
MADE_BY_SPHINX = {"genindex", "modindex", "py-modindex", "search"}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(True, id="with sources", marks=pytest.mark.slow),
        pytest.param(False, id="without sources"),
    ],
)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The website, built once, by the command that CONTRIBUTING.md gives.

    The pages of sources take a third of the time, and the names of all objects in the contents of
    each page a fifth.
    """
    built = tmp_path_factory.mktemp("site")
    options = ["-q", "-W", "--keep-going", "-b", "html"]
    if not request.param:
        listed = re.search(r"(?ms)^extensions = (\[.*?\])", (DOCS / "conf.py").read_text("utf-8"))
        assert listed is not None
        extensions = [name for name in literal_eval(listed[1]) if name != SOURCES_OF_CODE]
        options += ["-D", f"extensions={','.join(extensions)}", "-D", "toc_object_entries=0"]
    command = [sys.executable, "-c", SPHINX, *options, str(DOCS), str(built)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    return built


def heading(source: Path) -> str:
    """First heading of a Markdown page, without markup and with the quotes that Sphinx makes."""
    found = re.search(r"(?m)^# (.+)$", (DOCS / source).read_text(encoding="utf-8"))
    assert found is not None, f"{source} has no heading"
    return found[1].replace("`", "").replace("'", "’")


def shown(page: Path, pattern: str) -> str:
    """Text of the part of a built page that a pattern finds, without tags."""
    found = re.search(pattern, page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return "" if found is None else html.unescape(re.sub("<[^>]+>", "", found[1])).strip()


def dead_links(site: Path) -> list[str]:
    """Links within a site, of any kind, to a file or an anchor that is not there."""
    pages = {page: Elements(page.read_text(encoding="utf-8")) for page in site.rglob("*.html")}
    anchors = {
        page.resolve(): {attributes.get("id") for _, attributes in elements.tags}
        for page, elements in pages.items()
    }
    dead = []
    for page, elements in pages.items():
        targets = {
            target
            for _, attributes in elements.tags
            for target in (attributes.get("href"), attributes.get("src"))
            if target
        }
        for target in sorted(targets):
            link = urlsplit(target)
            if link.scheme or link.netloc:
                continue
            file = (page.parent / unquote(link.path) if link.path else page).resolve()
            fragment = unquote(link.fragment)
            if not file.is_file() or (fragment and fragment not in anchors.get(file, ())):
                dead.append(f"{page.relative_to(site)}: {target}")
    return dead


def test_no_page_has_the_name_of_one_that_sphinx_makes() -> None:
    names = [source.with_suffix("").as_posix().casefold() for source in SOURCES]
    assert MADE_BY_SPHINX & set(names) == set()
    assert len(set(names)) == len(names), (
        "names that differ in case only are one file on some disks"
    )


def test_every_source_has_a_page_with_its_heading(site: Path) -> None:
    wrong = []
    for source in SOURCES:
        page = site / source.with_suffix(".html")
        titles = shown(page, r"<h1>(.*?)<a class=\"headerlink\""), shown(page, r"<title>(.*?)<")
        if titles[0] != heading(source) or not titles[1].startswith(heading(source)):
            wrong.append(f"{source}: {heading(source)!r} is shown as {titles}")
    assert wrong == []


def test_every_page_of_the_site_comes_from_a_source_or_from_sphinx(site: Path) -> None:
    pages = {page.relative_to(site).with_suffix("").as_posix() for page in site.rglob("*.html")}
    sources = {source.with_suffix("").as_posix() for source in SOURCES}
    code = {page for page in pages if page.startswith("_modules/")}
    assert pages - code == sources | (MADE_BY_SPHINX & pages)
    assert {"search", "genindex", "py-modindex"} <= pages


def test_no_link_of_the_site_is_dead(site: Path) -> None:
    assert dead_links(site) == []


def test_narrow_columns_break_no_percentage_and_names_only_after_dots(site: Path) -> None:
    tables = re.findall(
        r"(?s)<td\b.*?</td>",
        "".join((site / f"{page}.html").read_text("utf-8") for page in ("performance", "formats")),
    )
    assert [cell for cell in tables if re.search(r"\d %", cell)] == []
    assert any(re.search(r"\d\u00a0%", cell) for cell in tables)
    parts = ("cluster.", "intra_", "server_", "gbps")
    name = "<wbr>".join(f'<span class="whole">{part}</span>' for part in parts)
    assert any(name in cell for cell in tables)


def test_files_and_names_of_plain_pages_become_captions_and_links(site: Path) -> None:
    seen = []
    for source in (source for source in SOURCES if source.parts[0] != "api"):
        text = (DOCS / source).read_text(encoding="utf-8")
        page = (site / source.with_suffix(".html")).read_text(encoding="utf-8")
        files = re.findall(r"(?m)^`([\w.-]+)`:\n\n```", text)
        captions = re.findall(r'code-block-caption"><span class="caption-text">(.+?)</span>', page)
        assert captions == files
        prose = re.sub(r"(?ms)^```.*?^```$", "", text)
        names = set(re.findall(r"`(rarmodel(?:\.\w+)+)`", prose)) - GROUPS
        assert [name for name in sorted(names) if f' title="{name}"><code' not in page] == []
        seen += [*files, *names]
    assert {"lab.json", "packing.py", "rarmodel.bounds", "rarmodel.Result"} <= set(seen)


def test_website_needs_no_network(site: Path) -> None:
    asked = []
    for page in site.rglob("*.html"):
        for tag, attributes in Elements(page.read_text(encoding="utf-8")).tags:
            target = attributes.get("href") if tag == "link" else attributes.get("src")
            if target and urlsplit(target).netloc:
                asked.append(f"{page.relative_to(site)}: {target}")
    assert asked == []


def test_formulas_are_shown_without_a_script(site: Path) -> None:
    for source in SOURCES:
        text = re.sub(r"(?ms)^```.*?^```$|`.*?`", "", (DOCS / source).read_text(encoding="utf-8"))
        page = (site / source.with_suffix(".html")).read_text(encoding="utf-8")
        displayed, within = text.count("$$") // 2, text.replace("$$", "").count("$") // 2
        assert page.count("<math ") == displayed + within
        assert page.count('<div class="math">') == displayed
        assert re.findall(r'class="eqno">\((\d+)\)<', page) == re.findall(r"\\tag\{(\d+)\}", text)


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.html").write_text(
        '<h1 id="top"><a href="#top">fine</a><a href="deep/b.html#c%C3%A9">fine</a>'
        '<a href="https://example.org/none#x">not ours</a><img src="none.png">'
        '<a href="#bottom">dead</a><a href="b.html">dead</a><a href="deep/b.html#ce">dead</a>'
    )
    (tmp_path / "deep" / "b.html").write_text('<p id="cé"><a href="../a.html?v=1#top">fine</a>')
    assert dead_links(tmp_path) == [
        "a.html: #bottom",
        "a.html: b.html",
        "a.html: deep/b.html#ce",
        "a.html: none.png",
    ]
