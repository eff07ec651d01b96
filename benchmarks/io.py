"""Speed and memory of output. Compares every engine with pwrite of the same bytes in the same run.

    python benchmarks/io.py [--quick] [--engines raw,hdf5] [--ranks 2,4] [--only write,collect] [--json results.json]

docs/benchmarks.md says what is measured and how to read it. Figures are min / median / max.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import ProgramError, names_of, outcome_of, spread, start_ranks

RUN = str(Path(__file__).with_name("io_run.py"))


@dataclass(frozen=True)
class Engine:
    """A way to write. `target` is the required speed relative to pwrite."""

    engine: str
    parameters: dict[str, Any] = field(default_factory=dict)
    target: float | None = None

    def case(self, **more: object) -> dict[str, Any]:
        return {"engine": self.engine, "parameters": {**self.parameters, **more}}


# If this build of Tailrace does not have an engine, the benchmark prints a message and continues with the others.
ENGINES = {
    "raw": Engine("raw"),
    "raw_dist": Engine("raw", {"strategy": "dist"}, 0.9),
    "raw_node": Engine("raw", {"strategy": "node"}),
    "raw_collect_xy": Engine("raw", {"strategy": "collect_xy"}),
    "raw_collect": Engine("raw", {"strategy": "collect"}),
    "mpiio": Engine("mpiio", target=0.8),
    "hdf5": Engine("hdf5", target=0.8),
    "bp4": Engine("bp4"),
    "bp5": Engine("bp5", target=0.6),
    "adios_hdf5": Engine("adios_hdf5"),
    "sion": Engine("sion", target=0.9),
    "null": Engine("null"),
}
# Times of the output strategies of the Pencil Code relative to its strategy `dist`, for 128^3, 8 fields, 4 ranks.
PENCIL_CODE = {"raw_collect_xy": 7.1, "raw_collect": 10.0}

GIB = 2**30


class Bench:
    """The options, the way to run one measured program, and the results so far."""

    def __init__(self, options: argparse.Namespace, directory: str) -> None:
        self.options = options
        self.directory = directory
        self.results: list[dict[str, Any]] = []
        self.quick: bool = options.quick
        self.room = GIB if self.quick else 4 * GIB
        self.engines = {name: engine for name, engine in ENGINES.items() if wanted(name, engine, options.engines)}
        self.buffered: dict[str, Engine] = {}

    def probe(self) -> None:
        """Remove the engines that this build does not have, and print one message for each."""
        trial: dict[str, Any] = {"task": "many_steps", "steps": 10, "repetitions": 1}
        for name, engine in list(self.engines.items()):
            if self.run("probe", name, 1, **trial, case=engine.case()) is None:
                del self.engines[name]
        if not {"overlap", "memory"}.isdisjoint(self.options.only):
            for name, engine in self.engines.items():
                buffers = {"buffers": self.options.buffers}
                if self.run("probe", f"{name}, buffers", 1, **trial, case=engine.case(**buffers)) is not None:
                    self.buffered[name] = engine

    def run(self, section: str, name: str, ranks: int, **job: Any) -> dict[str, Any] | None:
        """The result of a measured program. If it has no result, prints the reason and returns None."""
        check_room(self.options.directory, self.room)  # other programs may be filling the disk
        with tempfile.TemporaryDirectory(dir=self.directory, ignore_cleanup_errors=True) as place:
            job["directory"] = place
            with (Path(place) / "stderr").open("w+") as errors:
                try:
                    result = outcome_of(start_ranks(ranks, RUN, json.dumps(job), errors=errors), self.options.limit)
                except ProgramError as failure:
                    errors.seek(0)
                    text = errors.read()
                    result = {"failed": f"{failure}{said(text)}", "stderr": text}
        del job["directory"]
        self.results.append({"section": section, "name": name, "ranks": ranks, "job": job, "result": result})
        for kind in ("unavailable", "failed"):
            if kind in result:
                meaning = "not available in this build" if kind == "unavailable" else "FAILED"
                say(f"  {name:15} {meaning}: {result[kind].replace(place, '...').split('; it knows')[0]}")
                return None
        return result


def wanted(name: str, engine: Engine, chosen: list[str]) -> bool:
    return not chosen or name in chosen or engine.engine in chosen


def ratios(above: list[float], below: list[float]) -> list[float]:
    """Ratios of figures that were measured in the same round."""
    return [a / b for a, b in zip(above, below, strict=True)]


def said(text: str) -> str:
    """The first exception in the output of a failed program. The JSON file gets the whole output."""
    raised = [line for line in text.splitlines() if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return f", {raised[0]}" if raised else ""


def against(target: float | None) -> str:
    return "-" if target is None else f"{target:.1f}"


def say(text: str) -> None:
    print(text, flush=True)


def kinds_of_sync() -> Iterator[tuple[bool, str]]:
    yield False, "page cache"
    yield True, "synced to disk"


# ---- sections -------------------------------------------------------------------------------------------
def write(bench: Bench) -> None:
    """Write one large variable in one step, and compare with pwrite."""
    n = 128 if bench.quick else 512
    for ranks in bench.options.ranks:
        for sync, where in kinds_of_sync():
            say(f"\nOne step of {n}^3 doubles, {ranks} ranks, {where}")
            heading = f"  {'GiB/s':15} {'plain pwrite':20} {'open to close':20} {'step':6} {'ratio':20} target "
            say(heading + f"{'no checksums':20} of one file")
            for name, engine in bench.engines.items():
                cases = {"on": engine.case(), "off": engine.case(checksums=False)}
                result = bench.run(
                    "write",
                    name,
                    ranks,
                    task="write_once",
                    shape=[n] * 3,
                    variables=1,
                    sync=sync,
                    repetitions=bench.options.repetitions,
                    cases=cases,
                )
                if result is None:
                    continue
                on, off = (result["cases"][key] for key in ("on", "off"))
                plain, whole, step = (
                    [result["bytes"] / GIB / s for s in t] for t in (result["plain"], on["all"], on["step"])
                )
                say(
                    f"  {name:15} {spread(plain, '.2f'):20} {spread(whole, '.2f'):20} {statistics.median(step):<6.2f} "
                    f"{spread(ratios(result['plain'], on['all']), '.2f'):20} {against(engine.target):6} "
                    f"{spread(ratios(result['plain'], off['all']), '.2f'):20} "
                    f"{spread(ratios(result['shared'], on['all']), '.2f')}"
                )


def collect(bench: Bench) -> None:
    """A few ranks write for all. Compares the time with one file per rank, and with the Pencil Code."""
    names = [name for name in PENCIL_CODE if name in bench.engines]
    if not names:
        return
    cases = {name: ENGINES[name].case() for name in ("raw_dist", *names)}
    for n, variables in ((128, 8), (128 if bench.quick else 512, 1))[: 1 if bench.quick else 2]:
        for sync, where in kinds_of_sync():
            say(f"\nCollecting, {n}^3 doubles, {variables} variables, 4 ranks, {where}: time over that of raw_dist")
            result = bench.run(
                "collect",
                "raw_collect*",
                4,
                task="write_once",
                shape=[n] * 3,
                variables=variables,
                sync=sync,
                repetitions=bench.options.repetitions,
                cases=cases,
            )
            if result is None:
                continue
            dist = result["cases"]["raw_dist"]["all"]
            say(f"  {'raw_dist':15} {spread(dist)} s")
            for name in names:
                taken = result["cases"][name]["all"]
                say(
                    f"  {name:15} {spread(taken)} s, over dist {spread(ratios(taken, dist), '.2f')}   "
                    f"Pencil Code {PENCIL_CODE[name]:.1f}, target at most {PENCIL_CODE[name] / 2:.1f}"
                )


def overlap(bench: Bench) -> None:
    """Output while the program computes: measures how long the output still delays the caller."""
    if not bench.buffered:
        say("\nNone of these engines takes buffers in this build: nothing to measure of asynchronous output")
    shape = [128, 128, 128] if bench.quick else [256, 256, 256]
    for ranks in (1, 2) if bench.buffered else ():
        for sync, where in kinds_of_sync():
            say(f"\nOutput of {shape[0]}^3 doubles every step, {bench.options.buffers} buffers, {ranks} ranks, {where}")
            say(f"  {'ms; async / sync':15} {'write + end_step, sync':24} {'async':22} {'end_step':10} over sync both")
            for name, engine in bench.buffered.items():
                result = bench.run(
                    "overlap",
                    name,
                    ranks,
                    task="overlap",
                    shape=shape,
                    sync=sync,
                    steps=4 if bench.quick else 8,
                    repetitions=2 if bench.quick else 3,
                    buffers=bench.options.buffers,
                    case=engine.case(),
                )
                if result is not None:
                    say_overlap(name, result)


def say_overlap(name: str, result: dict[str, Any]) -> None:
    runs = [result[kind] for kind in ("synchronous", "asynchronous")]
    both, end = ([[1e3 * s for run in kind for s in run[key]] for kind in runs] for key in ("both", "end_step"))
    # Ratios to the mean synchronous step, because the single steps of two runs do not correspond to each other.
    share = [s / statistics.median(both[0]) for s in end[1]]
    say(
        f"  {name:15} {spread(both[0], '.1f'):24} {spread(both[1], '.1f'):22} {statistics.median(end[1]):<10.2f} "
        f"{spread(share)} (target 0.10)"
    )
    say(
        f"  {'':15} median ratios: write + end_step {statistics.median(both[1]) / statistics.median(both[0]):.2f}, "
        f"end_step {statistics.median(end[1]) / statistics.median(end[0]):.2f}; whole run, with what close waits for: "
        f"{statistics.median(ratios(*[[run['whole'] for run in kind] for kind in reversed(runs)])):.2f}; "
        f"computing {1e3 * result['compute']:.0f} ms a step"
    )


def small(bench: Bench) -> None:
    """The cost of a step with little data, for each engine."""
    say("\nOpen, write one step of 8 MiB, close; 6 ranks, page cache")
    say(f"  {'':15} {'ms':28} plain pwrite, ms")
    for name, engine in bench.engines.items():
        result = bench.run(
            "open and close",
            name,
            6,
            task="write_once",
            shape=[128, 128, 64],
            variables=1,
            sync=False,
            repetitions=2 * bench.options.repetitions,
            cases={"on": engine.case()},
        )
        if result is not None:
            taken, plain = ([1e3 * s for s in times] for times in (result["cases"]["on"]["all"], result["plain"]))
            say(f"  {name:15} {spread(taken, '.1f'):28} {spread(plain, '.1f')}")
    steps = 200 if bench.quick else 1000
    for ranks in (1, 6):
        say(f"\n{steps} steps of 2 x 2 x 2 numbers a rank and a scalar; {ranks} rank{'s' if ranks > 1 else ''}")
        say(f"  {'':15} {'steps/s':28} last tenth of the steps over first, s/s")
        for name, engine in bench.engines.items():
            result = bench.run(
                "many steps", name, ranks, task="many_steps", steps=steps, repetitions=3, case=engine.case()
            )
            if result is not None:
                growth = statistics.median(ratios(result["last_tenth"], result["first_tenth"]))
                say(f"  {name:15} {spread([steps / s for s in result['seconds']], '.0f'):28} {growth:.1f}")


def memory(bench: Bench) -> None:
    """The peak of the memory that a rank needs in addition to its own block."""
    shape = [256, 256, 256] if bench.quick else [512, 512, 256]
    for buffers in (0, bench.options.buffers) if bench.buffered else (0,):
        ranks = 2
        how = f"{buffers} buffers" if buffers else "synchronous"
        target = 1.1 if buffers == 0 else buffers + 0.1
        say(f"\nPeak memory of a rank over its block, {shape[0]} x {shape[1]} x {shape[2]}, {ranks} ranks, {how}")
        say(f"  {'':15} private  shared  target (private)")
        for name, engine in (bench.buffered if buffers else bench.engines).items():
            result = bench.run("memory", name, ranks, task="memory", shape=shape, buffers=buffers, case=engine.case())
            if result is not None:
                note = "  (sampled)" if result["sampled"] else ""
                say(f"  {name:15} {result['private']:7.3f} {result['shared']:7.3f}  {target:.1f}{note}")


SECTIONS: dict[str, Callable[[Bench], None]] = {
    "write": write,
    "collect": collect,
    "overlap": overlap,
    "small": small,
    "memory": memory,
}


# ---- command line ---------------------------------------------------------------------------------------
def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Speed and memory of output, against plain pwrite.")
    parser.add_argument("--quick", action="store_true", help="small arrays: does it work?")
    engines = list(dict.fromkeys([*ENGINES, *(engine.engine for engine in ENGINES.values())]))
    parser.add_argument("--engines", type=names_of(engines), default=[], help="only these; raw means all raw_...")
    parser.add_argument("--only", type=names_of(list(SECTIONS)), default=list(SECTIONS), help="only these sections")
    parser.add_argument("--ranks", type=numbers, default=[2, 4], help="of section write (2,4)")
    parser.add_argument("--buffers", type=int, default=2, help="of sections overlap and memory (2)")
    parser.add_argument("--repetitions", type=int, default=5, help="after one that is not counted (5)")
    parser.add_argument(
        "--limit", type=float, default=300, help="seconds after which a program is called hanging (300)"
    )
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()), help="where to write")
    parser.add_argument("--json", type=Path, help="write all figures into this file too")
    return parser.parse_args()


def check_room(directory: Path, bytes_needed: float) -> None:
    if not os.access(directory, os.W_OK):
        raise SystemExit(f"error: {directory} is no directory that can be written in")
    free = shutil.disk_usage(directory).free
    if free < bytes_needed:
        raise SystemExit(
            f"error: {directory} has {free / GIB:.1f} GiB free, and the benchmark needs {bytes_needed / GIB:.0f}. "
            "Choose another place with --directory, or small arrays with --quick"
        )


def machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.platform(),
        "load": os.getloadavg(),
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def main() -> None:
    options = parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # this also ends the ranks and removes the files
    about = machine()
    say(f"{about['cores']} cores, {about['memory'] / GIB:.0f} GiB, load {about['load'][0]:.1f}; in {options.directory}")
    check_room(options.directory, 0)  # prints an error if the directory does not exist
    with tempfile.TemporaryDirectory(
        prefix="tailrace-bench-", dir=options.directory, ignore_cleanup_errors=True
    ) as place:
        bench = Bench(options, place)
        try:
            bench.probe()
            for name in options.only:
                SECTIONS[name](bench)
        finally:
            if options.json:
                options.json.write_text(json.dumps({"machine": about, "results": bench.results}, indent=1) + "\n")


main()
