"""What the owner should know about the privacy unit of a table: rows or persons, and what looks like a person."""

from __future__ import annotations

import re
from collections.abc import Iterable

from discreet.errors import Command, Flag, Message
from discreet.ledger.state import LedgerState
from discreet.schema.column import type_name
from discreet.schema.edge_table import look_like_ends
from discreet.schema.person_identity import describe
from discreet.schema.project_file import NAME
from discreet.schema.schema import Table

#: Words for people, and for what tells them apart, as columns are called: patient_id, customerNumber, e-mail.
_PEOPLE = re.compile(
    r"(?!(n|num|number|count)_)(.*_)?(person|people|patient|user|customer|client|member|employee|student|pupil|subject|participant|respondent"
    r"|citizen|resident|household|individual|account|owner|voter|passenger|driver|worker|tenant|borrower|guest|visitor"
    r"|subscriber|donor|player|applicant|beneficiary|insured|buyer|seller|cardholder)s?"
    r"(_?(id|ident|identifier|no|nr|num|number|key|code|uid|uuid|guid|hash|name|ref))?"
    r"|(.*_)?(e_?mail|ssn|nhs_number|mrn|passport|phone|username|login|imei|device_id|card_number)(_.*)?"
)


_IDENTIFIER = re.compile(r".+_(id|ids|uid|uuid|guid)")


def unit_notes(table: Table, others: Iterable[Table]) -> list[str]:
    """What the owner should know of whose rows they are, and who is not protected. From names alone, never from data.

    The unit is what the guarantee is about: with a person's rows taken for so many persons it protects each row, and
    somebody of many rows hardly at all.
    """
    if table.public:
        return []
    if not table.schema.unit.is_row:
        return [*_same_people(table, others), *_nobody_else(table)]
    if (pair := look_like_ends(column.name for column in table.schema.columns)) is not None:
        return [
            Message(
                f"each row of {table.name!r} is protected, because no ",
                Flag("ends"),
                f" were given: if a row is an edge between {pair[0]!r} and {pair[1]!r} and both are persons, that "
                "protects an edge, not a person with all their edges. For that, run ",
                Command("remove", table.name),
                " before the first answer and add it again with ",
                Flag("ends", pair),
            )
        ]
    plain = Message(f"each row of {table.name!r} counts as one person, because no ", Flag("person"), " was given")
    doubt, column = _likely_person_column(_identifying_names(table), others)
    if not doubt:
        return [Message(plain, "; where a person has several rows, each row is protected, not each person")]
    return [
        Message(
            plain,
            f", but {doubt}. If a person can have several rows, this protects each row, not each person. To protect "
            "persons, run ",
            Command("remove", table.name),
            " before the first answer and add it again with ",
            Flag("person", column),
        )
    ]


def row_unit_notes(table: Table, others: Iterable[Table], *, fixed: bool) -> list[str]:
    """What the owner should know when the first version of a table of rows is made: that rows are the unit.

    From names alone. fixed: something was released, so that the unit stays.
    """
    if not table.schema.unit.is_row or fixed:
        return []
    if (pair := look_like_ends(column.name for column in table.schema.columns)) is not None:
        return [
            Message(
                f"each row of {table.name!r}, which looks like an edge, is protected, not each person at its ends. "
                f'Until the first answer you can change this: write ends = ["{pair[0]}", "{pair[1]}"] in {NAME} '
                "instead of declaring columns, then run ",
                Command("refresh", table.name),
            )
        ]
    doubt, column = _likely_person_column(_identifying_names(table), others)
    if not doubt:
        return []
    return [
        Message(
            f"each row of {table.name!r} is protected, not each person, but {doubt}. Until the first answer you can "
            f'change this: write person = "{column}" in {NAME} instead of declaring that column, then run ',
            Command("refresh", table.name),
        )
    ]


