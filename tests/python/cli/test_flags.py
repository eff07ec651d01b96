"""The command `tailrace flags`: programs compiled as the pages say, and what it refuses."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import h5py
import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.as_click import invoke as tailrace
from helpers.harness.snippet_runner import Runner
from helpers.harness.snippets import ROOT, read
from tailrace.cli import flags

EXAMPLES = {"fortran": "1_write.f90", "c": "1_write.c"}
PAGES = {"fortran": "own_program_fortran.md", "c": "own_program_c.md"}

ATTRIBUTES = """program attributes
  use mpi
  use tailrace
  implicit none
  type(tailrace_series) :: out
  integer :: error
  call MPI_Init(error)
  call out%set_attribute('case', 'tgv')
  call out%set_attribute('reynolds', [1600d0])
  call out%open('run.h5', 'w', MPI_COMM_WORLD)
  call out%begin_step(1, 0.5d0)
  call out%end_step()
  call out%close()
  call MPI_Finalize(error)
end program
"""
REFUSED = """program refused
  use mpi
  use tailrace
  implicit none
  type(tailrace_series) :: out
  character(len=20) :: who
  integer :: rank, error
  call get_command_argument(1, who)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  print '(a)', 'before the error'
  if (who == 'all' .or. rank == 1) call out%set_attribute('no name', 'tgv')
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program
"""
TEXT = "tailrace: set_attribute: 'no name' cannot name a variable: expected letters"

needs = {
    "fortran": pytest.mark.skipif(shutil.which("gfortran") is None, reason="there is no gfortran"),
    "c": pytest.mark.skipif(shutil.which("mpicc") is None, reason="there is no mpicc"),
}
LANGUAGES = [pytest.param(language, marks=needs[language]) for language in EXAMPLES]


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    made = Runner()
    yield made
    made.close()


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, outside_mpi: None) -> Path:
    """The directory of the test, where flags runs in this process."""
    return Path.cwd()


def start(program: Path, *words: str, ranks: int) -> mpi_run.Result:
    command = [*mpi_run.mpiexec(ranks), program, *words]
    return mpi_run.finish(mpi_run.start(command, program.parent), 60)


def compiled(runner: Runner, here: Path, text: str) -> Path:
    (here / "main.f90").write_text(text)
    failed, said = runner.shell("mpifort main.f90 -o main $(tailrace flags fortran)", here)
    assert not failed, said
    return here / "main"


@pytest.mark.parametrize("language", LANGUAGES)
def test_as_the_page_says(runner: Runner, here: Path, language: str) -> None:
    """The page shows this example, and these are its commands."""
    shutil.copy(ROOT / "examples" / EXAMPLES[language], here / f"main{Path(EXAMPLES[language]).suffix}")
    (commands,) = [block.text for block in read(ROOT / "docs/howto" / PAGES[language]).blocks if block.language == "sh"]
    failed, said = runner.shell(commands, here)
    assert not failed, said
    with h5py.File(here / "waves.h5") as file:
        assert file["VTKHDF/PointData/ux"].shape == (9, 16, 24, 32)


@needs["fortran"]
def test_makefile_of_the_page(runner: Runner, here: Path) -> None:
    (makefile,) = [block.text for block in read(ROOT / "docs" / "fortran.md").blocks if block.language == "make"]
    (here / "Makefile").write_text(makefile)
    (here / "main.f90").write_text(ATTRIBUTES)
    failed, said = runner.shell("make main && mpiexec -n 2 ./main", here)
    assert not failed, said
    assert (here / "run.h5").exists()


@needs["c"]
def test_line_of_the_page_in_c(runner: Runner, here: Path) -> None:
    page = (ROOT / "docs" / "fortran.md").read_text()
    (line,) = re.findall(r"(?m)^mpicc .*$", page)
    shutil.copy(ROOT / "examples" / "1_write.c", here / "main.c")
    failed, said = runner.shell(f"{line} && mpiexec -n 2 ./main none/waves.h5", here)
    assert failed
    why = f"tailrace_open: cannot write {here}/none/waves.h5: the directory {here}/none does not exist"
    assert said.count(why) == 1, said


@needs["fortran"]
@pytest.mark.parametrize("ranks", [1, 3])
def test_attributes_before_open(runner: Runner, here: Path, ranks: int) -> None:
    result = start(compiled(runner, here, ATTRIBUTES), ranks=ranks)
    assert result.code == 0, result.text
    with tr.open(here / "run.h5") as series:
        assert dict(series.attributes) == {"case": "tgv", "reynolds": 1600.0}
    with h5py.File(here / "run.h5") as file:
        assert file["Tailrace/attributes"].attrs["reynolds"] == 1600.0


@needs["fortran"]
def test_one_message_of_all_ranks(runner: Runner, here: Path) -> None:
    program = compiled(runner, here, REFUSED)
    for ranks in (1, 3):
        result = start(program, "all", ranks=ranks)
        assert result.code != 0
        assert result.err.count(TEXT) == 1, result.text
        assert "[rank" not in result.err
        assert "before the error" in result.out, "what was printed is not lost"
    result = start(program, "alone", ranks=2)
    assert result.code != 0
    assert f"[rank 1] {TEXT}" in result.err
    assert result.err.count(TEXT) == 1


@needs["fortran"]
def test_a_path_with_blanks(runner: Runner, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = here / "my codes"
    place.symlink_to(flags._compiled())
    monkeypatch.setattr(flags, "_compiled", lambda: place)
    result = tailrace("flags", "fortran")
    assert "write eval before the command" in result.stderr
    (here / "flags").write_text(result.stdout)
    (here / "main.f90").write_text(ATTRIBUTES)
    failed, said = runner.shell('eval mpifort main.f90 -o main "$(cat flags)" && ./main', here)
    assert not failed, said


def test_parts(here: Path) -> None:
    whole, cflags, libs = (tailrace("flags", "c", *words).stdout for words in ((), ("--cflags",), ("--libs",)))
    assert cflags.startswith("-I")
    assert libs.startswith("-L")
    assert whole.split() == cflags.split() + libs.split()
    assert whole == tailrace("flags", "c", "--libs", "--cflags").stdout
    assert all(Path(word.removeprefix("-I")).is_dir() for word in cflags.split())


@pytest.fixture
def other(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of another installation, where no module was built."""
    (here / "include" / "tailrace" / "fortran").mkdir(parents=True)
    monkeypatch.setattr(flags, "_compiled", lambda: here)
    return here


