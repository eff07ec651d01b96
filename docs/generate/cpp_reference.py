"""Pages of the public C++ headers and of the C header, from their comments (Doxygen, shown by Breathe)."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

TITLES = {
    "io": ("Output", "Write and read series of steps with any engine."),
    "grid": ("Grid", "Boxes, grids, decompositions, and the exchange between ranks."),
    "ops": ("Operators", "Compact schemes on lines and fields, the pressure solver, reductions."),
    "analysis": ("Analysis", "Spectra and running moments."),
    "flow": ("Flow", "The solver of the Navier-Stokes equations."),
    "support": ("Support", "Communicators, errors, times, SIMD registers."),
}
SETTINGS = """
PROJECT_NAME = Tailrace
QUIET = YES
WARN_IF_UNDOCUMENTED = NO
WARN_AS_ERROR = NO
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
MARKDOWN_SUPPORT = YES
AUTOLINK_SUPPORT = NO
JAVADOC_AUTOBRIEF = YES
EXTRACT_ALL = YES
EXTRACT_PRIVATE = NO
HIDE_UNDOC_MEMBERS = NO
ENABLE_PREPROCESSING = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = __restrict= "__attribute__(x)=" __cplusplus=202002L
FULL_PATH_NAMES = YES
# In comments, < begins an average or a type, never a tag of HTML.
INPUT_FILTER = "sed -E ':a; s@(///<?[^<]*[^<\\\\])<([A-Za-z|/])@\\1\\\\<\\2@; ta'"
"""


def public_headers(source: Path) -> list[str]:
    """The headers that the library installs, in the order of src/CMakeLists.txt."""
    text = (source / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.findall(r"tailrace/[\w/]+\.hpp|tailrace/c_api/tailrace\.h", text.partition("FILE_SET HEADERS")[2])


def page_of(header: str) -> str:
    """The page of a public header on the site."""
    folder = header.split("/")[1]
    return f"/reference/generated/{'c' if folder == 'c_api' else f'cpp_{folder}'}.md"


def run_doxygen(headers: list[str], source: Path, out: Path) -> None:
    """Write the comments of the headers as XML.

    :raises FileNotFoundError: Doxygen is not installed.
    """
    out.mkdir(parents=True, exist_ok=True)
    files = " ".join(f'"{source / header}"' for header in headers)
    settings = f'{SETTINGS}INPUT = {files}\nOUTPUT_DIRECTORY = "{out}"\nSTRIP_FROM_PATH = "{source}"\n'
    try:
        subprocess.run(["doxygen", "-"], input=settings, text=True, check=True, stdout=subprocess.DEVNULL)
    except FileNotFoundError:
        raise FileNotFoundError("doxygen is not installed; on Debian: apt-get install doxygen") from None


def write(pages: Path, source: Path, out: Path) -> None:
    """One page for each folder of the library, and one for the C header."""
    headers = public_headers(source)
    run_doxygen(headers, source, out)
    for folder, (title, about) in TITLES.items():
        parts = [f"# {title}\n\n{about}\n"]
        for header in headers:
            if header.startswith(f"tailrace/{folder}/"):
                parts.append(f"## {Path(header).name}\n\n```cpp\n#include <{header}>\n```\n")
                parts.append(f"```{{doxygenfile}} {Path(header).name}\n```\n")
        (pages / f"cpp_{folder}.md").write_text("\n".join(parts), encoding="utf-8")
    about_c = (
        "Programs in C include `<tailrace/c_api/tailrace.h>` and link `Tailrace::tailrace` (CMake) or\n"
        "`$(pkg-config --cflags --libs tailrace)`. [From Fortran and C](/fortran.md) has examples.\n"
    )
    body = "```{doxygenfile} tailrace.h\n```\n"
    (pages / "c.md").write_text(f"# C\n\n{about_c}\n{body}", encoding="utf-8")
