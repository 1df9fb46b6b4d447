"""Differencing: 100% against exact counts, above the bound without a ledger, below it against Discreet."""

import math
from fractions import Fraction

import pyarrow as pa
import pytest

from discreet.errors import UsageError
from discreet.lab.attacks import differencing
from discreet.lab.evidence import best_under
from discreet.lab.worlds.target_places import clinics
from tiers import size


def by_server(found):
    return {each["server"]: each for each in found.details["servers"]}


@pytest.mark.thin(2)
@pytest.mark.parametrize("tale", differencing.TALES)
def test_what_falls_and_what_stands(tale):
    found = differencing.attack(tale=tale, targets=size(120, 1000))
    exact, noisy, ours = by_server(found).values()
    assert exact["success"] == found.success == 1.0 and found.breaks
    assert (
        found.bound == best_under(2.0) and found.details["bound_of_counts"] == best_under(1.0) and found.chance == 0.5
    )
    assert noisy["breaks"] and noisy["success"] > size(0.87, 0.94)
    # 0.985 expected of the noisy one, 0.004 a standard deviation, of 120 0.011.
    # 0.565 expected against Discreet, as from two such noises; 0.016 a standard deviation, of 120 0.045.
    assert not ours["breaks"] and ours["success"] < found.bound
    assert (ours["answered"], ours["refused"]) == (2, differencing.EXTRA_QUESTIONS)
    assert found.picture().startswith("<svg")


def test_the_lectures_class():
    (story, *_) = differencing.attack(tale="class", targets=20).story
    assert "3,005 has 202" in story and "201 of 3,004" in story


@pytest.mark.thin(1)
@pytest.mark.parametrize("tale", differencing.TALES)
def test_a_large_epsilon_protects_nobody(tale):
    """The attack itself works against Discreet, in every tale: it is the noise that stops it."""
    found = differencing.attack(tale=tale, epsilon=40, targets=size(60, 200), server="discreet")
    assert found.success > 0.95 and found.details["server"] == "Discreet"


def rows(sick):
    return pa.table({"who": list(range(len(sick))), "sick": sick})


def test_a_users_own_rows():
    found = differencing.attack(rows(["yes"] * 30 + ["no"] * 270), trait="sick", targets=1_000)
    assert found.n == 60 and found.success == 1.0  # as many who lack the trait as have it
    assert found.details["people"] == 300


@pytest.mark.parametrize(
    ("sick", "value", "message"),
    [
        (["yes"] * 4, None, "same value"),
        ([None] * 4, None, "empty"),
        (["flu", "mumps"], None, "yes/no"),
        (["flu", "mumps"], "measles", "no cell"),
    ],
)
def test_rows_that_hold_no_secret(sick, value, message):
    with pytest.raises(UsageError, match=message):
        differencing.attack(rows(pa.array(sick, pa.string())), trait="sick", value=value)


def test_wrong_wishes():
    for wrong in ({"tale": "x"}, {"server": "x"}, {"epsilon": 0}, {"targets": 1}, {"targets": 10**6}):
        with pytest.raises(UsageError):
            differencing.attack(**{"targets": 4, **wrong})


@pytest.mark.thin(1)
@pytest.mark.parametrize("people", [2, 4])
def test_people_who_share_a_secret_have_k_times_epsilon(people):
    """X - Y is 0 or k: group privacy. The factor of one count is exactly e^(k epsilon), and is measured near it."""
    found = differencing.attack(people=people, targets=size(400, 1000), epsilon="0.5", server="discreet")
    group = found.details["group"]
    assert found.bound == best_under(people * 1.0) and found.details["bound_of_counts"] == best_under(people * 0.5)
    assert group["factor_bound"] == pytest.approx(math.exp(people / 2)) and group["epsilon"] == people / 2
    # An end of an interval at 95% lies beyond 1.8 times what is true less than once in a million runs.
    assert 1 < group["factor_at_least"] < 1.8 * group["factor_bound"]
    assert group["factor_at_most"] is None or group["factor_at_most"] > group["factor_bound"] / 1.8
    assert group["factor_at_least"] < (group["factor_measured"] or math.inf) < (group["factor_at_most"] or math.inf)
    assert f"epsilon {people} x 0.5 = {people // 2}" in found.story[1] and f"0 or {people}" in found.story[0]
    assert by_server(found)["exact"]["success"] == 1.0


def test_noise_of_half_the_size_exceeds_the_factor(monkeypatch):
    """The measure can fail: it sees a server that spends twice what it says."""
    from discreet.lab.attacks import group_factor

    def twice(people, *, budget, epsilon):
        return known(people, budget=2 * budget, epsilon=2 * epsilon)

    known = group_factor.discreet_server
    monkeypatch.setattr(group_factor, "discreet_server", twice)
    factor = group_factor.measure_factor(clinics(2000, group=2), epsilon=Fraction(1, 2))
    assert factor.at_least > factor.bound  # 7.4 against 2.7: 8 standard deviations apart
    assert "times (" in factor.sentence and "at 95% confidence)" in factor.sentence


def test_noise_of_twice_the_size_stays_below_the_factor(monkeypatch):
    """The upper end can fail as well: more noise than was paid for is seen, as a factor that is never reached."""
    from discreet.lab.attacks import group_factor

    def half(people, *, budget, epsilon):
        return known(people, budget=budget / 2, epsilon=epsilon / 2)

    known = group_factor.discreet_server
    monkeypatch.setattr(group_factor, "discreet_server", half)
    factor = group_factor.measure_factor(clinics(4000, group=2), epsilon=Fraction(1))
    assert factor.at_most is not None and factor.at_most < factor.bound  # 2.7 against 7.4


def test_too_few_targets_have_no_upper_end():
    from discreet.lab.attacks.group_factor import GroupFactor

    factor = GroupFactor(people=4, epsilon=Fraction(1), bound=54.6, measured=None, at_least=2.5, at_most=None)
    assert "too few targets to measure it; at least 2.5 at 95% confidence." in factor.sentence


@pytest.mark.parametrize(
    ("how", "message"),
    [({"people": 0}, "1 to 20"), ({"people": 21}, "1 to 20"), ({"people": 2, "tale": "class"}, "generated")],
)
def test_groups_that_are_none(how, message):
    with pytest.raises(UsageError, match=message):
        differencing.attack(targets=10, **how)
