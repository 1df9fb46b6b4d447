"""rows_per_person: how many rows a person may keep.

A limit k leaves out B(k) rows, those that persons have beyond k of them, and lets one person move a count by k. Asked
for G cells at epsilon e, each cell gets noise of mean size k / e; so by the triangle inequality all cells
together are wrong by at most

    B(k) + G k / e.

One row more a person adds G / e of noise, and takes off as many left-out rows as there are persons with more than k:
the sum is least where just G / e persons have more. So only a rank is needed, which one person moves by one, and
no sum of rows, which one person moves by all theirs.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from discreet import exact
from discreet.answers.bounds.tail_bin import TailBin
from discreet.kernel.curator import Version
from discreet.kernel.measurement import ChosenBins, Measurement
from discreet.mechanisms.rank_choice import RankChoice
from discreet.plan.cell_statistics import RowCount
from discreet.plan.cells import Axis, Cells
from discreet.plan.expressions import Code
from discreet.plan.inquiry import Inquiry
from discreet.plan.price import ChooseBin, Price
from discreet.plan.query_sensitivity import ROWS, reach
from discreet.plan.relation import Scan

#: How many rows a person has: at least one, or they would not be on the roster.
ROWS_CODE = Code(ROWS, 1, None, null=False)

#: No whole number of an engine lies beyond.
FAR = 2**63

#: Twenty round numbers a decade, about 12% apart: closer ones would not show in any answer.
_ROUND = (11, 12, 14, 16, 18, 20, 22, 25, 28, 32, 36, 40, 45, 50, 56, 63, 71, 80, 90, 100)

#: The limits to choose from, up to a thousand million.
LIMITS: tuple[int, ...] = (*range(1, 11), *(number * 10**power for power in range(8) for number in _ROUND))

#: A limit too large by a factor of x is chosen with odds x^-p, where p lies between these: less would be too often
#: too large, and more would ask for many persons to outweigh it.
LEAST_POWER, MOST_POWER = 4, 12


def limit_choice(*, epsilon: Fraction, cells: int, for_epsilon: Fraction) -> RankChoice:
    """The choice of a limit, for questions of so many cells at `for_epsilon`.

    With m = G / e persons beyond a limit that is just right, a limit k is disliked by p ln k nats. A limit below the
    right one leaves more than m persons beyond, of which each weighs epsilon: where numbers of rows have a
    power law of exponent 1 or more, m epsilon >= p keeps the two in balance, and the choice at the right one. So p
    grows with m epsilon, within reason, and where m epsilon is small, m is raised.
    """
    beyond = cells / for_epsilon
    power = min(Fraction(MOST_POWER), max(Fraction(LEAST_POWER), epsilon * beyond / 2))
    return RankChoice(
        dislikes=tuple(power * exact.ln(Fraction(limit), up=False) if limit > 1 else Fraction(0) for limit in LIMITS),
        spare=ceil(max(beyond, power / epsilon)),
        epsilon=epsilon,
    )


def limit_price(version: Version, *, epsilon: Fraction, cells: int, for_epsilon: Fraction) -> Price:
    """A limit for a table of persons, priced. A person is one row of the roster, so `rows` is 1."""
    plan = Scan(table=version.table, version=version.number, roster=True)
    mechanism = limit_choice(epsilon=epsilon, cells=cells, for_epsilon=for_epsilon)
    axis = Axis(of=ROWS_CODE, edges=(-FAR, *(limit + 1 for limit in LIMITS[:-1]), FAR), null=False, labels=())
    return Price(
        inquiry=Inquiry(plan=plan, sets=((),), statistics=(), quantiles=(TailBin.by(mechanism, axis=axis),)),
        reach=reach(plan, {version.table: version.schema}),
        epsilon=epsilon,
        steps=(
            ChooseBin(
                place=0,
                quantile=0,
                cells=Cells(plan=plan, axes=(axis,), statistics=(RowCount(),)),
                mechanism=mechanism,
                share=Fraction(1),
            ),
        ),
    )


def chosen_limit(measured: Measurement) -> int:
    """The limit that was chosen."""
    (part,) = measured.parts
    assert isinstance(part, ChosenBins)
    return LIMITS[part.noisy_bins[0][1]]
