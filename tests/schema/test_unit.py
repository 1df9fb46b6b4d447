"""Units: a row, a person, or a person reached through other tables."""

import pytest

from discreet.errors import SchemaError
from discreet.schema.person_path import check_path, path_of
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table


def test_units():
    assert PrivacyUnit().is_row
    assert str(PrivacyUnit()) == "one row"
    person = PrivacyUnit(person=("id", "country"), rows=3)
    assert not person.is_row
    assert str(person) == "all rows of one id + country"
    through = PrivacyUnit(through="orders", on=("order_id",), rows=3)
    assert not through.is_row
    assert str(through) == "all rows of one person of orders"


@pytest.mark.parametrize(
    ("unit", "reason"),
    [
        ({"person": ("id",), "rows": 0}, "at least 1"),
        ({"rows": 2}, "needs a person"),
        ({"person": ("id", "place", "id")}, "'id' twice"),
        ({"through": "orders", "on": ("a", "a")}, "'a' twice"),
        ({"through": "orders"}, "by columns of both"),
        ({"on": ("a",)}, "by columns of both"),
        ({"person": ("id",), "through": "orders", "on": ("a",)}, "by columns of both"),
    ],
)
def test_units_that_make_no_sense(unit, reason):
    with pytest.raises(SchemaError, match=reason):
        PrivacyUnit(**unit)


def test_columns_that_cannot_be_declared():
    unit = PrivacyUnit(person=("Id", "place"))
    unit.check_columns(["age", "ident", "discreet"])
    for name in ("id", "Id", "PLACE"):
        with pytest.raises(SchemaError, match=f"'{name}' is the person"):
            unit.check_columns(["age", name])
    for any_unit in (unit, PrivacyUnit(), PrivacyUnit(through="orders", on=("a",))):
        with pytest.raises(SchemaError, match="a column cannot be called"):
            any_unit.check_columns(["DISCREET:person"])
    PrivacyUnit(through="orders", on=("a",)).check_columns(["a"])


def table(name, *, population="people", public=False, **unit):
    schema = Schema(table=name, columns=(), unit=PrivacyUnit(**unit))
    return Table(schema=schema, source=f"{name}.csv", population=population, public=public, budget=None)


def known(*tables):
    return {found.name: found for found in tables}


ITEMS = table("items", through="Orders", on=("order_id",))
ORDERS = table("orders", through="people", on=("account",))
PEOPLE = table("people", person=("id",))


def test_the_way_to_a_person():
    tables = known(ITEMS, ORDERS, PEOPLE)
    assert path_of(ITEMS, tables) == (ORDERS, PEOPLE)
    assert path_of(ORDERS, tables) == (PEOPLE,)
    assert path_of(PEOPLE, tables) == path_of(table("rows"), tables) == ()


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        (known(ITEMS, PEOPLE), "'items' identifies people through 'Orders', which is not declared"),
        (known(ITEMS, table("orders")), "'orders', which has no person column"),
        (known(ITEMS, table("orders", person=("id",), population="others")), "in another population"),
        (known(ITEMS, table("orders", person=("id",), public=True)), "in another population"),
        (known(ITEMS, table("orders", through="items", on=("x",))), "does not reach a person within 4 tables"),
    ],
)
def test_ways_that_lead_nowhere(tables, reason):
    with pytest.raises(SchemaError, match=reason):
        path_of(ITEMS, tables)


def test_a_way_of_four_tables_is_the_longest():
    steps = [table(f"t{depth}", through=f"t{depth + 1}", on=("x",)) for depth in range(5)]
    assert len(path_of(steps[1], known(*steps, table("t5", person=("id",))))) == 4
    with pytest.raises(SchemaError, match="does not reach a person within 4 tables"):
        path_of(steps[0], known(*steps, table("t5", person=("id",))))


def test_a_way_that_is_handed_in_is_checked():
    check_path(ITEMS, (ORDERS, PEOPLE))
    check_path(PEOPLE, ())
    with pytest.raises(SchemaError, match="'items' identifies people through 'Orders', which is not given"):
        check_path(ITEMS, ())
    with pytest.raises(SchemaError, match="'orders' identifies people through 'people', which is not given"):
        check_path(ITEMS, (ORDERS,))
    with pytest.raises(SchemaError, match="'items' does not identify people through 'people'"):
        check_path(ITEMS, (PEOPLE,))
    with pytest.raises(SchemaError, match="'people' does not identify people through 'orders'"):
        check_path(PEOPLE, (ORDERS,))
