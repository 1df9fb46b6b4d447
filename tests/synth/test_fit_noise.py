"""A fit takes the noise that costs the budget least for the same quality, says which and why, and repeats free."""

from fractions import Fraction

import pytest

from clinic import make
from discreet.answers import reservation_choice
from discreet.kernel.project_session import quote_session
from discreet.synth import synthesis
from discreet.synth.fit_request import FitRequest
from discreet.synth.synthesis import choose_noise, possible_reservations

COUNT = "select count(*) from patients where age"
DELTA = "{ epsilon = 10, delta = 1e-6 }"
TWO = {"columns": ["age", "sex"], "model": "independent"}


def chosen(project, *, columns, **words):
    request = FitRequest.of(epsilon=1, **words)
    prices = possible_reservations(project.guarantee("patients"), request, texts=False)
    return choose_noise(prices, quote_session(project, "patients"), columns=columns)


@pytest.mark.parametrize(("columns", "laplace"), [(1, True), (2, True), (3, True), (5, False), (8, False)])
def test_few_columns_take_laplace_noise_and_many_gaussian(tmp_path, columns, laplace):
    event, because = chosen(make(tmp_path, budget=DELTA), columns=columns)
    assert (event.epsilon is not None) == laplace
    assert because.startswith(f"this fit uses {'Laplace' if laplace else 'Gaussian'} noise, because")


def test_a_delta_that_is_named_and_zcdp_mean_gaussian_noise(tmp_path):
    project = make(tmp_path, budget=DELTA)
    assert chosen(project, columns=2, delta="1e-7")[0].epsilon is None
    (tmp_path / "z").mkdir()
    assert chosen(make(tmp_path / "z", budget=DELTA, extra='accounting = "zcdp"'), columns=2)[0].epsilon is None


def test_the_noise_is_announced_before_it_is_paid(tmp_path):
    project = make(tmp_path, budget=DELTA)
    charges = []
    model = project.synthesize(
        "patients",
        epsilon=1,
        announce=lambda note: charges.append((note, len(project.ledger.refresh().charges))),
        **TWO,
    )
    ((note, count),) = charges
    assert count == 0 and "Laplace" in note
    assert (model.card.rho, model.card.delta, project.budget("patients").spent.epsilon) == (None, 0, 1)


def test_where_two_arms_have_no_room_for_gaussian_noise_laplace_noise_has(tmp_path):
    """1.2 of 3 spent by Laplace noise: a Gaussian fit was refused at any epsilon, though 1.8 remained."""
    project = make(tmp_path, budget="{ epsilon = 3, delta = 1e-6 }", extra='accounting = "either"')
    project.sql(f"{COUNT} > 20").ask(epsilon="1.2")
    event, because = chosen(project, columns=8)
    assert (
        event.epsilon == 1
        and because == "this fit uses Laplace noise, because the budget has no room for Gaussian noise"
    )
    assert project.synthesize("patients", epsilon="1.8", **TWO).card.rho is None
    assert project.budget("patients").remaining.epsilon == 0


def test_what_costs_clearly_more_than_asked_says_so(tmp_path, monkeypatch):
    project = make(tmp_path, budget=DELTA, extra='accounting = "either"')
    project.sql(f"{COUNT} > 20").ask(epsilon="0.2")
    event, because = chosen(project, columns=40)
    assert event.epsilon is None and "it costs the budget epsilon 1.1" in because and ", not 1, because" in because


def repeat_after_the_choice_changed(folder, monkeypatch):
    project = make(folder, budget=DELTA)
    first = project.synthesize("patients", epsilon=1, **TWO)
    monkeypatch.setattr(synthesis, "choose_noise", lambda prices, session, columns: (prices[0], ""))  # the other one
    again = project.synthesize("patients", epsilon=1, **TWO)
    return first.card.release == again.card.release and again.card.repeat, len(project.ledger.refresh().charges)


def test_a_repeat_is_free_whichever_noise_would_be_chosen_now(tmp_path, monkeypatch):
    assert repeat_after_the_choice_changed(tmp_path, monkeypatch) == (True, 1)


def test_a_repeat_that_looks_for_one_noise_only_is_caught(tmp_path, monkeypatch):
    find = synthesis.earlier_reservation
    monkeypatch.setattr(
        synthesis, "earlier_reservation", lambda request, prices, session: find(request, prices[:1], session)
    )
    assert repeat_after_the_choice_changed(tmp_path, monkeypatch) == (False, 2)


def test_a_choice_by_price_alone_would_be_caught(tmp_path, monkeypatch):
    """Without the size of the noise a fit of eight columns would take noise half as large again."""
    monkeypatch.setattr(reservation_choice, "noise_sd", lambda event, most_rows, share: 1.0)
    project = make(tmp_path, budget=DELTA)
    project.sql(f"{COUNT} > 20").ask(epsilon=1)
    assert chosen(project, columns=8)[0].epsilon == Fraction(1)
