"""Check, in a separate process, that scripts can be loaded and accept their parameters.

A program that starts MPI jobs must not use MPI itself. Scripts may use MPI, so this program must not run them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def problem(words: Sequence[str], values: Sequence[str], out: Path, *, resume: bool, overwrite: bool) -> str:
    """A message about the errors of scripts and their parameters, or "".

    :param out: the directory of their results.
    :param resume: whether the scripts continue after earlier results.
    :param overwrite: whether they replace them.
    """
    request = json.dumps([list(words), list(values), str(out), resume, overwrite])
    done = subprocess.run(
        [sys.executable, "-m", __name__, request], capture_output=True, text=True, errors="replace", check=False
    )
    return "" if done.returncode == 0 else done.stderr.strip() or f"loading them ended with code {done.returncode}"


def _main() -> None:
    from tailrace.analysis.earlier_results import check_free
    from tailrace.io.engines import DEFAULT
    from tailrace.replay.analyse import check_resume, load_scripts

    words, values, out, resume, overwrite = json.loads(sys.argv[1])
    try:
        scripts = load_scripts(words, values)
        if resume:
            check_resume(scripts)
        names = [script.name for script in scripts]
        check_free(Path(out), names, DEFAULT, beside=True, may_stay=resume or overwrite)
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _main()
