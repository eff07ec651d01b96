"""What `tailrace job --check` finds in scripts of anybody, by their lines."""

import pytest

from helpers.harness.jobs import CASE, job
from tailrace.batch.check import check
from tailrace.batch.request import BatchError

GOOD = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=8
#SBATCH --time=12:00:00
#SBATCH --signal=USR1@300
resume=
[ ! -e checkpoints ] || resume=--resume
srun tailrace run small.toml $resume
[ $? != 143 ] || sbatch "$0"
"""


def test_a_good_script(place):
    assert check(GOOD, place) == []
    (place / "job.sh").write_text(GOOD)
    assert "job.sh: nothing is wrong" in job("--check", "job.sh")


@pytest.mark.parametrize(
    ("old", "new", "state", "line", "said"),
    [
        ("#!/bin/bash\n", "", "error", 1, "expected #!/bin/bash"),
        ("#SBATCH --signal", "cd here\n#SBATCH --signal", "error", 6, "does not read it, because line 5 is a command"),
        ("#SBATCH --signal=USR1@300\n", "", "note", 7, "killed, without a checkpoint; add #SBATCH --signal=USR1@300"),
        ("USR1@300", "B:USR1@300", "error", 5, "the shell only"),
        ("USR1@300\n", "B:USR1@300\ntrap 'kill -USR1 $!' USR1\n", "note", 5, "the trap must hand it on"),
        ("#SBATCH --signal", "#SBATCH -r y\n#SBATCH --signal", "note", 5, "replaces its log"),
        ("USR1@300", "HUP@300", "error", 5, "does not take HUP"),
        ("USR1@300", "SIGTERM@60", "note", 5, "60 s for a step and a checkpoint may be too short; 300 s are safe"),
        ("#SBATCH --time=12:00:00\n", "", "note", 0, "no time limit"),
        ("=12:00:00", "=06:00", "note", 4, "the time is 00:06:00"),
        ("=12:00:00", "=6", "note", 4, "the time is 00:06:00"),
        ("=12:00:00", "=soon", None, 0, "line 4: expected HOURS:MINUTES:SECONDS, such as 12:00:00, .*found 'soon'"),
        ("srun tailrace run", "tailrace run", "error", 8, "it runs on one rank"),
        ("small.toml $resume", "small.toml -n 8 $resume", "error", 8, "srun starts the ranks already; leave out -n 8"),
        ("srun tailrace run", "tailrace run -n 16", "error", 8, "16 ranks in a job with place for 8"),
        ("srun tailrace run", "tailrace run -n 4", "note", 8, "4 ranks in a job with place for 8"),
        ("node=8", "node=800", "error", 8, "800 ranks, and the 16 x 12 x 8 points"),
        ("small.toml", "other.toml", "error", 8, "other.toml: there is no such file"),
        ("small.toml", "small.toml --set time.dt=-1", "error", 8, "time.dt"),
        ("$resume", "--overwrite", "error", 8, "would replace all results"),
        ("--resume", "--live", "error", 9, "would refuse the results that are there"),
        ("[ $? != 143 ] || ", "", "error", 9, "only if the exit code was 143"),
        ("tailrace run small.toml", "tailrace info small.toml", "error", 0, "expected a command 'tailrace run CASE'"),
        ("#SBATCH --signal", "#SBATCH --requeue\n#SBATCH --signal", "note", 5, "replaces its log"),
        ("srun tailrace", "timeout --preserve-status 42000 mpirun tailrace", "error", 8, "a second after a TERM"),
        ("srun tailrace", "timeout 42000 srun tailrace", "note", 8, "the exit code is 124"),
        ("srun tailrace", "timeout --preserve-status 42000 srun tailrace", "error", 8, "srun kills its ranks"),
        ("srun tailrace run", "timeout --preserve-status 43100 tailrace run -n 8", "note", 8, "leaves 100 s"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_script(place, old, new, state, line, said):
    assert old in GOOD
    text = GOOD.replace(old, new)
    if state is None:
        with pytest.raises(BatchError, match=said):
            check(text, place)
        return
    found = check(text, place)
    assert any((one.state, one.line) == (state, line) and said in one.text for one in found), found
    (place / "job.sh").write_text(text)
    job("--check", "job.sh", code=1 if any(one.state == "error" for one in found) else 0)


def test_each_note_names_its_own_line(place):
    text = GOOD.replace("=12:00:00", "=06:00").replace("@300", "@60")
    assert {(one.state, one.line) for one in check(text, place)} == {("note", 4), ("note", 5)}


def test_a_case_without_checkpoints(place):
    (place / "small.toml").write_text(CASE.replace("minutes = 30.0", "minutes = 0.0"))
    assert [one.text for one in check(GOOD, place)] == [
        "a node that fails costs the whole job: set checkpoint.minutes in the case"
    ]


def test_what_is_no_script(place):
    assert "not a script for a batch system" in job("--check", "small.toml", code=2)
    (place / "b").write_bytes(b"\xff\xfe\x00")
    assert "b: expected a script, found no text" in job("--check", "b", code=2)
    assert "gone: No such file" in job("--check", "gone", code=2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("resume=\n", 'echo "a text\nof two lines"\nresume=\n'),
        ("small.toml $resume", "\\\n  small.toml \\\n  $resume"),
        ("small.toml", '"$CASE.toml"'),
        ("--nodes=1\n#SBATCH --ntasks-per-node=8", "--ntasks=8"),
        ("srun tailrace", "timeout --preserve-status --signal=USR1 42000 srun tailrace"),
        ("--nodes=1\n#SBATCH --ntasks-per-node=8\n#SBATCH --time=12:00:00", "-N1 -n8 -t12:00:00"),
        ("srun tailrace", "srun $HOME/venv/bin/tailrace"),
    ],
)
def test_other_good_scripts(place, old, new):
    """Quotations and commands over several lines, a case that only the shell knows, ranks without nodes."""
    assert old in GOOD
    assert check(GOOD.replace(old, new), place) == []


def test_lines_that_are_joined_have_the_number_of_the_first(place):
    text = GOOD.replace("srun tailrace run small.toml", "srun tailrace run \\\n  small.toml -n 8")
    assert [(one.state, one.line) for one in check(text, place)] == [("error", 8)]
    found = check(GOOD.replace("USR1@300", "@300"), place)
    assert [(one.state, one.line, one.text) for one in found] == [
        ("error", 5, "expected --signal=USR1@SECONDS, found @300")
    ]


def test_the_ranks_of_a_whole_job_count_first(place):
    text = GOOD.replace("--nodes=1", "--ntasks=16").replace("srun tailrace run", "tailrace run -n 16")
    assert check(text, place) == []


@pytest.mark.parametrize(
    "head",
    [
        "#PBS -l select=2:ncpus=4:mpiprocs=4,walltime=12:00:00",
        "#PBS -lselect=2:ncpus=4:mpiprocs=4 -lwalltime=12:00:00",
        "#PBS -l walltime=12:00:00,mem=64gb\n#PBS -l select=2:ncpus=4:mpiprocs=4",
    ],
)
def test_the_ways_to_ask_pbs(place, head):
    """qsub needs no first line with #!."""
    text = f"{head}\ntimeout --preserve-status --signal=TERM 42000 tailrace run -n RANKS small.toml\n"
    assert check(text.replace("RANKS", "8"), place) == []
    found = check(text.replace("RANKS", "9"), place)
    assert [(one.state, one.text) for one in found] == [("error", "9 ranks in a job with place for 8")]


def test_a_script_in_another_directory_runs_where_it_is_given_to_the_system(place, monkeypatch):
    monkeypatch.chdir(place)
    (place / "jobs").mkdir()
    assert check(GOOD, place / "jobs") == []


def test_the_name_of_a_job_of_pbs_is_no_number_of_nodes(place):
    """The margin for a checkpoint is that of all 64 nodes."""
    (place / "small.toml").write_text(CASE.replace("points = [16, 12, 8]", "points = [1024, 512, 512]"))
    text = (
        "#!/bin/bash\n#PBS -N 7\n#PBS -l select=64:ncpus=16:mpiprocs=16\n#PBS -l walltime=12:00:00\n"
        "timeout --preserve-status 42840 tailrace run small.toml -n 1024\n"
    )
    assert [one.text for one in check(text, place)] == []
