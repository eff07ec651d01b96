"""An initial flow from a step of a series, on the same grid or another one."""

import json
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness.kept import KEPT
from helpers.inputs import cases
from helpers.programs import simulation_programs

LENGTHS = (2.0, 3.0, 1.5)
BOXES = {
    "periodic": ("periodic", "periodic", "periodic"),
    "mixed": ("free-slip", "periodic", "free-slip"),
    "walls": ("periodic", "free-slip", "free-slip"),
}


@pytest.fixture(scope="module", params=[1, 3])
def ranks(request):
    return KEPT.ranks(request.param)


@pytest.mark.parametrize("box", BOXES)
def test_waves_that_both_grids_hold_are_exact(ranks, box):
    """From few points to many, to few in one direction and many in another, and back: even, odd and equal numbers."""
    errors = ranks.results(simulation_programs.resampled, lengths=LENGTHS, boundaries=BOXES[box])
    assert len(errors[0]) == 8
    for of_rank in errors:
        assert max(of_rank) < 1e-12, of_rank


def test_between_walls_and_on_stretched_grids(ranks):
    """Polynomials of degree five between walls; waves of the uniform coordinate between free-slip boundaries."""
    for of_rank in ranks.results(simulation_programs.resampled_between_walls, lengths=LENGTHS):
        assert len(of_rank) == 5
        assert max(of_rank) < 1e-12, of_rank
    for coarse, fine in ranks.results(simulation_programs.mixed_ends):
        assert 5.3 < np.log2(coarse / fine) < 7, (coarse, fine)


def test_the_shortest_wave_survives_a_finer_grid(ranks):
    for lost in ranks.results(simulation_programs.there_and_back, lengths=LENGTHS):
        assert max(lost) < 1e-14, lost


