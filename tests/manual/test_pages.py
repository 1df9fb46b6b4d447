"""Every code block and every transcript of the manual runs, and what it shows is what there is."""

from manual.pages import name_of, pages
from manual.shown import DEEP, PARTS, of_part

test_what_a_page_shows_is_what_happens = of_part(None)


def test_every_page_is_in_one_part():
    ran = [case.values[0] for part in (None, *PARTS) for case in of_part(part).pytestmark[0].args[1]]
    assert sorted(map(name_of, ran)) == sorted(map(name_of, pages()))


def test_pages_that_are_deep_are_there():
    assert set(map(name_of, pages())) >= DEEP
