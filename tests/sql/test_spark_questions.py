"""Whole questions on Spark: counts, sums, places and keys of the law of neighbours, equal to the reference's."""

import pytest

from discreet.sql.spark_dialect import SparkDialect
from discreet.sql.sql_writer import SqlWriter
from engines.spark.server import spark_engine, spark_tests  # noqa: F401
from laws import test_neighbours
from laws.worlds import loud_worlds, worlds
from sql.packed import Packed
from tiers import fuzzed

#: Hundreds of questions, ten to a job. In the plain suite engines/conformance asks a covering few.
pytestmark = [*spark_tests[:1], pytest.mark.fuzz, pytest.mark.timeout(3600)]


@pytest.fixture
def spark(spark_engine):  # noqa: F811
    return spark_engine.session()


def asked(folder, *, pairs, seed, worlds=worlds):
    """Questions that were asked of DuckDB, and, by the law, answered as the reference does."""
    engine = Packed()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test_neighbours, "QUESTIONS", 8)  # of few worlds the first would be all: empty tables
        seen = test_neighbours.run(folder, engine, pairs=pairs, seed=seed, worlds=worlds)
    engine.close()
    assert seen["inside"] and seen["outside"], seen
    return engine


@pytest.fixture(scope="module")
def loud(tmp_path_factory):
    """Of people who do what they can to be seen."""
    return asked(tmp_path_factory.mktemp("loud"), pairs=32, seed=7, worlds=loud_worlds)


def test_questions_of_neighbours(spark, tmp_path):
    """Spark's answers, of both neighbours, are DuckDB's."""
    assert asked(tmp_path, pairs=24, seed=1).check(spark) > 30


def test_questions_about_somebody_who_does_what_she_can_to_be_seen(spark, loud):
    assert loud.check(spark) > 30


@pytest.mark.fuzz
@pytest.mark.timeout(7200)
def test_two_thousand_pairs(spark, tmp_path):
    for _ in range(fuzzed(40)):
        asked(tmp_path, pairs=50, seed=None).check(spark)


def halved(self, number, told, *, most):
    return f"CAST(sum({number} & 7){told} AS DECIMAL(38, 0))"


def rounded(self, left, right, *, wide):
    return f"CAST({left} / {right} AS {'DECIMAL(38, 0)' if wide else 'BIGINT'}) + 1"


MISTAKES = {
    "half a sum": (SparkDialect, "total", halved),
    "a quotient that is not cut": (SparkDialect, "quotient", rounded),
    "keys of which NULL meets none": (SparkDialect, "same", lambda self, left, right, *, texts: f"{left} = {right}"),
    "a condition that is not written": (SqlWriter, "_filter", lambda self, where: ""),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_seen(spark, loud, monkeypatch, mistake):
    """Planted where only Spark's SQL has it: DuckDB's answers stay what they are."""
    monkeypatch.setattr(*MISTAKES[mistake])
    with pytest.raises((AssertionError, ValueError), match=r"differ|does not exist"):
        loud.check(spark)