def run_first(directory, engine="hdf5", path="old.h5", **changes):
    case = cases.write_case(directory, steps=4, every=2, **changes)
    output = {"name": "old", "fields": ["ux", "uy", "uz"], "every": 2, "engine": engine, "path": path}
    lines = [f"{key} = {json.dumps(value)}" for key, value in output.items()]
    case.write_text(case.read_text() + "\n".join(["", "[[output]]", *lines, ""]))
    return case


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A run with steps 0, 2 and 4, and a case that begins from it, which may be changed."""
    monkeypatch.chdir(tmp_path)
    assert tr.Simulation(tr.load_case(run_first(tmp_path)), MPI.COMM_SELF).run() == 0
    case = cases.write_case(tmp_path / "next").read_text()

    def load(beginning, *overrides):
        text = case.replace('flow = "flow.py:velocity"', beginning)
        Path("next/case.toml").write_text(text)
        return tr.load_case("next/case.toml", overrides)

    return load


def test_the_same_grid_takes_the_values(old):
    with tr.open("old.h5") as series:
        last, middle = (np.stack([series[at][name] for name in ("ux", "uy", "uz")]) for at in (-1, 1))
    for beginning, expected in (
        ('from = "../old.h5"', last),
        ('from = "../old.h5"\nfrom_step = 2', middle),
        ('from = "../old.h5"\nfrom_time = 0.02', middle),
        ('from = "../checkpoints"', last),
        ('from = "../checkpoints/step-00000002"', middle),
    ):
        model = tr.Model(old(beginning, "checkpoint.path=new"), MPI.COMM_SELF)
        assert (model.step, model.time) == (0, 0.0)
        assert abs(np.stack([np.asarray(one) for one in model.velocity]) - expected).max() < 1e-13


def test_scalars_of_the_series_are_named_because_they_are_not_taken(old):
    with tr.open("old.h5") as series, tr.open("with.h5", "w", grid=series.grid) as out:
        values = {name: series[-1].read(name) for name in ("ux", "uy", "uz")}
        out.write_step(0.0, values | {"T": values["ux"] + 1})
    begun = tr.Model(old('from = "../with.h5"', 'scalar=[{name="T"}, {name="phi"}]'), MPI.COMM_SELF)
    assert begun.flow.scalar(0).max() == 0.0
    assert [line for line in begun.concerns() if "is not taken" in line] == [
        "case.from: the series has 'T' too, which is not taken: the scalar begins with its initial"
    ]


def test_on_any_number_of_ranks(old, ranks):
    old('from = "../old.h5"', "grid.points=[20,11,9]")
    path = str(Path("next/case.toml").resolve())
    alone = tr.Model(old('from = "../old.h5"', "grid.points=[20,11,9]"), MPI.COMM_SELF)
    assert alone.flow.max_divergence() < 1e-11
    for rows in {1, ranks.size}:
        found = ranks.results(simulation_programs.begun, case=path, points=[20, 11, 9], rows=rows)[0]
        np.testing.assert_allclose(found, [np.asarray(one) for one in alone.velocity], atol=1e-14)


def test_a_step_given_in_python(old):
    case = old('flow = "taylor-green"')
    with tr.open("old.h5") as series:
        from_step = tr.Model(case, MPI.COMM_SELF, flow=series[1])
        from_vector = tr.Model(case, MPI.COMM_SELF, flow=series[1].vector("u"))
        arrays = [series[1].read(name) for name in ("ux", "uy", "uz")]
    from_arrays = tr.Model(case, MPI.COMM_SELF, flow=arrays)
    for one, other, third in zip(from_step.velocity, from_vector.velocity, from_arrays.velocity, strict=True):
        assert np.array_equal(one, other)
        assert np.array_equal(one, third)
    with pytest.raises(tr.InputError, match="flow must be three arrays"):
        tr.Model(case, MPI.COMM_SELF, flow=arrays[:2])
    with pytest.raises(tr.InputError, match=r"ux of flow has the shape .*; expected \("):
        tr.Model(case, MPI.COMM_SELF, flow=[one[1:] for one in arrays])


@pytest.mark.parametrize(
    "beginning, override, said",
    [
        ('from = "../old.h5"', "grid.lengths=[2.0,3.0,1.6]", "its length in z is 1.5, that of the case 1.6"),
        (
            'from = "../old.h5"',
            "grid.boundaries=['periodic','periodic','periodic']",
            "free-slip in y, the case periodic",
        ),
        ('from = "../old.h5"\nfrom_step = 3', "time.dt=0.01", "3"),
        ('from = "../old.h5"\nfrom_time = 0.3', "time.dt=0.01", "has no step at time 0.3"),
        ('from = "../next"', "time.dt=0.01", "next"),
    ],
)
def test_what_does_not_fit_is_an_error(old, beginning, override, said):
    case = old(beginning, override)
    with pytest.raises((tr.InputError, tr.IoError)) as caught:
        tr.Model(case, MPI.COMM_SELF)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "beginning, key, said",
    [
        ('from = "../odl.h5"', "case.from", "did you mean old.h5?"),
        ('from = "../old.h5"\nflow = "taylor-green"', "case", "give flow or from, not both"),
        ("from_step = 2", "case", "from_step is of a series, which from names; from is missing"),
        ('from = "../old.h5"\nfrom_step = 2\nfrom_time = 1.0', "case", "from_step or from_time, not both"),
        ('from = "../old.h5"\nfrom_stp = 2', "case.from_stp", "did you mean case.from_step?"),
        ('form = "../old.h5"', "case.form", "unknown key"),
    ],
)
def test_wrong_keys(old, beginning, key, said):
    with pytest.raises(tr.ConfigError) as caught:
        old(beginning, "checkpoint.path=new")
    assert [problem.key for problem in caught.value.problems] == [key]
    assert said in str(caught.value)


def test_the_case_is_written_out_and_its_series_is_not_written_over(old):
    case = old('from = "../old.h5"\nfrom_step = 2')
    Path("next/again.toml").write_text(case.to_toml())
    assert tr.load_case("next/again.toml").model_dump() == case.model_dump()
    output = 'output=[{name="a", fields=["ux"], every=1, engine="hdf5", path="old.h5"}]'
    with pytest.raises(tr.ConfigError, match=r"is taken by case\.from"):
        old('from = "../old.h5"', output)


def test_an_override_replaces_the_flow_of_the_file(old):
    case = old('flow = "taylor-green"', "case.from=../old.h5", "case.from_step=2", "case.from_time=0.02")
    assert (case.case.flow, case.case.from_, case.case.from_step, case.case.from_time) == (
        None,
        "../old.h5",
        None,
        0.02,
    )


def test_a_run_is_resumed_without_the_series_from_which_it_began(old):
    told = "checkpoint.path=new", "checkpoint.every=1", "time.steps=2"
    assert tr.run(old('from = "../old.h5"', *told), overwrite=True) == 0
    Path("old.h5").rename("elsewhere.h5")
    assert tr.run(old('from = "../old.h5"', *told, "time.steps=3"), resume=True) == 0
    with pytest.raises(tr.IoError, match=r"old\.h5: it does not exist"):
        tr.run(old('from = "../old.h5"', *told), overwrite=True)


def test_writing_to_the_velocity(old):
    model = tr.Model(old('from = "../old.h5"'), MPI.COMM_SELF)
    for _ in range(2):
        model.advance()
    before = model.measure()["kinetic_energy"]
    model.velocity.x[...] *= 2
    model.velocity.y[2:4, :, ::2] += 0.1 * np.sin(np.pi * np.arange(11) / 10)[:, None]
    model.project()
    assert model.flow.max_divergence() < 1e-11
    again = model.measure()
    assert again["kinetic_energy"] > 1.2 * before
    assert model.field("pressure").max() != 0
    model.velocity = tuple(0.5 * np.asarray(one) for one in model.velocity)
    assert model.measure()["kinetic_energy"] == pytest.approx(again["kinetic_energy"] / 4, rel=1e-13)
    with pytest.raises(tr.InputError, match="the velocity must be three arrays"):
        model.velocity = (1, 2)
