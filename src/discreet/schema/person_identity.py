"""By which columns a table identifies its persons, as data: what the ledger keeps, bundles carry and verifiers compare.

A naming is the list of steps from a table to its persons, its own first; a table whose rows are the units has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Table

#: Under which a version's source keeps the tables on the way to its persons, and the kinds of the naming columns.
REACHED = "reached"
KINDS = "kinds"
#: And by what the sources of the tables on the way are known again: `files` as those of the version's own.
WAY = "way"

Naming = list[dict[str, Any]]

_PARTS = ("table", "person", "through", "on", "ends")


def step_of(table: str, unit: PrivacyUnit) -> dict[str, Any]:
    """How a table names its persons, or the table that does, as data."""
    return {"table": table, "person": list(unit.person), "through": unit.through, "on": list(unit.on)}


def reached(path: Sequence[Table]) -> dict[str, Any]:
    """What a version keeps of the tables on the way to its persons: nothing where it names them itself.

    A declaration may change and change back; who the persons of a version are does not change with it.
    """
    return {REACHED: [step_of(step.name, step.schema.unit) for step in path]} if path else {}


def kinds_of(steps: Sequence[Table], kind: Callable[[Table, str], str]) -> dict[str, Any]:
    """What a version keeps of the columns that name its persons, its own first: the kind of each."""
    if steps[0].schema.unit.is_row:
        return {}
    units = [(step, step.schema.unit) for step in steps]
    return {KINDS: [[kind(step, name) for name in (*unit.ends, *unit.person, *unit.on)] for step, unit in units]}


def naming_of(table: str, schema: Mapping[str, Any], source: Mapping[str, Any]) -> Naming:
    """How a version names its persons, by what the ledger keeps of it.

    >>> naming_of("visits", {"person": "patient_id"}, {})
    [{'table': 'visits', 'person': ['patient_id'], 'through': None, 'on': []}]
    >>> naming_of("visits", {}, {})
    []
    """
    own = _own(table, schema)
    if own is None:
        return []
    steps = [own, *(dict(step) for step in source.get(REACHED, ()))]
    kinds = source.get(KINDS, ())
    return [step | ({"kinds": list(kinds[place])} if place < len(kinds) else {}) for place, step in enumerate(steps)]


def sources_of(
    table: str, schema: Mapping[str, Any], source: Mapping[str, Any]
) -> list[tuple[Mapping[str, Any], frozenset[str], Naming]]:
    """The sources of a version, its own first: how each is declared, its sealed files, and who its persons are."""
    naming = naming_of(table, schema, source)
    sources = [(schema, frozenset(source.get("files", ())), naming)]
    for place, step in enumerate(source.get(WAY, ()), start=1):
        sources.append((step, frozenset(step.get("files", ())), naming[place:]))
    return sources


def same_persons(one: Naming, two: Naming) -> bool:
    """Whether two tables of one source, whatever they are called, identify its people alike."""
    return not differ(_nameless(one), _nameless(two))


def _nameless(naming: Naming) -> Naming:
    return [naming[0] | {"table": ""}, *naming[1:]] if naming else []


def _own(table: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    if "ends" in schema:
        return {"table": table, "ends": list(schema["ends"])}
    match schema.get("person"):
        case None:
            return None
        case {"through": through, "on": on}:
            return {"table": table, "person": [], "through": through, "on": _listed(on)}
        case person:
            return {"table": table, "person": _listed(person), "through": None, "on": []}


def _listed(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def intermediate_namings(naming: Naming) -> Iterator[tuple[str, Naming]]:
    """What a naming says of the tables that persons are reached through: the rest of the way is theirs."""
    for place in range(1, len(naming)):
        yield naming[place]["table"], naming[place:]


def differ(one: Naming, two: Naming) -> bool:
    """Whether two namings are not the same, as far as both are known: an older ledger keeps no types and no way."""
    if not one or not two or len(one) == len(two):
        return len(one) != len(two) or any(map(_step_differs, one, two))
    return _step_differs(one[0], two[0]) or min(len(one), len(two)) > 1


def _step_differs(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    named = any((one.get(part) or None) != (two.get(part) or None) for part in _PARTS)
    return named or (KINDS in one and KINDS in two and one[KINDS] != two[KINDS])


def describe(naming: Naming) -> str:
    """A naming in words.

    >>> describe([]), describe(naming_of("visits", {"person": ["clinic", "patient"]}, {"kinds": [["text", "integer"]]}))
    ('each row', 'clinic (text) and patient (integer)')
    >>> way = [{"table": "orders", "person": ["customer"], "through": None, "on": []}]
    >>> describe(naming_of("items", {"person": {"through": "orders", "on": "order_id"}}, {"reached": way}))
    "order_id, which leads to customer of 'orders'"
    """
    if not naming:
        return "each row"
    columns = [_columns(step) for step in naming]
    if len(naming) == 1:
        through = naming[0].get("through")
        return columns[0] if through is None else f"{columns[0]}, which leads to {through!r}"
    way = [f"{words} of {step['table']!r}" for words, step in zip(columns[1:], naming[1:], strict=True)]
    return ", which leads to ".join([columns[0], *way])


def _columns(step: Mapping[str, Any]) -> str:
    names = step.get("ends") or step.get("person") or step.get("on") or ["?"]
    kinds = step.get(KINDS) or []
    words = [f"{name} ({kind})" for name, kind in zip(names, kinds, strict=False)]
    return " and ".join([*words, *names[len(words) :]])
