"""Statements that mean harm: to read what is not declared, to write, to crash the reader or to keep it busy."""

#: Every one is refused, free of charge.
STATEMENTS = tuple(
    line.strip()
    for line in r"""
SELECT * FROM visits
SELECT age FROM visits
SELECT age, note FROM visits LIMIT 5
SELECT pid FROM visits GROUP BY pid
SELECT pid, count(*) FROM visits GROUP BY pid
SELECT count(*) FROM visits UNION SELECT age FROM visits
SELECT count(*) FROM visits UNION ALL SELECT count(*) FROM visits
SELECT count(*) FROM visits EXCEPT SELECT 1
SELECT count(*) FROM visits INTERSECT SELECT count(*) FROM visits
(SELECT count(*) FROM visits) UNION (SELECT note FROM visits)
SELECT count(*) FROM visits; SELECT count(*) FROM visits
SELECT count(*) FROM visits; DROP TABLE visits
SELECT count(*) FROM visits; -- and more;
SELECT note FROM visits -- ' OR 1 = 1
SELECT /* count(*) */ note FROM visits
SELECT note /* FROM nowhere */ FROM visits
SELECT note FROM visits /*! GROUP BY note */ LIMIT 1
WITH visits AS (SELECT 1 AS age) SELECT count(*) FROM visits
WITH VISITS AS (SELECT * FROM visits) SELECT count(*) FROM visits
WITH x AS (SELECT age FROM visits LIMIT 1) SELECT sum(age) FROM x
WITH x AS (SELECT age FROM visits ORDER BY age LIMIT 1) SELECT sum(age) FROM x
WITH x AS (DELETE FROM visits RETURNING *) SELECT count(*) FROM x
WITH RECURSIVE x AS (SELECT 1 UNION ALL SELECT 1 FROM x) SELECT count(*) FROM x
WITH x AS (SELECT count(*) AS n FROM visits) SELECT sum(n) FROM x
WITH x AS (SELECT age FROM y), y AS (SELECT age FROM x) SELECT count(*) FROM x
WITH x AS (SELECT age FROM x) SELECT count(*) FROM x
SELECT count(*) FROM read_csv('visits.csv')
SELECT count(*) FROM read_csv_auto('/etc/passwd')
SELECT count(*) FROM read_parquet('.discreet/tables/*.parquet')
SELECT count(*) FROM read_text('/etc/passwd')
SELECT count(*) FROM read_json('x.json')
SELECT count(*) FROM 'visits.csv'
SELECT count(*) FROM '/etc/passwd'
SELECT count(*) FROM "visits.csv"
SELECT count(*) FROM glob('*')
SELECT count(*) FROM sqlite_scan('.discreet/ledger.db', 'entries')
SELECT count(*) FROM parquet_metadata('x')
SELECT count(*) FROM information_schema.tables
SELECT count(*) FROM pg_catalog.pg_tables
SELECT count(*) FROM duckdb_settings()
SELECT count(*) FROM duckdb_tables()
SELECT count(*) FROM sqlite_master
SELECT count(*) FROM main.visits
SELECT count(*) FROM memory.main.visits
SELECT count(*) FROM range(1000000000)
SELECT count(*) FROM generate_series(1, 1000000000)
SELECT count(*) FROM unnest([1, 2, 3])
SELECT count(*) FROM (VALUES (1), (2)) AS v(x)
VALUES (1)
TABLE visits
FROM visits
FROM visits SELECT note
DESCRIBE visits
SHOW TABLES
SUMMARIZE visits
EXPLAIN SELECT count(*) FROM visits
EXPLAIN ANALYZE SELECT note FROM visits
PRAGMA database_list
PRAGMA enable_external_access
SET enable_external_access = true
SET memory_limit = '1TB'
RESET lock_configuration
ATTACH 'other.db' AS other
DETACH visits
USE other
COPY visits TO 'out.csv'
COPY (SELECT * FROM visits) TO 'out.parquet' (FORMAT parquet)
EXPORT DATABASE 'out'
IMPORT DATABASE 'out'
INSTALL httpfs
LOAD httpfs
CREATE TABLE stolen AS SELECT * FROM visits
CREATE OR REPLACE VIEW v AS SELECT * FROM visits
CREATE MACRO f(x) AS x
INSERT INTO visits VALUES (1)
UPDATE visits SET age = 1
DELETE FROM visits
MERGE INTO visits USING visits AS v ON true WHEN MATCHED THEN DELETE
DROP TABLE visits
ALTER TABLE visits ADD COLUMN x INT
TRUNCATE visits
VACUUM
CHECKPOINT
BEGIN
COMMIT
CALL pragma_version()
PREPARE x AS SELECT note FROM visits
EXECUTE x
GRANT SELECT ON visits TO PUBLIC
SELECT getenv('HOME'), count(*) FROM visits
SELECT count(*) FILTER (WHERE getenv('HOME') = 'x') FROM visits
SELECT sum(random()) FROM visits
SELECT count(*) FROM visits WHERE random() < 0.5
SELECT count(*) FROM visits WHERE now() > '2020-01-01'
SELECT count(*) FROM visits WHERE current_date > day
SELECT current_user, count(*) FROM visits
SELECT version(), count(*) FROM visits
SELECT current_setting('threads'), count(*) FROM visits
SELECT count(*), query('SELECT 1') FROM visits
SELECT count(*) FROM query('SELECT * FROM visits')
SELECT count(*) FROM query_table('visits')
SELECT nextval('s'), count(*) FROM visits
SELECT setseed(0.5), count(*) FROM visits
SELECT pg_sleep(10), count(*) FROM visits
SELECT sleep_ms(10000), count(*) FROM visits
SELECT uuid(), count(*) FROM visits
SELECT count(*) FROM visits WHERE write_log('x')
SELECT count(*) FROM visits WHERE txid_current() > 0
SELECT system('ls'), count(*) FROM visits
SELECT load_extension('x'), count(*) FROM visits
SELECT error('x'), count(*) FROM visits
SELECT count(*) FROM visits WHERE age = (SELECT max(age) FROM visits)
SELECT count(*) FROM visits v WHERE age > (SELECT avg(age) FROM visits w WHERE w.sort = v.sort)
SELECT count(*) FROM visits WHERE EXISTS (SELECT 1 FROM visits WHERE note = 'a')
SELECT count(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM visits w WHERE w.pid = v.pid)
SELECT count(*) FROM visits WHERE age IN (SELECT age FROM visits)
SELECT count(*) FROM visits WHERE age = ANY (SELECT age FROM visits)
SELECT count(*) FROM visits WHERE age > ALL (SELECT age FROM visits)
SELECT (SELECT note FROM visits LIMIT 1), count(*) FROM visits
SELECT (SELECT count(*) FROM visits) FROM visits
SELECT count(*) FROM visits HAVING (SELECT 1 FROM visits) = 1
SELECT count(*) FROM visits, visits AS w
SELECT count(*) FROM visits CROSS JOIN visits AS w
SELECT count(*) FROM visits v JOIN visits w ON true
SELECT count(*) FROM visits v JOIN visits w ON v.age = w.age
SELECT count(*) FROM visits v JOIN visits w ON v.pid <> w.pid
SELECT count(*) FROM visits v JOIN visits w ON v.pid = w.pid OR v.age = 1
SELECT count(*) FROM visits v JOIN visits w ON v.pid = w.pid OR v.age = w.age
SELECT count(*) FROM visits v RIGHT JOIN visits w ON v.pid = w.pid
SELECT count(*) FROM visits v FULL OUTER JOIN visits w ON v.pid = w.pid
SELECT count(*) FROM visits v NATURAL JOIN visits w
SELECT count(*) FROM visits v SEMI JOIN visits w ON v.pid = w.pid
SELECT count(*) FROM visits v ANTI JOIN visits w ON v.pid = w.pid
SELECT count(*) FROM visits v ASOF JOIN visits w ON v.pid = w.pid AND v.day >= w.day
SELECT count(*) FROM visits v POSITIONAL JOIN visits w
SELECT count(*) FROM visits v JOIN LATERAL (SELECT v.age) w ON true
SELECT count(*) FROM visits v, LATERAL (SELECT note FROM visits w WHERE w.pid = v.pid) x
SELECT count(*) OVER () FROM visits
SELECT sum(age) OVER () FROM visits
SELECT age, sum(age) OVER (PARTITION BY age) FROM visits GROUP BY age
SELECT avg(count(*)) OVER () FROM visits
SELECT note, lag(count(*)) OVER (ORDER BY note) FROM visits GROUP BY note
SELECT age, sum(count(*)) OVER (ORDER BY big) FROM visits GROUP BY age
SELECT age, sum(count(*)) OVER (PARTITION BY count(*)) FROM visits GROUP BY age
SELECT age, lag(count(*), 99999999999) OVER (ORDER BY age) FROM visits GROUP BY age
SELECT age, lag(count(*), age) OVER (ORDER BY age) FROM visits GROUP BY age
SELECT age, sum(max(cost)) OVER () FROM visits GROUP BY age
SELECT age, sum(sum(count(*)) OVER ()) OVER () FROM visits GROUP BY age
SELECT age, first_value(count(*)) OVER (ORDER BY age) FROM visits GROUP BY age
SELECT age, sum(count(*)) OVER (ORDER BY age RANGE BETWEEN big PRECEDING AND CURRENT ROW) FROM visits GROUP BY age
SELECT row_number() OVER (ORDER BY age), count(*) FROM visits GROUP BY age
SELECT count(*) FROM visits QUALIFY row_number() OVER () = 1
SELECT count(*) FROM visits WINDOW w AS (ORDER BY age)
SELECT lag(age) OVER (), count(*) FROM visits
SELECT first(note), count(*) FROM visits
SELECT any_value(note) FROM visits
SELECT arg_max(note, age) FROM visits
SELECT mode(note) FROM visits
SELECT list(note) FROM visits
SELECT array_agg(note ORDER BY age) FROM visits
SELECT string_agg(note, ',') FROM visits
SELECT group_concat(note) FROM visits
SELECT histogram(age) FROM visits
SELECT approx_top_k(note, 3) FROM visits
SELECT min(note) FROM visits
SELECT max(note) FROM visits
SELECT min(pid) FROM visits
SELECT sum(pid) FROM visits
SELECT sum(big) FROM visits
SELECT product(age) FROM visits
SELECT bit_xor(age) FROM visits
SELECT entropy(age) FROM visits
SELECT approx_count_distinct(note) FROM visits
SELECT sum(DISTINCT age) FROM visits
SELECT avg(DISTINCT age) FROM visits
SELECT count(DISTINCT age, note) FROM visits
SELECT sum(sum(age)) FROM visits
SELECT count(*) FROM visits WHERE count(*) > 1
SELECT count(*) FROM visits GROUP BY count(*)
SELECT count(*) FROM visits LIMIT 1
SELECT sort, count(*) FROM visits GROUP BY sort LIMIT 1
SELECT sort, count(*) FROM visits GROUP BY sort OFFSET 1
SELECT sort, count(*) FROM visits GROUP BY sort ORDER BY count(*) LIMIT (SELECT 1)
SELECT sort, count(*) FROM visits GROUP BY sort ORDER BY count(*) LIMIT -1
SELECT sort, count(*) FROM visits GROUP BY sort ORDER BY random()
SELECT sort, count(*) FROM visits GROUP BY sort ORDER BY note
SELECT sort, count(*) FROM visits GROUP BY 99
SELECT sort, count(*) FROM visits GROUP BY 0
SELECT sort, count(*) FROM visits GROUP BY 1.5
SELECT count(*) FROM visits ORDER BY 7
SELECT count(*), count(*) FROM visits ORDER BY 99999999999999999999
SELECT note, count(*) FROM visits GROUP BY sort
SELECT count(*) FROM visits GROUP BY pid
SELECT count(*) FROM (SELECT sort, count(*) AS n FROM visits GROUP BY sort) q
SELECT sum(n) FROM (SELECT count(*) AS n FROM visits) q
SELECT avg(m) FROM (SELECT max(age) AS m FROM visits GROUP BY sort) q
SELECT count(*) FROM (SELECT age FROM visits LIMIT 1) q
SELECT count(*) FROM (SELECT DISTINCT age FROM visits) q
SELECT count(*) FROM (SELECT age FROM visits UNION ALL SELECT age FROM visits) q
SELECT count(*) FROM (SELECT row_number() OVER () AS r FROM visits) q
SELECT count(*) FROM (SELECT pid, count(*) OVER () AS n FROM visits) q
SELECT count(*) FROM (SELECT pid AS age, age AS pid FROM visits) q GROUP BY age
SELECT count(*) FROM visits TABLESAMPLE 10 PERCENT
SELECT count(*) FROM visits USING SAMPLE 5
SELECT count(*) FROM visits FOR UPDATE
SELECT count(*) INTO stolen FROM visits
SELECT count(*) FROM visits AT (VERSION => 1)
SELECT count(*) FROM visits AS OF SYSTEM TIME '-1h'
SELECT count(*) FROM visits PIVOT (count(*) FOR sort IN ('flu'))
SELECT count(*) FROM visits UNPIVOT (x FOR y IN (age, big))
PIVOT visits ON sort USING count(*)
SELECT COLUMNS('.*') FROM visits
SELECT count(COLUMNS(*)) FROM visits
SELECT * EXCLUDE (note) FROM visits
SELECT visits FROM visits
SELECT count(visits) FROM visits
SELECT count(*) FROM "discreet:person"
SELECT "discreet:person", count(*) FROM visits GROUP BY 1
SELECT sum("discreet:person") FROM visits
SELECT count(DISTINCT "discreet:person") FROM visits
SELECT count(*) FROM visits WHERE "discreet:person" = 3
SELECT count(*) FROM found
SELECT count(*) FROM public_1
SELECT count(*) FROM persons
SELECT sum(number) FROM visits
SELECT count(*) FROM visits WHERE rowid = 0
SELECT sum(rowid) FROM visits
SELECT count(*) FROM visits WHERE file_row_number = 0
SELECT count(*) FROM visits WHERE filename = 'x'
SELECT count(*) FROM visits WHERE $1 = age
SELECT count(*) FROM visits WHERE ? = age
SELECT count(*) FROM visits WHERE age = :x
SELECT count(*) FROM visits WHERE age = @x
SELECT count(*) FROM visits WHERE age = {{ x }}
SELECT count(*) FROM visits WHERE age = $$1$$
SELECT count(*) FROM visits WHERE note = E'\x00'
SELECT count(*) FROM visits WHERE note = X'00'
SELECT count(*) FROM visits WHERE note = 'a' 'b' 'c
SELECT count(*) FROM visits WHERE note = 'it\'s'
SELECT count(*) FROM visits WHERE "note = 'a'
SELECT count(*) FROM visits WHERE note = "a"
SELECT count(*) FROM visits WHERE note = `a`
SELECT count(*) FROM [visits]
SELECT count(*) FROM vis
SELECT count(*) FROM ｖｉｓｉｔｓ
SELECT count(*) FROM visіts
SELECT count(*) FROM visits WHERE аge = 1
ＳＥＬＥＣＴ count(*) FROM visits
SELECT count(*) FROM visits WHERE age = １
SELECT count(*) FROM visits WHERE age ＝ 1
SELECT note­ FROM visits
SELECT count(*) FROM visits WHERE note ＝ 'a‮'
SELECT count(*) FROM visits WHERE age = 1 OR
SELECT count(*) FROM visits WHERE age = 1 AND AND age = 2
SELECT count(* FROM visits
SELECT count(*)) FROM visits
SELECT FROM visits
SELECT count(*) visits
SELECT
;
--
/*
/* SELECT count(*) FROM visits
'
"
)
SELECT count(*) FROM visits WHERE age = 1e999999999
SELECT count(*) FROM visits WHERE age = 0x1F FOO
SELECT count(*) FROM visits WHERE age IN ()
SELECT count(*) FROM visits WHERE (age, big) IN ((1, 2))
SELECT count(*) FROM visits WHERE (age, big) = (1, 2)
SELECT count(*) FROM visits WHERE [age] = [1]
SELECT count(*) FROM visits WHERE {'a': age} = {'a': 1}
SELECT list_transform([age], x -> x + 1), count(*) FROM visits
SELECT count(*) FROM visits WHERE list_contains([1, 2], age)
SELECT count(*) FROM visits WHERE MATCH(note) AGAINST ('a')
SELECT count(*) FILTER (WHERE (SELECT true)) FROM visits
SELECT count(*) FROM visits GROUP BY GROUPING SETS ((pid))
SELECT count(*) FROM visits GROUP BY CUBE (age, big, day, moment, flag, sort, digits, note)
SELECT sort, digits, flag, age, count(*) FROM visits GROUP BY CUBE (sort, digits, flag, age, day, moment, floor(age), age > 3)
SELECT age, day, count(*) FROM visits GROUP BY age, day, moment
SELECT moment, count(*) FROM visits GROUP BY moment
""".splitlines()
    if line.strip()
)

