"""The pages of docs/concepts run, and what they show is what there is."""

from manual.shown import of_part

test_what_a_page_shows_is_what_happens = of_part("docs/concepts")
