"""Convert, and end by SIGKILL at a moment: `python -m helpers.programs.conversion_killed MOMENT JSON-of-arguments`.

Moments are the changes of files that Python sees (files opened to write, renamed, removed; directories made and
removed) and the pieces that are written or compared, in their order. It prints the number of moments when it ends by
itself.
"""

from __future__ import annotations

import json
import os
import signal
import sys

import tailrace as tr

_CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir")


def main() -> None:
    moment, arguments = int(sys.argv[1]), json.loads(sys.argv[2])
    count = 0
    busy = False

    def tick() -> None:
        nonlocal count
        count += busy
        if busy and count == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, details: tuple[object, ...]) -> None:
        writes = event == "open" and isinstance(details[2], int) and details[2] & (os.O_WRONLY | os.O_RDWR)
        if event in _CHANGES or writes:
            tick()

    sys.addaudithook(hook)
    busy = True
    tr.convert(**arguments, progress=lambda *_: tick())
    busy = False
    print(count)


if __name__ == "__main__":
    main()
