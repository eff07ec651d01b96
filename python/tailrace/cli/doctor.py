"""Examine this machine: versions, parallelism, storage, and how to install what is missing."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shlex
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal, TextIO

from tailrace.catalyst.packages import INSTALL, packages
from tailrace.machine import file_system, memory, physical_cores, usable_memory
from tailrace.text import size, visible

from .ranks import launcher, started

State = Literal["ok", "note", "missing"]


@dataclass(frozen=True)
class Finding:
    """One line of the report: the subject, the result, and a remedy if something could be better."""

    what: str
    found: str
    state: State = "ok"
    remedy: str = ""


def examine(directory: str | Path = ".") -> list[Finding]:
    """Examine everything. A failure becomes a finding; this function raises no exception.

    :param directory: the directory that a run would write in.
    """
    return [
        Finding("Tailrace", _version_of("tailrace", "used from its source tree, not installed")),
        Finding("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        *_extension(),
        *_mpi(),
        *_processor(),
        *_storage(Path(directory)),
        *_extras(),
        _paraview(),
    ]


def report(stream: TextIO | None = None, directory: str | Path = ".") -> int:
    """Print the findings as a table, and the remedies below the table.

    :returns: 0, or 1 if something is missing that every run needs.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    findings = examine(directory)
    console = Console(file=stream, highlight=False)
    table = Table(box=None, padding=(0, 2), show_header=False)
    marks = {"ok": ("ok", "green"), "note": ("note", "yellow"), "missing": ("missing", "bold red")}
    for finding in findings:
        mark, style = marks[finding.state]
        table.add_row(Text(mark, style=style), finding.what, Text(visible(finding.found)))
    console.print(table)
    remedies = [finding for finding in findings if finding.remedy]
    if remedies:
        console.print()
    for finding in remedies:
        console.print(visible(f"{finding.what}: {finding.remedy}"), markup=False, soft_wrap=True)
    return 1 if any(finding.state == "missing" for finding in findings) else 0


def _extension() -> list[Finding]:
    try:
        from tailrace.core import build_info
    except ImportError as error:
        found, _, remedy = str(error).partition(" To fix this, ")
        remedy = remedy or "build and install the package: pip install . in the source tree"
        return [Finding("solver", f"the compiled extension does not load: {found}", "missing", remedy)]
    return library_findings(build_info())


def library_findings(info: Mapping[str, str]) -> list[Finding]:
    """Findings on the libraries of the compiled extension, from its build information."""
    findings = [
        Finding("solver", " ".join(filter(None, [info.get("version", "?"), info.get("compiler", "")]))),
        Finding("MPI library", info.get("mpi") or "unknown"),
    ]
    remedies = {
        "hdf5": "install HDF5 (Debian: libhdf5-openmpi-dev) and build again; engine 'hdf5' needs it",
        "adios2": "build ADIOS2 with MPI (tools/build_adios2.sh) and build again; bp4, bp5 and adios_hdf5 need it",
        "fftw": "install FFTW 3 (Debian: libfftw3-dev) and build again",
    }
    for key, name in (("hdf5", "HDF5"), ("adios2", "ADIOS2"), ("fftw", "FFTW")):
        found = info.get(key, "")
        absent = not found or found.lower() in ("off", "no", "none", "not found")
        # ADIOS2 is optional. The solver and its files need the other libraries.
        state: State = "ok" if not absent else "note" if key == "adios2" else "missing"
        findings.append(Finding(name, found if not absent else "not built in", state, remedies[key] if absent else ""))
        if key == "hdf5" and "serial" in found.lower():
            findings[-1] = Finding(name, found, "note", "engine adios_hdf5 needs a parallel one; all others do not")
    findings.append(_fortran_module(info.get("fortran", "")))
    findings.append(_vector_units(info.get("simd", "unknown")))
    findings.append(_gpu(info.get("gpu", "off")))
    return findings


