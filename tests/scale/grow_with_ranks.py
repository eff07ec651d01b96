"""How the costs of a run and of a series grow with the number of ranks, from which follows what 10,000 ranks will meet.

    python tests/scale/grow_with_ranks.py                                        # 2 to 64 ranks, all engines, a run
    python tests/scale/grow_with_ranks.py --ranks 8 32 128 512 --only raw bp5 run

Each rank has a tiny block, and its calls are counted (count_calls.c), one phase at a time (ranks_program.py). A line of
the table gives, for the largest number of ranks, what a rank has on the average and what the busiest has; each with its
exponent of growth since a quarter of the ranks: 0 is a cost that no rank sees grow. Counts are exact on any machine. A
line in which the average grows faster than --most is marked, and counted at the end.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from helpers.harness import mpi_run
from helpers.harness.engines import ENGINES

HERE = Path(__file__).parent
PARAMETERS = {engine.label: engine for engine in ENGINES if engine.label != "mpiio-small"}
STREAMS = {"stream": "all", "stream-node": "node"}  # which ranks send
WORK = ["start", "run", *PARAMETERS, *STREAMS]
NAMES = ("opens", "looks", "names", "syncs", "read", "written", "collectives", "messages", "received", "sent",
         "sockets")  # fmt: skip
FEW = {"read": 256, "written": 256, "received": 256, "sent": 256, "sockets": 256}  # bytes a rank that need no look

Counts = dict[str, tuple[list[int], list[int]]]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="*", default=[4, 16, 64], help="numbers of ranks")
    parser.add_argument("--only", nargs="*", choices=WORK, default=WORK, help="what is done", metavar="WORK")
    parser.add_argument("--most", type=float, default=0.1, help="the largest exponent of the average that passes")
    parser.add_argument("--limit", type=float, default=900, help="seconds after which one program hangs")
    parser.add_argument("--folder", type=Path, help="where the files are written")
    return parser.parse_args()


def compile_library(folder: Path) -> Path:
    """Compile the counter; returns the file to preload."""
    target = folder / "count_calls.so"
    subprocess.run(["mpicc", "-shared", "-fPIC", "-O1", "-o", target, HERE / "count_calls.c", "-ldl"], check=True)
    return target


def measured(options: argparse.Namespace, library: Path, folder: Path, work: str, ranks: int) -> Counts:
    """What one program on so many ranks counts in each of its phases: the sum, and the largest of a rank."""
    place = folder / f"{work}-{ranks}"
    place.mkdir()
    command = [*mpi_run.mpiexec(ranks), "env", f"LD_PRELOAD={library}", sys.executable, "-m", "mpi4py",
               str(HERE / "ranks_program.py"), str(place)]  # fmt: skip
    reader = None
    if engine := PARAMETERS.get(work):
        command += [engine.name, json.dumps(dict(engine.parameters)), engine.place]
    elif work in STREAMS:
        command += ["stream", STREAMS[work]]
        reader = subprocess.Popen([sys.executable, str(HERE / "ranks_program.py"), str(place), "take"],
                                  env=mpi_run.environment())  # fmt: skip
    else:
        command += [work]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.limit, cwd=place, check=False,
                              env=mpi_run.environment())  # fmt: skip
        if reader and done.returncode == 0 and reader.wait(60):
            raise SystemExit(f"{work} on {ranks} ranks: the reader ends with exit code {reader.returncode}")
    finally:
        if reader:
            reader.kill()
        shutil.rmtree(place)
    if done.returncode:
        raise SystemExit(f"{work} on {ranks} ranks: exit code {done.returncode}\n{done.stderr[-3000:]}")
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"phase"')]
    return {line["phase"]: (line["sum"], line["most"]) for line in lines}


def exponent(more: float, less: float, ratio: float, few: float) -> float:
    """The power of the number of ranks with which a cost grows; 0 for one that stays below `few`."""
    if more <= few:
        return 0.0
    return math.log(more / max(less, few / 2)) / math.log(ratio)


def table(work: str, found: dict[int, Counts], most: float) -> int:
    """Print the lines of this work; the number of those in which the average grows too fast."""
    steep = 0
    less, more = sorted(found)[-2:]
    for phase in found[more]:
        cells, bad = [], False
        for at, name in enumerate(NAMES):
            (sum_more, top_more), (sum_less, top_less) = ([one[at] for one in found[n][phase]] for n in (more, less))
            few = FEW.get(name, 1)
            mean = exponent(sum_more / more, sum_less / less, more / less, few)
            top = exponent(top_more, top_less, more / less, few)
            if top_more > few:
                cells.append(f"{name} {sum_more / more:,.1f} ^{mean:.2f} (most {top_more:,} ^{top:.2f})")
                bad = bad or mean > most
        if cells:
            print(f"| {work} | {phase} | {more:,} | {' | '.join(cells)} |{' <-- steep' if bad else ''}", flush=True)
        steep += bad
    return steep


def main() -> int:
    options = arguments()
    if len(options.ranks) < 2:
        raise SystemExit(f"--ranks: two numbers are needed to tell a growth, found {options.ranks}")
    steep = 0
    folder = Path(tempfile.mkdtemp(prefix="tailrace-scale-", dir=options.folder))
    try:
        library = compile_library(folder)
        for work in options.only:
            found = {ranks: measured(options, library, folder, work, ranks) for ranks in sorted(options.ranks)}
            steep += table(work, found, options.most)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{steep} lines are steeper than {options.most}")
    return 1 if steep else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    raise SystemExit(main())
