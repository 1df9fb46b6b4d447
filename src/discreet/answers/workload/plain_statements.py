"""Statements of a batch over the same groups: counts and sums apart from what is computed of several of them.

Where a batch is split, statements over the same groups share what they measure. A workload measures plain counts and
sums by cells, and an average by itself: a count that shares with an average would leave the workload with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from discreet.answers.workload.batch_cells import has_plain_columns
from discreet.answers.workload.query_batch import QueryBatch
from discreet.answers.workload.stored_batch import StoredBatch
from discreet.plan.cell_statistics import PersonCount, RowCount, Sum
from discreet.plan.formula import Formula, StatisticRef, references, replace_references
from discreet.plan.predicate import TRUE
from discreet.plan.relation import LimitGroups
from discreet.sql.parsed_query import OrderTerm, OutputColumn, ParsedQuery


def plain_apart(queries: Sequence[ParsedQuery]) -> list[ParsedQuery] | None:
    """The statements of a batch, where plain ones share with plain ones alone; None where they do so anyway."""
    apart: dict[int, ParsedQuery] = {}
    for group in QueryBatch.of(queries).groups:
        if group[0].inquiry.keys or isinstance(group[0].inquiry.plan, LimitGroups):
            continue
        plain, others = ([each for each in group if _is_plain_statement(each) is kind] for kind in (True, False))
        if plain and others:
            apart |= {id(own): narrow for own, narrow in zip(plain, _narrowed(plain), strict=True)}
            apart |= {id(own): narrow for own, narrow in zip(others, _narrowed(others), strict=True)}
    return [apart.get(id(query), query) for query in queries] if apart else None


def statements_as_stored(queries: Sequence[ParsedQuery], stored: StoredBatch) -> list[ParsedQuery]:
    """The statements of a stored batch, sharing what they shared when it was measured."""
    apart = plain_apart(queries)
    if apart is None:
        return list(queries)
    places = {id(query): number for number, query in enumerate(apart)}
    groups = [tuple(places[id(query)] for query in group) for group in QueryBatch.of(apart).groups]
    is_apart = all(place < len(groups) and groups[place] == group.statements for place, group in stored.groups.items())
    return apart if is_apart else list(queries)


def _is_plain_statement(query: ParsedQuery) -> bool:
    """Whether a statement, by itself, asks for keys, counts and sums alone."""
    if not has_plain_columns(query) or query.having is not None:
        return False
    if any(part.hidden is not None and part.hidden.key is None for part in query.order):
        return False
    statistics = [query.inquiry.statistics[index] for index in _used_statistics(query)]
    named = {output.plain[0] for output in query.outputs if output.plain is not None}
    return named == _used_statistics(query) and all(
        isinstance(each, RowCount) or (isinstance(each, Sum) and each.grain <= 1) for each in statistics
    )


def _formulas(query: ParsedQuery) -> list[Formula]:
    hidden = [part.hidden.formula for part in query.order if part.hidden is not None]
    all_formulas = [
        *(output.formula for output in query.outputs),
        query.having,
        *(part.formula for part in query.order),
        *hidden,
    ]
    return [each for each in all_formulas if each is not None]


def _used_statistics(query: ParsedQuery) -> set[int]:
    return {each.index for formula in _formulas(query) for each in references(formula)}


def _has_quantiles(query: ParsedQuery) -> bool:
    columns = [*query.outputs, *(part.hidden for part in query.order if part.hidden is not None)]
    return any(column.quantile is not None for column in columns)


def _narrowed(group: Sequence[ParsedQuery]) -> list[ParsedQuery]:
    """Statements over the same groups that measure what they use themselves, and share that."""
    inquiry = group[0].inquiry
    used = set().union(*map(_used_statistics, group))
    if any(map(_has_quantiles, group)):  # a quantile of nobody is known by a number of rows
        conditions = (TRUE, *(each.where for each in inquiry.quantiles))
        used |= {
            index
            for index, each in enumerate(inquiry.statistics)
            if isinstance(each, RowCount | PersonCount) and each.where in conditions
        }
        quantiles, typed = inquiry.quantiles, group[0].quantiles
    else:
        quantiles, typed = (), ()
    kept = sorted(used)
    numbers = {index: number for number, index in enumerate(kept)}
    narrow = replace(inquiry, statistics=tuple(inquiry.statistics[index] for index in kept), quantiles=quantiles)
    return [
        replace(
            query,
            inquiry=narrow,
            quantiles=typed,
            outputs=tuple(_output(output, numbers) for output in query.outputs),
            having=None if query.having is None else _formula(query.having, numbers),
            order=tuple(_order(part, numbers) for part in query.order),
        )
        for query in group
    ]


def _formula(formula: Formula, numbers: Mapping[int, int]) -> Formula:
    return replace_references(formula, lambda each: StatisticRef(numbers[each.index], each.over))


def _output(output: OutputColumn, numbers: Mapping[int, int]) -> OutputColumn:
    return output if output.formula is None else replace(output, formula=_formula(output.formula, numbers))


def _order(part: OrderTerm, numbers: Mapping[int, int]) -> OrderTerm:
    return replace(
        part,
        formula=None if part.formula is None else _formula(part.formula, numbers),
        hidden=None if part.hidden is None else _output(part.hidden, numbers),
    )
