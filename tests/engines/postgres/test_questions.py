"""Questions in PostgreSQL: the law of neighbours, and the reference's cells, integer for integer."""

import pytest

from discreet.sql.postgres_dialect import PostgreSQLDialect
from engines.conformance.grounds import Server
from laws.test_neighbours import run
from laws.worlds import loud_worlds
from tiers import fuzzed, size


@pytest.fixture
def engine(tmp_path, quick_files, postgres_engine, postgres_address):
    return Server(name="postgres", engine=postgres_engine, folder=tmp_path, address=postgres_address)


def test_neighbours(tmp_path, engine):
    seen = run(tmp_path, engine, pairs=60, seed=1)
    assert seen["inside"] and seen["outside"], seen


def test_somebody_who_does_what_she_can_to_be_seen(tmp_path, engine):
    seen = run(tmp_path, engine, pairs=size(20, 60), seed=7, worlds=loud_worlds)
    assert seen["keys"] and seen["Sum person l1"], seen


@pytest.mark.fuzz
@pytest.mark.timeout(7200)
def test_five_thousand_pairs(tmp_path, engine):
    run(tmp_path, engine, pairs=fuzzed(5000), seed=None)


def test_a_quotient_that_is_not_cut_is_seen(tmp_path, engine, monkeypatch):
    """The comparison can fail."""
    monkeypatch.setattr(
        PostgreSQLDialect, "quotient", lambda self, left, right, *, wide: f"floor({left} / {right}) + 1"
    )
    with pytest.raises(AssertionError, match=r"differ|exist"):
        run(tmp_path, engine, pairs=60, seed=1)
