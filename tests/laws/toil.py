"""An engine of plain Python that counts what it does: a tally of operators evaluated, and of characters looked at.

It computes as `memory` does, but joins a public table by looking up a key.
"""

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace

import pytest

from discreet.engines import memory_counter
from discreet.engines.memory_counter import MemoryCounter
from discreet.plan import evaluate, work_bound
from discreet.plan.expressions import Every, Some
from discreet.plan.price import Discover, price


class Toil(MemoryCounter):
    """Counting with joins by key."""

    def _public(self, plan, *, only_region):
        rows = self.rows(plan.source, only_region=only_region)
        public = self.tables.publics[plan.place].to_pylist()
        known = {}
        for row in public:
            known.setdefault(tuple(row[right] for _, right in plan.on), []).append(row)
        empty = dict.fromkeys(self.tables.publics[plan.place].column_names)
        joined = []
        for row in rows:
            key = tuple(memory_counter.value(left, row) for left, _ in plan.on)
            met = [] if None in key else known.get(key, [])
            joined += [row | other for other in met] or ([row | empty] if plan.outer else [])
        tally["operators"] += len(joined)
        return joined


#: What has been done since `counted` began.
tally: Counter = Counter()


@contextmanager
def counted():
    """Everything that is evaluated inside is counted."""
    tally.clear()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("numbers", "words", "holds_for_each"):
            patch.setattr(evaluate, name, _counting(getattr(evaluate, name), name))
        yield tally


def _counting(function, name):
    def counting(node, records):
        found = function(node, records)
        tally["operators"] += 0 if isinstance(node, Every | Some) else len(records)
        if name == "words":
            tally["characters"] += sum(len(text) for text in found if text is not None)
        return found

    return counting


def toil(asked, declared, *, epsilon, delta) -> Counter:
    """What the steps of a question come to on declared tables of the memory engine."""
    paid = price(asked.inquiry, asked.reach, needs=asked.needs, epsilon=epsilon, delta=delta)
    with counted() as found:
        for step in paid.steps:
            counting = Toil(tables=declared.tables(asked), region=paid.region)
            if isinstance(step, Discover):
                counting.keys(step.plan, step.keys, persons=step.persons)
            else:
                counting.cells(replace(step.cells, discovered_axis=None))
        return Counter(found)


@contextmanager
def units(**nanoseconds: int):
    """The bound in other units: only what is named counts, as much as it says."""
    names = ("ROW_NS", "ALONE_NS", "FIRST_NS", "CHARACTER_NS", "LETTER_NS", "GROUPS_NS", "DISTINCT_NS", "PUBLIC_NS")
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setattr(work_bound, name, nanoseconds.get(name, 0))
        patch.setattr(work_bound, "MOST_WORK_NS", 10**40)
        yield


OPERATORS = {"ROW_NS": 1}
CHARACTERS = {"CHARACTER_NS": 1, "LETTER_NS": 1}
