"""A charged comparison: how far the model's pairs of columns are from the real table, in total variation.

The distance of a pair is the sum over its cells of |exact count - the model's count|, half of it over the number of
rows the share of rows that would have to move. Three steps of one pure reservation: the sum of the distances over all
pairs (those that were measured together, and those that were not), a choice of the worst pair, and its distance.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.accounting import events
from discreet.accounting.events import Event, Reserved
from discreet.accounting.region import Region
from discreet.accounting.sensitivity import Sensitivity
from discreet.answers.sql import Asker
from discreet.curator import Curator, Version
from discreet.errors import UsageError
from discreet.inference.axes import Axes, cells_of
from discreet.mechanisms.combined import Combined
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.program import Candidate, Cut, Program
from discreet.synth.inspect.evidence import names_of
from discreet.synth.model import Model

#: How the epsilon is split: the choice of the worst pair needs most, for its noise counts against one pair's distance.
SHARES = {"mean": Fraction(1, 4), "choice": Fraction(1, 2), "worst": Fraction(1, 4)}

#: The model's counts are rounded to this part of a row: public whole numbers, so that distances are whole too.
PARTS = 1024

#: Pairs of more cells are left out.
MOST_CELLS = 2**20

CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """A noisy distance in total variation, and between what the exact one lies with 95% confidence."""

    noisy_value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a comparison with the real table told, and what it cost.

    `measured`, `others`: the mean over pairs that were measured together, and over those that were not; None where
    there are none of them.
    """

    release: str
    epsilon: Fraction
    pairs: int
    mean: Distance
    measured: Distance | None
    others: Distance | None
    worst: tuple[str, ...]
    worst_distance: Distance


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is compared, all of it public: sets of columns, the places of those measured together and of the others."""

    model: Model
    sets: tuple[Axes, ...]
    groups: tuple[tuple[int, ...], ...]

    def estimate(self, place: int) -> NDArray[np.int64]:
        """The model's counts of a set in parts of a row: whole numbers."""
        counts = self.model.calibrated.project(self.sets[place])
        return np.rint(counts * PARTS).astype(np.int64).ravel()

    def digest(self) -> str:
        """What makes two comparisons the same one."""
        found = hashlib.sha256(json.dumps([PARTS, self.sets, self.groups]).encode())
        for place in range(len(self.sets)):
            found.update(self.estimate(place).astype("<i8").tobytes())
        return found.hexdigest()


def compare(
    model: Model, *, epsilon: Fraction, version: Version, curator: Curator, asker: Asker, fresh: bool = False
) -> Comparison:
    """Compare a model with the version of the table that it was fitted to. The same comparison again is free.

    Guarantee: epsilon-DP for neighbours under the version's unit.
    Because: three steps of pure epsilon that add up to it, all that they release drawn by exact mechanisms; the
        model is public.
    """
    exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON)
    if (version.table, version.number) != (model.card.table, model.card.version):
        raise UsageError(
            f"the model was fitted to version {model.card.version} of {model.card.table!r}",
            hint="compare it with that version, or fit anew",
        )
    plan = plan_of(model)
    program = Program(curator, version, _reserve(plan, epsilon, version, curator, asker, fresh=fresh))
    cut = _cut(program, model)
    means = _means(cut, plan, model.total)
    worst = _worst(cut, plan)
    law = _law(program, SHARES["worst"], pairs=1)
    (noisy,) = distances(cut, plan, ((worst,),), law)
    program.finish(json.dumps({"kind": "comparison", "steps": program.steps}))
    return Comparison(
        release=program.id,
        epsilon=epsilon,
        pairs=len(plan.sets),
        mean=means[0],
        measured=means[1],
        others=means[2],
        worst=names_of(model, plan.sets[worst]),
        worst_distance=_distance(noisy, float(law.half_width(CONFIDENCE)), 1, model.total),
    )


def plan_of(model: Model) -> Plan:
    """All pairs of columns that are not too large; the one column where there is but one."""
    sizes = model.fitted.sizes
    wanted: list[Axes] = [*combinations(range(len(sizes)), 2)] or [(0,)]
    sets = tuple(own for own in wanted if cells_of(sizes, own) <= MOST_CELLS)
    if not sets:
        raise UsageError("every pair of columns has too many cells to be compared")
    known = [set(each.attributes) for each in model.measured]
    measured = tuple(place for place, own in enumerate(sets) if any(set(own) <= other for other in known))
    others = tuple(place for place in range(len(sets)) if place not in measured)
    return Plan(model=model, sets=sets, groups=(measured, others))


