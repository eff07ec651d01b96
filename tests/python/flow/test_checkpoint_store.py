"""A store of checkpoints, written to and read from directly."""

import shutil

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness import recorded_calls
from helpers.harness.descriptors import descriptors
from helpers.harness.kept import KEPT
from helpers.programs import checkpoint_programs
from tailrace.core import FileLock
from tailrace.flow import checkpoint
from tailrace.flow.checkpoint import CheckpointStore, State
from tailrace.io import series


def write(store: CheckpointStore, step: int, names: str = "xyz") -> None:
    state = State(step, 0.5 * step, 1, 1, "none", 1)
    store.write(state, {f"u{name}": series.Block(np.full((2, 3, 4), 1.0), (4, 3, 2)) for name in names}, {})


@pytest.mark.parametrize("lacking", ["x", "y", "z"])
def test_a_checkpoint_without_a_component_is_damaged(tmp_path, lacking):
    """Its checksums are right, so that nothing else tells."""
    store, said = CheckpointStore(tmp_path, 9, MPI.COMM_SELF), []
    write(store, 1)
    write(store, 2, "xyz".replace(lacking, ""))
    assert store.newest(said.append).state.step == 1
    assert said == [f"checkpoint {tmp_path / 'step-00000002'} is damaged and skipped: it has no u{lacking}"]


def test_a_kill_after_a_replacement_leaves_the_new_one(tmp_path):
    """The one that it replaced is still there under its other name, and must neither come back nor be in the way."""
    store, said = CheckpointStore(tmp_path, 9, MPI.COMM_SELF), []
    write(store, 2)
    replaced = tmp_path / "step-00000002.replaced"
    shutil.copytree(tmp_path / "step-00000002", replaced)
    (replaced / "ux-1.bin").write_bytes(b"old")
    assert store.newest(said.append).state.step == 2
    assert said == []
    assert replaced.exists()
    write(store, 3)
    assert [path.name for path in store.present()] == ["step-00000003", "step-00000002"]
    assert not replaced.exists()


def test_every_checkpoint_is_written_under_the_lock(tmp_path):
    """Also the second one that is written without a claim around it."""
    store, other = (CheckpointStore(tmp_path, 9, MPI.COMM_SELF) for _ in range(2))
    write(store, 1)
    with other.claim(), pytest.raises(tr.IoError, match="is writing it"):
        write(store, 2)
    write(store, 2)
    assert other.present()[0].name == "step-00000002"


def test_what_is_set_aside_takes_no_name_of_a_link(tmp_path):
    """Not even of one that leads nowhere now."""
    (tmp_path / "step-00000001").mkdir()
    link = tmp_path / "step-00000001.set-aside"
    link.symlink_to("a disk that is not mounted")
    checkpoint._set_aside(tmp_path / "step-00000001")
    assert link.is_symlink()
    assert (tmp_path / "step-00000001.set-aside1").is_dir()


def test_the_clock_of_rank_0_counts_for_all():
    """Clocks of two ranks differ a little: ranks that asked their own would wait for each other for ever."""
    found = KEPT.ranks(2).results(checkpoint_programs.ask_different_clocks, limit=60)
    assert found == [[True, False]] * 2


def test_a_state_that_is_stored_again_takes_the_place_of_the_first(tmp_path):
    store = CheckpointStore(tmp_path / "deep" / "store", 9, MPI.COMM_SELF)
    write(store, 1)
    (tmp_path / "deep/store/step-00000001/ux-1.bin").write_bytes(b"old")
    before = descriptors()
    write(store, 1)
    assert not descriptors() - before
    assert entries(tmp_path / "deep" / "store") == ["step-00000001"]
    found = store.newest(print)
    assert found.state.step == 1
    assert found.path == tmp_path / "deep" / "store" / "step-00000001"


