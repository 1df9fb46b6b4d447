"""Whether a model is one of a version of a table, so that its cells can be counted there.

A model's file may have been written by anybody, and what it says about columns is its own word. Before data is touched
it is held against the version's schema, which is public: a question that fails on some rows and not on others would
tell of them.
"""

from __future__ import annotations

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.curator import Version
from discreet.plan.expressions import Expression
from discreet.schema.column import CategoryColumn, TextColumn
from discreet.sql.typed_expression import column_expression
from discreet.synth.attribute import Attribute
from discreet.synth.attribute_discovery import attribute_of_words
from discreet.synth.model import Model

#: No table has more rows. Counts in parts of a row stay far from where 64 bits end.
MOST_ROWS = 2**40


def check_model_of_version(model: Model, version: Version) -> None:
    """Refuse a model of another table or version, and one whose cells are not of the version's columns.

    Guarantee: what is counted on the model's axes is, for each row, a function of that row that never fails: the
        declared column's own code, or the place of its text in a list; a row lies in one cell of each axis or is left
        out. Distances of such counts do not overflow.
    """
    if (version.table, version.number) != (model.card.table, model.card.version):
        raise UsageError(
            f"the model was fitted to version {model.card.version} of {model.card.table!r}",
            hint="compare it with that version, or fit a new model",
        )
    for attribute in model.attributes:
        if attribute.axis().of != _own(attribute, version) or not _is_sound(attribute):
            raise UsageError(
                f"the model's column {attribute.name[:60]!r} does not match its declaration in {version.table!r}",
                hint="fit a model to this version",
            )
    if model.fitted.sizes != tuple(attribute.size for attribute in model.attributes) or model.total > MOST_ROWS:
        raise UsageError("the parts of the model do not match each other", hint="fit a model to this version")


def _own(attribute: Attribute, version: Version) -> Expression | None:
    """What the column that the version declares is counted by; None where it has no such column."""
    declared = version.schema.column(attribute.name)
    if declared is None or declared.name != attribute.name:
        return None
    if isinstance(declared, TextColumn):
        column = attribute.column
        return attribute_of_words(declared.name, column.values[:-1]).of if isinstance(column, CategoryColumn) else None
    return column_expression(declared).expression


def _is_sound(attribute: Attribute) -> bool:
    return bool((np.diff(attribute.edges) > 0).all()) and int(attribute.groups.min()) >= 0
