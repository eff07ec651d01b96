"""The attributes of a series whose case has changed on the way."""

import pytest

from tailrace.files.case_parts import EARLIER, attributes_at, of_all_steps


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