@pytest.mark.parametrize("law", [(), ("walls", 0.5)])
def test_the_places_of_the_nodes_are_in_a_checkpoint(tmp_path, law):
    """By these, other programs draw it."""
    blocks = {f"u{name}": series.Block(np.zeros((8, 9, 10)), (10, 9, 8)) for name in "xyz"}
    about = {"lengths": [2.0, 1.0, 3.0], "boundaries": "periodic,dirichlet,free-slip"}
    about |= dict(zip(("stretching", "beta"), law, strict=False))
    store = CheckpointStore(tmp_path, 9, MPI.COMM_SELF)
    store.write(State(1, 0.5, 1, 1, "none", 1), blocks, about)
    with series.open(tmp_path / "step-00000001") as stored:
        assert isinstance(stored.grid, series.StretchedGrid) == bool(law)
        x, y, z = stored.grid.coordinates
    np.testing.assert_allclose(x, np.arange(10) * 0.2)
    np.testing.assert_allclose(z, np.arange(8) * 3 / 7)
    assert (y[0], y[-1], y[1] < 0.1) == (0.0, pytest.approx(1.0), bool(law))
    for lacking in ("lengths", "ux"):
        less = {key: value for key, value in about.items() if key != lacking}
        store.write(State(2, 0.5, 1, 1, "none", 1), {key: one for key, one in blocks.items() if key != lacking}, less)
        assert series.open(tmp_path / "step-00000002").grid is None


def test_one_that_cannot_be_written_leaves_nothing(tmp_path):
    store = CheckpointStore(tmp_path, 9, MPI.COMM_SELF)
    write(store, 1)
    with pytest.raises(tr.IoError, match=rf"checkpoint {tmp_path}/step-00000002 was not written: .*expected an array"):
        store.write(State(2, 1.0, 1, 1, "none", 1), {"ux": series.Block(np.zeros((2, 3, 4), object), (4, 3, 2))}, {})
    assert entries(tmp_path) == ["step-00000001"]


def entries(path):
    return sorted(entry.name for entry in path.iterdir())


def test_a_directory_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("mine")
    store = CheckpointStore(tmp_path / "file" / "deep", 9, MPI.COMM_SELF)
    with pytest.raises(tr.IoError, match=rf"checkpoint directory {tmp_path}/file/deep: (File exists|Not a directory)"):
        write(store, 1)
    store = CheckpointStore(tmp_path / "file", 9, MPI.COMM_SELF)
    with pytest.raises(tr.IoError, match=rf"checkpoint directory {tmp_path}/file: File exists"):
        write(store, 1)
    assert (tmp_path / "file").read_text() == "mine"
    assert store.present() == []


