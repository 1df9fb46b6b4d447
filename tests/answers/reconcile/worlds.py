"""Small worlds for reconcile: a declared table of few possible records, questions about it, and their exact answers.

Everything is evaluated by `plan.evaluate`, record by record: slow, obvious, and by another road than boxes.
"""

import itertools
import random
from fractions import Fraction

from discreet.accounting.events import LaplaceEvent
from discreet.errors import Refused
from discreet.inference.reconcile import ColumnDomains
from discreet.kernel.measurement import Measurement, NoisyCells
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan.cell_statistics import RowCount
from discreet.plan.evaluate import holds, value
from discreet.plan.relation import Filter
from discreet.schema.project_file import read_table
from discreet.sql.catalog import CatalogTable
from discreet.sql.query_parser import parse_query

COLUMNS = {
    "a": {"type": "integer", "low": 0, "high": 3},
    "b": {"type": "category", "values": ["x", "y", "z"]},
    "sex": {"type": "category", "values": ["F", "M"], "closed": True},
    "ok": {"type": "boolean"},
    "t": {"type": "text"},
}
SCHEMA = read_table("t1", {"source": "t.csv", "columns": COLUMNS}).schema
CATALOG = {"t1": CatalogTable(schema=SCHEMA, version=1, population="t1")}
DOMAIN = ColumnDomains.of(SCHEMA.columns)
POSSIBLE = {
    "a": [0, 1, 2, 3, None],
    "b": [0, 1, 2, None],
    "sex": [0, 1],
    "ok": [0, 1, None],
    "t": ["", "k", "kk", None],
}
RECORDS = [dict(zip(POSSIBLE, each, strict=True)) for each in itertools.product(*POSSIBLE.values())]

CONDITIONS = [
    "a = 1", "a <> 1", "a > 1", "a between 1 and 2", "a not between 1 and 2", "a in (0, 2)", "a not in (0, 2)",
    "a is null", "a is not null", "a / 2 = 1", "a % 2 = 0", "a * 2 + 1 > 4", "a - 1 < 1", "coalesce(a, 2) = 2",
    "b = 'x'", "b <> 'x'", "b in ('x', 'y')", "b not in ('x', 'y')", "b is null", "b is not null", "b > 'x'",
    "sex = 'M'", "sex <> 'M'", "sex in ('F', 'M')", "ok", "not ok", "ok is not true", "ok is null",
    "a = 1 or b = 'x'", "a = 1 and b = 'x'", "not (a = 1 and b = 'x')", "not (a = 1 or b is null)",
    "(a = 1 or b = 'x') and (sex = 'F' or ok)", "(a = 1) is not true", "a = 1 or ok is null or t is null",
    "t = 'k'", "t <> 'k'", "t > 'k'", "t is null", "t in ('', 'kk')", "t is distinct from 'k'",
    "a in (1, null)", "true",
]  # fmt: skip
#: Conditions that are no boxes, or that nobody has shown to be.
NOT_BOXES = [
    "case when a > 1 then b = 'x' else ok end",
    "a = case when ok then 1 else 2 end",
    "length(t) = 1",
    "t like 'k%'",
    "a + case when ok then 1 else 0 end > 2",
]
GROUPS = [
    "", "a", "b", "sex", "ok", "a / 2", "a % 2", "coalesce(a, 1)", "b, sex", "a, ok", "case when a > 1 then 1 else 0 end",
]  # fmt: skip


def asked(where="true", by="", what="count(*)"):
    """A question, as it is read."""
    keys = "".join(f", {key}" for key in by.split(", ") if key)
    text = f"select {what}{keys} from t1 where {where}" + (f" group by {by}" if by else "")
    return parse_query(text, CATALOG)


def predicate(where):
    """The condition of a question as a predicate."""
    plan = asked(where).inquiry.plan
    return plan.where if isinstance(plan, Filter) else None


def exact_cells(inquiry, place, index, records):
    """The exact numbers of one grouping set and statistic, row-major."""
    axes, statistic = inquiry.sets[place], inquiry.statistics[index]
    found = [0] * _size(axes)
    for record in records:
        if _kept(inquiry.plan, record) and holds(statistic.where, record):
            cell = _cell(axes, record)
            if cell is not None:
                found[cell] += _term(statistic, record)
    return found


def _kept(plan, record):
    return not isinstance(plan, Filter) or (holds(plan.where, record) and _kept(plan.source, record))


def _size(axes):
    size = 1
    for axis in axes:
        size *= axis.size
    return size


def _cell(axes, record):
    number = 0
    for axis in axes:
        code = value(axis.of, record)
        if code is None:
            place = axis.size - 1 if axis.null else None
        else:
            place = next(
                (i for i, (low, high) in enumerate(itertools.pairwise(axis.edges)) if low <= code < high), None
            )
        if place is None:
            return None
        number = number * axis.size + place
    return number


def _term(statistic, record):
    if isinstance(statistic, RowCount):
        return 1
    found = value(statistic.of, record)
    return 0 if found is None else found - statistic.centre


def measurement(question, records, *, name, scale=Fraction(1), noise=lambda: 0):
    """What measuring a question would store, with this noise."""
    inquiry, parts = question.inquiry, []
    for place in range(len(inquiry.sets)):
        values = [exact_cells(inquiry, place, index, records) for index in range(len(inquiry.statistics))]
        parts.append(
            NoisyCells(
                place=inquiry.order.sets[place],
                statistics=inquiry.order.statistics,
                noisy_values=tuple(tuple(number + noise() for number in each) for each in values),
                laws=(DiscreteLaplace(scale=scale),) * len(values),
            )
        )
    return Measurement(id=name, text=question.text, parts=tuple(parts), event=LaplaceEvent(scale=scale, l1=1))


class World:
    """A random table and random questions, from one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.records = self.random.choices(RECORDS, k=60)

    def question(self):
        while True:
            parts = self.random.sample(CONDITIONS, self.random.choice([0, 0, 1, 1, 2]))
            what = self.random.choice(["count(*)", "count(*)", "sum(a)", "count(a)", "count(*) filter (where ok)"])
            where = " and ".join(f"({part})" for part in parts) or "true"
            try:
                return asked(where, self.random.choice(GROUPS), what)
            except Refused:  # a condition that nobody can satisfy
                continue
