"""Profiles of machines: files, errors, and what results say of a machine."""

import re
from dataclasses import replace

import pytest

from helpers.inputs.bench_results import Made
from tailrace.bench.advise.fit import FitError
from tailrace.bench.advise.observations import observations_of, start_of
from tailrace.bench.advise.profile import FIGURES, Profile, load_profile, shipped
from tailrace.bench.records.records import Measurement
from tailrace.case.document import ConfigError

LAPTOP = load_profile("laptop")


def test_profiles_survive_a_file(tmp_path):
    assert shipped() == ["archer2.toml", "laptop.toml"]
    for name in shipped():
        profile = load_profile(name)
        (tmp_path / "copy.toml").write_text(profile.to_toml())
        assert load_profile(tmp_path / "copy.toml") == profile


def test_a_wrong_profile_is_explained(tmp_path):
    path = tmp_path / "wrong.toml"
    text = LAPTOP.to_toml().replace("open_seconds =", "open_second =").replace("ost_count = 1", "ost_count = 0")
    path.write_text(text + "\n[uncertainty]\n")
    with pytest.raises(ConfigError) as found:
        load_profile(path)
    assert {problem.key for problem in found.value.problems} == {"open_second", "open_seconds", "ost_count"}
    path.write_text(LAPTOP.to_toml() + "\n[uncertainty]\nnonsense = 2.0\n")
    with pytest.raises(ConfigError, match=r"uncertainty\.nonsense is of no figure"):
        load_profile(path)
    with pytest.raises(ConfigError, match=r"there are archer2\.toml, laptop\.toml"):
        load_profile("no-such-machine")


def test_every_figure_has_its_unit_in_its_name_and_a_meaning():
    for key in FIGURES:
        assert re.search(r"seconds|per_second|gib|writers", key), key
        assert Profile.model_fields[key].description


def test_results_begin_a_profile():
    made = Made(kind="lustre").way("hdf5", 0.1, stripe_count=-1).way("raw", 0.2, stripe_count=4).way("bp5", 0.4)
    found = start_of(made.results())
    assert (found.file_system, found.cores_per_node, found.name) == ("lustre", 8, "a test")
    assert found.total_gib_per_s == pytest.approx(1.5 * 1.25)  # the largest rate was 0.125 GiB in 0.1 s
    stripes = {one.engine: one.stripes for one in observations_of(made.results())}
    assert stripes["raw"] == 4
    assert stripes["bp5"] is None
    assert stripes["hdf5"] is not None and stripes["hdf5"] > 10000  # all that there are
    with pytest.raises(FitError, match="no writes of fields"):
        start_of(Made().limit(0.1).results())


def test_wrong_values_are_no_observations():
    made = Made().way("hdf5", 0.1).way("raw", 0.2, verified=False)
    assert [one.engine for one in observations_of(made.results())] == ["hdf5"]


def test_a_write_that_one_read_found_wrong_is_no_observation():
    made = Made().way("hdf5", 0.1).way("raw", 0.2)
    assert [one.engine for one in observations_of(made.results())] == ["hdf5", "raw"]
    read = replace(made.cell("raw"), operation="read", cache="cold")
    made.records.append(Measurement(read, 5, 0.1, 1000, verified=False, run="one"))
    assert [one.engine for one in observations_of(made.results())] == ["hdf5"]
