"""Describing a table: its attributes, from what is declared or, where nothing is, bought with a stated share.

Bounds of numbers and moments are chosen as `discreet bounds` chooses them, values of text are found by a threshold.
What is found so serves this model alone; `discreet bounds` writes it down for everybody.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.region import Allowed
from discreet.answers.bounds.ends import STAGES, End, after_stage, searches, stage_price
from discreet.curator import Version
from discreet.measurement import FoundKeys
from discreet.plan.expressions import Choose, Member, Null, Predicate, TextCode, Whole
from discreet.plan.expressions import Number as WholeNumber
from discreet.plan.inquiry import Inquiry
from discreet.plan.price import price
from discreet.plan.relation import Scan
from discreet.plan.stability import reach
from discreet.program import Program
from discreet.schema.column import Category, Column, Moment, Number, Text
from discreet.synth.attribute import Attribute, attribute_of
from discreet.synth.ends import opened
from discreet.synth.outside import Outside, moved_out

#: What text that too few people share is written as.
OTHER = "(other)"

#: The most values that a column of text is described by, the first in order.
MOST_WORDS = 1000

#: Such a share is set aside for each column that is not declared, and no more than the last for all of them.
SHARE = Fraction(1, 40)
MOST_SHARE = Fraction(1, 4)

#: Of what finding the bounds of a column costs, this part counts the rows outside of those that were chosen.
OUTSIDE = Fraction(1, 3)

#: Shares of a pure epsilon are larger: a share s of rho buys choices of epsilon sqrt(s), of a pure one of s alone.
PURE_SHARE = Fraction(1, 8)
MOST_PURE = Fraction(2, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What must be bought: the columns without bounds, and those of text."""

    numbers: tuple[str, ...]
    texts: tuple[str, ...]

    def each(self, *, pure: bool) -> Fraction:
        """What describing one of them costs of the whole guarantee."""
        share, most = (PURE_SHARE, MOST_PURE) if pure else (SHARE, MOST_SHARE)
        return min(share, most / max(1, len(self.numbers) + len(self.texts)))


def needs_of(columns: Sequence[Column], *, keys: bool, told: Collection[str] = ()) -> Needs:
    """What these columns leave open. Values of text can only be found where there is a delta for keys.

    `told`: columns that public constraints declare.
    """
    unbounded = [
        column.name
        for column in columns
        if isinstance(column, Number | Moment) and attribute_of(column) is None and column.name not in told
    ]
    texts = [column.name for column in columns if isinstance(column, Text)] if keys else []
    return Needs(numbers=tuple(unbounded), texts=tuple(texts))


def describe(
    program: Program, columns: Sequence[Column], needs: Needs, *, told: Mapping[str, Attribute]
) -> list[Attribute]:
    """The attributes of a table: declared, `told` by public constraints, or bought.

    Text without shared values has none; where there is nothing else, it is told whether it is there at all, for then
    a model knows how many rows the table has.
    """
    known = {**told, **_bounded(program, needs), **_worded(program, needs)}
    found = [known.get(column.name) or attribute_of(column) for column in columns]
    return [attribute for attribute in found if attribute is not None] or [worded(name, ()) for name in needs.texts]


def _bounded(program: Program, needs: Needs) -> dict[str, Attribute]:
    """Low and high of each column: three choices an end, one step a stage; then moved out to where rows are seen."""
    if not needs.numbers:
        return {}
    version = program.version
    wanted = {name: _open_ends(version, name) for name in needs.numbers}
    plan, found = searches(version, wanted)
    epsilon = choice_epsilon(program, needs)
    for _ in range(STAGES):
        # Every choice of the stage gets the same share; `stage_price` divides what a column gets over its choices.
        found_at = [stage_price(version, plan, [each], share=epsilon * STAGES * len(each.wanted)) for each in found]
        found = [after_stage([each], program.run(priced))[0] for each, priced in zip(found, found_at, strict=True)]
    share = needs.each(pure=program.is_pure) * len(needs.numbers) * OUTSIDE
    bounds = moved_out(program, [Outside.of(search) for search in found], share=share)
    return {search.column.name: opened(search.column, *own) for search, own in zip(found, bounds, strict=True)}


def choice_epsilon(program: Program, needs: Needs) -> Fraction:
    """The epsilon of each choice of an end: all choices have the same."""
    choices = STAGES * sum(len(_open_ends(program.version, name)) for name in needs.numbers)
    return program.choice(needs.each(pure=program.is_pure) * len(needs.numbers) * (1 - OUTSIDE) / choices)


def _open_ends(version: Version, name: str) -> tuple[End, ...]:
    column = version.schema.column(name)
    assert isinstance(column, Number | Moment)
    ends: list[tuple[End, int | None]] = [("low", column.low), ("high", column.high)]
    return tuple(end for end, declared in ends if declared is None)


def _worded(program: Program, needs: Needs) -> dict[str, Attribute]:
    """The values of text that enough people share, each column as one step. All other text is one more value."""
    version, found = program.version, {}
    plan = Scan(table=version.table, version=version.number)
    for name in needs.texts:
        priced = price(
            Inquiry(plan=plan, sets=((),), statistics=(), keys=(TextCode(name),)),
            reach(plan, {version.table: version.schema}),
            needs={},
            epsilon=program.pure(needs.each(pure=program.is_pure)),
            delta=program.event.delta / len(needs.texts),
        )
        (part,) = program.run(priced).parts
        assert isinstance(part, FoundKeys)
        words = sorted(str(key) for (key,) in part.keys if key is not None)[:MOST_WORDS]
        if words:
            found[name] = worded(name, words)
    return found


def worded(name: str, words: Sequence[str]) -> Attribute:
    """A column of text as one of some words, or another one, or NULL."""
    cases: list[tuple[Predicate, WholeNumber]] = [(Member(name, Allowed((), null=True)), Null())]
    cases += [(Member(name, Allowed.of([word])), Whole(place)) for place, word in enumerate(words)]
    others = OTHER
    while others in words:
        others = f"({others})"
    return Attribute(
        column=Category(name=name, values=(*words, others)),
        of=Choose(tuple(cases), Whole(len(words))),
        edges=tuple(range(len(words) + 2)),
        null=True,
    )


def is_unworded(attribute: Attribute) -> bool:
    """Whether it is text of which no value is known: it is there or NULL, and comes out as placeholders."""
    return attribute.of is not None and isinstance(attribute.column, Category) and len(attribute.column.values) == 1
