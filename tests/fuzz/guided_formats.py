"""Change files of other programs so that readers come to lines of their code where they have not been, and read all.

    pip install atheris
    TAILRACE_SAMPLES=... python tests/fuzz/guided_formats.py FAMILY --seconds 420

FAMILY is one of xcompact3d, pencil, nektar-xml and sion; TAILRACE_SAMPLES may be left out. The program is for one core;
the library that guides it (libFuzzer in atheris) prints how many cases it has run, and in `cov` how many branches they
took. A finding is every exception that is no error of Tailrace, memory above the limit, or a case of more than 20 s.
The bytes of each are kept in the directory `--keep`, and repeated alone by `--again FILE`. The exit code is 1 then.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pickle
import pkgutil
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import atheris
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

with atheris.instrument_imports(include=["tailrace.formats"]):
    import tailrace as tr
    import tailrace.formats

    for _module in pkgutil.walk_packages(tailrace.formats.__path__, "tailrace.formats."):
        importlib.import_module(_module.name)

from small_files import FAMILIES, MOST_BYTES, Target  # what it imports must be instrumented by then

from tailrace.case.document import ConfigError
from tailrace.formats.recognise import dataset_at
from tailrace.io.placement import Box

ALLOWED = (tr.InputError, tr.IoError, ConfigError)
MEMORY = 768 << 20  # bytes that a reader may take beyond what the program has at its start
MOST_VALUES = 1 << 22  # of an array that is read as a whole
LONGEST = 20_000  # letters of a message
SECONDS_OF_A_CASE = 20


def read_all(path: Path, parameters: dict[str, str]) -> str:
    """Open what is there, as another rank gets it, and read it; the answer says how it ended."""
    found = dataset_at(path, parameters=parameters)
    if found is None:
        return "not recognised"
    found = pickle.loads(pickle.dumps(found))
    damaged = False
    for position in range(len(found.steps)):
        found.scalars(position), found.vectors(position)
        derived = found.derived(position)  # slow: a point of each
        for name, one in (found.variables(position) | derived).items():
            whole = name not in derived and int(np.prod(one.shape, dtype=object)) <= MOST_VALUES
            count = one.shape if whole else tuple(min(n, 1) for n in one.shape)
            found.read(position, name, Box((0, 0, 0), count), np.empty(count[::-1], one.dtype))
        damaged = bool(found.check(position)) or damaged
    found.close()
    return "damage found" if damaged else "read"


class Cases:
    """The targets of a family, and one case after the other."""

    def __init__(self, family: str, folder: Path, keep: Path) -> None:
        self._folder, self._told = folder, time.monotonic()
        self.targets = FAMILIES[family](folder)
        self._whole = {target.file: target.file.read_bytes() for target in self.targets if target.file.exists()}
        self._changed: Path | None = None
        self._family, self._keep = family, keep
        self.ends: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()

    def seeds(self) -> Iterator[bytes]:
        """The first byte says which target."""
        for at, target in enumerate(self.targets):
            for seed in target.seeds:
                yield bytes([at]) + seed

    def run(self, data: bytes) -> None:
        """One case; a finding of a new kind is printed and its bytes are kept."""
        if not data:
            return
        target = self.targets[data[0] % len(self.targets)]
        if self._changed not in (None, target.file):
            self._restore()
        target.file.write_bytes(target.made(data[1:]))
        self._changed = target.file
        try:
            self.ends[self._ended(target)] += 1
        except Exception as error:
            self._note(error, target, data)
        self._tell()

    def _ended(self, target: Target) -> str:
        try:
            return read_all(target.opened, dict(target.parameters))
        except ALLOWED as error:
            if not 0 < len(str(error)) <= LONGEST:
                raise AssertionError(f"an error with a message of {len(str(error))} letters") from error
            return "error"

    def _restore(self) -> None:
        assert self._changed is not None
        if self._changed in self._whole:
            self._changed.write_bytes(self._whole[self._changed])
        else:
            self._changed.unlink()

    def _note(self, error: Exception, target: Target, data: bytes) -> None:
        places = traceback.extract_tb(error.__traceback__)
        inner = next((place for place in reversed(places) if "tailrace" in place.filename), places[-1])
        where = f"{type(error).__name__} at {Path(inner.filename).name}:{inner.lineno}"
        self.findings[where] += 1
        if self.findings[where] > 1:
            return
        kept = self._keep / f"{self._family}-{where.replace(' at ', '-').replace(':', '-')}"
        kept.write_bytes(data)
        what = f"{target.file.relative_to(self._folder)}, opened {target.opened.relative_to(self._folder)}"
        print(f"finding: {where}: {str(error)[:500]}\n  {what}; again: {self._family} --again {kept}", flush=True)
        traceback.print_exception(error, limit=-6)

    def _tell(self) -> None:
        """Say once a minute how the cases ended."""
        if time.monotonic() - self._told > 60:
            self._told = time.monotonic()
            print(f"{dict(self.ends)}; findings: {dict(self.findings)}", flush=True)


def _fast() -> str | None:
    return "/dev/shm" if "TMPDIR" not in os.environ and os.access("/dev/shm", os.W_OK) else None


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("--seconds", type=int, default=420, help="how long")
    parser.add_argument("--seed", type=int, default=1, help="of the random generator")
    parser.add_argument("--keep", type=Path, default=Path("findings"), help="directory for the bytes of findings")
    parser.add_argument("--again", type=Path, help="a file of findings to run alone")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def work(options: argparse.Namespace, folder: Path) -> None:
    """Run cases until the time is over; libFuzzer ends the process."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    files, corpus = folder / "files", folder / "corpus"
    files.mkdir()
    corpus.mkdir()
    cases = Cases(options.family, files, options.keep)
    if options.again:
        cases.run(options.again.read_bytes())
        print(f"ended: {dict(cases.ends)}")
        return
    for at, seed in enumerate(cases.seeds()):
        (corpus / f"seed{at}").write_bytes(seed)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limits = [f"-max_total_time={options.seconds}", f"-timeout={SECONDS_OF_A_CASE}", f"-rss_limit_mb={MEMORY >> 20}"]
    more = [f"-max_len={MOST_BYTES}", f"-artifact_prefix={options.keep}/", f"-seed={options.seed}"]
    atheris.Setup([sys.argv[0], *limits, *more, "-print_final_stats=1", str(corpus)], cases.run)
    atheris.Fuzz()


def main() -> int:
    """Let a child process run the cases, which may crash. Returns the exit code."""
    options = arguments()
    if options.folder:
        work(options, options.folder)
        return 0
    options.keep.mkdir(parents=True, exist_ok=True)
    before = set(options.keep.iterdir())
    with tempfile.TemporaryDirectory(prefix="tailrace-fuzz-", dir=_fast()) as folder:
        code = subprocess.run([sys.executable, *sys.argv, "--folder", folder], check=False).returncode
    found = sorted(set(options.keep.iterdir()) - before)
    print(f"{len(found)} kinds of findings: {', '.join(map(str, found))}; exit code {code}")
    return 1 if found or code else 0


if __name__ == "__main__":
    sys.exit(main())
