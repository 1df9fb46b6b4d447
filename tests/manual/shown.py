"""One test for each page of a part of the manual. The parts are files of their own, so that workers share them."""

import pytest

from manual.pages import PageError, name_of, pages, read
from manual.runner import run

#: Folders whose pages are long to run; each has a file of tests.
PARTS = ("docs/lab", "docs/how-to", "docs/engines", "docs/concepts")


def of_part(part):
    """A test of every page below `part`; where it is None, of every page that lies in none of them."""
    names = {name_of(path): path for path in pages()}
    chosen = [path for name, path in names.items() if name.startswith(part or "") and (part or not _elsewhere(name))]

    @pytest.mark.timeout(1800)  # of a wall clock: on a busy machine a page may wait for long
    @pytest.mark.parametrize("path", chosen, ids=name_of)
    def test_what_a_page_shows_is_what_happens(path, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        told = None
        try:
            run(read(path), tmp_path)
        except PageError as problem:
            told = str(problem)
        if told is not None:
            pytest.fail(told, pytrace=False)

    return test_what_a_page_shows_is_what_happens


def _elsewhere(name):
    return name.startswith(PARTS)