#: Nested so that each level lies within the one before: {} is filled with itself, and then with `age`.
NESTED = (
    "({})", "(({}) + 1)", "-{}", "- {}", "+{}", "~{}", "NOT {}", "!{}", "abs({})", "[{}]", "{{'a': {}}}", "CAST({} AS INTEGER)",
    "CASE WHEN {} THEN 1 END", "CASE WHEN flag THEN 1 ELSE {} END", "CASE {} WHEN 1 THEN 2 END", "coalesce(age, {})",
    "(SELECT {})", "(SELECT count(*) FROM visits WHERE {})", "EXISTS (SELECT {})", "(age IN ({}))", "(1 + {})", "f({}, 1)",
    "least({}, greatest({}, 1))", "extract(year FROM {})", "({})[1]", "x -> ({})", "row({})", "interval ({}) day", "({})::int",
    "if({}, 1, 2)", "struct_pack(a := {})", "(age BETWEEN {} AND 2)", "(({}) IS NULL)", "trim(BOTH 'x' FROM {})", "(+-{})",
)  # fmt: skip

#: One after the other: {} is repeated.
REPEATED = (
    "SELECT count(*) FROM visits WHERE age{}", "::int", " + 1", " - 1", " IS NULL", "[1]", ".a", " AND 1", " COLLATE x", " || 'a'",
    " ISNULL", " AT TIME ZONE 'UTC'", " -> 'a'", " ** 2", " BETWEEN 1 AND 2", " LIKE 'a'", " = 1", " IN (1)", " OVER ()",
    " IS NOT DISTINCT FROM 1",
)  # fmt: skip