def test_an_error_before_the_last_renaming_is_told(tmp_path, monkeypatch):
    store = CheckpointStore(tmp_path, 9, MPI.COMM_SELF)
    write(store, 1)
    monkeypatch.setattr(checkpoint, "sync", lambda _: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    with pytest.raises(tr.IoError, match=r"step-00000002 was not put in place: Input/output error"):
        write(store, 2)
    assert [path.name for path in store.present()] == ["step-00000001"]
    monkeypatch.undo()
    write(store, 2)
    assert entries(tmp_path) == ["step-00000001", "step-00000002"]


def test_a_name_is_on_the_disk_before_an_earlier_checkpoint_goes(tmp_path, monkeypatch):
    """Else a power cut leaves neither; and the files are there before the name."""
    store = CheckpointStore(tmp_path, 1, MPI.COMM_SELF)
    for step in (1, 2, 2):  # the last one is stored again, in the place of the first
        with monkeypatch.context() as patched:
            calls = recorded_calls.in_python(patched, "fsync", "rename", "unlink")
            write(store, step)
        final = tmp_path / f"step-0000000{step}"
        partial = final.with_name(f"{final.name}.partial")
        named = calls.index(("rename", partial))
        ours = {partial, *(partial / path.name for path in final.iterdir())}
        assert ours <= {path for name, path in calls[:named] if name == "fsync"}
        last = max(at for at, (name, path) in enumerate(calls[:named]) if path.name == "SHA256SUMS")
        assert ("fsync", partial) in calls[last:named], "the list of its files, when the last one is in it"
        assert calls[named + 1] == ("fsync", tmp_path)
        gone = [path for name, path in calls[:named] if name == "unlink" and path.parent not in (tmp_path, partial)]
        assert not gone, "nothing of an earlier one goes before"


def test_none_and_only_damaged_ones_are_told_apart(tmp_path):
    store, said = CheckpointStore(tmp_path / "store", 9, MPI.COMM_SELF), []
    with pytest.raises(tr.IoError, match=r"there is no checkpoint in .*/store to resume from; start without --resume"):
        store.newest(said.append)
    for step in (1, 2):
        write(store, step)
        (tmp_path / f"store/step-0000000{step}/ux-1.bin").write_bytes(b"")
    with pytest.raises(tr.IoError, match=r"none of the 2 checkpoints in .*/store is undamaged; start again without"):
        store.newest(said.append)
    assert [line.split(" is damaged")[0][-1] for line in said] == ["2", "1"], "the newest first"


def test_a_checkpoint_has_one_step(tmp_path):
    store, said = CheckpointStore(tmp_path, 9, MPI.COMM_SELF), []
    write(store, 1)
    write(store, 2)
    path = tmp_path / "step-00000002"
    with series.open(path, "a", engine="raw") as out:
        out.write_step(9.0, {f"u{name}": np.zeros((2, 3, 4)) for name in "xyz"})
    checkpoint._mark(path, checkpoint._sha256(path / "series.jsonl"))
    assert store.newest(said.append).state.step == 1
    assert said == [f"checkpoint {path} is damaged and skipped: it holds 2 steps instead of 1"]


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_so_many_are_kept(tmp_path, keep):
    store = CheckpointStore(tmp_path, keep, MPI.COMM_SELF)
    for step in range(1, 5):
        write(store, step)
        assert entries(tmp_path) == [f"step-{at:08d}" for at in range(max(1, step - keep + 1), step + 1)]


def test_what_a_resumed_run_finds_is_its_own_up_to_the_step_it_resumes_from(tmp_path):
    for step in (1, 2, 3):
        write(CheckpointStore(tmp_path, 9, MPI.COMM_SELF), step)
        shutil.copytree(tmp_path / f"step-0000000{step}", tmp_path / "kept" / f"step-0000000{step}")
    assert entries(tmp_path) == ["kept", "step-00000003"], "each of these runs began from the start"
    shutil.copytree(tmp_path / "kept", tmp_path, dirs_exist_ok=True)
    (tmp_path / "step-00000003/ux-1.bin").write_bytes(b"")
    store = CheckpointStore(tmp_path, 9, MPI.COMM_SELF)
    assert store.newest(print).state.step == 2
    write(store, 5)
    assert entries(tmp_path) == ["kept", "step-00000001", "step-00000002", "step-00000005"]


def test_the_state_comes_back(tmp_path):
    store = CheckpointStore(tmp_path, 9, MPI.COMM_SELF)
    state = State(7, 0.25, 2, 3, "pairwise", 6, dt=0.125)
    blocks = {f"u{name}": series.Block(np.full((2, 3, 4), at), (4, 3, 2)) for at, name in enumerate("xyz", 1)}
    bytes_written = store.write(state, blocks, {"case": "text", "none": None}, {"list": np.arange(3)})
    assert bytes_written == 3 * 24 * 8 + 3 * 8
    found = store.newest(print)
    assert found.state == state
    assert found.shape() == (4, 3, 2)
    assert found.about["case"] == "text"
    assert "none" not in found.about
    assert found.read("uy", ((1, 0, 0), (2, 3, 2))).tolist() == np.full((2, 3, 2), 2).tolist()
    assert found.read_list("list").tolist() == [0, 1, 2]
    write(store, 8)
    assert store.newest(print).state.dt is None


@pytest.mark.parametrize("what", ["SHA256SUMS", "series.jsonl"])
def test_a_checkpoint_without_one_of_its_two_lists(tmp_path, what):
    write(CheckpointStore(tmp_path, 9, MPI.COMM_SELF), 1)
    path = tmp_path / "step-00000001"
    checkpoint.check_sidecar(path)
    text = (path / what).read_bytes()
    (path / what).write_bytes(text + b"\n")
    with pytest.raises(tr.IoError, match=r"^series\.jsonl differs from its checksum in SHA256SUMS$"):
        checkpoint.check_sidecar(path)
    (path / what).unlink()
    with pytest.raises(tr.IoError, match=rf"^it has no {what}$"):
        checkpoint.check_sidecar(path)


def test_directories_inside_and_links_are_removed_and_what_links_lead_to_stays(tmp_path):
    path = tmp_path / "step-00000001"
    (path / "deep").mkdir(parents=True)
    (path / "deep" / "file").touch()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    (path / "link").symlink_to(tmp_path / "mine")
    checkpoint._remove(path)
    assert path.exists(), "it has no mark"
    checkpoint._mark(path, "incomplete")
    checkpoint._remove(path)
    assert not path.exists()
    assert (tmp_path / "mine" / "file").exists()


def test_what_is_known_as_ours(tmp_path):
    path = tmp_path / "step-00000001"
    assert not checkpoint._is_ours(path)
    path.mkdir()
    assert checkpoint._is_ours(path), "as a kill at its first moment leaves it"
    (path / "file").touch()
    assert not checkpoint._is_ours(path)
    for text, ours in {
        "": True,
        "x  series.jsonl\n": True,
        "x series.jsonl\n": False,
        "x  series.jsonl": False,
    }.items():
        (path / "SHA256SUMS").write_text(text)
        assert checkpoint._is_ours(path) is ours, text
    (path / "SHA256SUMS").unlink()
    (path / "SHA256SUMS").mkdir()
    assert not checkpoint._is_ours(path)
    (tmp_path / "link").symlink_to(path)
    assert not checkpoint._is_ours(tmp_path / "link")
    assert not checkpoint._is_ours(path / "file")


def test_one_whose_list_is_not_that_of_its_checksum_is_skipped(tmp_path):
    """The list tells what all other files are, and nothing else tells what the list is."""
    store, said = CheckpointStore(tmp_path, 9, MPI.COMM_SELF), []
    write(store, 1)
    write(store, 2)
    (tmp_path / "step-00000002/SHA256SUMS").write_text(f"{'0' * 64}  series.jsonl\n")
    assert store.newest(said.append).state.step == 1
    assert said == [
        f"checkpoint {tmp_path / 'step-00000002'} is damaged and skipped: series.jsonl differs from its checksum in "
        "SHA256SUMS"
    ]


@pytest.mark.parametrize(
    ("parameters", "files"),
    [
        ("", ["ux-1.0000.bin"]),
        ("checksums=true", ["ux-1.0000.bin"]),
        ("raw:strategy = dist", ["ux-1.0000.bin", "ux-1.0001.bin", "ux-1.0002.bin"]),
        ("layout=shared", ["ux-1.bin"]),
    ],
)
def test_of_many_ranks_one_of_each_node_writes(tmp_path, three, parameters, files):
    """All of them would open each file. What the environment says has priority."""
    results = three.results(checkpoint_programs.store_as_many, folder=str(tmp_path), parameters=parameters)
    assert results == [[files, 24]] * 3


def test_the_directory_may_be_deep_and_is_claimed_by_one(tmp_path):
    store, other = (CheckpointStore(tmp_path / "deep" / "deeper" / "store", 9, MPI.COMM_SELF) for _ in range(2))
    with store.claim(), store.claim():
        assert entries(tmp_path / "deep" / "deeper") == ["store.lock"]
    with pytest.raises(RuntimeError) as kept, store.claim():
        raise RuntimeError("a notebook keeps the error")
    with other.claim():
        assert kept
    (tmp_path / "file").write_text("mine")
    nowhere = CheckpointStore(tmp_path / "file" / "deep", 9, MPI.COMM_SELF)
    with pytest.raises(tr.IoError, match=rf"^checkpoint directory {tmp_path}/file/deep: File exists$"), nowhere.claim():
        pass


def test_a_kill_between_two_renamings_leaves_the_former_one(tmp_path):
    """What has another name because it was not complete, or is of something else, does not come back."""
    store, said = CheckpointStore(tmp_path, 9, MPI.COMM_SELF), []
    for step in (1, 2, 3):
        write(store, step)
    (tmp_path / "step-00000002").rename(tmp_path / "step-00000002.replaced")
    (tmp_path / "step-00000003").rename(tmp_path / "step-00000003.partial")
    (tmp_path / "step-00000004.replaced").mkdir()
    (tmp_path / "step-00000004.replaced" / "mine").touch()
    found = store.newest(said.append)
    assert (found.state.step, found.path, said) == (2, tmp_path / "step-00000002", [])
    expected = ["step-00000001", "step-00000002", "step-00000003.partial", "step-00000004.replaced"]
    assert entries(tmp_path) == expected
    write(store, 5)
    assert entries(tmp_path) == ["step-00000001", "step-00000002", "step-00000004.replaced", "step-00000005"]


def test_locks_that_a_kill_left_are_removed(tmp_path):
    store, lock = CheckpointStore(tmp_path, 9, MPI.COMM_SELF), tmp_path / "step-00000001.partial.lock"
    held = FileLock(str(lock.with_suffix("")))
    told = lock.read_bytes()
    held.release()
    lock.write_bytes(told)
    (tmp_path / "step-00000002.partial.lock").write_bytes(b"mine")
    write(store, 3)
    assert entries(tmp_path) == ["step-00000002.partial.lock", "step-00000003"]


def test_what_is_in_the_place_of_a_checkpoint_is_set_aside(tmp_path, capsys):
    store = CheckpointStore(tmp_path, 9, MPI.COMM_SELF)
    for name in ("step-00000001", "step-00000001.partial"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").touch()
    write(store, 1)
    notes = [f"note: {tmp_path}/step-00000001{end} is no checkpoint" for end in (".partial", "")]
    assert [line.partition(";")[0] for line in capsys.readouterr().out.splitlines()] == notes
    assert entries(tmp_path) == ["step-00000001", "step-00000001.partial.set-aside", "step-00000001.set-aside"]
    assert (tmp_path / "step-00000001.set-aside" / "mine").exists()
    assert store.newest(print).state.step == 1


def test_a_name_that_a_removal_needs_is_set_aside(tmp_path):
    store = CheckpointStore(tmp_path, 1, MPI.COMM_SELF)
    write(store, 1)
    (tmp_path / "step-00000001.partial").mkdir()
    (tmp_path / "step-00000001.partial" / "mine").touch()
    write(store, 2)
    assert entries(tmp_path) == ["step-00000001.partial.set-aside", "step-00000002"]


def test_the_mark_is_removed_last(tmp_path, monkeypatch):
    """A kill between two removals leaves what is known as a part of a checkpoint."""
    path, removed = tmp_path / "step-00000001", []
    (path / "deep").mkdir(parents=True)
    checkpoint._mark(path, "incomplete")
    monkeypatch.setattr(checkpoint.shutil, "rmtree", removed.append)
    checkpoint._remove(path)
    assert removed == [path / "deep", path]


def test_steps_may_have_more_digits(tmp_path):
    for name in ("step-00000007", "step-12345678", "step-100000000", "step-7", "step-00000008.partial"):
        (tmp_path / name).mkdir()
    found = checkpoint.complete(tmp_path)
    assert [step for step, _ in found] == [100000000, 12345678, 7]
    assert [path.name for _, path in found] == ["step-100000000", "step-12345678", "step-00000007"]
    assert checkpoint.complete(tmp_path / "none") == []


def test_an_older_run_does_not_come_before_what_was_resumed(tmp_path):
    """Of two that are kept, the second is that from which the run went on."""
    store = CheckpointStore(tmp_path, 2, MPI.COMM_SELF)
    write(store, 1)
    again = CheckpointStore(tmp_path, 2, MPI.COMM_SELF)
    again.newest(print)
    for step, left in ((2, [1, 2]), (3, [2, 3]), (4, [3, 4])):
        write(again, step)
        assert [step for step, _ in checkpoint.complete(tmp_path)][::-1] == left


@pytest.mark.parametrize(
    ("ranks", "parameters", "layout"),
    [
        (1, "", {}),
        (256, "", {}),
        (257, "", {"strategy": "node"}),
        (257, "checksums=true", {"strategy": "node"}),
        (257, "raw:aggregators = 4", {}),
        (257, "layout=shared", {}),
        (257, "strategy=dist,level=3", {}),
    ],
)
def test_how_many_ranks_write_a_file_each(monkeypatch, ranks, parameters, layout):
    monkeypatch.setenv("TAILRACE_PARAMETERS", parameters)
    assert checkpoint._layout(ranks) == layout


def test_a_state_is_not_changed():
    state = State(1, 0.5, 1, 1, "none", 1)
    with pytest.raises(AttributeError, match="cannot assign"):
        state.step = 2  # type: ignore[misc]
