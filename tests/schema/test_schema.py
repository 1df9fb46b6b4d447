"""Schemas and units."""

import pytest

from discreet.errors import SchemaError
from discreet.schema.column import TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, closest_name_hint


def schema(*names):
    return Schema(table="people", columns=tuple(TextColumn(name=name) for name in names), unit=PrivacyUnit())


def test_names_do_not_tell_capitals_apart():
    assert schema("Age", "sex").column("aGE").name == "Age"
    assert schema("Age").column("weight") is None
    with pytest.raises(SchemaError, match="two columns have the same name"):
        schema("Age", "age")


def test_the_closest_name():
    assert closest_name_hint("agee", ["age", "sex"]) == "did you mean 'age'?"
    assert closest_name_hint("AGE", ["Age", "sex"]) == "did you mean 'Age'?"
    assert closest_name_hint("weight", ["b", "a"]) == "one of: a, b"
    assert closest_name_hint("weight", [str(number) for number in range(20)]) == ""
    assert closest_name_hint("weight", []) == ""
    assert closest_name_hint("nope", ["income", "sex"]) == "one of: income, sex"
