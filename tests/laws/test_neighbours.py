"""Random schema, table and question on the real engine; one row removed; the change never exceeds the claim."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines.duckdb import DuckDBEngine
from engines.tables import questions, tables
from laws.neighbours import Law


@pytest.fixture(scope="module")
def engine(quick_files):
    engine = DuckDBEngine(threads=1)
    yield engine
    engine.close()


def run(law, *, examples, removed):
    @given(data=st.data(), table=tables(least=removed, most=removed + 3))
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def neighbours(data, table):
        asked = [data.draw(questions(table.schema)) for _ in range(3)]
        places = data.draw(st.permutations(range(len(table.rows))))[:removed]
        law.check(table, places, asked)

    neighbours()
    assert law.seen["pairs"] >= examples * removed
    # Each bound is attained, and rows outside the region were among those tried.
    assert all(law.seen[norm] > 0 for norm in ("l0", "l1", "l2_squared", "linf", "outside")), law.seen


@pytest.mark.parametrize("part", range(4))
def test_neighbours(tmp_path, engine, part):
    run(Law(tmp_path, engine), examples=20, removed=4)


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
def test_five_thousand_pairs(tmp_path, engine):
    run(Law(tmp_path, engine), examples=1000, removed=5)
