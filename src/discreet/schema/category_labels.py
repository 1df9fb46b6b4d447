"""Labels of codes: what a category's values are called for people. Data and SQL keep the codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from discreet.errors import SchemaError
from discreet.schema.schema import closest_name_hint

#: Pairs of a code and what it is called.
Labels = tuple[tuple[str, str], ...]

MOST_LABEL = 200


def read_labels(raw_labels: Any, values: Collection[str], *, where: str) -> Labels:
    """The labels that a category declares, in the order of its values."""
    if raw_labels is None:
        return ()
    if not isinstance(raw_labels, Mapping):
        raise SchemaError(f"{where} labels must name values", hint='labels = { "1" = "male", "2" = "female" }')
    labels: dict[str, str] = {}
    for code, label in raw_labels.items():
        if code not in values:
            raise SchemaError(
                f"{where} labels {code[:60]!r}, which is not in values", hint=closest_name_hint(code, values)
            )
        if not isinstance(label, str) or not label.strip() or not label.isprintable() or len(label) > MOST_LABEL:
            raise SchemaError(
                f"{where} the label of {code[:60]!r} must be printable text of at most {MOST_LABEL} characters"
            )
        labels[code] = label.strip()
    shown = Counter(labels.get(value, value) for value in values)
    for label, number in shown.items():
        if number > 1:
            raise SchemaError(f"{where} two values are called {label[:60]!r}", hint="give each its own label")
    return tuple((value, labels[value]) for value in values if value in labels)
