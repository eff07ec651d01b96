"""The doctor: findings, remedies, exit code."""

import io
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from tailrace import core as _core
from tailrace.cli import doctor

WHOLE = {
    "version": "0.1.0",
    "mpi": "Open MPI 4.1.4",
    "hdf5": "1.10.8 (parallel)",
    "adios2": "2.12.1",
    "fftw": "3.3.10",
    "simd": "256 bits, 4 doubles at a time",
    "compiler": "GNU 12.2.0",
    "fortran": "GNU 12.2.0",
}


@pytest.fixture
def built(monkeypatch):
    core = types.ModuleType("tailrace.core")
    core.build_info = lambda: WHOLE
    monkeypatch.setitem(sys.modules, "tailrace.core", core)


def test_the_report_names_everything(built, tmp_path):
    stream = io.StringIO()
    code = doctor.report(stream, tmp_path)
    text = stream.getvalue()
    for what in (
        "Tailrace",
        "Python",
        "HDF5",
        "ADIOS2",
        "FFTW",
        "SIMD",
        "MPI threads",
        "cores",
        "memory",
        "storage",
        "vtk",
    ):
        assert what in text
    assert "1.10.8 (parallel)" in text
    assert code == 0, text


def test_a_missing_extension_is_reported_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "tailrace.core", None)
    stream = io.StringIO()
    assert doctor.report(stream) == 1
    assert "extension does not load" in " ".join(stream.getvalue().split())
    assert "pip install ." in stream.getvalue()


@pytest.mark.parametrize(("version", "state"), [("Open MPI v4.1.4", "ok"), ("MPICH Version: 4.0.2", "missing")])
def test_mpi4py_must_have_the_mpi_of_the_solver(built, version, state):
    """On a machine with two, a package of mpi4py from PyPI takes the first one that it finds."""
    found = doctor._of_mpi4py(version)
    assert found.state == state
    assert ("--no-binary mpi4py" in found.remedy and "Open MPI 4.1.4" in found.remedy) == (state == "missing")


def test_another_mpi_than_that_of_mpi4py_is_an_error(tmp_path):
    """MPI would end the program otherwise. It is as if mpi4py had started another library."""
    text = "import mpi4py; mpi4py.rc.initialize = False; import tailrace.core as core; core.ProcessGrid(0, 1, 1)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=240)
    assert done.returncode == 1 and "mpi4py must have the MPI that Tailrace was built with" in done.stderr, done.stderr


def test_a_missing_mpi_is_named_with_its_remedy(monkeypatch):
    class Finder:
        def find_spec(self, name, *_):
            if name == "tailrace._core":
                raise ImportError("libmpi.so.40: cannot open shared object file: No such file or directory")

    monkeypatch.delitem(sys.modules, "tailrace.core")
    monkeypatch.delitem(sys.modules, "tailrace._core")
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    stream = io.StringIO()
    assert doctor.report(stream) == 1
    said = " ".join(stream.getvalue().split())
    assert "libmpi.so.40: cannot open" in said and "solver: install it (Debian: openmpi-bin), load its module" in said


@pytest.mark.parametrize(
    ("change", "what", "state", "remedy"),
    [
        ({"adios2": ""}, "ADIOS2", "note", "build ADIOS2 with MPI"),
        ({"adios2": "off"}, "ADIOS2", "note", "bp4, bp5 and adios_hdf5 need it"),
        ({"hdf5": ""}, "HDF5", "missing", "libhdf5-openmpi-dev"),
        ({"hdf5": "1.10.8 (serial)"}, "HDF5", "note", "adios_hdf5 needs a parallel one"),
        ({"fftw": "none"}, "FFTW", "missing", "libfftw3-dev"),
        ({"fortran": ""}, "Fortran module", "note", "Debian: gfortran"),
        ({}, "Fortran module", "ok", ""),
        ({}, "HDF5", "ok", ""),
    ],
)
def test_libraries_that_are_missing(change, what, state, remedy):
    (finding,) = [each for each in doctor.library_findings({**WHOLE, **change}) if each.what == what]
    assert finding.state == state
    assert remedy in finding.remedy


