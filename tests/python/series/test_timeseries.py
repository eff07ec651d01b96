"""The time series: exact numbers, restarts without duplicates, incomplete and damaged files."""

import csv
import math
import os

import numpy as np
import pytest

from helpers.harness import recorded_calls
from helpers.harness.descriptors import descriptors
from tailrace.core import FileLock, IoError
from tailrace.io.time_series import (
    COLUMNS,
    TimeSeries,
    TimeSeriesError,
    last_step,
    read_columns,
    read_provenance,
    read_time_series,
    rewind,
)


def row(step, **changes):
    values = {name: math.sqrt(step + at) / 3 for at, name in enumerate(COLUMNS)}
    return {**values, "step": step, "time": 0.1 * step, **changes}


def write(path, steps, **options):
    with TimeSeries(path, **options) as series:
        for step in steps:
            series.append(row(step))


def test_numbers_come_back_bit_for_bit_and_the_head_says_what_they_are(tmp_path):
    path = tmp_path / "very" / "deep" / "series.csv"
    write(path, [0, 10, 20], title="case tgv\nRe = 1600")
    columns = read_time_series(path)
    assert tuple(columns) == COLUMNS
    assert columns["step"].dtype == np.int64
    for name in COLUMNS:
        np.testing.assert_array_equal(columns[name], [row(step)[name] for step in (0, 10, 20)])
    head = path.read_text().split("\nstep,time,")[0]
    assert all(line.startswith("#") for line in head.splitlines())
    for words in ("Re = 1600", "kinetic_energy = <u . u> / 2", "2 nu <S_ij S_ij>", "max |div u| L / U", "nu = 1 / Re"):
        assert words in head


def test_a_row_is_there_when_append_returns(tmp_path):
    path = tmp_path / "series.csv"
    with TimeSeries(path) as series:
        series.append(row(1))
        assert list(read_time_series(path)["step"]) == [1]


LOSSES = {
    "removed": lambda path: path.unlink(),
    "replaced": lambda path: (path.rename(path.with_suffix(".old")), path.write_bytes(b"")),
    "cut": lambda path: os.truncate(path, path.stat().st_size - 1),  # of the last row
}


@pytest.mark.parametrize("how", list(LOSSES))
@pytest.mark.parametrize("use", ["append", "sync"])
def test_a_file_that_is_lost_while_it_is_written_is_an_error(tmp_path, how, use):
    path = tmp_path / "series.csv"
    with TimeSeries(path) as series:
        series.append(row(1))
        series.sync()
        LOSSES[how](path)
        with pytest.raises(OSError, match=f"the file was {how} by somebody else while it was being written"):
            series.append(row(2)) if use == "append" else series.sync()


def test_others_read_it_without_us(tmp_path):
    write(tmp_path / "series.csv", [0, 10])
    with (tmp_path / "series.csv").open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert tuple(rows[0]) == COLUMNS
    assert [float(each["time"]) for each in rows] == [0.0, 1.0]


def test_a_fresh_run_replaces_a_former_one(tmp_path):
    write(tmp_path / "series.csv", range(5))
    write(tmp_path / "series.csv", [0])
    assert list(read_time_series(tmp_path / "series.csv")["step"]) == [0]


def test_resuming_drops_what_lies_after_the_checkpoint(tmp_path):
    path = tmp_path / "series.csv"
    write(path, range(0, 60, 10))
    write(path, [20, 30], resume_step=25)
    assert list(read_time_series(path)["step"]) == [0, 10, 20, 30], "20 is kept once"
    write(path, [], resume_step=-1)
    assert len(read_time_series(path)["step"]) == 0


def test_resuming_where_the_file_was_lost_starts_a_new_one(tmp_path):
    write(tmp_path / "series.csv", [110], resume_step=100)
    assert list(read_time_series(tmp_path / "series.csv")["step"]) == [110]


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_torn_last_line_is_dropped(tmp_path, cut):
    path = tmp_path / "series.csv"
    write(path, [0, 10, 20])
    path.write_bytes(path.read_bytes()[:-cut])
    assert list(read_time_series(path)["step"]) == [0, 10]
    assert rewind(path, 100) == 10
    write(path, [20], resume_step=100)
    assert list(read_time_series(path)["step"]) == [0, 10, 20]


@pytest.mark.parametrize("torn", [b"\0" * 100, b"20,0.1" + b"\0" * 100 + b",0.5\n"], ids=["to the end", "in between"])
def test_zero_bytes_left_by_a_power_cut_are_torn_too(tmp_path, torn):
    path = tmp_path / "series.csv"
    write(path, [0, 10])
    with path.open("ab") as file:
        file.write(torn)
    assert list(read_time_series(path)["step"]) == [0, 10]
    assert rewind(path, 100) == 10
    assert b"\0" not in path.read_bytes()


