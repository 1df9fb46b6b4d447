"""A precision for one column of a query: which columns can have one, and the epsilon that brings it there.

The others are then as precise as that epsilon makes them. What is asked is a query for an epsilon, like any other.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

from discreet.answers.query_quote import noisy_outputs, quote
from discreet.console.jobs.query_request import QueryRequest
from discreet.errors import DiscreetError
from discreet.plan.price import WITHIN_GRID
from discreet.project.project import Project
from discreet.project.question import wish_of


def precision_columns(project: Project, text: str) -> list[str]:
    """The columns that a plus or minus can be for: counts and sums, where a query has more numbers than one.

    None of a batch, of a query that cannot be read, and where keys are discovered.
    """
    try:
        query = project.sql(text).query
    except DiscreetError:
        return []
    outputs = noisy_outputs(query)
    if len(outputs) < 2 or query.inquiry.keys:
        return []
    return list(dict.fromkeys(each.name for each in outputs if each.plain is not None))


def at_column_precision(query_request: QueryRequest, column: str, project: Project) -> QueryRequest:
    """The same for the least epsilon that keeps one column within the wished width; as it is where none is chosen."""
    if not column or query_request.within is None or query_request.kind != "query":
        return query_request
    query = project.sql(query_request.text).query
    wish = wish_of(None, query_request.within, query_request.confidence, query_request.delta)
    quoted = quote(
        query,
        replace(wish, column=column),
        version=project.peek_version(query.table),
        guarantee=project.guarantee(query.table),
        ledger=project.ledger,
    )
    steps = quoted.price.epsilon * WITHIN_GRID  # a whole number of them, as every epsilon that follows from a width
    return replace(query_request, epsilon=f"{Decimal(math.ceil(steps)) / WITHIN_GRID:f}", within=None)
