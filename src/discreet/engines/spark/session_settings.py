"""What a session of Spark is set to, and what our SQL counts on there.

`PINNED` is set on each session, `DRIVER` on a driver that we start; `MEANINGS` is looked at before any table is.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.sql import spark_dialect as dialect

#: Settings of the session. Each one changes what some SQL of ours means, or what a message shows.
PINNED: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",  # without it an overflow wraps around
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",  # else "a" is a text
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.variable.substitute": "false",  # else ${...} in a literal is a setting, or the process's environment
    "spark.sql.parser.escapedStringLiterals": "false",  # a backslash in a literal is written twice
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",  # else 'it''s' is its
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",  # wide quotients have 32 digits
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",  # else two days of October 1582 are one text
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",  # days and moments are the numbers in the file
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.parquet.binaryAsString": "false",  # else bytes are a text in one reader and none in another
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # a folder's name never becomes a number
    "spark.sql.files.ignoreCorruptFiles": "false",  # a table without some of its rows would be another table
    "spark.sql.files.ignoreMissingFiles": "false",
    # Of a task that runs twice one attempt is kept, and whole: its files are moved only when the driver has let it win.
    "mapreduce.fileoutputcommitter.algorithm.version": "1",  # 2 moves them while the task may still fail
    # What one side of a join holds must not decide whether the other is read: it would tell of one person.
    "spark.sql.adaptive.optimizer.excludedRules": "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    **dialect.SESSION,
}

#: Settings of a driver that we start. Nothing of ours is shown on a page or kept in an event log.
DRIVER: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",  # it holds plans, and the cells that errors quote
    "spark.log.level": "OFF",
    # Executors on a cluster log in processes of their own, and what a driver closes stays open there
    # (spark.executor.syncLogLevel.enabled changes nothing): they are born without a logger.
    "spark.executor.defaultJavaOptions": "-Dslf4j.provider=org.slf4j.helpers.NOP_FallbackServiceProvider",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.driver.maxResultSize": "0",  # else whether a question fails would hang on how many rows there are
    **dialect.DRIVER,
}

#: What our SQL counts on, each TRUE. They are looked at once, before any table is.
MEANINGS: Mapping[str, str] = {
    "texts compare bytewise": "'B' < 'a' AND 'abc' <> 'abc ' AND 'a' <> 'A' AND 'z' < 'é'",
    "texts are quoted by doubling": "'it''s' = concat('it', chr(39), 's') AND length('\\\\') = 1",
    "names are quoted by doubling": '(SELECT "a""b" FROM (SELECT 1 AS "a""b")) = 1',
    "time is UTC": "unix_micros(try_cast('2026-07-01 12:00:00' AS TIMESTAMP)) = 1782907200000000",
    "the calendar is Gregorian throughout": "unix_date(try_cast('1582-10-10' AS DATE)) = -141432",
    "days are written by that calendar": "date_format(DATE'1582-10-14', 'yyyy-MM-dd') = '1582-10-14'",
    "weeks are those of ISO 8601": (
        "extract(YEAROFWEEK FROM DATE'2021-01-03') = 2020 AND extract(WEEK FROM DATE'2021-01-03') = 53"
    ),
    "quotients are cut towards zero": "-7 DIV 2 = -3 AND -7 % 2 = -1",
    "wide numbers are exact": (
        "1329229963525144123788216779028953975 % 3486784401 = 5"
        " AND CAST((1329229963525144123788216779028953975 - 5) / CAST(3486784401 AS DECIMAL(38, 0)) AS DECIMAL(38, 0))"
        " = 381219430471217174574085970"
        " AND CAST(9223372036854775807 AS DECIMAL(38, 0)) * 1152921504606846975"
        " = 10633823966279326972854162940781133825"
        " AND 0 - CAST(-1329227995784915872903807060280344576 AS DECIMAL(38, 0))"
        " = 1329227995784915872903807060280344576"
    ),
    "a value that does not fit is NULL": "try_cast('x' AS INT) IS NULL AND try_cast(3000000000 AS INT) IS NULL",
    "least ignores NULL": "least(NULL, 2, 1) = 1 AND greatest(NULL, 1, 2) = 2",
    "substr counts from the end": "substr('abc', -9, 8) = 'ab' AND substr('abc', -2) = 'bc'",
    "a pattern covers the whole text": "NOT ('12' || chr(10)) RLIKE '\\\\A[0-9]+\\\\z' AND ('a' || chr(10)) LIKE 'a_'",
    "get counts from 0": "get(array(5, 6), 1) = 6 AND get(array(5, 6), 2) IS NULL",
    "hmac is HMAC-SHA256": (
        "hex(hmac(X'61', X'62', 'SHA256')) = '08DE329931E295683776AA9A43529BD0B275286DF3160300C49BA4E841833013'"
    ),
    "texts that are not UTF-8 are detected": "NOT is_valid_utf8(CAST(X'FF61' AS STRING)) AND is_valid_utf8('é')",
}
