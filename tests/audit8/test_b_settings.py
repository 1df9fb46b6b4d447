"""A setting that comes from outside (spark-defaults.conf, SPARK_CONF_DIR) and changes what our SQL means.

Guarantee of `engines.spark.session`: SQL that we write means the same on every session that it gives, or none is given.
"""

import pytest

from discreet.engines.spark.conversion import Kind, word_sql
from discreet.engines.spark.session import PINNED, unmeant
from engines.spark.server import spark_engine, spark_tests

__all__ = ["spark_engine"]
pytestmark = spark_tests


@pytest.mark.parametrize(("setting", "value"), [("spark.sql.legacy.timeParserPolicy", "LEGACY")])
def test_a_setting_from_outside_is_pinned_or_seen(spark_engine, setting, value):
    """14 and 15 October 1582 become one text: two persons' ids, one person; and another tag than DuckDB's."""
    session = spark_engine.session().newSession()
    session.conf.set(setting, value)
    for name, pinned in PINNED.items():
        session.conf.set(name, pinned)
    days = [-141428, -141427]
    words = [
        session.sql(f"SELECT {word_sql('d', Kind(family='days'))} AS w FROM (SELECT {day} AS d)").collect()[0].w
        for day in days
    ]
    assert words == ["1582-10-14", "1582-10-15"] or unmeant(session), words
