"""`tailrace verify PATH` with a bit flipped in FILE, and with FILE cut, at many places: it finds every one.

Arguments: PATH FILE. A library that reads damaged bytes may crash or wait, so this is a program of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from tailrace.cli.main import app


def main(path: str, name: str) -> None:
    tailrace = typer.main.get_command(app)
    file = Path(name)
    whole = file.read_bytes()
    for number in range(50):
        place = number * len(whole) // 50
        flipped = bytearray(whole)
        flipped[place] ^= 1 << number % 8
        for text in (bytes(flipped), whole[:place]):
            file.write_bytes(text)
            code = tailrace(["verify", path], standalone_mode=False)
            assert code == 1 or (code == 0 and file.name == "md.idx" and place in (38, 39)), (place, code)
    file.write_bytes(whole)


if __name__ == "__main__":
    main(*sys.argv[1:])
