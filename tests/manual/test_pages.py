"""Every code block and every transcript of the manual runs, and what it shows is what there is."""

from manual.pages import name_of, pages
from manual.shown import PARTS, of_part

test_what_a_page_shows_is_what_happens = of_part(None)


def test_every_page_is_in_one_part():
    ran = [path for part in (None, *PARTS) for path in of_part(part).pytestmark[0].args[1]]
    assert sorted(map(name_of, ran)) == sorted(map(name_of, pages()))
