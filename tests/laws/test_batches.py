"""Batches on the real engines: one unit removed; no grid moves further than is paid for, and numbers are the same."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from discreet.accounting.region import Region
from discreet.answers.workload import batch_cells, batch_quote
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import DiscreetError, Refused
from discreet.kernel.program import AddedRows
from discreet.mechanisms.strategy.strategy import Strategy
from discreet.sql.query_parser import parse_query
from laws.batches import BatchLaw
from laws.joined import JoinAsker
from laws.neighbours import Pair
from laws.questions import Asker
from laws.test_mutants import CLINIC
from laws.worlds import loud_worlds
from tiers import size

#: Of one table each; the last of each has something that no grid has.
BATCHES = [
    ["SELECT count(*) FROM visits", "SELECT age, count(*) FROM visits GROUP BY age"],
    [f"SELECT count(*) FROM visits WHERE age < {age}" for age in range(1, 13)],
    ["SELECT sum(cost) FROM visits", "SELECT sex, sum(cost) FROM visits GROUP BY sex", "SELECT sum(debt) FROM visits"],
    [
        "SELECT count(*) FROM visits WHERE sex = 'F'",
        "SELECT age, count(*) FROM visits WHERE sex = 'F' GROUP BY age",
        "SELECT sum(debt) FILTER (WHERE age > 2) FROM visits WHERE sex = 'F'",
    ],
    ["SELECT count(*) FROM visits WHERE sex = 'M'", "SELECT age, count(*) FROM visits WHERE sex = 'M' GROUP BY age"],
    [
        "SELECT count(*) FROM visits v LEFT JOIN regions r ON v.age = r.age",
        "SELECT v.sex, count(*) FROM visits v LEFT JOIN regions r ON v.age = r.age GROUP BY v.sex",
        "SELECT sum(v.debt) FROM visits v LEFT JOIN regions r ON v.age = r.age WHERE v.age > 2",
    ],
    [
        "SELECT count(*) FROM visits v JOIN bills b ON v.pid = b.pid",
        "SELECT b.kind, count(*) FROM visits v JOIN bills b ON v.pid = b.pid GROUP BY b.kind",
        "SELECT sum(b.amount) FROM visits v JOIN bills b ON v.pid = b.pid WHERE v.age > 2",
        "SELECT sex, count(*) FROM visits GROUP BY sex",
    ],
    ["SELECT sex, age, count(*), sum(age) FROM visits GROUP BY ROLLUP (sex, age)", "SELECT count(*) FROM visits"],
    [
        "SELECT count(*) FILTER (WHERE age < 3), count(*) FILTER (WHERE age < 6), sum(debt) FROM visits",
        "SELECT note, count(*) FROM visits GROUP BY note",
        "SELECT median(age) FROM visits WHERE age > 1",
    ],
    ["SELECT count(*) FROM bills WHERE paid IS NULL", "SELECT paid, count(*) FROM bills GROUP BY paid"],
]


@pytest.fixture(autouse=True)
def _plans_do_not_fail(monkeypatch):
    """A batch that cannot be planned is split, and nobody would see that a plan failed."""
    monkeypatch.setattr(batch_quote, "_REFUSALS", (DiscreetError,))
    monkeypatch.setattr(batch_quote, "_SECONDS", size(0.05, 1.0))


@pytest.fixture(scope="module")
def engine(quick_files):
    engine = DuckDBEngine(threads=1)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def clinic(tmp_path_factory, engine):
    return Pair.make(CLINIC, tmp_path_factory.mktemp("clinic"), engine)


def ask_all(pair, batches=BATCHES):
    law = BatchLaw()
    for turn, texts in enumerate(batches):
        law.ask(pair, texts, gaussian=turn % 2 == 1)
        law.ask(pair, texts, gaussian=turn % 2 == 0)
    return law.seen


def test_no_grid_moves_further_than_is_paid_for(clinic):
    seen = ask_all(clinic)
    assert seen["batches"] == 2 * len(BATCHES), seen
    assert seen["inside"] and seen["outside"] and seen["joined"] and seen["lone"] == 4, seen
    for bound in ("RowCount l1", "Sum l1", "RowCount l2_squared", "Sum l2_squared"):
        assert seen[bound], f"never attained: {bound}"


def test_random_batches_of_random_tables(tmp_path, engine):
    law = BatchLaw()

    @settings(
        max_examples=size(2, 40), deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(world=loud_worlds, number=st.integers(0, 2**40))
    @seeded(24)
    def neighbours(world, number):
        pair = Pair.make(world, tmp_path, engine)
        tables = {}
        for turn in range(size(20, 80)):
            text = (JoinAsker if turn % 3 == 2 else Asker)(world, Random(f"{number} {turn}")).question()
            try:
                tables.setdefault(parse_query(text, pair.catalog).tables[0], []).append(text)
            except Refused:
                law.seen["refused"] += 1
        for turn, texts in enumerate(tables.values()):
            try:
                law.ask(pair, texts, gaussian=turn % 2 == 1)
            except Refused:
                law.seen["refused"] += 1
            except Exception as problem:
                raise AssertionError(f"{problem}\nin {texts}\nof {world}") from problem
        pair.forget()

    neighbours()
    assert law.seen["batches"] and law.seen["numbers"], law.seen


def caught(pair, word):
    with pytest.raises(AssertionError) as found:
        ask_all(pair)
    assert word in str(found.value), str(found.value)


def test_bug_a_join_that_multiplies_rows_is_forgotten(clinic, monkeypatch):
    known = AddedRows.reach
    monkeypatch.setattr(AddedRows, "reach", lambda self, schemas: replace(known(self, schemas), rows=3))
    caught(clinic, "of a grid is")


def test_bug_the_largest_term_of_a_sum_is_forgotten(clinic, monkeypatch):
    monkeypatch.setattr(AddedRows, "most_added", lambda self, schemas: self.reach(schemas).rows)
    caught(clinic, "of a grid is")


def test_bug_only_some_of_the_people_are_charged(clinic, monkeypatch):
    """Whom the statements touch is not charged: others are counted all the same, or the numbers are wrong."""
    monkeypatch.setattr(batch_quote, "region_of", lambda inquiry, reach: Region(()))
    caught(clinic, "a batch says")
    with pytest.raises(AssertionError, match="outside the region"):
        BatchLaw(counts_everybody=True).ask(clinic, BATCHES[0])


def test_bug_a_strategy_forgets_a_row_of_a_person(clinic, monkeypatch):
    known = Strategy.sensitivity
    monkeypatch.setattr(Strategy, "sensitivity", lambda self, rows: known(self, rows - (rows > 1)))
    caught(clinic, "of a grid is")


def test_bug_a_grid_gets_more_than_its_share(clinic, monkeypatch):
    known = batch_quote.grid_law
    twice = lambda planned, most_added, share, *, is_pure: known(planned, most_added, 2 * share, is_pure=is_pure)  # noqa: E731
    monkeypatch.setattr(batch_quote, "grid_law", twice)
    caught(clinic, "more than was reserved")


def test_bug_a_filter_is_forgotten(clinic, monkeypatch):
    """The cells of a statement without its condition."""
    known = batch_cells.exact_region
    monkeypatch.setattr(batch_cells, "exact_region", lambda where: known(where) and Region.whole())
    caught(clinic, "a batch says")


def test_on_every_engine(light_ground, tmp_path):
    """DuckDB is asked all of them above."""
    if light_ground.name == "duckdb":
        return
    pair = Pair.make(CLINIC, tmp_path, light_ground)
    some = BATCHES[:: size(3, 1)]
    assert ask_all(pair, some)["batches"] == 2 * len(some)
    pair.forget()
