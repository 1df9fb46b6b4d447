"""One test for each page of a part of the manual. The parts are files of their own, so that workers share them."""

import pytest

from manual.pages import PageError, name_of, pages, read
from manual.runner import run

#: Folders whose pages are long to run; each has a file of tests.
PARTS = ("docs/lab", "docs/how-to", "docs/engines", "docs/concepts")

#: Pages that take a second of a processor or more, or Java: they run in the deep tier.
DEEP = frozenset({
    "docs/lab/README.md", "docs/lab/ratings.md", "docs/lab/synthetic.md", "docs/lab/network.md",
    "docs/lab/differencing.md", "docs/lab/reconstruction.md", "docs/lab/auditing.md",
    "docs/how-to/red-team.md", "docs/how-to/synthetic-partner.md", "docs/how-to/lake-spark.md",
    "docs/lab/averaging.md", "docs/lab/census.md", "docs/how-to/census-tables.md", "docs/how-to/hospital-postgresql.md",
    "docs/concepts/randomness.md", "docs/guides/python.md",
    "docs/guides/persons.md", "docs/notes.md",
    "docs/lab/audit.md", "docs/lab/anonymize.md", "docs/lab/linkage.md", "docs/how-to/from-datasynthesizer.md",
    "docs/how-to/collection.md", "docs/guides/sample-data.md", "docs/guides/facts.md", "docs/concepts/units.md",
})  # fmt: skip


def of_part(part):
    """A test of every page below `part`; where it is None, of every page that lies in none of them."""
    names = {name_of(path): path for path in pages()}
    chosen = [path for name, path in names.items() if name.startswith(part or "") and (part or not _elsewhere(name))]

    cases = [pytest.param(path, marks=[pytest.mark.deep] if name_of(path) in DEEP else []) for path in chosen]

    @pytest.mark.timeout(1800)  # of a wall clock: on a busy machine a page may wait for long
    @pytest.mark.parametrize("path", cases, ids=name_of)
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
