"""What a population has lost, against the sum for every single record: random unions of boxes with NULL, copied on the way."""

from itertools import product
from random import Random

import pytest

from discreet.accounting.overlap import Overlap
from discreet.accounting.region import Box, Region, ValueSet
from discreet.exact import UNBOUNDED
from tiers import size

VALUES = [None, -1, 0, 1, 2, 3, 9]  # below, between and above all bounds
RECORDS = [dict(zip("abc", values, strict=True)) for values in product(VALUES, repeat=3)]


def values(random):
    if random.random() < 0.4:
        chosen = random.sample([0, 1, 2, 3], random.randint(0, 3))
        return ValueSet(ValueSet.of(chosen).runs, null=random.random() < 0.4)
    return ValueSet.interval(random.choice([None, 0, 1, 2, 3]), random.choice([None, 0, 1, 2, 3]))


def region(random, most):
    boxes = range(random.randint(1, most))
    return Region.of(Box({name: values(random) for name in random.sample("abc", random.randint(0, 3))}) for _ in boxes)


@pytest.mark.parametrize("seed", range(size(60, 3000)))
def test_nobody_has_lost_more_than_the_bounds_say(seed):
    random = Random(seed)
    history, events = Overlap(), []
    for _ in range(random.randint(1, 7)):
        events.append((region(random, 4), [random.choice([0, 1, 5, 2**62, *range(9)]) for _ in range(3)]))
        history.add(*events[-1])
        history = history.copy() if random.random() < 0.3 else history
        within = region(random, 3) if random.random() < 0.6 else Region.whole()
        bounds = history.upper_bounds(within, [0, 1, 2])
        for arm in range(3):
            losses = [
                min(UNBOUNDED, sum(loss[arm] for part, loss in events if record in part))
                for record in RECORDS
                if record in within
            ]
            most, bound = max(losses, default=0), history.largest(within, arm=arm, nodes=random.choice([1, 64, 1024]))
            assert bound.lower <= most <= bound.upper and most <= bounds[arm]
