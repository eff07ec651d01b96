"""Print the packages that pyproject.toml declares, one a line.

requirements.py          what builds and tests the package, and all extras for its users
requirements.py EXTRA    those of an extra
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

TOOLS = ("dev", "docs")  # tools/dev_packages.sh and tools/docs.sh install them where they are needed

with (Path(__file__).parents[1] / "pyproject.toml").open("rb") as file:
    declared = tomllib.load(file)
project = declared["project"]
extras = project["optional-dependencies"]
if sys.argv[1:]:
    print(*extras[sys.argv[1]], sep="\n")
else:
    print(*declared["build-system"]["requires"], *project["dependencies"], sep="\n")
    print(*(name for extra in extras if extra not in TOOLS for name in extras[extra]), sep="\n")