def _reserve(plan: Plan, epsilon: Fraction, version: Version, curator: Curator, asker: Asker, *, fresh: bool) -> str:
    """The id of a pure reservation: that of the same comparison, or a new charge."""
    told = json.dumps({"compare": plan.digest(), "epsilon": exact.write(epsilon)}, sort_keys=True)
    question = hashlib.sha256(told.encode()).hexdigest()
    known = None if fresh else curator.ledger.reserved(version.table, version.number, question)
    if known is not None:
        return known.id
    return curator.ledger.charge(
        population=version.population,
        table=version.table,
        version=version.number,
        region=Region.whole(),
        event=Reserved(epsilon=epsilon, rho=epsilon**2 / 2, delta=Fraction(0)),
        question=question,
        price=epsilon,
        analyst=asker.name,
        quota=asker.quota,
    ).id


def _cut(program: Program, model: Model) -> Cut:
    return program.cut(tuple(each.axis() for each in model.attributes)).merged(
        tuple(each.groups for each in model.attributes)
    )


def moves_of(rows: int, groups: tuple[tuple[int, ...], ...]) -> Sensitivity:
    """How far sums of distances move, one sum for each group of sets, when a unit of `rows` rows comes or goes.

    Guarantee: |q(D) - q(D')|_1 <= result.l1 for neighbours under a unit of at most `rows` rows.
    Because: such a unit moves the counts of a set by at most `rows` in total, and so, by the triangle inequality, their
        distance from fixed numbers; counts are taken PARTS times. Attained by equal rows in a cell that the model
        overrates nowhere.
    >>> moves_of(3, ((0, 1), (2,))).l1 // PARTS
    9
    """
    sums = [PARTS * rows * len(group) for group in groups if group]
    return Sensitivity(
        l0=len(sums),
        l1=sum(sums),
        l2_squared=sum(each**2 for each in sums),
        linf=max(sums),
        because=(f"a row moves the distance of each of {sum(map(len, groups))} sets of columns by at most 1",),
    )


def distances(cut: Cut, plan: Plan, groups: tuple[tuple[int, ...], ...], law: DiscreteLaplace) -> list[int]:
    """For each group of sets the noisy sum of their distances from the model, in parts of a row, as one step.

    Guarantee: (moves_of(rows, groups).l1 / law.scale)-DP.
    """
    moves = moves_of(cut.program.moves.l1, groups)

    def draw(curator: Curator) -> tuple[Any, Event]:
        exact_sums = np.array([sum(exact_distance(cut, plan, place) for place in group) for group in groups])
        noisy, event = curator.add(law, exact_sums.astype(np.int64), moves)
        return noisy.tolist(), event

    event = events.Laplace(scale=law.scale, l1=moves.l1)
    found: list[int] = cut.program.step({"distances": plan.sets, "groups": groups}, event, draw)
    return found


def exact_distance(cut: Cut, plan: Plan, place: int) -> int:
    """The exact distance of one set. For draws of a step that is paid alone."""
    counts = cut._count(plan.sets[place])
    return int(np.abs(PARTS * counts - plan.estimate(place)).sum())


def _law(program: Program, share: Fraction, *, pairs: int) -> DiscreteLaplace:
    """The noise on sums over so many sets in all that costs this share of the reservation."""
    return DiscreteLaplace(scale=PARTS * pairs * program.moves.l1 / program.pure(share))


def _means(cut: Cut, plan: Plan, total: float) -> tuple[Distance, Distance | None, Distance | None]:
    """The mean distance of all sets, of those measured and of the others, from one noisy sum for each group.

    An empty group has no sum: it would be noise alone.
    """
    law = _law(cut.program, SHARES["mean"], pairs=len(plan.sets))
    held = tuple(group for group in plan.groups if group)
    noisy = dict(zip(held, distances(cut, plan, held, law), strict=True))
    one, both = float(law.half_width(CONFIDENCE)), Combined(parts=((Fraction(1), law),) * len(held))
    mean = _distance(sum(noisy.values()), float(both.half_width(CONFIDENCE)), len(plan.sets), total)
    parts = [_distance(noisy[group], one, len(group), total) if group else None for group in plan.groups]
    return mean, parts[0], parts[1]


def _worst(cut: Cut, plan: Plan) -> int:
    """The place of the set that is furthest off, by the exponential mechanism."""

    def candidates() -> Iterator[tuple[Axes, Candidate]]:
        for place, own in enumerate(plan.sets):
            estimate = np.rint(plan.estimate(place) / PARTS).astype(np.int64)
            yield own, Candidate(estimate=estimate, weight=1, penalty=0)

    return cut.choose(plan.sets, candidates, epsilon=cut.program.pure(SHARES["choice"]), most_weight=1)


def _distance(noisy: int, width: float, pairs: int, total: float) -> Distance:
    """A sum of distances in parts of a row as a mean total variation, which lies in [0, 1] where totals agree."""
    scale = 2 * PARTS * pairs * max(total, 1.0)
    return Distance(
        noisy_value=max(0.0, noisy / scale),
        low=max(0.0, (noisy - width) / scale),
        high=max(0.0, (noisy + width) / scale),
    )
