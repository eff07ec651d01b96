"""Files of other programs for tests, and their measurements."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tailrace.bench.records.records import Measurement, Record


def write(directory: Path, content: dict[str, Any] | str | bytes, name: str = "results") -> Path:
    """A file with this content; a dictionary becomes JSON."""
    path = directory / name
    text = json.dumps(content, indent=2) if isinstance(content, dict) else content
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def measured(records: Iterable[Record]) -> list[Measurement]:
    """The measurements among records."""
    return [one for one in records if isinstance(one, Measurement)]
