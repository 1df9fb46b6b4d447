"""A charged comparison: how far the model's pairs of columns are from the real table, in total variation.

The distance of a pair is the sum over its cells of |exact count - the model's count|, half of it over the number of
rows the share of rows that would have to move. Four steps of one reservation: the sum of the distances over all
pairs (those that were measured together, and those that were not), a choice of the worst pair, its distance, and the
distance of each column by itself. A comparison by an earlier version has no single columns, and is read back as it was.
Laplace noise under a pure epsilon, Gaussian noise where a delta is given with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet import exact
from discreet.accounting import events
from discreet.accounting.events import ReservationEvent
from discreet.accounting.zcdp_conversion import rho_from_epsilon
from discreet.answers.whole_table_charge import charge_whole_table
from discreet.errors import UsageError
from discreet.inference.axes import Axes
from discreet.kernel.binned_table import BinnedTable, Candidate
from discreet.kernel.curator import Version
from discreet.kernel.program import Program
from discreet.kernel.project_session import Session
from discreet.mechanisms.noise_combination import CombinedNoise
from discreet.plan.expressions import Expression
from discreet.schema.column import CategoryColumn, TextColumn
from discreet.sql.typed_expression import column_expression
from discreet.synth.attribute import Attribute
from discreet.synth.attribute_discovery import attribute_of_words
from discreet.synth.column_differences import difference_expression
from discreet.synth.inspect.model_evidence import names_of
from discreet.synth.inspect.noisy_distances import (
    PARTS,
    ComparisonPlan,
    column_plan,
    comparison_plan,
    law_of,
    measure_distances,
)
from discreet.synth.model import Model

#: How the epsilon is split: the choice of the worst pair needs most, for its noise counts against one pair's distance.
SHARES = {"columns": Fraction(1, 8), "mean": Fraction(1, 4), "choice": Fraction(3, 8), "worst": Fraction(1, 4)}

#: The same without single columns: where a model has but one, and in comparisons by earlier versions.
SHARES_OF_PAIRS = {"mean": Fraction(1, 4), "choice": Fraction(1, 2), "worst": Fraction(1, 4)}

CONFIDENCE = Fraction(95, 100)

#: No table has more rows. Counts in parts of a row stay far from where 64 bits end.
MOST_ROWS = 2**40


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """A noisy distance in total variation, and between what the exact one lies with 95% confidence."""

    noisy_value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDistance:
    """How far one column is off by itself."""

    column: str
    distance: Distance


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a comparison with the real table told, and what it cost.

    `measured`, `others`: the mean over pairs that were measured together, and over those that were not; None where
    there are none of them. `columns`: each column by itself; none in a comparison by an earlier version.
    """

    release: str
    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None
    pairs: int
    mean: Distance
    measured: Distance | None
    others: Distance | None
    worst: tuple[str, ...]
    worst_distance: Distance
    columns: tuple[ColumnDistance, ...] = ()


def compare(
    model: Model,
    session: Session,
    *,
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
    fresh: bool = False,
) -> Comparison:
    """Compare a model with the version of the table that it was fitted to. The same comparison again is free.

    Guarantee: (epsilon, delta)-DP for neighbours under the version's unit; pure where delta is 0.
    Because: steps whose losses, in epsilon or in the rho that converts to (epsilon, delta), add up to no more
        than what is reserved; all that they release is drawn by exact mechanisms; and the model is public.
    """
    event = reservation(epsilon, delta)
    check_model_of_version(model, session.version)
    plan = comparison_plan(model)
    id_, shares = _reserve(plan, event, epsilon, session, fresh=fresh)
    program = Program(session.curator, session.version, id_)
    cut = _cut(program, model)
    means = _means(cut, plan, shares["mean"])
    worst = _choose_worst(cut, plan, shares["choice"])
    law = law_of(program, shares["worst"], ((worst,),))
    (noisy,) = measure_distances(cut, plan, ((worst,),), law)
    columns = _columns(cut, column_plan(model), shares["columns"]) if "columns" in shares else ()
    program.finish(json.dumps({"kind": "comparison", "steps": program.steps, "contents": program.contents()}))
    return Comparison(
        release=program.id,
        epsilon=epsilon,
        delta=delta,
        rho=None if event.epsilon is not None else event.rho,
        pairs=len(plan.sets),
        mean=means[0],
        measured=means[1],
        others=means[2],
        worst=names_of(model, plan.sets[worst]),
        worst_distance=_distance(noisy, float(law.half_width(CONFIDENCE)), 1, model.total),
        columns=columns,
    )


def reservation(epsilon: Fraction, delta: Fraction) -> ReservationEvent:
    """What (epsilon, delta) is in the terms of the ledger: rho by inverse conversion, or pure where delta is 0."""
    exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON)
    if exact.probability(delta, name="delta") == 0:
        return ReservationEvent(epsilon=epsilon, rho=epsilon**2 / 2, delta=Fraction(0))
    rho = rho_from_epsilon(epsilon, delta)
    if rho <= 0:
        raise UsageError(
            f"epsilon {exact.show(epsilon)} at delta {exact.show(delta)} is too small: it needs infinite noise"
        )
    return ReservationEvent(epsilon=None, rho=rho, delta=Fraction(0))