def other_identity_notes(table: Table, *, state: LedgerState) -> list[str]:
    """A note where another table of the population identifies people by other columns: are they the same people?"""
    unit = state.protected_units.get(table.population)
    namings = {} if unit is None else unit.namings
    own = namings.get(table.name) or []
    columns = {name: naming[-1].get("person") for name, naming in namings.items() if naming}
    others = [name for name, person in columns.items() if own and person != columns[table.name]]
    return [
        f"{table.name!r} identifies people by {describe(own)}, and {name!r} by {describe(namings[name])}: the limit of "
        f"{table.population!r} holds for both together only if these are the same people"
        for name in others[:1]
    ]


def _same_people(table: Table, others: Iterable[Table]) -> list[str]:
    """A note where another table names its people by a column of the same name, and has a budget of its own."""
    if table.schema.unit.ends:
        return _whose_ends(table, others)
    person = [part.lower() for part in table.schema.unit.person]
    for other in others:
        other_person = [part.lower() for part in other.schema.unit.person]
        if other_person == person and not other.public and other.population != table.population:
            named = " and ".join(table.schema.unit.person)
            return [
                f"{table.name!r} and {other.name!r} both identify people by {named} but have separate budgets: the "
                f"same people would lose the sum of both. To share one budget, {shared_budget_hint(other.population)}"
            ]
    return []


def _nobody_else(table: Table) -> list[str]:
    """A note where a column beside the person looks like it tells others apart: one kind of person is protected."""
    own = {part.lower() for part in table.schema.unit.person}
    names = [column.name for column in table.schema.columns if column.name.lower() not in own]
    seen = [name for name in names if looks_like_identifier(name)]
    if not seen or not own:
        return []
    whom = " and ".join(repr(part) for part in table.schema.unit.person)
    others = ", ".join(map(repr, seen[:3]))
    return [
        f"{table.name!r} protects the people identified by {whom}, with all their rows, and nobody else: "
        f"if {others} {'identifies' if len(seen) == 1 else 'identify'} other people, those are not protected"
    ]


def _whose_ends(table: Table, others: Iterable[Table]) -> list[str]:
    """A note where another table has persons, and a budget of its own: they may be those at the ends."""
    for other in others:
        if not other.public and not other.schema.unit.is_row and other.population != table.population:
            return [
                f"if the ends of {table.name!r} are persons of {other.name!r}, they would lose the sum of two budgets. "
                f"To share one budget, {shared_budget_hint(other.population)}"
            ]
    return []


def _likely_person_column(names: list[str], others: Iterable[Table]) -> tuple[str, str]:
    """Why a row may not be a person, and the column to name as the person; empty where no name looks so.

    An identifier of who knows what may be one of rows, so that it is not proposed as the person.
    """
    persons = {part.lower(): other.name for other in others for part in other.schema.unit.person}
    for name in names:
        if name.lower() in persons:
            return f"{name!r} is the person column of {persons[name.lower()]!r}", name
    for name in names:
        if looks_like_person(name):
            return f"{name!r} looks like it identifies people", name
    for name in names:
        if looks_like_identifier(name):
            return f"{name!r} looks like an identifier", "COLUMN"
    return "", ""


def _identifying_names(table: Table) -> list[str]:
    return [column.name for column in table.schema.columns if can_identify(type_name(column))]


def can_identify(type_: str) -> bool:
    """Whether a column of this type may tell people apart: `insured` with yes and no does not.

    >>> can_identify("integer"), can_identify("boolean")
    (True, False)
    """
    return type_ not in ("boolean", "date", "timestamp")


def looks_like_person(name: str) -> bool:
    """Whether a column's name says that it tells people apart.

    >>> looks_like_person("Patient ID"), looks_like_person("n_patients")
    (True, False)
    """
    return _PEOPLE.fullmatch(snake_case(name)) is not None


def looks_like_identifier(name: str) -> bool:
    """Whether a column's name says that it tells something apart, who knows what."""
    return _IDENTIFIER.fullmatch(snake_case(name)) is not None


def snake_case(name: str) -> str:
    """A name in small letters with underscores between its words.

    >>> snake_case("PatientID"), snake_case("customer-Number"), snake_case("E-Mail")
    ('patient_id', 'customer_number', 'e_mail')
    """
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")


def shared_budget_hint(population: str) -> str:
    """How several tables share the budget of their people."""
    return f'move the budget to [populations.{population}] in {NAME}, and set population = "{population}" in each table'
