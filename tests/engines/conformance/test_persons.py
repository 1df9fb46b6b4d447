"""Persons on every engine: whose a row is, which rows are kept, who is forgotten and erased, what the owner is told."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings

from discreet.accounting.region import Region
from discreet.engines.dominant_person import DominantPerson
from discreet.engines.engine import TableLocations
from discreet.engines.keyed_hashes import person_tag
from discreet.engines.missing_values import MISSING
from discreet.engines.table_file import PERSON
from discreet.plan.relation import Scan
from discreet.schema.column import BooleanColumn, CategoryColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from discreet.sql.group_keys import axis_of
from discreet.sql.typed_expression import column_expression
from engines.conformance.agreeing import Declaration, agree
from engines.conformance.grounds import contents
from engines.persons_tables import IDS, TAG_KEY, TYPES, File, check_unit, persons
from tiers import examples, fuzzed

AGE = NumberColumn(name="age", type="integer", low=0, high=120)
COLUMNS = (
    AGE,
    CategoryColumn(name="sex", values=("F", "M"), constant=True),
    BooleanColumn(name="flag", constant=True),
    TextColumn(name="note"),
)


def crowd(parts: int, limit: int = 3) -> Declaration:
    """Persons of many ids, all alike to a careless eye: equal rows, rows that disagree on constants, rows of nobody."""
    ids = [name for name in IDS if "\0" not in name]
    rows = []
    for place, name in enumerate(ids):
        key = (name, ids[-place])[:parts]
        for turn in range(1 + place % 6):
            rows.append(
                (
                    *key,
                    turn % 3 * 60,
                    ("F", "M", None)[(place + turn) % 3],
                    (True, None)[turn % 2],
                    ("é", None, "e\u0301")[turn % 3],
                )
            )
        rows += [(*key, 7, "F", True, "twice")] * (2 * (place % 4 == 0))
    rows += [(*key[:parts], 5, "F", True, "nobody's") for key in ((None, "x"), ("x" if parts == 2 else None, None))]
    return Declaration(
        schema=Schema(table="crowd", columns=COLUMNS, unit=PrivacyUnit(person=("Who", "who else")[:parts], rows=limit)),
        file=File(
            names=(*("Who", "who else")[:parts], *(column.name for column in COLUMNS)),
            rows=tuple(rows),
            types=(*[pa.string()] * parts, pa.int64(), pa.string(), pa.bool_(), pa.string()),
        ),
    )  # fmt: skip


@pytest.mark.parametrize("parts", [1, 2])
def test_the_same_rows_of_the_same_persons(reference, light_ground, parts):
    """Some are forgotten from the start. What is kept is the reference's, row for row; so is what is told."""
    declaration = crowd(parts)
    gone = [person_tag(row[:parts], TAG_KEY) for row in declaration.file.rows[:20:7]]
    _, place = agree(reference, light_ground, declaration, forgotten=gone)
    rows, counts = contents(light_ground, place, persons=True)
    assert not set(gone) & set(counts) and len(counts) > 20
    check_unit(
        rows.__class__({(tag, tuple(dict(codes).values())): size for (tag, codes), size in rows.items()}),
        declaration.schema,
    )


def test_a_person_of_a_missing_mark_is_nobody(any_ground):
    """Byte for byte: what only looks like a mark is a person. On the way to a person it leads nowhere."""
    looks = (" NA", "Na", "NA ", "0", "nan.", "none", "--NA")
    ids = [*MISSING, *looks]
    visits = Declaration(
        schema=Schema(table="visits", columns=(AGE,), unit=PrivacyUnit(person=("who",), rows=2)),
        file=File(names=("who", "age"), rows=tuple((name or None, 5) for name in ids), types=(pa.string(), pa.int64())),
    )
    making, place = visits.declare(any_ground)
    _, persons = contents(any_ground, place, persons=True)
    assert set(persons) == {person_tag([name], TAG_KEY) for name in looks}
    assert (making.exact_rows, making.exact_without_person) == (len(looks), len(MISSING))
    doses = Declaration(
        schema=Schema(table="doses", columns=(AGE,), unit=PrivacyUnit(through="visits", on=("who",), rows=2)),
        file=replace(visits.file, rows=(("NA", 1), ("0", 2), ("?", 3))),
        path=(visits,),
    )
    assert doses.declare(any_ground)[0].exact_without_person == 2


