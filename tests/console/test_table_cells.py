"""Cells of the tables on pages: which are numbers to people, whatever text a query puts into one."""

import pytest

from discreet.console.render import figures


@pytest.mark.timeout(60)  # a pattern that reads a part in two ways takes 2^500 steps, and holds the whole server
@pytest.mark.parametrize("part", [" to 5)", " (4.9 to 5.3)", " ± 5", " to ?)", "1,", ".1e5"])
def test_a_text_of_many_parts_costs_no_more_than_its_length(part):
    assert not figures(f"1{500 * part}x")


def test_numbers_with_their_noise_are_figures():
    cells = ("1,230 ± 120", "5.02 (4.9 to 5.3)", "12.5% to 20%", "5 (? to 7)", "–")
    assert all(map(figures, cells)) and not any(map(figures, ("a", "5 to", "1 and 2", "")))