def _fortran_module(compiler: str) -> Finding:
    if compiler:
        return Finding("Fortran module", f"{compiler}; tailrace flags fortran")
    remedy = "programs in Fortran need it: install a compiler (Debian: gfortran) and build again"
    return Finding("Fortran module", "not built in", "note", remedy)


def _gpu(built: str) -> Finding:
    """What computes the steps of a case with numerics.device = "gpu".

    :param built: for what the kernels were compiled: off, host or cuda.
    """
    if built != "cuda":
        found = "not built in" if built == "off" else "kernels for tests only, on the processor"
        return Finding("GPU", f"{found} (-DTAILRACE_GPU=CUDA)")
    from tailrace.core import InputError, device_name

    try:
        return Finding("GPU", device_name())
    except InputError as error:
        return Finding("GPU", "built in, but not for what is here", "note", str(error))


# Width in bits of the vector registers that a flag of /proc/cpuinfo stands for, the widest first.
_SIMD_BITS = {"avx512f": 512, "avx2": 256, "avx": 256, "sse2": 128, "asimd": 128}


def _vector_units(built: str) -> Finding:
    """Whether the library uses the full width of the vector registers of this processor.

    :param built: how the library was built, such as "256 bits, 4 doubles at a time".
    """
    flag = _widest_simd()
    width = re.match(r"(\d+) bits", built)
    bits = _SIMD_BITS.get(flag, 0)
    found = f"built for {built}; this processor has {flag}" + (f", {bits} bits" if bits else "")
    if width and int(width[1]) < bits:
        return Finding("SIMD", found, "note", f"this processor has {flag}: build on it for its full speed")
    return Finding("SIMD", found)


def _widest_simd() -> str:
    try:
        words = set(Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split())
    except OSError:
        return "unknown"
    return next((flag for flag in _SIMD_BITS if flag in words), "unknown")


def _mpi() -> list[Finding]:
    try:
        from mpi4py import MPI
    except Exception as error:  # errors of the loader or of MPI become the finding
        remedy = "install mpi4py and an MPI library (Debian: libopenmpi-dev, then pip install mpi4py)"
        return [Finding("MPI", f"does not start: {error}", "missing", remedy), _launcher(""), *_scheduler()]
    names = {
        MPI.THREAD_SINGLE: "SINGLE",
        MPI.THREAD_FUNNELED: "FUNNELED",
        MPI.THREAD_SERIALIZED: "SERIALIZED",
        MPI.THREAD_MULTIPLE: "MULTIPLE",
    }
    level = names.get(MPI.Query_thread(), "unknown")
    version = MPI.Get_library_version().split("\n")[0].split(",")[0].strip("\0 ")
    full = level == "MULTIPLE"
    remedy = (
        "" if full else "asynchronous output will use the calling thread; an MPI with MPI_THREAD_MULTIPLE avoids that"
    )
    return [
        _of_mpi4py(version),
        Finding("MPI threads", f"MPI_THREAD_{level} granted", "ok" if full else "note", remedy),
        _launcher(version),
        *_scheduler(),
    ]


def _of_mpi4py(version: str) -> Finding:
    """Whether mpi4py has the MPI that the library was built with.

    :param version: the first line of what the library of mpi4py says.
    """
    try:
        from tailrace.core import build_info

        built = build_info().get("mpi", "")
    except ImportError:  # which is another finding
        built = ""
    if built and built.startswith("Open MPI") != version.startswith("Open MPI"):
        remedy = (
            f"mpi4py must have the MPI of the solver, {' '.join(built.split())}: pip install --no-binary mpi4py "
            "--force-reinstall mpi4py builds it with the mpicc of the PATH, or with MPICC"
        )
        return Finding("MPI", f"{version}, of mpi4py", "missing", remedy)
    return Finding("MPI", version)


