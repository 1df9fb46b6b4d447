"""What a program buys of columns that are not declared: ends of numbers and moments, words of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.accounting.region import ValueSet
from discreet.answers.bounds.end_search import (
    MAGNITUDES,
    MAGNITUDES_RHO,
    STAGES,
    End,
    EndSearch,
    after_choices,
    after_magnitudes,
    choices_price,
    magnitudes_price,
    make_searches,
)
from discreet.kernel.curator import Version
from discreet.kernel.measurement import DiscoveredKeys
from discreet.kernel.program import Program
from discreet.mechanisms.threshold import KeyThreshold
from discreet.mechanisms.weighted_threshold import WeightedThreshold
from discreet.plan.expressions import Choose, Member, Null, Predicate, TextCode, Whole
from discreet.plan.expressions import Number as WholeNumber
from discreet.plan.inquiry import Inquiry
from discreet.plan.price import Discover, Price, least_persons, price
from discreet.plan.query_sensitivity import reach
from discreet.plan.relation import Scan
from discreet.schema.column import MomentColumn, NumberColumn


def find_ends(
    program: Program,
    names: Sequence[str],
    *,
    share: Fraction,
    is_near: Callable[[EndSearch], bool] = lambda search: False,
) -> list[EndSearch]:
    """The ends of these columns for this share in all: their magnitudes as one step, and two choices an end.

    `is_near`: whether the ends by magnitudes are near enough for what the column is wanted for, and nothing is chosen.

    Guarantee: the steps lose no more than the share.
    Because: `magnitudes_price` loses what `pure_epsilon` of its part costs for each column, by Gaussian noise where the
        reservation is one of rho; every choice has the epsilon that its part of the rest buys.
    """
    version = program.version
    plan, searches = make_searches(version, {name: open_ends(version, name) for name in names})
    part = MAGNITUDES if program.is_pure else MAGNITUDES_RHO
    epsilon = choice_epsilon(program, names, share=share)
    priced = magnitudes_price(
        version,
        plan,
        searches,
        epsilon=program.pure_epsilon(share * part / len(names)),
        gaussian=not program.is_pure,
    )
    searches = [
        replace(search, is_settled=search.is_settled or is_near(search))
        for search in after_magnitudes(searches, program.run(priced), choice_epsilon=epsilon)
    ]
    for stage in range(1, STAGES):
        if not all(search.is_settled for search in searches):
            measured = program.run(choices_price(version, plan, searches, epsilon=epsilon))
            searches = after_choices(searches, measured, choice_epsilon=epsilon, is_last=stage == STAGES - 1)
    return searches


def choice_epsilon(program: Program, names: Sequence[str], *, share: Fraction) -> Fraction:
    """The epsilon of each choice of an end, where these columns have a share in all: all choices have the same."""
    part = MAGNITUDES if program.is_pure else MAGNITUDES_RHO
    choices = (STAGES - 1) * sum(len(open_ends(program.version, name)) for name in names)
    return program.choice_epsilon(share * (1 - part) / choices)


def open_ends(version: Version, name: str) -> tuple[End, ...]:
    """The ends of a column that are not declared."""
    column = version.schema.column(name)
    assert isinstance(column, NumberColumn | MomentColumn)
    ends: list[tuple[End, int | None]] = [("low", column.low), ("high", column.high)]
    return tuple(end for end, declared in ends if declared is None)


def find_words(program: Program, name: str, *, share: Fraction, columns: int) -> DiscoveredKeys:
    """The values of a column of text that enough people share, as one step; `columns` share the reservation's delta."""
    (part,) = program.run(_words_of_program(program, name, share=share, columns=columns)).parts
    assert isinstance(part, DiscoveredKeys)
    return part


def rows_for_word(program: Program, name: str, *, share: Fraction, columns: int) -> int:
    """About how many rows, or persons, must share a value for `find_words` to find it. Before any data."""
    (step,) = _words_of_program(program, name, share=share, columns=columns).steps
    assert isinstance(step, Discover)
    return least_persons(step)[0]


def _words_of_program(program: Program, name: str, *, share: Fraction, columns: int) -> Price:
    return words_price(
        program.version,
        name,
        epsilon=program.pure_epsilon(share),
        delta=program.event.delta / columns,
        gaussian=not program.is_pure,
    )


def words_price(version: Version, name: str, *, epsilon: Fraction, delta: Fraction, gaussian: bool = False) -> Price:
    """The values of a column of text, priced at epsilon, or, if `gaussian`, at rho = epsilon^2 / 2; and delta.

    Guarantee: the event loses at most (epsilon, delta); or rho, with delta.
    Because: of the two thresholds that cost this rho, Laplace noise on numbers of persons and Gaussian noise on weights
        (docs/proofs/groups.md), the one is taken that shows rarer values, by public facts alone.
    """
    plan = Scan(table=version.table, version=version.number)
    priced = price(
        Inquiry(plan=plan, sets=((),), statistics=(), keys=(TextCode(name),)),
        reach(plan, {version.table: version.schema}),
        needs={},
        epsilon=epsilon,
        delta=delta,
    )
    (step,) = priced.steps
    if not gaussian or not isinstance(step, Discover) or not isinstance(step.mechanism, KeyThreshold):
        return priced
    mechanism = WeightedThreshold.within(
        epsilon=epsilon, delta=delta, keys_per_person=step.mechanism.keys_per_person, gaussian=True
    )
    if mechanism is None:
        return priced
    weighted = replace(step, mechanism=mechanism)
    return replace(priced, steps=(weighted,)) if least_persons(weighted) < least_persons(step) else priced


def sorted_words(discovered: DiscoveredKeys) -> list[str]:
    """The values that were found, in order; NULL is none."""
    return sorted(str(key) for (key,) in discovered.keys if key is not None)


def place_of_word(name: str, words: Sequence[str]) -> WholeNumber:
    """A column of text as the place of its value among some words, one more for all others, or NULL."""
    cases: list[tuple[Predicate, WholeNumber]] = [(Member(name, ValueSet((), null=True)), Null())]
    cases += [(Member(name, ValueSet.of([word])), Whole(place)) for place, word in enumerate(words)]
    return Choose(tuple(cases), Whole(len(words)))