def _reserve(
    plan: ComparisonPlan,
    event: ReservationEvent,
    epsilon: Fraction,
    session: Session,
    *,
    fresh: bool,
) -> tuple[str, dict[str, Fraction]]:
    """The id of the reservation, that of the same comparison or a new charge; and how it is split."""
    version, without = session.version, _question(plan, event, {})
    shares = SHARES_OF_PAIRS if len(plan.model.attributes) == 1 else SHARES
    question = without if shares is SHARES_OF_PAIRS else _question(plan, event, {"columns": True})
    for each, own in [] if fresh else [(question, shares), (without, SHARES_OF_PAIRS)]:
        earlier = session.ledger.find_reservation(version.table, version.number, each)
        if earlier is not None:
            return earlier.id, own
    # Once: another may reserve the same this very moment.
    return charge_whole_table(session, event, question=question, price=epsilon, once=not fresh), shares


def _question(plan: ComparisonPlan, event: ReservationEvent, more: dict[str, bool]) -> str:
    """What makes two comparisons the same, as a digest."""
    text = json.dumps({"compare": plan.digest(), "event": events.to_data(event), **more}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _cut(program: Program, model: Model) -> BinnedTable:
    return BinnedTable(program, tuple(each.axis() for each in model.attributes)).merged(
        tuple(each.groups for each in model.attributes)
    )


def _columns(cut: BinnedTable, plan: ComparisonPlan, share: Fraction) -> tuple[ColumnDistance, ...]:
    """The distance of each column by itself, as one step."""
    law = law_of(cut.program, share, plan.groups)
    width = float(law.half_width(CONFIDENCE))
    return tuple(
        ColumnDistance(column=names_of(plan.model, own)[0], distance=_distance(noisy, width, 1, plan.model.total))
        for own, noisy in zip(plan.sets, measure_distances(cut, plan, plan.groups, law), strict=True)
    )


def _means(
    cut: BinnedTable, plan: ComparisonPlan, share: Fraction
) -> tuple[Distance, Distance | None, Distance | None]:
    """The mean distance of all sets, of those measured and of the others, from one noisy sum for each group.

    An empty group has no sum: it would be noise alone.
    """
    filled_groups, total = tuple(group for group in plan.groups if group), plan.model.total
    law = law_of(cut.program, share, filled_groups)
    noisy = dict(zip(filled_groups, measure_distances(cut, plan, filled_groups, law), strict=True))
    one, both = float(law.half_width(CONFIDENCE)), CombinedNoise(parts=((Fraction(1), law),) * len(filled_groups))
    mean = _distance(sum(noisy.values()), float(both.half_width(CONFIDENCE)), len(plan.sets), total)
    parts = [_distance(noisy[group], one, len(group), total) if group else None for group in plan.groups]
    return mean, parts[0], parts[1]


def _choose_worst(cut: BinnedTable, plan: ComparisonPlan, share: Fraction) -> int:
    """The place of the set that is furthest off, by the exponential mechanism."""

    def candidates() -> Iterator[tuple[Axes, Candidate]]:
        for place, own in enumerate(plan.sets):
            estimate = np.rint(plan.estimate(place) / PARTS).astype(np.int64)
            yield own, Candidate(estimate=estimate, weight=1, penalty=0)

    return cut.choose(plan.sets, candidates, epsilon=cut.program.choice_epsilon(share), most_weight=1)


def _distance(noisy: int, width: float, pairs: int, total: float) -> Distance:
    """A sum of distances in parts of a row as a mean total variation, which lies in [0, 1] where totals agree."""
    scale = 2 * PARTS * pairs * max(total, 1.0)
    return Distance(
        noisy_value=max(0.0, noisy / scale),
        low=max(0.0, (noisy - width) / scale),
        high=max(0.0, (noisy + width) / scale),
    )


def check_model_of_version(model: Model, version: Version) -> None:
    """Refuse a model of another table or version, and one whose cells are not of the version's columns.

    A model's file may have been written by anybody, and what it says about columns is its own word. Before data is
    touched it is held against the version's schema, which is public: a question that fails on some rows and not on
    others would tell of them.

    Guarantee: what is counted on the model's axes is, for each row, a function of that row that never fails: the
        declared column's own code, the place of its text in a list, or the difference of two columns within their
        cells; a row lies in one cell of each axis or is left out. Distances of such counts do not overflow.
    """
    if (version.table, version.number) != (model.card.table, model.card.version):
        raise UsageError(
            f"the model was fitted to version {model.card.version} of {model.card.table!r}",
            hint="compare it with that version, or fit a new model",
        )
    for attribute in model.attributes:
        if attribute.axis().of != _own(attribute, version, model.attributes) or not _is_sound(attribute):
            raise UsageError(
                f"the model's column {attribute.name[:60]!r} does not match its declaration in {version.table!r}",
                hint="fit a model to this version",
            )
    if model.fitted.sizes != tuple(attribute.size for attribute in model.attributes) or model.total > MOST_ROWS:
        raise UsageError("the parts of the model do not match each other", hint="fit a model to this version")


def _own(attribute: Attribute, version: Version, attributes: Sequence[Attribute]) -> Expression | None:
    """What the column that the version declares is counted by; None where it has no such column.

    A difference of two columns is counted as those are: each of them is looked at by itself.
    """
    if attribute.between is not None:
        columns = {each.name: each for each in attributes if each.between is None}
        if not set(attribute.between) <= set(columns) or version.schema.column(attribute.name) is not None:
            return None
        low, high = (columns[name] for name in attribute.between)
        return difference_expression(low, high, attribute.edges[-1] - 4)
    declared = version.schema.column(attribute.name)
    if declared is None or declared.name != attribute.name:
        return None
    if isinstance(declared, TextColumn):
        column = attribute.column
        return attribute_of_words(declared.name, column.values[:-1]).of if isinstance(column, CategoryColumn) else None
    return column_expression(declared).expression


def _is_sound(attribute: Attribute) -> bool:
    return bool((np.diff(attribute.edges) > 0).all()) and int(attribute.groups.min()) >= 0