def _launcher(library: str) -> Finding:
    """What starts ranks here, and whether it belongs to the MPI library of this program."""
    try:
        found = launcher.find()
    except launcher.LaunchError:
        return Finding("mpiexec", "not found", "note", "tailrace run -n needs it; Debian: openmpi-bin")
    names = {"open mpi": "of Open MPI", "mpich": "of MPICH or its relatives", "srun": "of Slurm"}
    said = f"{shlex.join(found.words)}, {names[found.kind]}"
    if shutil.which(found.words[0]) is None:
        return Finding("mpiexec", said, "note", f"TAILRACE_MPIEXEC names it, and there is no program {found.words[0]}")
    if library and found.kind != "srun" and (found.kind == "open mpi") != library.startswith("Open MPI"):
        remedy = f"it belongs to another MPI than {library}: each rank would compute alone; set TAILRACE_MPIEXEC"
        return Finding("mpiexec", said, "note", remedy)
    return Finding("mpiexec", said)


def _scheduler() -> list[Finding]:
    """The job that this is, or that this is a place where jobs are given to a batch system."""
    ranks = started.size()
    inside = "" if ranks is None else f", rank {started.rank()} of {ranks}"
    for name, job, nodes, submit in (
        ("Slurm", "SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "sbatch"),
        ("PBS", "PBS_JOBID", "", "qsub"),
        ("LSF", "LSB_JOBID", "", "bsub"),
    ):
        if job in os.environ:
            count = os.environ.get(nodes, "")
            return [Finding("job", f"{name} {os.environ[job]}{f' on {count} node(s)' if count else ''}{inside}")]
        if shutil.which(submit):
            return [Finding("job", f"none; {submit} of {name} gives one")]
    return [Finding("job", f"none{inside}")] if inside else []


def _processor() -> list[Finding]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    findings = [Finding("cores", f"{physical_cores()} ({usable} hardware threads usable here)")]
    room = memory()
    if room:
        (total, free), usable = room, usable_memory()
        # A run in double precision needs about thirty doubles per point.
        points = int((min(free, usable) / (30 * 8)) ** (1 / 3))
        limit = f", of which this job can use {size(usable)}" if usable < total else ""
        findings.append(Finding("memory", f"{size(total)}, {size(free)} free{limit}: room for about {points}^3 points"))
    return findings


def _storage(directory: Path) -> list[Finding]:
    kind = file_system(directory)
    free = shutil.disk_usage(directory).free
    findings = [Finding("storage", f"{directory.resolve()}: {kind}, {size(free)} free")]
    if free < 2**30:
        findings[0] = Finding("storage", findings[0].found, "note", "less than 1 GiB is free where you are")
    if kind.startswith("nfs"):
        remedy = (
            "NFS gives no parallel speed, and shared files need locking there; write to a parallel or local file system"
        )
        findings[0] = Finding("storage", findings[0].found, "note", remedy)
    if kind == "lustre":
        if shutil.which("lfs"):
            findings.append(Finding("Lustre", "lfs is available: stripes can be set"))
        else:
            remedy = "without lfs Tailrace cannot see stripe counts; load the Lustre client tools"
            findings.append(Finding("Lustre", "lfs not found", "note", remedy))
    return findings


def _extras() -> list[Finding]:
    findings = []
    for module, use in (
        ("matplotlib", "tailrace plot"),
        ("vtk", "isosurfaces of tailrace plot, and pictures"),
        ("bokeh", "tailrace live"),
    ):
        if importlib.util.find_spec(module) is None:
            findings.append(Finding(module, "not installed", "note", f"for {use}: pip install {module}"))
        else:
            findings.append(Finding(module, _version_of(module)))
    return findings


def _paraview() -> Finding:
    """ParaView is found at run time; it is not loaded here, which takes seconds."""
    place = packages()
    if place is None:
        return Finding("ParaView", "not found", "note", f"[[catalyst]] blocks need it: {INSTALL}")
    with suppress(OSError):
        text = (place / "paraview" / "__init__.py").read_text(encoding="utf-8", errors="replace")
        if found := re.search(r"__version__ = '([^']+)'", text):
            return Finding("ParaView", f"{found[1]} in {place}" + ("" if shutil.which("Xvfb") else "; no Xvfb"))
    return Finding("ParaView", f"in {place}")


def _version_of(package: str, otherwise: str = "installed") -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return otherwise
