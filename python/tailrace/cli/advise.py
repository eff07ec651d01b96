"""The command `tailrace advise`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.text import visible

from .common import fail, say

if TYPE_CHECKING:
    from tailrace.bench.advise.advice import Advice
    from tailrace.bench.advise.forecast import Forecast
    from tailrace.bench.advise.profile import Profile
    from tailrace.bench.advise.question import Purpose, Question
    from tailrace.bench.records.results import BenchResults

PURPOSES: dict[str, Purpose] = {"output": "output", "checkpoint": "checkpoint"}
PRECISIONS = ("float64", "float32")
_UNITS = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}
_UNITS |= {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15}


def advise(
    results: Annotated[
        list[Path], typer.Argument(metavar="[RESULTS...]", help="Files of results that tailrace bench wrote.")
    ] = [],  # noqa: B006
    purpose: Annotated[
        str, typer.Option("--for", metavar="output|checkpoint", help="A checkpoint has to reach the disk.")
    ] = "output",
    ranks: Annotated[int | None, typer.Option("--ranks", min=1, help="Ranks of your run.")] = None,
    whole: Annotated[
        str | None, typer.Option("--global", metavar="NX,NY,NZ", help="Points of your grid in x, y, z.")
    ] = None,
    local: Annotated[
        str | None, typer.Option("--local", metavar="NX,NY,NZ", help="Points of one rank, instead.")
    ] = None,
    variables: Annotated[
        int | None, typer.Option("--variables", min=1, help="Variables of a step; 3 by default, ux, uy and uz.")
    ] = None,
    precision: Annotated[
        str | None, typer.Option("--precision", metavar="float64|float32", help="Of the values; float64 by default.")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="SIZE", help="Size of a step, instead: a number of bytes, or 12GiB."),
    ] = None,
    directory: Annotated[
        str | None, typer.Option("--directory", metavar="NAME", help="Which of the measured directories.")
    ] = None,
    mtbf: Annotated[
        float | None,
        typer.Option("--mtbf", metavar="HOURS", help="Mean time between failures of your job: gives the interval."),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option("--machine", metavar="PROFILE", help="Predict for this profile: a file, or archer2.toml."),
    ] = None,
    stripes: Annotated[
        int | None, typer.Option("--stripes", min=1, help="Of all files, for --machine; by default the best.")
    ] = None,
    fit_to: Annotated[
        Path | None, typer.Option("--fit-to", metavar="FILE", help="Fit a profile to the results and write it there.")
    ] = None,
) -> None:
    """Say which engine to choose, with a block for the case file: from measurements, or predicted for a machine.

    `tailrace advise results.jsonl --for checkpoint --ranks 64 --global 512,512,512 --mtbf 24`
    """
    from tailrace.bench.advise.pattern import PatternError
    from tailrace.bench.advise.question import VARIABLES, AdviceError, Question
    from tailrace.bench.records.results import ResultError, read_results
    from tailrace.case.document import ConfigError

    try:
        question = Question(
            PURPOSES[_one_of("--for", purpose, tuple(PURPOSES))], ranks,
            _triple("--global", whole), _triple("--local", local), variables or VARIABLES,
            _one_of("--precision", precision or PRECISIONS[0], PRECISIONS), _bytes(state), directory, _positive(mtbf),
        )  # fmt: skip
        _check(question, results, machine, stripes, fit_to)
        _check_size(question, variables is not None, precision is not None, machine is not None)
        found = read_results(*results) if results else None
        if fit_to is not None:
            assert found is not None
            _fit(found, directory, machine, fit_to)
        elif found is not None:
            _measured(found, question)
        else:
            assert machine is not None
            _predicted(machine, question, stripes)
    except (AdviceError, PatternError, ResultError, ConfigError) as error:
        fail(error, 1 if isinstance(error, AdviceError) else 2)


def _check(
    question: Question, results: list[Path], machine: str | None, stripes: int | None, fit_to: Path | None
) -> None:
    """End with an error if options exclude each other or are missing."""
    if sum(one is not None for one in (question.shape, question.local, question.state)) > 1:
        fail("--global, --local and --state all say the size of a step; give one of them")
    if not results and machine is None:
        fail("give files of results that tailrace bench wrote, or a profile to predict from: --machine archer2.toml")
    if results and machine is not None and fit_to is None:
        fail("results and --machine: measurements or a prediction? Leave one out, or fit the profile by --fit-to FILE")
    if fit_to is not None and not results:
        fail("--fit-to needs files of results")
    if fit_to is not None and (question.ranks, question.bytes, question.purpose) != (None, None, "output"):
        fail("--fit-to fits a profile to all results; leave --ranks, the size and --for to the prediction")
    if fit_to is not None and fit_to.exists():
        fail(f"--fit-to {fit_to}: it exists; give another name, or remove it")
    if stripes is not None and (machine is None or results):
        fail("--stripes is for predictions; give --machine, without results")
    if question.directory is not None and not results:
        fail("--directory chooses among measurements; give files of results")
    if question.mtbf_hours is not None and question.purpose != "checkpoint":
        fail("--mtbf gives the interval of checkpoints; add --for checkpoint")


def _check_size(question: Question, variables: bool, precision: bool, predicts: bool) -> None:
    """End with an error if --variables or --precision are given without a grid, or without need."""
    grid = question.shape is not None or question.local is not None
    if precision and not grid:
        fail("--precision is part of the size of a grid; give --global or --local")
    if variables and not grid and not predicts:
        fail("--variables is part of the size of a grid; give --global or --local")


def _measured(results: BenchResults, question: Question) -> None:
    from tailrace.bench.advise.advice import advise as advise_from

    for note in results.notes:
        say(f"note: {note}")
    for run in results.interrupted:
        say(f"note: the run {run.run} was interrupted; what it measured before is used")
    _show(advise_from(results, question))


def _predicted(machine: str, question: Question, stripes: int | None) -> None:
    from tailrace.bench.advise.forecast import forecast
    from tailrace.bench.advise.profile import load_profile

    found = forecast(load_profile(machine), question, stripes)
    print(*_table(found), sep="\n")
    print()
    _show(found.advice)


def _table(found: Forecast) -> list[str]:
    from .listing import TextTable

    rows = [
        [
            row.variant.name, str(row.variant.stripes), f"{row.prediction.gib_per_s:.3g}",
            f"{row.rate.low:.3g} to {row.rate.high:.3g}", f"{row.prediction.seconds:.3g}", row.prediction.bound,
        ]
        for row in found.rows
    ]  # fmt: skip
    columns = ["engine", "stripes", "GiB/s", "four of five draws", "s", "limited by"]
    return TextTable(columns, rows, frozenset({1, 2, 3, 4})).plain()


def _show(advice: Advice) -> None:
    name = ", ".join([advice.engine, *(f"{key} = {value}" for key, value in advice.parameters.items())])
    print(visible(advice.sureness.words(name)))
    print(*map(visible, advice.reasons), sep="\n")
    interval = advice.interval
    if interval is not None:
        from tailrace.text import duration

        print(
            f"Write a checkpoint every {duration(interval.daly)} (Daly 2006; Young 1974: {duration(interval.young)}): "
            f"{interval.lost:.2%} of the time is then lost to checkpoints and failures."
        )
    print()
    if advice.commands:
        print("Before the run:")
        print(*(visible(f"  {command}") for command in advice.commands), sep="\n")
        print()
    print(visible(f"In the case file:\n\n{advice.block}", lines=True), end="")
    for note in advice.notes:
        say(f"note: {note}")


def _fit(results: BenchResults, directory: str | None, machine: str | None, path: Path) -> None:
    from tailrace.bench.advise.fit import FitError, fit
    from tailrace.bench.advise.machine import of_one_directory, of_one_machine
    from tailrace.bench.advise.observations import cross_validate, observations_of, start_of
    from tailrace.bench.advise.profile import load_profile
    from tailrace.files.whole import write_text

    results, doubts = of_one_machine(results)
    results = of_one_directory(results, directory)
    for doubt in doubts:
        say(f"note: {doubt}")
    try:
        start: Profile = load_profile(machine) if machine is not None else start_of(results)
        data = observations_of(results)
        found = fit(data, start)
        write_text(path, found.profile.to_toml())
    except FitError as error:
        fail(error, 1)
    except OSError as error:
        fail(f"--fit-to {path}: {error.strerror}")
    print(
        f"{visible(path)}: a profile fitted to {len(data)} measured ways; what remains is a factor of "
        f"{found.factor:.3g}"
    )
    print(f"  determined by the data: {visible(', '.join(found.determined)) or 'nothing'}")
    try:
        check = cross_validate(data, start)
    except FitError as error:
        say(f"note: not cross-validated: {error}")
        return
    print(
        f"  fitted to {check.fitted} of them, it predicts the other {check.predicted} within a factor of "
        f"{check.median:.3g} in the median, and nine of ten within {check.most_of:.3g}"
    )


def _one_of(option: str, word: str, words: tuple[str, ...]) -> str:
    if word not in words:
        fail(f"{option} {word}: expected {' or '.join(words)}")
    return word


def _triple(option: str, text: str | None) -> tuple[int, int, int] | None:
    if text is None:
        return None
    words = text.split(",")
    if len(words) != 3 or not all(re.fullmatch(r"\s*[1-9]\d{0,8}\s*", word) for word in words):
        fail(f"{option} {text}: expected three numbers of points with commas, such as 512,512,512")
    x, y, z = (int(word) for word in words)
    return x, y, z


def _bytes(text: str | None) -> float | None:
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?(?:[eE]\d+)?)\s*([A-Za-z]*)\s*", text)
    if match is None or match[2] not in _UNITS or not 0 < float(match[1]) * _UNITS[match[2]] < float("inf"):
        fail(f"--state {text}: expected a number of bytes, or one with a unit: 12GiB ({', '.join(list(_UNITS)[1:])})")
    return float(match[1]) * _UNITS[match[2]]


def _positive(hours: float | None) -> float | None:
    if hours is not None and not 0 < hours < float("inf"):
        fail(f"--mtbf {hours:g}: expected hours above 0")
    return hours
