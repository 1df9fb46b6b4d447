"""Blocks so small that every world can be tried, and random tables about them: the check on the solver.

Statistics are evaluated here with the standard library, by none of the compiler's rules.
"""

import statistics
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

from discreet.lab.attacks.census import (
    BlockColumn,
    BlockFact,
    CensusBlock,
    GroupCondition,
    PublishedRange,
    PublishedStatistic,
)

AGE = BlockColumn(name="age", low=-1, high=3)
SEX = BlockColumn(name="sex", values=("f", "m"))
KIND = BlockColumn(name="kind", values=("x", "y", "z"))


def every_world(block):
    records = list(product(*(range(column.low, column.high + 1) for column in block.columns)))
    low, high = block.people
    for people in range(low, high + 1):
        yield from combinations_with_replacement(records, people)


def fitting(block):
    return {world for world in every_world(block) if fits(block, world)}


def fits(block, world):
    names = [column.name for column in block.columns]
    people = [dict(zip(names, record, strict=True)) for record in world]
    for fact in block.facts:
        if any(inside(one, fact.when) and not inside(one, fact.then) for one in people):
            return False
    return all(true(one, [person for person in people if inside(person, one.group)]) for one in block.statistics)


def inside(person, group):
    return all(any(low <= person[condition.column] <= high for low, high in condition.intervals) for condition in group)


def true(one, members):
    values = [Fraction(person[one.of]) for person in members] if one.of else []
    found = {
        "count": lambda: len(members),
        "sum": lambda: sum(values),
        "mean": lambda: statistics.mean(values) if values else None,
        "median": lambda: statistics.median(values) if values else None,
    }
    for measure, value in found.items():
        span = getattr(one, measure)
        if span is not None and (value() is None or not between(span, value())):
            return False
    return True


def between(span, value):
    low = span.low is None or (value > span.low if span.excludes_low else value >= span.low)
    high = span.high is None or (value < span.high if span.excludes_high else value <= span.high)
    return low and high


def common(worlds):
    """What all worlds share: records as often as all have them, and values person by person in ascending order."""
    ordered = sorted(worlds)
    records = Counter(ordered[0])
    for world in ordered[1:]:
        records &= Counter(world)
    shortest = min(map(len, ordered))
    cells = {}
    for person in range(shortest):
        for place in range(len(ordered[0][person]) if ordered[0] else 0):
            values = {world[person][place] for world in ordered}
            if len(values) == 1:
                cells[person, place] = values.pop()
    return tuple(sorted(records.elements())), cells


def random_block(draw):
    """A block, and numbers about it that are mostly true of one of its worlds."""
    columns = draw.choice([(AGE, SEX), (SEX, AGE), (AGE,), (AGE, KIND)])
    low = draw.randint(0, 3)
    block = CensusBlock(columns=columns, people=(low, draw.randint(max(low, 1), 3)), statistics=())
    if draw.random() < 0.4:
        fact = BlockFact(name="fact", when=(condition(draw, columns),), then=(condition(draw, columns),))
        block = replace(block, facts=(fact,))
    truth = draw.choice(sorted(fitting(block) or {()}))
    rows = [statistic(draw, block, truth, f"s{place}") for place in range(draw.randint(1, 4))]
    return replace(block, statistics=tuple(rows))


def condition(draw, columns):
    column = draw.choice(columns)
    low = draw.randint(column.low, column.high)
    first = (low, draw.randint(low, column.high))
    more = ((column.high, column.high),) if draw.random() < 0.2 else ()
    return GroupCondition(column=column.name, intervals=(first, *more))


def statistic(draw, block, truth, name):
    group = tuple(condition(draw, block.columns) for _ in range(draw.choice([0, 1, 1, 2])))
    ages = [record[block.place("age")] for record in truth if block.is_in_group(record, group)]
    wrong = draw.choice([0, 0, 0, 0, 0, 1, -1])
    said = {"count": span(draw, len(ages) + wrong), "sum": span(draw, sum(ages) + wrong)}
    if ages:
        said["mean"] = span(draw, Fraction(sum(ages), len(ages)) + wrong)
        said["median"] = span(draw, Fraction(statistics.median(ages)).limit_denominator(2) + wrong)
    kept = draw.sample(sorted(said), draw.randint(1, len(said)))
    return PublishedStatistic(name=name, group=group, of="age", **{measure: said[measure] for measure in kept})


def span(draw, value):
    value, unit = Fraction(value), draw.choice([Fraction(0), Fraction(0), Fraction(1, 2), Fraction(1)])
    way = draw.choice(["nearest", "half-up", "half-even", "down"])
    if draw.random() < 0.15:
        return PublishedRange(low=value - unit) if draw.random() < 0.5 else PublishedRange(high=value + unit)
    return PublishedRange.rounded(value, unit, way=way)
