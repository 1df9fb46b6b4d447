"""Predicates in one normal form: AND and OR of "this column, or this expression, takes one of these values".

SQL's three-valued logic ends at the reader: a comparison becomes the set of values for which it is
TRUE (NULL is in it only for IS NULL), and NOT is pushed down to the comparisons, each of which
knows the set for which it is FALSE. What is left is two-valued, so equal predicates get equal
forms and every predicate is a union of boxes; of an expression over several columns no box is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from discreet.accounting.region import ANYTHING, MOST_BOXES, Box, Region, ValueSet, hull
from discreet.plan.evaluate import holds, value, values
from discreet.plan.expression_facts import MOST_WEIGHT, check_size
from discreet.plan.expressions import (
    Code,
    Every,
    Expression,
    Member,
    Predicate,
    Some,
    Test,
    TextCode,
    columns,
    predicate_size,
    to_data,
    walk,
)
from discreet.plan.preimage import peel_expression

__all__ = [
    "FALSE",
    "TRUE",
    "Every",
    "Member",
    "Predicate",
    "Some",
    "Test",
    "every",
    "holds",
    "member",
    "negation",
    "region",
    "some",
    "span",
    "to_data",
    "within",
]

TRUE = Every(())
FALSE = Some(())

#: A condition on an expression of one column is tried on every code of a domain no larger than this.
MOST_TRIED = 4096
#: And only where that takes no more steps than this: reading a question must be quick.
MOST_WORK = 100_000

#: The values that columns can take.
Domains = Mapping[str, ValueSet]


def span(of: Expression) -> ValueSet:
    """Every value that an expression can take."""
    return ValueSet(ValueSet.interval(of.low, None if of.high is None else of.high + 1).runs, of.null)


def member(column: str, allowed: ValueSet, domain: ValueSet) -> Predicate:
    """A comparison, cut to the values the column can take; TRUE or FALSE where that settles it."""
    inside = allowed & domain
    if inside.empty:
        return FALSE
    return TRUE if inside == domain else Member(column, inside)


def within(of: Expression, allowed: ValueSet, domains: Domains | None = None) -> Predicate:
    """The condition that an expression takes an allowed value, on a column where it depends on one alone.

    Guarantee: it holds for the same records whichever form it takes.
    Because: rising steps are taken off by their preimages, and what is left of a small domain is tried on
        each of its codes, and on NULL.

    >>> from discreet.plan.expressions import Over, Whole
    >>> within(Over(Code("age", 0, 120, null=True), Whole(10)), ValueSet.of([3]))
    Member(column='age', allowed=ValueSet(runs=((30, 40),), null=False))
    """
    of, allowed = peel_expression(of, allowed & span(of))
    inside = allowed & span(of)
    if inside.empty or inside == span(of):
        return FALSE if inside.empty else TRUE
    if isinstance(of, Code | TextCode):
        return Member(of.column, inside)
    names = columns(of)
    if not names:
        return TRUE if value(of, {}) in inside else FALSE
    if len(names) == 1:
        (name,) = names
        domain = _domain(name, of, domains or {})
        tried = _codes(domain)
        if tried is not None and len(tried) * of.size <= MOST_WORK:
            return member(name, _tried(of, inside, name, tried, null=domain.null), domain)
    check_size(predicate_size(Test(of, inside)), most=MOST_WEIGHT)
    return Test(of, inside)


def _tried(of: Expression, allowed: ValueSet, name: str, codes: range, *, null: bool) -> ValueSet:
    """The codes, and perhaps NULL, at which an expression of one column takes an allowed value."""
    results = values(of, [{name: code} for code in codes])
    matching_codes = ValueSet.of(code for code, each in zip(codes, results, strict=True) if each in allowed)
    return ValueSet(matching_codes.runs, null and value(of, {name: None}) in allowed)


def _domain(name: str, of: Expression, domains: Domains) -> ValueSet:
    if name in domains:
        return domains[name]
    return next((span(part) for part in walk(of) if isinstance(part, Code) and part.column == name), ANYTHING)


def _codes(domain: ValueSet) -> range | None:
    """The codes of a small domain."""
    match domain.runs:
        case ((int() as low, int() as high),) if high - low <= MOST_TRIED:
            return range(low, high)
        case _:
            return None


def every(parts: Iterable[Predicate]) -> Predicate:
    """AND, flattened, one set a column or expression, sorted."""
    sets: dict[str | Expression, ValueSet] = {}
    rest: list[Predicate] = []
    for part in parts:
        for piece in part.parts if isinstance(part, Every) else (part,):
            if isinstance(piece, Member | Test):
                earlier_set = sets.get(_subject(piece))
                sets[_subject(piece)] = piece.allowed if earlier_set is None else earlier_set & piece.allowed
            else:
                rest.append(piece)
    if FALSE in rest or any(allowed.empty for allowed in sets.values()):
        return FALSE
    return _only(Every(_ordered(sets, rest)))


def some(parts: Iterable[Predicate], domains: Domains) -> Predicate:
    """OR, flattened, one set a column or expression, sorted. `domains` tells when a set has become everything."""
    sets_by_subject: dict[str | Expression, list[ValueSet]] = {}
    rest: list[Predicate] = []
    for part in parts:
        for piece in part.parts if isinstance(part, Some) else (part,):
            if isinstance(piece, Member | Test):
                sets_by_subject.setdefault(_subject(piece), []).append(piece.allowed)
            else:
                rest.append(piece)
    sets = {subject: ValueSet.union(alloweds) for subject, alloweds in sets_by_subject.items()}
    if TRUE in rest or any(allowed == _values(subject, domains) for subject, allowed in sets.items()):
        return TRUE
    return _only(Some(_ordered(sets, rest)))


def negation(predicate: Predicate, domains: Domains) -> Predicate:
    """The predicate that holds where this one does not: for IS NOT TRUE, which NULL satisfies, too."""
    match predicate:
        case Member(column=column, allowed=allowed):
            return member(column, allowed.complement(), domains.get(column, ANYTHING))
        case Test(of=of, allowed=allowed):
            return Test(of, allowed.complement() & span(of))
        case Every(parts=parts):
            return some([negation(part, domains) for part in parts], domains)
        case Some(parts=parts):
            return every([negation(part, domains) for part in parts])
        case _:
            assert_never(predicate)


def _subject(piece: Member | Test) -> str | Expression:
    return piece.column if isinstance(piece, Member) else piece.of


def _values(subject: str | Expression, domains: Domains) -> ValueSet:
    return domains.get(subject, ANYTHING) if isinstance(subject, str) else span(subject)


def _ordered(sets: Mapping[str | Expression, ValueSet], rest: list[Predicate]) -> tuple[Predicate, ...]:
    """Members by column, then the rest by their written form, doubles dropped."""
    members = [Member(subject, allowed) for subject, allowed in sets.items() if isinstance(subject, str)]
    tests = [Test(subject, allowed) for subject, allowed in sets.items() if not isinstance(subject, str)]
    members.sort(key=lambda piece: piece.column)
    return (*members, *sorted(dict.fromkeys([*tests, *rest]), key=lambda piece: repr(to_data(piece))))


def _only(predicate: Every | Some) -> Predicate:
    check_size(predicate_size(predicate), most=MOST_WEIGHT)
    return predicate.parts[0] if len(predicate.parts) == 1 else predicate


def region(predicate: Predicate) -> Region:
    """The records a predicate can touch. Exact up to MOST_BOXES boxes, wider beyond, never narrower."""
    return Region.of(_boxes(predicate))


def _boxes(predicate: Predicate) -> list[Box]:
    match predicate:
        case Member(column=column, allowed=allowed):
            return [Box({column: allowed})]
        case Test():
            return [Box()]
        case Some(parts=parts):
            return _few([box for part in parts for box in _boxes(part)])
        case Every(parts=parts):
            boxes = [Box()]
            for part in parts:
                met = [left & right for left in boxes for right in _boxes(part)]
                boxes = _few([box for box in met if not box.empty])
            return boxes
        case _:
            assert_never(predicate)


def _few(boxes: list[Box]) -> list[Box]:
    return [hull(boxes)] if len(boxes) > MOST_BOXES else boxes
