"""Describing a table: its attributes, from what is declared or, where nothing is, bought with a stated share.

Bounds of numbers and moments are chosen as `discreet bounds` chooses them, values of text are found by a threshold.
What is found so serves this model alone; `discreet bounds` writes it down for everybody.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.answers.bounds.program_purchase import find_ends, find_words, place_of_word, rows_for_word, sorted_words
from discreet.kernel.program import Program
from discreet.schema.column import CategoryColumn, Column, MomentColumn, NumberColumn, TextColumn
from discreet.synth.attribute import Attribute, attribute_of
from discreet.synth.outside_rows import has_widening_cells, open_attribute, zoom

#: What text that too few people share is written as.
OTHER = "(other)"

#: The most values that a column of text is described by, the first in order.
MOST_WORDS = 1000

#: Such a share is set aside for each column of numbers and moments that is not declared, and for each of text; and no
#: more than the last for all of either kind. Chosen on the tables of benchmarks/undeclared_tables.py.
SHARE = Fraction(1, 40)
WORDS_SHARE = Fraction(1, 20)
MOST_SHARE = Fraction(3, 20)

#: Of what finding the bounds of a column costs, this part looks closer at those of many codes.
ZOOM = Fraction(1, 4)

#: Shares of a pure epsilon are larger: a share s of rho buys choices of epsilon sqrt(s), of a pure one of s alone.
PURE_SHARE = Fraction(1, 8)
MOST_PURE = Fraction(2, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndeclaredColumns:
    """What must be bought: the columns without bounds, and those of text."""

    numbers: tuple[str, ...]
    texts: tuple[str, ...]

    def number_share(self, *, pure: bool) -> Fraction:
        """What finding the bounds of one column costs of the whole guarantee."""
        if pure:
            return self._pure_share()
        return min(SHARE, MOST_SHARE / max(1, len(self.numbers)))

    def text_share(self, *, pure: bool) -> Fraction:
        """What finding the words of one column costs of the whole guarantee."""
        if pure:
            return self._pure_share()
        return min(WORDS_SHARE, MOST_SHARE / max(1, len(self.texts)))

    def _pure_share(self) -> Fraction:
        return min(PURE_SHARE, MOST_PURE / max(1, len(self.numbers) + len(self.texts)))


def undeclared_columns(
    columns: Sequence[Column], *, keys: bool, from_constraints: Collection[str] = ()
) -> UndeclaredColumns:
    """What these columns leave open. Values of text can only be found where there is a delta for keys.

    `from_constraints`: columns that public constraints declare.
    """
    unbounded = [
        column.name
        for column in columns
        if isinstance(column, NumberColumn | MomentColumn)
        and attribute_of(column) is None
        and column.name not in from_constraints
    ]
    texts = [column.name for column in columns if isinstance(column, TextColumn)] if keys else []
    return UndeclaredColumns(numbers=tuple(unbounded), texts=tuple(texts))


def describe_attributes(
    program: Program, columns: Sequence[Column], needs: UndeclaredColumns, *, from_constraints: Mapping[str, Attribute]
) -> list[Attribute]:
    """The attributes of a table: declared, given by public constraints (`from_constraints`), or bought.

    Text without shared values has none; where there is nothing else, it is told whether it is there at all, for then
    a model knows how many rows the table has.
    """
    undeclared_attributes = {**from_constraints, **_find_bounds(program, needs), **_find_words(program, needs)}
    attributes = [undeclared_attributes.get(column.name) or attribute_of(column) for column in columns]
    return [attribute for attribute in attributes if attribute is not None] or [
        attribute_of_words(name, ()) for name in needs.texts
    ]


def _find_bounds(program: Program, needs: UndeclaredColumns) -> dict[str, Attribute]:
    """Low and high of each column, and cells beyond them, which the first histogram counts with the others."""
    if not needs.numbers:
        return {}
    share = needs.number_share(pure=program.is_pure) * len(needs.numbers)
    searches = find_ends(program, needs.numbers, share=share * (1 - ZOOM), is_near=has_widening_cells)
    zoomed = zoom(program, searches, share=share * ZOOM)
    return {each.search.column.name: open_attribute(each.search, has_few_codes=each.has_few_codes) for each in zoomed}


def _find_words(program: Program, needs: UndeclaredColumns) -> dict[str, Attribute]:
    """The values of text that enough people share. All other text is one more value.

    Where only NULL is shared by enough, text is told from NULL alone: a column may hold nothing else.
    """
    share = needs.text_share(pure=program.is_pure)
    keys = {name: find_words(program, name, share=share, columns=len(needs.texts)) for name in needs.texts}
    words = {name: sorted_words(own)[:MOST_WORDS] for name, own in keys.items()}
    return {name: attribute_of_words(name, own) for name, own in words.items() if own or (None,) in keys[name].keys}


def rows_for_words(program: Program, needs: UndeclaredColumns) -> int:
    """About how many rows, or persons, must share a value of text for it to be found."""
    share = needs.text_share(pure=program.is_pure)
    return rows_for_word(program, needs.texts[0], share=share, columns=len(needs.texts))


def attribute_of_words(name: str, words: Sequence[str]) -> Attribute:
    """A column of text as one of some words, or another one, or NULL."""
    others = OTHER
    while others in words:
        others = f"({others})"
    return Attribute(
        column=CategoryColumn(name=name, values=(*words, others)),
        of=place_of_word(name, words),
        edges=tuple(range(len(words) + 2)),
        null=True,
    )


def has_no_words(attribute: Attribute) -> bool:
    """Whether it is text of which no value is known: it is there or NULL, and comes out as placeholders."""
    return (
        attribute.of is not None and isinstance(attribute.column, CategoryColumn) and len(attribute.column.values) == 1
    )


def is_empty(attribute: Attribute) -> bool:
    """Whether it is a fitted attribute of text that seems to be NULL in all rows: other text is below its noise."""
    return has_no_words(attribute) and attribute.null and attribute.weights[0] == 0 and attribute.weights[-1] > 0