@pytest.mark.thin(1)
def test_a_person_of_nearly_all_rows_is_named_to_the_owner(any_ground):
    """Of composite ids, too; a forgotten one is not named, nor is the largest of persons who are all large."""
    unit = PrivacyUnit(person=("site", "who"), rows=2)
    rows = [("b", "unknown", 5)] * 1200 + [("a", str(place), 7) for place in range(30)]
    crowded = Declaration(
        schema=Schema(table="crowded", columns=(AGE,), unit=unit),
        file=File(names=("site", "who", "age"), rows=tuple(rows), types=(pa.string(), pa.string(), pa.int64())),
    )
    making, _ = crowded.declare(any_ground)
    assert making.exact_dominant == DominantPerson(exact_person=("b", "unknown"), exact_rows=1200)
    assert "unknown" not in repr(making)
    again, _ = crowded.declare(any_ground, [person_tag(("b", "unknown"), TAG_KEY)])
    assert again.exact_dominant is None
    large = [("a", str(place % 12), 7) for place in range(1500)] + [("b", "x", 1)] * 1100
    making, _ = replace(crowded, file=replace(crowded.file, rows=tuple(large))).declare(any_ground)
    assert making.exact_dominant is None


def test_erased_persons_leave_nothing_and_nobody_else_moves(reference, light_ground):
    declaration = crowd(1)
    tags = [person_tag(row[:1], TAG_KEY) for row in declaration.file.rows if row[0] is not None]
    gone = {tags[0], tags[9], tags[30], bytes(16)}
    _, place = declaration.declare(light_ground)
    before, counts = contents(light_ground, place, persons=True)
    numbers = {row["tag"]: row["number"] for row in light_ground.side(place)}
    assert light_ground.engine.erase(place, gone) == len(gone & set(tags)) == 3
    after, left = contents(light_ground, place, persons=True)
    assert left == {tag: size for tag, size in counts.items() if tag not in gone}
    assert after == type(after)({row: size for row, size in before.items() if row[0] not in gone})
    assert {row["tag"]: row["number"] for row in light_ground.side(place)}.items() <= numbers.items()
    assert light_ground.engine.erase(place, gone) == 0
    told = light_ground.engine.persons(place)
    assert dict(zip(told.exact_tags.to_pylist(), told.exact_rows.tolist(), strict=True)) == left
    # Erased from what is made, or left out when it is made: the same table.
    wanted, _ = contents(reference, declaration.declare(reference, tuple(gone))[1], persons=True)
    assert after == wanted
    scan = Scan(table="crowd", version=1)
    axes = (axis_of(column_expression(COLUMNS[1])), axis_of(column_expression(COLUMNS[2])))
    coded = light_ground.engine.coded(scan, axes, Region.whole(), tables=TableLocations(files={scan: place}))
    assert coded.count(()).tolist() == [after.total()]


def test_persons_of_nobody_and_everybody_erased(light_ground):
    """An empty table has no persons; a table can lose all of them."""
    declaration = crowd(1)
    empty = replace(declaration, file=declaration.file.with_rows(()))
    making, place = empty.declare(light_ground)
    assert (making.exact_rows, making.exact_persons) == (0, 0)
    assert len(light_ground.engine.persons(place).exact_rows) == 0
    _, place = declaration.declare(light_ground)
    found = light_ground.engine.persons(place)
    assert light_ground.engine.erase(place, set(found.exact_tags.to_pylist())) == len(found.exact_rows) > 20
    assert light_ground.stored(place) == light_ground.side(place) == []
    light_ground.engine.drop(place)
    light_ground.engine.drop(place)


