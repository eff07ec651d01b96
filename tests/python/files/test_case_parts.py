"""The attributes of a series whose case has changed on the way."""

import json

import pytest

from tailrace.files.case_parts import CHANGES, EARLIER, attributes_at, of_all_steps, parts_of, with_part


@pytest.mark.parametrize(
    "text", ["no JSON", "7", "{}", "[3]", '[{"last_step": 4}]', '[{"last_step": "x", "attributes": {}}]', "[" * 100_000]
)
def test_an_attribute_of_that_name_that_somebody_else_gave_means_nothing(text):
    attributes = {EARLIER: text, "viscosity": 0.1}
    assert attributes_at(attributes, 2)["viscosity"] == 0.1
    assert of_all_steps(attributes) == attributes


def test_a_step_has_the_attributes_of_its_part():
    earlier = '[{"last_step": 4, "attributes": {"viscosity": 0.2, "new": null}}]'
    attributes = {EARLIER: earlier, "viscosity": 0.1, "new": 1}
    assert attributes_at(attributes, 4) == {EARLIER: earlier, "viscosity": 0.2}
    assert attributes_at(attributes, 5) == attributes
    assert of_all_steps(attributes) == {EARLIER: earlier}


def test_a_change_is_told_to_people_and_kept_for_the_steps_before_it():
    first = with_part({}, 4, {"viscosity": 0.2, "dt": 0.1}, {"viscosity": 0.1, "dt": 0.1, "new": 1}, "less viscosity")
    assert first[CHANGES] == "after step 4: less viscosity"
    assert json.loads(first[EARLIER]) == [{"last_step": 4, "attributes": {"viscosity": 0.2, "new": None}}]
    both = with_part(first, 9, {"viscosity": 0.1}, {"viscosity": 0.05}, "still less")
    assert both[CHANGES] == "after step 4: less viscosity; after step 9: still less"
    now = {"viscosity": 0.05, "dt": 0.1, "new": 1, **both}
    assert [attributes_at(now, index).get("viscosity") for index in (0, 4, 5, 9, 10)] == [0.2, 0.2, 0.1, 0.1, 0.05]
    assert ["new" in attributes_at(now, index) for index in (4, 5)] == [False, True]
    assert parts_of(now) == both and parts_of({"dt": 0.1, CHANGES: 3}) == {CHANGES: "3"}
