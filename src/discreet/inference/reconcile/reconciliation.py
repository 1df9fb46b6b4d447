"""Known: what a set of measured numbers tells, about each of them and about any other question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.accounting.region import Region
from discreet.inference.reconcile.column_axes import Floats, Integers
from discreet.inference.reconcile.geometry import Geometry, region_geometry
from discreet.inference.reconcile.least_squares import LeastSquaresFit, fit_regions
from discreet.inference.reconcile.measured_number import (
    ROWS,
    ColumnDomains,
    MeasuredNumber,
    NumberEstimate,
    NumberIdentity,
    ReconciledNumbers,
)
from discreet.inference.reconcile.region_factor import RegionRelation
from discreet.inference.reconcile.region_pieces import disjoint_pieces, is_reconcilable


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFamily:
    """The numbers of one family. `given`: their places among all; `precision`: of each, one over its variance;
    `noisy`, `variances`: of the different regions, repeats averaged."""

    name: str
    given: Integers
    raw: Floats
    precision: Floats
    geometry: Geometry
    noisy: Floats
    variances: Floats
    fit: LeastSquaresFit


#: The number of a region that nobody can be in.
NOBODY = NumberEstimate(weights={}, value=0.0, variance=0.0)


class Reconciliation:
    """Measured numbers, made to agree. The same numbers in the same order always give the same.

    >>> from discreet.accounting.region import Box, ValueSet
    >>> sex = ColumnDomains(columns={"sex": ValueSet.interval(0, 2)})
    >>> male, female = (Region.of([Box({"sex": ValueSet.of([code])})]) for code in (0, 1))
    >>> numbers = [(Region.whole(), 2005), (male, 1001), (female, 995)]
    >>> measured = [MeasuredNumber(region=region, value=value, variance=3.0) for region, value in numbers]
    >>> [round(value, 6) for value in Reconciliation(measured, sex).reconciled.values]
    [2002.0, 1004.0, 998.0]
    """

    __slots__ = ("domain", "families", "measured", "reconciled")

    def __init__(self, measured: Sequence[MeasuredNumber], domain: ColumnDomains) -> None:
        self.measured = tuple(measured)
        self.domain = domain
        names = dict.fromkeys(number.family for number in self.measured)
        self.families = {name: self._family(name) for name in names}
        self.reconciled = self._reconciled()

    def _family(self, name: str) -> NumberFamily:
        given = [place for place, number in enumerate(self.measured) if number.family == name]
        shape = region_geometry([self.measured[place].region for place in given], self.domain)
        raw = np.array([float(self.measured[place].value) for place in given])
        precision = np.array([1.0 / self.measured[place].variance for place in given])
        noisy, variances = _average_repeats(raw, precision, shape.number, len(shape.pieces))
        return NumberFamily(
            name=name,
            given=np.array(given, dtype=np.int64),
            raw=raw,
            precision=precision,
            geometry=shape,
            noisy=noisy,
            variances=variances,
            fit=fit_regions(shape.relations, noisy, variances),
        )

    def _reconciled(self) -> ReconciledNumbers:
        values, variances = np.zeros(len(self.measured)), np.zeros(len(self.measured))
        identities: list[NumberIdentity] = []
        for family in self.families.values():
            there = family.geometry.number >= 0
            numbers = family.geometry.number[there]
            values[family.given[there]] = family.fit.values[numbers]
            variances[family.given[there]] = family.fit.variances[numbers]
            identities += identities_of(
                family.given.tolist(), family.geometry.number.tolist(), family.geometry.relations
            )
        return ReconciledNumbers(
            values=tuple(values.tolist()),
            standard_errors=tuple(np.sqrt(variances).tolist()),
            identities=tuple(identities),
            chi_square=self.distance(values),
            degrees=len(identities),
        )

    def distance(self, values: Floats) -> float:
        """The weighted squared distance of some numbers to the measured ones."""
        return sum(
            float(((family.raw - values[family.given]) ** 2 * family.precision).sum())
            for family in self.families.values()
        )

    def estimate_of(self, region: Region, family: str = ROWS) -> NumberEstimate | None:
        """The best linear unbiased estimate of one more number; None if the measured ones do not determine it.

        A region that nobody can be in has the number 0, exactly; one of too many parts counts as not determined.
        """
        if not is_reconcilable(region, self.domain):
            return None
        if family not in self.families:
            return None if disjoint_pieces(region, self.domain) else NOBODY
        own = self.families[family]
        relation = own.geometry.combination(region)
        return None if relation is None else _estimate(own, relation)

    def estimate(self, index: int) -> NumberEstimate:
        """One of the measured numbers as a combination of all of them: its reconciled value."""
        own = self.families[self.measured[index].family]
        number = int(own.geometry.number[int(np.searchsorted(own.given, index))])
        if number < 0:
            return NOBODY
        alone = RegionRelation(dependent=number, denominator=1, numerators=((number, 1),))
        return _estimate(
            own,
            {proved_relation.dependent: proved_relation for proved_relation in own.geometry.relations}.get(
                number, alone
            ),
        )


def reconcile(measured: Sequence[MeasuredNumber], domain: ColumnDomains) -> ReconciledNumbers:
    """The weighted least-squares answers that agree, with their standard errors."""
    return Reconciliation(measured, domain).reconciled


def _average_repeats(raw: Floats, precision: Floats, number: Integers, size: int) -> tuple[Floats, Floats]:
    """The weighted mean of each region's own numbers, and its variance."""
    there = number >= 0
    number, raw, precision = number[there], raw[there], precision[there]
    start, together, above = np.zeros(size), np.zeros(size), np.zeros(size)
    start[number[::-1]] = raw[::-1]  # the first of each: one that stands alone keeps all its digits
    np.add.at(together, number, precision)
    np.add.at(above, number, precision * (raw - start[number]))
    return start + above / together, 1.0 / together


def _estimate(family: NumberFamily, relation: RegionRelation) -> NumberEstimate:
    terms = {place: float(amount) for place, amount in relation.coefficients()}
    value, variance, on_regions = family.fit.combined(terms)
    weights = {}
    for given, number, precision in zip(
        family.given.tolist(), family.geometry.number.tolist(), family.precision.tolist(), strict=True
    ):
        if number in on_regions and on_regions[number] != 0.0:
            weights[given] = on_regions[number] * precision * float(family.variances[number])
    return NumberEstimate(weights=weights, value=value, variance=variance)


def identities_of(
    given: Iterable[int], number: Sequence[int], relations: Sequence[RegionRelation]
) -> list[NumberIdentity]:
    """One for each number more than the rank: nobody's is 0, repeats are equal, relations hold.

    `given`: the places of numbers; `number`: which of the different regions each is about, -1 where nobody can be.
    """
    firsts: dict[int, int] = {}
    identities = []
    for place, region in zip(given, number, strict=True):
        if region < 0:
            identities.append(NumberIdentity(terms=((place, Fraction(1)),)))
        elif region in firsts:
            identities.append(NumberIdentity(terms=((firsts[region], Fraction(1)), (place, Fraction(-1)))))
        else:
            firsts[region] = place
    for relation in relations:
        terms = [(firsts[place], -amount) for place, amount in relation.coefficients()]
        identities.append(NumberIdentity(terms=((firsts[relation.dependent], Fraction(1)), *terms)))
    return identities