def bombs():
    """Two thousand of them: a name, and a text."""
    for shape in NESTED:
        for depth in (33, 34, 36, 40, 48, 64, 65, 80, 96, 100, 120, 128, 150, 180, 200, 220, 250, 256, 300, 333, 400, 500, 512,
                      600, 666, 700, 777, 800, 900, 1000, 1024, 1200, 1500, 1700, 2000, 2500, 3000, 4000, 5000):  # fmt: skip
            yield f"{shape} {depth}", f"SELECT count(*) FROM visits WHERE {nested(shape, depth)} = 1"
        for other in NESTED[:4]:
            mixed = nested(shape, 40).replace("age", nested(other, 40), 1)
            yield f"{shape} in {other}", f"SELECT count(*) FROM visits WHERE {mixed} = 1"
    start, *pieces = REPEATED
    for piece in pieces:
        for size in (40, 70, 100, 150, 200, 300, 400, 500, 700, 1000, 1500, 2000, 3000, 5000, 9000):
            yield f"{piece} {size}", start.format(piece * size)
    for size in range(35, 75):
        yield f"WITH {size}", _with(size)
        yield f"FROM {size}", "SELECT count(*) FROM " + "(SELECT * FROM " * size + "visits" + ") q" * size
        yield f"UNION {size}", " UNION ".join(["SELECT count(*) FROM visits"] * size)
        yield (
            f"JOIN {size}",
            "SELECT count(*) FROM visits a0 "
            + " ".join(f"JOIN visits a{place} ON a{place}.pid = a0.pid" for place in range(1, size)),
        )
    for size in (5_000, 9_000, 20_000, 60_000, 70_000, 300_000):
        yield f"( {size}", "(" * size
        yield f") {size}", "SELECT count(*) FROM visits WHERE age = 1" + ")" * size
        yield f"' {size}", "SELECT count(*) FROM visits WHERE note = " + "'" * (size + 1)
        yield f'" {size}', "SELECT count(*) FROM visits WHERE " + '"' * (size + 1)
        yield f"/* {size}", "/*" * size
        yield f"; {size}", "SELECT 1" + ";" * size + "SELECT 2"
        yield f"select {size}", "SELECT " * size
        yield f"IN {size}", f"SELECT count(*) FROM visits WHERE age IN ({', '.join(map(str, range(size)))})"
        yield (
            f"OR {size}",
            "SELECT count(*) FROM visits WHERE " + " OR ".join(f"big = {place}" for place in range(size)),
        )
        yield f", {size}", "SELECT " + ", ".join(f"count(*) AS c{place}" for place in range(size)) + " FROM visits"
        yield f"case {size}", "SELECT count(*) FROM visits WHERE " + "case " * size
        yield f"letters {size}", f"SELECT {'a' * size} FROM visits"
        yield f"digits {size}", f"SELECT count(*) FROM visits WHERE age = {'9' * size}"


def nested(shape: str, depth: int) -> str:
    """A shape within itself. Shapes that hold themselves twice are filled once with something small."""
    head, _, tail = shape.replace("{{", "\1").replace("}}", "\2").partition("{}")
    head, tail = (part.replace("{}", "1").replace("\1", "{").replace("\2", "}") for part in (head, tail))
    return head * depth + "age" + tail * depth


def _with(size: int) -> str:
    text = "SELECT age FROM visits"
    for place in range(size):
        text = f"WITH w{place} AS ({text}) SELECT age FROM w{place}"
    return f"WITH w AS ({text}) SELECT count(*) FROM w"
