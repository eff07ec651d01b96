"""Waits for blocks of Python on standard input and answers what became of each. A block may print."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import traceback
from typing import Any


def main() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr
    names: dict[str, Any] = {}
    for line in sys.stdin:
        order = json.loads(line)
        os.chdir(order["directory"])
        if order["new"]:
            names = {"__name__": "__main__"}
            sys.path[0] = order["directory"]
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                exec(compile("\n" * order["line"] + order["text"], order["file"], "exec"), names)
                if "matplotlib.pyplot" in sys.modules:
                    sys.modules["matplotlib.pyplot"].close("all")
            failed = False
        except BaseException:
            said.write(traceback.format_exc())
            failed = True
        print(json.dumps({"failed": failed, "text": said.getvalue()}), file=answers, flush=True)


if __name__ == "__main__":
    main()
