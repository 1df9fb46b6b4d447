"""Schemas and units."""

import pytest

from discreet.errors import SchemaError
from discreet.schema.column import Text
from discreet.schema.schema import Schema, closest
from discreet.schema.unit import PrivacyUnit


def schema(*names):
    return Schema(table="people", columns=tuple(Text(name=name) for name in names), unit=PrivacyUnit())


def test_names_do_not_tell_capitals_apart():
    assert schema("Age", "sex").column("aGE").name == "Age"
    assert schema("Age").column("weight") is None
    with pytest.raises(SchemaError, match="two columns have the same name"):
        schema("Age", "age")


def test_the_closest_name():
    assert closest("agee", ["age", "sex"]) == "did you mean 'age'?"
    assert closest("AGE", ["Age", "sex"]) == "did you mean 'Age'?"
    assert closest("weight", ["b", "a"]) == "there are: a, b"
    assert closest("weight", [str(number) for number in range(20)]) == ""
    assert closest("weight", []) == ""