def test_rewinding_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "series.csv"
    write(path, [0, 10, 20])
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        rewind(path, 10)
    assert path.read_bytes() == before


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "series.csv"
    write(path, [0, 10, 20])
    lines = path.read_text().splitlines(keepends=True)
    lines[-2] = "10,0.5,x\n"
    path.write_text("".join(lines))
    with pytest.raises(
        TimeSeriesError, match=rf"series.csv, line {len(lines) - 1}: expected 9 numbers, found: 10,0.5,x"
    ):
        read_time_series(path)


@pytest.mark.parametrize("text", ["", "# nothing else\n", "a,b\n1,2\n", "\x89PNG\r\n"])
def test_other_files_are_refused_and_left_alone(tmp_path, text):
    path = tmp_path / "series.csv"
    path.write_text(text)
    before = path.read_bytes()
    for use in (read_time_series, lambda path: rewind(path, 3), lambda path: TimeSeries(path, resume_step=3)):
        with pytest.raises(TimeSeriesError, match="is not a time series"):
            use(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        "# notes of mine\n",
        "step,time\n1,2\n",
        "[case]\n",
        "# Tailrace time seri s",
        "\0" * 64 + "data",
        "\0" * 70_000 + "data",
        "# Tailrace time series, my notes\n",
    ],
)
def test_a_new_one_replaces_only_another(tmp_path, text):
    path = tmp_path / "series.csv"
    for taken in (path, tmp_path / "series.csv.new"):
        taken.write_text(text)
        with pytest.raises(TimeSeriesError, match="is there already, and is no time series of Tailrace"):
            TimeSeries(path)
        assert taken.read_text() == text
        taken.write_text("# Tailrace ti\0\0")  # torn by a power failure
    TimeSeries(path).close()
    assert len(read_time_series(path)["step"]) == 0


def test_rewinding_changes_no_table_of_another_program(tmp_path):
    path = tmp_path / "series.csv"
    path.write_text("step,time\n1,2\n2,3\n")
    with pytest.raises(TimeSeriesError, match="is there already, and is no time series of Tailrace"):
        rewind(path, 1)
    assert path.read_text() == "step,time\n1,2\n2,3\n"


def test_what_is_no_file_is_refused_without_reading_it(tmp_path):
    os.mkfifo(tmp_path / "series.csv")
    with pytest.raises(OSError, match="named pipe"):
        TimeSeries(tmp_path / "series.csv")


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "series.csv").symlink_to("scratch.csv")
    write(tmp_path / "series.csv", [0, 10])
    write(tmp_path / "series.csv", [10, 20], resume_step=10)
    assert (tmp_path / "series.csv").is_symlink()
    assert list(read_time_series(tmp_path / "scratch.csv")["step"]) == [0, 10, 20]


def test_wrong_rows_are_refused(tmp_path):
    with TimeSeries(tmp_path / "series.csv") as series:
        series.append(row(10))
        with pytest.raises(TimeSeriesError, match="step 9 comes after step 10"):
            series.append(row(9))
        with pytest.raises(TimeSeriesError, match=r"missing \['cfl'\], unknown \['CFL'\]"):
            series.append({("CFL" if name == "cfl" else name): value for name, value in row(11).items()})


def test_a_row_of_the_same_step_is_written_once(tmp_path):
    path = tmp_path / "series.csv"
    with TimeSeries(path) as series:
        series.append(row(10))
        before = path.read_bytes()
        series.append(row(10, cfl=99.0))
        assert path.read_bytes() == before
        series.append(row(11))
    with TimeSeries(path, resume_step=11) as series:
        series.append(row(11, cfl=99.0))
        with pytest.raises(TimeSeriesError, match="step 10 comes after step 11; rewind to it first"):
            series.append(row(10))
    assert read_time_series(path)["cfl"].tolist() == [row(10)["cfl"], row(11)["cfl"]]
    assert (last_step(path), read_columns(path)) == (11, COLUMNS)


def test_a_file_with_other_columns_is_not_continued(tmp_path):
    path = tmp_path / "series.csv"
    with TimeSeries(path, columns=("step", "time", "a"), definitions="") as series:
        series.append({"step": 1, "time": 0.5, "a": 2.0})
    before = path.read_bytes()
    with pytest.raises(TimeSeriesError) as error:
        TimeSeries(path, resume_step=5, columns=("step", "time", "b"))
    assert str(error.value) == (
        f"{path}: has the columns step,time,a; the rows to come have step,time,b. To fix this, name another path "
        "in the case, where they will be written; or start again, with --overwrite"
    )
    assert path.read_bytes() == before


@pytest.mark.parametrize("resume_step", [None, 3])
def test_one_that_cannot_be_opened_is_not_held(tmp_path, resume_step):
    """Also as long as somebody keeps the error, as a notebook does."""
    path = tmp_path / "series.csv"
    path.write_text("mine")
    with pytest.raises(TimeSeriesError) as kept:
        TimeSeries(path, resume_step=resume_step)
    path.unlink()
    TimeSeries(path).close()
    assert "series.csv" in str(kept.value)