def test_no_module(other: Path) -> None:
    result = tailrace("flags", "fortran")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "there was no Fortran compiler when Tailrace was built" in result.stderr
    assert "set FC to your compiler" in result.stderr
    assert tailrace("flags", "c").exit_code == 0


@needs["fortran"]
def test_a_module_of_another_compiler(other: Path) -> None:
    module = other / "include" / "tailrace" / "fortran" / "tailrace.mod"
    module.write_text("V35 :0x24 tailrace\n")  # as that of nvfortran begins
    result = tailrace("flags", "fortran", "--compiler", "gfortran -O2")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "gfortran cannot use the Fortran module" in result.stderr
    assert "is not a GNU Fortran module file" in result.stderr
    assert f"It was compiled with {tr.core.build_info()['fortran']}" in result.stderr
    assert "FC=COMMAND make setup" in result.stderr


def test_no_compiler_to_try(other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (other / "include" / "tailrace" / "fortran" / "tailrace.mod").write_text("")
    result = tailrace("flags", "fortran", "--compiler", "no-such-compiler")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--compiler no-such-compiler: there is no such command" in result.stderr
    monkeypatch.setenv("PATH", "")
    assert "-ltailrace_fortran -ltailrace" in tailrace("flags", "fortran").stdout


@pytest.mark.parametrize("words", [(), ("cobol",)])
def test_unknown_languages(here: Path, words: tuple[str, ...]) -> None:
    result = tailrace("flags", *words)
    assert result.exit_code == 2
    assert "fortran" in result.stderr


def test_compilers_of_c_are_not_tried(here: Path) -> None:
    result = tailrace("flags", "c", "--compiler", "mpicc")
    assert result.exit_code == 2
    assert "any C compiler will do" in result.stderr


def test_not_installed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "find_spec", lambda name: None)
    result = tailrace("flags", "c")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "tailrace doctor" in result.stderr
