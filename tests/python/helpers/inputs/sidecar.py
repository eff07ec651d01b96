"""series.jsonl read and written without Tailrace: lines ["checksum", {...}], the checksum that of the object's text."""

import json
from pathlib import Path
from typing import Any

import xxhash


def checksum(text: str) -> str:
    """That of a line."""
    return xxhash.xxh3_64_hexdigest(text.encode())


def read(directory: Path) -> dict[str, Any]:
    """The header's keys, `attributes`, `steps`, and whether the last line says `closed`."""
    told: dict[str, Any] = {"attributes": {}, "steps": []}
    lines = (directory / "series.jsonl").read_text().splitlines()
    for line in lines:
        found, entry = json.loads(line)
        assert checksum(line[20:-1]) == found
        if "index" in entry:
            told["steps"].append(entry)
        else:
            told |= entry
    told["closed"] = json.loads(lines[-1])[1] == {"closed": True}
    return told


def write(directory: Path, told: dict[str, Any]) -> None:
    """Write what `read` returned, changed or not, with right checksums."""
    header = {key: value for key, value in told.items() if key not in ("attributes", "steps", "closed")}
    entries = [header, {"attributes": told["attributes"]}, *told["steps"], {"closed": True}]
    texts = [json.dumps(entry, separators=(",", ":")) for entry in entries]
    lines = [f'["{checksum(text)}",{text}]\n' for text in texts]
    (directory / "series.jsonl").write_text("".join(lines))