def test_one_program_writes_a_time_series(tmp_path):
    path = tmp_path / "series.csv"
    series = TimeSeries(path)
    with pytest.raises(IoError, match="is writing it"):
        TimeSeries(path)
    series.close()
    series.close()
    FileLock(str(path)).release()
    with TimeSeries(path):
        pass
    FileLock(str(path)).release()


def test_the_lines_of_a_file_are_counted_with_those_that_are_empty(tmp_path):
    path = tmp_path / "series.csv"
    path.write_text("# Tailrace time series\n# made_by: run\n#\nstep,time,a\n1,0.5,2\n\n2,1.0,3\n")
    assert read_time_series(path)["a"].tolist() == [2.0, 3.0]
    assert read_provenance(path) == {"made_by": "run"}
    assert last_step(path) == 2
    for text in ("x,1.0,3\n", "2.5,1.0,3\n", ",1,3\n"):
        path.write_text(f"# Tailrace time series\nstep,time,a\n1,0.5,2\n\n{text}")
        said = rf"series\.csv, line 5: expected a row that begins with a step, found: {text.strip()}"
        for use in (last_step, lambda path: rewind(path, 9)):
            with pytest.raises(TimeSeriesError, match=said):
                use(path)
    path.write_text("# Tailrace time series\nstep,time,a\n1,0.5\n")
    with pytest.raises(TimeSeriesError, match=r"line 3: expected 3 numbers, found: 1,0\.5"):
        read_time_series(path)
    path.write_text("# Tailrace time series\nstep,time,a\n")
    assert last_step(path) is None
    assert rewind(path, 9) is None


def test_a_file_that_grows_by_others_is_no_loss(tmp_path):
    path = tmp_path / "series.csv"
    with TimeSeries(path) as series:
        series.append(row(1))
        with path.open("a") as file:
            file.write("# a note\n")
        series.append(row(2))
        os.truncate(path, path.stat().st_size - 1)
        with pytest.raises(OSError, match="the file was cut"):
            series.sync()


def test_the_rows_are_on_the_disk_after_sync_and_nothing_stays_open(tmp_path, monkeypatch):
    before = descriptors()
    with TimeSeries(tmp_path / "series.csv") as series:
        series.append(row(1))
        calls = recorded_calls.in_python(monkeypatch, "fsync")
        series.append(row(2))
        assert calls == []
        series.sync()
        assert calls == [("fsync", tmp_path / "series.csv")]
    assert not descriptors() - before


def test_a_run_whose_case_was_changed_tells_so_in_the_head(tmp_path):
    """Another run that goes on keeps the head of the file."""
    path = tmp_path / "series.csv"
    write(path, [0, 10], title="old", provenance={"made_by": "run"})
    write(path, [20], title="same", resume_step=10, provenance={"made_by": "other"})
    assert "# old\n" in path.read_text() and read_provenance(path) == {"made_by": "run"}
    told = {"made_by": "run", "changes": "after step 10: less viscosity"}
    write(path, [20], title="new", resume_step=10, provenance=told)
    assert "# old\n" not in path.read_text() and "# new\n" in path.read_text()
    assert read_provenance(path) == told
    assert list(read_time_series(path)["step"]) == [0, 10, 20]


@pytest.mark.parametrize(
    ("head", "first"),
    [("# Tailrace time series\n# new\nstep,time,a\n", "# new"),
     ("# Tailrace time series\n# new\nstep,time,b\n", "# old"),
     ("# Tailrace time series\n# new\nmy_step,time,a\n", "# old"), ("", "# old"), (None, "# old")],
)  # fmt: skip
def test_a_new_head_is_for_the_same_columns(tmp_path, head, first):
    path = tmp_path / "series.csv"
    path.write_text("# Tailrace time series\n# old\nstep,time,a\n1,0.5,2\n3,1.5,4\n")
    assert rewind(path, 2, head) == 1
    assert path.read_text() == f"# Tailrace time series\n{first}\nstep,time,a\n1,0.5,2\n"


def test_the_last_comment_counts(tmp_path):
    (tmp_path / "series.csv").write_text("# Tailrace time series\n# host: a\n# made_by: run\nstep,time\n")
    assert read_provenance(tmp_path / "series.csv") == {"host": "a", "made_by": "run"}


@pytest.mark.parametrize("line", ["7", "7,0.5", "7,0.5,1,2"])
def test_a_row_has_a_number_for_each_column(tmp_path, line):
    path = tmp_path / "series.csv"
    path.write_text(f"# Tailrace time series\nstep,time,a\n1,0.5,2\n{line}\n")
    with pytest.raises(TimeSeriesError, match=f"line 4: expected 3 numbers, found: {line}$"):
        read_time_series(path)
