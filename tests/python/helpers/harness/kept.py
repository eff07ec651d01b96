"""Ranks that all tests of this process share, because a start of MPI takes longer than most of them."""

from __future__ import annotations

from pathlib import Path

from helpers.harness import mpi_run
from helpers.harness.workers import Workers
from helpers.programs.commands import command, program


class Kept:
    """Ranks that stay until the tests end, and the command `tailrace` on them."""

    def __init__(self) -> None:
        self._sizes: dict[int, Workers] = {}

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        for workers in self._sizes.values():
            workers.stop()

    def __call__(self, directory: Path, *words: object, ranks: int = 1, code: int = 0) -> mpi_run.Result:
        """`tailrace WORDS` in a directory; it must end with `code`.

        What is started again there replaces its results, unless it goes on with them.
        """
        if words[0] in ("run", "analyse") and "--resume" not in words and "--overwrite" not in words:
            words = (*words, "--overwrite")
        result = self.result(directory, *words, ranks=ranks)
        assert result.code == code, result.text
        return result

    def result(self, directory: Path, *words: object, ranks: int = 1, limit: float = 60) -> mpi_run.Result:
        """The same with these words only, and with any exit code, which is that of every rank."""
        found = self.ranks(ranks).results(command, limit, directory=str(directory), words=[str(word) for word in words])
        codes, outs, errs = zip(*found, strict=True)
        assert len(set(codes)) == 1, found
        return mpi_run.Result(codes[0], "".join(outs), "".join(errs))

    def program(self, *words: object, cwd: Path, ranks: int = 1, limit: float = 120) -> mpi_run.Result:
        """`python WORDS`, a file and its arguments, in a directory; it must succeed."""
        outs = self.ranks(ranks).results(program, limit, directory=str(cwd), words=[str(word) for word in words])
        return mpi_run.Result(0, "".join(outs), "")

    def ranks(self, size: int) -> Workers:
        """So many ranks, the same for all tests; they start with the first call."""
        return self._sizes.setdefault(size, Workers(size))


KEPT = Kept()
