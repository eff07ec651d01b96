"""Configuration of Sphinx. `make docs` builds the site; nothing in it is loaded from the internet."""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

from generate import case_reference, command_reference, cpp_reference, fortran_reference, math_ml  # noqa: E402

project = "Tailrace"
author = "The Tailrace authors"
project_copyright = "The Tailrace authors, BSD-3 licence"
release = re.search(r"project\(Tailrace VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)  # type: ignore[union-attr]
version = release

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "breathe",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["build", "generate", "**/README.md"]
templates_path: list[str] = []

# ---- pages ----
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "build" / "docs" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
copybutton_exclude = ".linenos, .gp, .go"
html_math_renderer = "mathml"

# ---- reference ----
default_role = "code"  # docstrings write `name` as Markdown does
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {
    "members": True,
    "inherited-members": "object,BaseModel,NDArrayOperatorsMixin,RuntimeError,tuple",
    "show-inheritance": False,
}
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
cpp_maximum_signature_line_length = 100
add_module_names = False
nitpicky = True
nitpick_ignore_regex = [("py:(class|exc|obj)", ".*"), ("c(pp)?:.*", ".*")]  # names of other libraries and private ones
breathe_default_project = "tailrace"
breathe_projects = {"tailrace": str(ROOT / "build" / "docs" / "doxygen" / "xml")}
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}
breathe_show_include = False
suppress_warnings = ["duplicate_declaration.cpp"]  # namespaces, which every header opens

# ---- looks ----
html_theme = "pydata_sphinx_theme"
html_title = f"Tailrace {release}"
html_static_path = ["static"]
html_css_files = ["tailrace.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "Tailrace"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "show_nav_level": 1,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "changelog": []}

# Running `tailrace` in notebooks: as in a shell with the environment active.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


# Links lead to files of the repository, so that a plain view of it can follow them. The site has pages of these.
PAGES = {
    "CHANGELOG.md": "/changelog.md",
    "python/tailrace/case/sections": "/reference/generated/case.md",
    "python/tailrace/cli/main.py": "/reference/generated/command.md",
    "src/tailrace/c_api/fortran": "/reference/generated/fortran.md",
    **{f"src/{header}": cpp_reference.page_of(header) for header in cpp_reference.public_headers(ROOT / "src")},
}
REPOSITORY = r"\[([^\]]+)\]\((?:\.\./)+((?:src|examples|benchmarks|tests|tools|python)/[^)]*|[A-Z]+\.(?:md|cff))\)"


def link_to_repository(app: Sphinx, page: str, source: list[str]) -> None:
    """Links to files beside docs/ lead to their pages; those that the site does not contain become their names."""

    def link(found: re.Match[str]) -> str:
        return f"[{found[1]}]({PAGES[found[2]]})" if found[2] in PAGES else f"`{found[2]}`"

    source[0] = re.sub(REPOSITORY, link, source[0])


def find_public_name(app: Sphinx, env: Any, node: Any, content: nodes.Node) -> nodes.Node | None:
    """Annotations name classes by the module that defines them; the reference has them under `tailrace`."""
    if node.get("refdomain") != "py":
        return None
    name = node["reftarget"].rpartition(".")[2]
    domain = env.get_domain("py")
    for kind, target in (("class", f"tailrace.{name}"), ("exc", f"tailrace.{name}"), ("func", f"tailrace.{name}")):
        if target in domain.objects and node["reftarget"] != target:
            found: nodes.Node | None = domain.resolve_xref(
                env, node["refdoc"], app.builder, kind, target, node, content
            )
            return found
    return None


def keep_bars(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """|k| in a docstring is an absolute value, not a substitution of reStructuredText."""
    lines[:] = [re.sub(r"\|(\w+)\|", r"\\|\1\\|", line) for line in lines]


def unwrap_namespaces(app: Sphinx, doctree: nodes.document) -> None:
    """Take the contents of headers out of their namespaces, which the C++ page names once."""
    for node in list(doctree.findall(addnodes.desc)):
        if node["domain"] == "cpp" and node[0].astext().startswith("namespace "):
            node.replace_self(node[1].children)


def setup(app: Sphinx) -> None:
    """Write the generated pages before Sphinx reads any."""
    pages = HERE / "reference" / "generated"
    pages.mkdir(parents=True, exist_ok=True)
    case_reference.write(pages)
    command_reference.write(pages)
    fortran_reference.write(pages, ROOT / "src" / "tailrace" / "c_api" / "fortran")
    cpp_reference.write(pages, ROOT / "src", ROOT / "build" / "docs" / "doxygen")
    math_ml.setup(app)
    font = Path(find_spec("ziamath").origin).parent / "fonts" / "STIXTwoMath-Regular.ttf"  # type: ignore[union-attr,arg-type]
    app.connect("builder-inited", lambda app: math_ml.copy_font(app, font))
    app.connect("source-read", link_to_repository)
    app.connect("autodoc-process-docstring", keep_bars)
    app.connect("doctree-read", unwrap_namespaces)
    app.connect("missing-reference", find_public_name)
