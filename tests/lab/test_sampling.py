"""A sample: those in it are as exposed as if everybody had been published."""

import pyarrow as pa
import pytest

from discreet.errors import UsageError
from discreet.lab.attacks import sampling
from discreet.lab.worlds.state import make_state


@pytest.fixture(scope="module")
def people():
    return make_state().people


def test_by_hand():
    people = pa.table({"a": [1, 1, 2, 3, 4, 4, 4], "person": [0, 1, 2, 3, 4, 5, 6]})
    sample = people.take(pa.array([0, 2, 4, 5]))
    found = sampling.expose(sample, people, on=["a"], truth="person")
    assert found.success == 1 / 4 and found.n == 4 and found.chance == 1 / 7
    assert found.details["sample_unique"] == 2  # 1 and 2; 4 is there twice
    assert found.details["population_unique_too"] == 1
    assert found.details["guess_is_right"] == pytest.approx((1 / 2 + 1) / 2)
    assert found.details["unique_in_population"] == pytest.approx(2 / 7)


def test_a_row_that_fits_nobody_is_a_guess_that_is_not_right():
    found = sampling.expose(pa.table({"a": [1, 9]}), pa.table({"a": [1, 1, 2]}), on=["a"])
    assert found.details["sample_unique"] == 2
    assert found.details["guess_is_right"] == (1 / 2 + 0) / 2


def test_two_rows_of_one_person_are_not_unique_in_the_sample():
    people = pa.table({"a": [1, 2, 3]})
    found = sampling.expose(pa.table({"a": [1, 1, 2]}), people, on=["a"])
    assert found.success == 1 and found.details["sample_unique"] == 1 == found.details["population_unique_too"]


@pytest.mark.parametrize("share", [0.01, 0.1, 1.0])
def test_a_smaller_sample_protects_nobody_in_it(people, share):
    found = sampling.expose(
        sampling.draw_sample(people, share, seed=4), people, on=["zip", "birth", "sex"], truth="person"
    )
    everybody = found.details["unique_in_population"]
    # 1,500 rows: the standard deviation is below 0.9 points, and this is more than five of them.
    assert abs(found.success - everybody) < (1e-12 if share == 1 else 0.05)
    assert found.details["named_of_population"] == pytest.approx(found.success * share)


def test_a_match_with_the_wrong_person_is_no_success():
    people = pa.table({"a": [1, 2], "person": [0, 1]})
    stranger = pa.table({"a": [1, 2], "person": [7, 1]})
    assert sampling.expose(stranger, people, on=["a"], truth="person").success == 0.5
    assert sampling.expose(stranger, people, on=["a"]).success == 1


@pytest.mark.parametrize("share", [0, -1, 1.5, float("nan")])
def test_no_share(people, share):
    with pytest.raises(UsageError, match="share of rows must be"):
        sampling.draw_sample(people, share)


def test_the_demo():
    found = sampling.demo()
    assert found.n == 1500 and found.breaks and found.picture().startswith("<svg")


def test_a_sample_larger_than_the_population_is_refused():
    few, many = pa.table({"zip": ["a", "b"]}), pa.table({"zip": ["a", "b", "b"]})
    with pytest.raises(UsageError, match="population has only 2"):
        sampling.expose(many, few, on=["zip"])
