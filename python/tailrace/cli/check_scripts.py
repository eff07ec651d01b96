"""Whether scripts load and take their parameters, tried in a process of its own.

A program that is about to start others must not run scripts itself: they may start MPI, which is not its to start.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence


def problem(words: Sequence[str], values: Sequence[str], *, resume: bool) -> str:
    """What is wrong with scripts and their parameters, in words; "" where nothing is.

    :param resume: whether they are to go on after former results.
    """
    request = json.dumps([list(words), list(values), resume])
    done = subprocess.run(
        [sys.executable, "-m", __name__, request], capture_output=True, text=True, errors="replace", check=False
    )
    return "" if done.returncode == 0 else done.stderr.strip() or f"loading them ended with code {done.returncode}"


def _main() -> None:
    from tailrace.analysis.after import check_resume, load_scripts

    words, values, resume = json.loads(sys.argv[1])
    try:
        scripts = load_scripts(words, values)
        if resume:
            check_resume(scripts)
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _main()
