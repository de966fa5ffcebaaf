"""Settings of Sphinx: sphinx-build -W --keep-going -b html docs docs/_build/html."""

import re
import sys
from dataclasses import is_dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from numba.core.dispatcher import Dispatcher
from sphinx import addnodes

import rarmodel

sys.path.append(str(Path(__file__).parent))
import command_line
import parts_tables

project = "rarmodel"
copyright = "the rarmodel authors"
release = rarmodel.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
if find_spec("sphinx_copybutton"):
    extensions.append("sphinx_copybutton")
copybutton_prompt_text = r"\$ |>>> |\.\.\. "  # what is typed after a prompt, without the output
copybutton_prompt_is_regexp = True
copybutton_copy_empty_lines = False
exclude_patterns = ["_build", "notes"]  # notes are for maintainers: CONTRIBUTING.md
html_theme = "furo"
html_logo = "style/logo.svg"
html_favicon = "style/logo.svg"
html_search_scorer = str(Path(__file__).parent / "style" / "search_scorer.js")
html_theme_options = {"navigation_with_keys": True}
html_title = f"rarmodel {release}"
html_copy_source = False
html_math_renderer = "mathml"
html_static_path = ["style"]
html_css_files = ["website.css"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

default_role = "code"
nitpicky = True  # a reference to a name of ours that does not exist fails the build
nitpick_ignore_regex = [("py:.*", r"(?!rarmodel\b).*")]
nitpick_ignore = [  # groups of entry points, not modules
    ("py:obj", f"rarmodel.{group}") for group in ("policies", "placements")
]
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
autodoc_default_options = {"exclude-members": "model_config"}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_type_aliases = {
    name: name
    for name in (
        "Alternatives",
        "Count",
        "Day",
        "ExactValue",
        "FileName",
        "Floats",
        "Integer",
        "Ints",
        "Name",
        "Network",
        "NonNegative",
        "Parameters",
        "Placed",
        "Positive",
        "Records",
        "Rule",
        "Seeds",
    )
}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"


_FIELDS = {"attribute", "data", "property"}
_field_docstrings = {}


def _prepare():
    """Show autodoc the Python function in place of a compiled one, and no made-up field docs."""
    for package in walk_packages(rarmodel.__path__, "rarmodel."):
        if not package.name.endswith("__main__"):
            import_module(package.name)
    for name in [name for name in sys.modules if name.startswith("rarmodel")]:
        for attribute, value in list(vars(sys.modules[name]).items()):
            if isinstance(value, Dispatcher):
                setattr(sys.modules[name], attribute, value.py_func)
            elif isinstance(value, type) and issubclass(value, tuple):
                for field in getattr(value, "_fields", ()):
                    getattr(value, field).__doc__ = None  # "Alias for field number 0"


def _plain_docstring(app, what, name, obj, options, lines):
    """Adapt to napoleon and reStructuredText what our docstrings write otherwise.

    Formulas stand between Markdown fences, and several attributes may share one description.
    """
    if what in _FIELDS:
        _field_docstrings[name] = lines[:]
    text = re.sub(r"(?m)^```\n(.*?)^```$", _literal_block, "\n".join(lines), flags=re.DOTALL)
    text = re.sub(r"(?m)^(\w+(?:, \w+)+)\n((?:    .*\n?)+)", _one_by_one, text)
    lines[:] = text.split("\n")


def _literal_block(match):
    return ".. code-block:: text\n\n" + "".join(
        f"   {line}" for line in match[1].splitlines(keepends=True)
    )


def _one_by_one(match):
    return "".join(f"{name}\n{match[2].rstrip()}\n" for name in match[1].split(", "))


def _field_docstring(app, what, name, obj, options, lines):
    """Undo what napoleon makes of a field's docstring: it takes all before a colon for a type."""
    if what in _FIELDS:
        lines[:] = _field_docstrings.pop(name)


def _no_signature_of_records(app, what, name, obj, options, signature, returns):
    """The fields of a record say how it is made; Pydantic's signature of it is unreadable."""
    record = what == "class" and (
        is_dataclass(obj)
        or hasattr(obj, "model_fields")
        or hasattr(obj, "_fields")
        or getattr(obj, "_is_protocol", False)
    )
    return ("", None) if record else None


def _back_to_docs(app, page, template, context, doctree):
    """Mend viewcode's links from code to docs: it takes one documented name for a whole module."""
    if not page.startswith("_modules/"):
        return
    names = app.env.get_domain("py").objects

    def mended(match):
        block, name = match[2], match[3]
        if name not in names:
            name = next(other for other in names if other.endswith(f".{block}"))
        return f"{match[1]}#{name}"

    link = r'(id="([\w.]+)">\s*<a class="viewcode-back" href="[^#]+)#([\w.]+)'
    context["body"] = re.sub(link, mended, context["body"])


def _directives_of_plain_markdown(app, page, source):
    """Turn into directives of MyST what our pages write so that a code host shows it as well.

    A block below a line with nothing but the name of its file has that name as caption, and a
    directive in a comment is for the website alone.
    """
    text = re.sub(
        r"(?m)^`([\w.-]+)`:\n\n```(\w+)\n", r"```{code-block} \2\n:caption: \1\n\n", source[0]
    )
    source[0] = re.sub(r"(?s)<!--\n(```\{.*?^```)\n-->", r"\n\1\n", text, flags=re.MULTILINE)


def _tables_of_parts(app, page, source):
    """Make the tables of who handles what anew."""
    if page == parts_tables.PAGE.stem:
        source[0] = parts_tables.renewed(source[0])
    if page == command_line.PAGE.stem:
        source[0] = command_line.renewed(source[0])


def _names_as_links(app, doctree):
    """Link the names of ours in pages to the API reference; a name that is wrong is a warning."""
    page = app.env.docname
    for code in [] if page.startswith("api/") else list(doctree.findall(nodes.literal)):
        name = code.astext()
        if re.fullmatch(r"rarmodel(\.\w+)+", name) and not isinstance(code.parent, nodes.reference):
            link = addnodes.pending_xref(
                "", refdomain="py", reftype="obj", reftarget=name, refdoc=page, refwarn=True
            )
            code.replace_self(link)
            link += code


def _unbroken_percentages(app, doctree):
    """Keep a number and its percent sign on one line, in narrow columns too."""
    for text in list(doctree.findall(nodes.Text)):
        if re.search(r"\d %", text) and not isinstance(
            text.parent, (nodes.literal, nodes.literal_block)
        ):
            text.parent.replace(text, nodes.Text(re.sub(r"(?<=\d) %", "\u00a0%", text)))


def _names_end_lines_at_dots(app, page, template, context, doctree):
    """Let a long name go on below after a dot or an underscore, where a column is narrow."""

    def in_parts(name):
        parts = re.findall(r"[^._]*[._]+|[^._]+", name[1])
        whole = "<wbr>".join(f'<span class="whole">{part}</span>' for part in parts)
        return f'<span class="pre">{whole}</span>'

    if "body" in context and not page.startswith(("api/", "_modules/")):
        context["body"] = re.sub(
            r"(?s)<td\b.*?</td>",
            lambda cell: re.sub(r'<span class="pre">([^<]+)</span>', in_parts, cell[0]),
            context["body"],
        )


def _mathml(text, **options):
    """A formula as MathML, which browsers show without a script and without a network."""
    # docutils would set the subscript of an accented letter below it, but not that of a group.
    return tex2mathml(re.sub(r"(\\(?:hat|tilde) ?\\?[a-zA-Z]+)(?=_)", r"{{}\1}", text), **options)


def _inline_formula(translator, node):
    translator.body.append(_mathml(node.astext()))
    raise nodes.SkipNode


def _formula(translator, node):
    r"""Show a displayed formula; docutils does not know `\tag`, which numbers it."""
    text, *number = re.split(r"\\tag\{(\w+)\}", node.astext())[:2]
    shown = f'<span class="eqno">({number[0]})</span>' if number else ""
    translator.body.append(f'<div class="math">{shown}{_mathml(text, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app):
    _prepare()
    app.add_html_math_renderer(
        "mathml", inline_renderers=(_inline_formula, None), block_renderers=(_formula, None)
    )
    app.connect("source-read", _tables_of_parts)
    app.connect("source-read", _directives_of_plain_markdown)
    app.connect("doctree-read", _names_as_links)
    app.connect("doctree-read", _unbroken_percentages)
    app.connect("autodoc-process-docstring", _plain_docstring, priority=400)
    app.connect("autodoc-process-docstring", _field_docstring, priority=600)
    app.connect("autodoc-process-signature", _no_signature_of_records)
    app.connect("html-page-context", _back_to_docs)
    app.connect("html-page-context", _names_end_lines_at_dots)
