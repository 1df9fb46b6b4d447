"""Tags, secrets, digests and truncation in PostgreSQL: those of `keyed` and `memory_persons`, byte for byte."""

import random
from collections import Counter

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.keyed_hashes import hmac_pads, person_secret, person_tag, row_digest
from discreet.engines.postgres.keyed_hash_sql import digest_sql, kept_sql, secret_sql, tag_sql
from discreet.sql.postgres_dialect import SESSION
from tiers import examples

KEY = bytes(range(32))

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
keys = st.lists(st.lists(texts, min_size=2, max_size=2), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def cursor(postgres_address):
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        for name, value in SESSION.items():
            connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        yield psycopg.RawCursor(connection)


@settings(max_examples=examples(40), deadline=None)
@given(persons=keys)
def test_tags_and_secrets(cursor, persons):
    sql = f"""SELECT {tag_sql(["a", "b"])}, {secret_sql(["a", "b"])}
        FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS s (a, b, n) ORDER BY n"""
    found = cursor.execute(sql, [*hmac_pads(KEY).values(), *map(list, zip(*persons, strict=True))]).fetchall()
    assert found == [(person_tag(person, KEY), person_secret(person, KEY)) for person in persons]


@settings(max_examples=examples(40), deadline=None)
@given(
    codes=st.tuples(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), st.one_of(st.none(), texts)),
    occurrence=st.integers(1, 2**40),
)
def test_digests(cursor, codes, occurrence):
    sql = f"SELECT {digest_sql('$1::text', {'$2::bigint': False, '$3::text': True}, '$4::bigint')}"
    assert cursor.execute(sql, ["secret", *codes, occurrence]).fetchall() == [
        (row_digest("secret", codes, occurrence),)
    ]


def test_a_row_may_have_more_columns_than_a_function_arguments(cursor):
    codes = {f"CAST({place} AS BIGINT)": False for place in range(300)}
    sql = f"SELECT {digest_sql(chr(39) + 'x' + chr(39), codes, '1')}"
    assert cursor.execute(sql).fetchall() == [(row_digest("x", range(300), 1),)]


def _kept(secret, rows, limit):
    """As `memory_persons` keeps them; `b` is constant."""
    seen = Counter()
    digests = []
    for row in rows:
        seen[row] += 1
        digests.append(row_digest(secret, row, seen[row]))
    ranked = [row for _, row in sorted(zip(digests, rows, strict=True))]
    return [(a, ranked[0][1], c) for a, _, c in ranked[:limit]]


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 2**32), limit=st.integers(1, 5))
def test_truncation(cursor, seed, limit):
    """Equal rows, NULLs and persons within the limit; the order of rows does not matter."""
    dice = random.Random(seed)
    rows = [
        (dice.randrange(4), dice.choice([None, 1, 2]), dice.choice([None, 7, 8]), dice.choice([None, "a", "é", ""]))
        for _ in range(dice.randrange(1, 30))
    ]
    cursor.execute("DROP TABLE IF EXISTS pg_temp.given")
    cursor.execute('CREATE TEMP TABLE given (who INTEGER, a INTEGER, "b" BIGINT, c TEXT COLLATE "C", secret TEXT)')
    dice.shuffle(rows)
    for row in rows:
        cursor.execute("INSERT INTO given VALUES ($1, $2, $3, $4, $5)", [*row, f"of {row[0]}"])
    codes = {"a": False, "b": False, "c": True}
    sql = kept_sql("given", person="who", secret="secret", codes=codes, limit=limit, constants=["b"])
    found = Counter(cursor.execute(sql).fetchall())
    persons = {who: [row[1:] for row in rows if row[0] == who] for who in {row[0] for row in rows}}
    wanted = Counter((who, *row) for who, own in persons.items() for row in _kept(f"of {who}", own, limit))
    assert found == wanted


def test_a_planted_mistake_is_seen(cursor):
    """Another key, another tag; another limit, other rows."""
    sql = f"SELECT {tag_sql(['$3::text'])}"
    assert cursor.execute(sql, [*hmac_pads(KEY[::-1]).values(), "a"]).fetchall() != [(person_tag(["a"], KEY),)]
