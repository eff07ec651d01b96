"""Looks at a series that may be harmful. Arguments: the function, and the path of the series."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tailrace.core import IoError
from tailrace.inspection import contents as inspection
from tailrace.io import series as tr


def look(path: str) -> None:
    """Print, in JSON, what the commands `info` and `verify` say; of `info` errors only."""
    said = []
    for inspect in (inspection.contents, inspection.verify):
        try:
            found = inspect(Path(path))
            said.append("\n".join(found.lines()) if inspect is inspection.verify else "")
        except (OSError, ValueError) as error:
            said.append(str(error))
    print(json.dumps(said))


def read(path: str) -> None:
    """Print attributes, the shape of a field and the damage, or the error."""
    try:
        with tr.open(path) as found:
            print(found.attributes, found[0].read("ux").shape, found.verify())
    except IoError as error:
        print(error)


if __name__ == "__main__":
    {"look": look, "read": read}[sys.argv[1]](sys.argv[2])