@pytest.mark.parametrize(("bits", "state"), [(128, "note"), (256, "ok"), (512, "ok")])
def test_a_build_narrower_than_the_processor_is_noted(monkeypatch, bits, state):
    """The text is that of the library, with other numbers."""
    real = _core.build_info()["simd"]
    said, count = re.subn(r"^\d+ bits, \d+ doubles", f"{bits} bits, {bits // 64} doubles", real)
    assert count == 1, real
    monkeypatch.setattr(doctor, "_widest_simd", lambda: "avx2")
    (finding,) = [each for each in doctor.library_findings({**WHOLE, "simd": said}) if each.what == "SIMD"]
    assert finding.state == state
    assert said in finding.found
    assert ("build on it" in finding.remedy) == (state == "note")


def test_an_unknown_text_of_the_library_is_no_note(monkeypatch):
    monkeypatch.setattr(doctor, "_widest_simd", lambda: "avx2")
    (finding,) = [each for each in doctor.library_findings({**WHOLE, "simd": "odd"}) if each.what == "SIMD"]
    assert finding.state == "ok"


def test_the_library_here_is_as_wide_as_the_processor_or_narrower():
    """The table of the doctor is right for this processor: a library that runs is not wider."""
    bits = int(_core.build_info()["simd"].split()[0])
    assert bits <= doctor._SIMD_BITS.get(doctor._widest_simd(), bits)


def test_the_innermost_mount_tells_the_file_system(tmp_path):
    place = tmp_path / "my scratch" / "run"
    place.mkdir(parents=True)
    mounts = tmp_path / "mounts"
    escaped = str(place.parent.resolve()).replace(" ", "\\040")
    mounts.write_text(
        f"overlay / overlay rw 0 0\nmds@tcp:/x {escaped} lustre rw 0 0\nbroken\ntmpfs {escaped}2 tmpfs rw 0 0\n"
    )
    assert doctor.file_system(place, mounts) == "lustre"
    assert doctor.file_system(Path("/"), mounts) == "overlay"
    assert doctor.file_system(place, tmp_path / "none") == "unknown"


def test_storage_with_known_trouble(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor.shutil, "which", lambda _: None)
    for kind, what in (("nfs4", "no parallel speed"), ("lustre", "lfs not found")):
        monkeypatch.setattr(doctor, "file_system", lambda _, kind=kind: kind)
        findings = doctor._storage(tmp_path)
        assert any(what in each.found + each.remedy for each in findings)
        assert any(each.state == "note" for each in findings)


def test_cores_are_counted_once():
    assert doctor.physical_cores() >= 1


@pytest.mark.parametrize(
    ("environment", "programs", "found"),
    [
        ({}, [], []),
        ({}, ["sbatch"], ["none; sbatch of Slurm gives one"]),
        ({"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "4"}, ["sbatch"], ["Slurm 7 on 4 node(s)"]),
        (
            {"SLURM_JOB_ID": "7", "PALS_RANKID": "3", "SLURM_STEP_NUM_TASKS": "8"}, ["sbatch"],
            ["Slurm 7, rank 3 of 8"],
        ),
        ({"PBS_JOBID": "12.head", "PMI_RANK": "1", "PMI_SIZE": "2"}, ["qsub"], ["PBS 12.head, rank 1 of 2"]),
        ({"PMI_RANK": "1", "PMI_SIZE": "2"}, [], ["none, rank 1 of 2"]),
    ],
)  # fmt: skip
def test_the_job_it_is_in(outside_mpi, monkeypatch, tmp_path, environment, programs, found):
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in programs:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert [one.found for one in doctor._scheduler()] == found


@pytest.mark.parametrize(
    ("words", "library", "state", "said"),
    [
        ("mpirun --map-by numa", "Open MPI v4.1.4", "ok", "mpirun --map-by numa, of Open MPI"),
        ("mpirun", "MPICH Version: 4.0.2", "note", "mpirun, of Open MPI"),
        ("srun --hint=nomultithread", "MPICH Version: 4.0.2", "ok", "srun --hint=nomultithread, of Slurm"),
        ("mpiexec.gone", "Open MPI v4.1.4", "note", "mpiexec.gone, of MPICH or its relatives"),
    ],
)
def test_the_launcher_belongs_to_the_library(monkeypatch, tmp_path, words, library, state, said):
    for name, text in (("mpirun", "echo 'mpirun (Open MPI) 4.1.4'"), ("srun", "")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}")
    monkeypatch.setenv("TAILRACE_MPIEXEC", words)
    finding = doctor._launcher(library)
    assert (finding.state, finding.found) == (state, said)
    assert bool(finding.remedy) == (state == "note")