def shop() -> Declaration:
    """Lines of orders of people: a line's person is two tables away, keys are of other types, and are shared."""
    people = File(
        names=("id", "order"),
        rows=(
            ("ann", 1),
            ("ann", 2),
            ("ben", 2),
            ("ben", 3),
            ("Ben", 3),
            (None, 1),
            ("eve", None),
            ("zoe", 9),
            ("ann", 1),
        ),
        types=(pa.string(), pa.int64()),
    )
    orders = File(
        names=("order", "parcel"),
        rows=(
            ("1", "p"),
            ("2", "q"),
            ("3", "q"),
            ("3", "r"),
            ("9", None),
            (None, "p"),
            ("7", "s"),
            ("2", "Q"),
            ("01", "r"),
        ),
        types=(pa.string(), pa.string()),
    )
    lines = File(
        names=("parcel", "price", "label"),
        rows=tuple((parcel, str(place), "é") for place, parcel in enumerate(["p", "q", "q", "r", "s", None, "Q", "p", "q"] * 2)),
        types=(pa.string(), pa.string(), pa.string()),
    )  # fmt: skip

    def step(name, file, unit, columns):
        return Declaration(schema=Schema(table=name, columns=columns, unit=unit), file=file)

    word = (TextColumn(name="label"),)
    first = step("people", people, PrivacyUnit(person=("id",), rows=2), (TextColumn(name="id"),))
    second = step("orders", orders, PrivacyUnit(through="people", on=("order",), rows=2), (TextColumn(name="parcel"),))
    price = NumberColumn(name="price", type="integer", low=0, high=99)
    last = step("lines", lines, PrivacyUnit(through="orders", on=("parcel",), rows=4), (price, *word))
    return replace(last, path=(second, first))


def test_a_person_two_tables_away(reference, light_ground):
    """A row counts once under each person it reaches; the tables on the way are joined untruncated."""
    declaration = shop()
    _, place = agree(reference, light_ground, declaration)
    rows, counts = contents(light_ground, place, persons=True)
    assert counts.keys() == {person_tag([name], TAG_KEY) for name in ("ann", "ben", "Ben")}
    assert max(counts.values()) > 4 and all(PERSON not in dict(codes) for _, codes in rows)
    agree(reference, light_ground, declaration, forgotten=[person_tag(["ben"], TAG_KEY)])


def test_roster(reference, light_ground):
    """One row for each person, with how many rows the source has."""
    scan = Scan(table="crowd", version=1, roster=True)
    rows = NumberColumn(name="rows", type="integer", low=0, high=8)
    said = []
    for each in (reference, light_ground):
        _, place = crowd(1).declare(each)
        coded = each.engine.coded(
            scan, (axis_of(column_expression(rows)),), Region.whole(), tables=TableLocations(files={scan: place})
        )
        said.append(coded.count((0,)).tolist())
    assert said[0] == said[1] and sum(said[0]) > 20


#: How an id may be held, where every engine has such a type and such a value.
EVERYWHERE = [(type_, ids) for type_, ids in TYPES if not pa.types.is_date(type_) and not pa.types.is_dictionary(type_)]


@given(people=persons(types=EVERYWHERE))
@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
def test_generated_persons(reference, light_ground, people):
    generated(reference, light_ground, people)


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
@given(people=persons(types=EVERYWHERE))
@settings(max_examples=fuzzed(1000), deadline=None, suppress_health_check=list(HealthCheck))
def test_generated_persons_at_length(reference, light_ground, people):
    generated(reference, light_ground, people)


def generated(reference, ground, people):
    declaration = Declaration(schema=people.schema, file=people.source)
    if not declaration.gap(ground):
        agree(reference, ground, declaration)


def test_tags_are_bytes(light_ground):
    """What `persons` gives is what streams compare: 16 bytes each."""
    _, place = crowd(1).declare(light_ground)
    tags = light_ground.engine.persons(place).exact_tags
    assert tags.type == pa.binary(16) and len(pc.unique(tags)) == len(tags)
