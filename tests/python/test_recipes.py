"""The recipes for containers, conda and Spack name what the build needs, in the same versions.

What the build needs is read from CMake's files, pyproject.toml and tools/setup.sh, and compared by the names that each
collection of packages gives it.
"""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# What CMake looks for -> its name in Debian, conda-forge and Spack; "": it is part of something else there.
LIBRARIES = {
    "MPI": ("libopenmpi-dev", "openmpi", "mpi"),
    "HDF5": ("libhdf5-openmpi-dev", "hdf5", "hdf5"),
    "FFTW3": ("libfftw3-dev", "fftw", "fftw"),
    "fmt": ("libfmt-dev", "fmt", "fmt"),
    "nlohmann_json": ("nlohmann-json3-dev", "nlohmann_json", "nlohmann-json"),
    "xxhash": ("libxxhash-dev", "xxhash", "xxhash"),
    "PkgConfig": ("pkg-config", "pkg-config", "pkgconfig"),
    "ADIOS2": ("", "", "adios2"),  # tools/build_adios2.sh builds it for Debian and conda
    "Threads": ("", "", ""),
    "CMake": ("cmake", "cmake", "cmake"),
}


def needed():
    """What CMake looks for, with the least version, "" for any."""
    text = (ROOT / "cmake/TailraceDependencies.cmake").read_text()
    found = dict(re.findall(r"find_package\((\w+) ?([0-9.]*)", text))
    found |= dict.fromkeys(re.findall(r"pkg_check_modules\((\w+)", text), "")
    lists = (ROOT / "CMakeLists.txt").read_text()
    found["CMake"] = re.search(r"cmake_minimum_required\(VERSION ([0-9.]+)", lists)[1]
    return found


def debian():
    text = (ROOT / "tools/setup.sh").read_text()
    block = re.search(r"^packages=\(\n(.*?)^\)", text, re.DOTALL | re.MULTILINE)[1]
    return set(re.sub(r"#.*", "", block).split())


def conda():
    """Name -> least version."""
    lines = re.findall(r"^  - (\S+)$", (ROOT / "tools/conda/environment.yml").read_text(), re.MULTILINE)
    return dict(re.match(r"([\w-]+)(?:>=([0-9.]+))?", line).groups("") for line in lines)


def spack():
    """Name -> version."""
    return dict(re.findall(r'depends_on\("([\w-]+)(?:@([0-9.]+))?', (ROOT / "tools/spack/package.py").read_text()))


def python_packages(declared):
    return dict(re.match(r"([\w-]+)(?:>=([0-9.]+))?$", one).groups("") for one in declared)


def test_all_that_the_build_looks_for_has_its_names_here():
    assert needed().keys() == LIBRARIES.keys()


def test_setup_installs_it():
    assert {debian for debian, _, _ in LIBRARIES.values() if debian} <= debian()


@pytest.mark.parametrize("name", [name for name, (_, conda, _) in LIBRARIES.items() if conda])
def test_conda_has_it(name):
    least = needed()[name]
    there = conda()[LIBRARIES[name][1]]
    assert not least or name == "MPI" or there.startswith(least)  # MPI has the version of its standard


def test_conda_has_the_python_packages():
    project = PROJECT["project"]
    wanted = python_packages([*project["dependencies"], *PROJECT["build-system"]["requires"]])
    there = conda()
    assert wanted == {name: there.get(name) for name in wanted}
    assert there["python"] == project["requires-python"].removeprefix(">=")


@pytest.mark.parametrize("name", [name for name, (_, _, spack) in LIBRARIES.items() if spack])
def test_spack_has_it(name):
    assert LIBRARIES[name][2] in spack()


def test_spack_has_the_versions():
    text = (ROOT / "CMakeLists.txt").read_text()
    recipe = (ROOT / "tools/spack/package.py").read_text()
    assert f'version("{re.search(r"project.Tailrace VERSION ([0-9.]+)", text)[1]}")' in recipe
    assert spack()["cmake"] == needed()["CMake"] and spack()["fftw"] == "3"
    built = re.search(r"^version=([0-9]+\.[0-9]+)", (ROOT / "tools/build_adios2.sh").read_text(), re.MULTILINE)[1]
    assert spack()["adios2"] == built
    options = set(re.findall(r'"(TAILRACE_\w+)"', recipe))
    assert all(re.search(rf"(option|set)\({one}\b", text) for one in options), options


def test_the_image_has_what_a_wheel_needs():
    """The wheel has all but Python, MPI and the libraries for pictures, which setup.sh takes from Debian too."""
    text = (ROOT / "tools/container/Containerfile").read_text()
    install = [line for line in text.splitlines() if "apt-get install" in line][-1]
    there = set(install.partition("--no-install-recommends ")[2].removesuffix(" && \\").split())
    assert there == {"python3", "python3-venv", "openmpi-bin", "libegl1", "libgl1-mesa-dri"}
    assert there - {"python3"} <= debian()
    extras = re.search(r"\[([\w,]+)\]\"", text)[1].split(",")
    assert set(extras) <= PROJECT["project"]["optional-dependencies"].keys()
    assert "make wheel" in text and "\nwheel: setup" in (ROOT / "Makefile").read_text()


def test_what_a_build_makes_is_not_copied_into_the_image():
    ignored = {f"{name}/" for name in re.findall(r"^[^#\n].*$", (ROOT / ".containerignore").read_text(), re.MULTILINE)}
    made = subprocess.run(["git", "check-ignore", *ignored], cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert set(made) == ignored, "a folder of the repository is left out"


def adios2_prefix(tools, **more):
    """Where tools/build_adios2.sh would put ADIOS2 if these were all programs."""
    script = ROOT / "tools/build_adios2.sh"
    bash = shutil.which("bash")
    environment = {"PATH": str(tools), "HOME": "/nowhere", **more}
    done = subprocess.run(
        [bash, script, "--prefix"], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def test_adios2_is_built_without_hdf5_where_that_is_serial(tmp_path):
    """ADIOS2 needs a parallel one, and a program cannot have two."""
    tools, root = tmp_path / "tools", tmp_path / "hdf5"
    tools.mkdir()
    (root / "bin").mkdir(parents=True)
    for name in ("dirname", "head", "cut", "sha256sum", "uname", "tr", "sed"):
        (tools / name).symlink_to(shutil.which(name))
    parallel, serial = (adios2_prefix(tools, TAILRACE_HDF5=kind) for kind in ("parallel", "serial"))
    assert parallel != serial
    assert adios2_prefix(tools) == parallel, "nothing tells of a serial one"
    for name in (tools / "h5cc", root / "bin/h5pcc"):
        name.write_text("#!/bin/true\n")
        name.chmod(0o755)
    assert adios2_prefix(tools) == serial
    assert adios2_prefix(tools, HDF5_ROOT=str(root)) == parallel
    serial_root = tmp_path / "serial"
    (serial_root / "bin").mkdir(parents=True)
    (serial_root / "bin/h5cc").symlink_to(tools / "h5cc")
    (tools / "h5pcc").symlink_to(root / "bin/h5pcc")
    assert adios2_prefix(tools) == parallel
    assert adios2_prefix(tools, HDF5_ROOT=str(serial_root)) == serial, "as CMake finds it"
    (tools / "h5pcc").unlink()
    assert adios2_prefix(tools, CMAKE_PREFIX_PATH=f"/elsewhere:{root}") == parallel
