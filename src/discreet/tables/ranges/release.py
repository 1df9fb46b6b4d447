"""From a column and an epsilon to a release of its ranges: cut, plan, reserve, measure. Or a stored one, free."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from os import PathLike
from typing import Any

import numpy as np

from discreet.accounting import events
from discreet.accounting.events import Reserved
from discreet.accounting.guarantee import Guarantee
from discreet.answers.quoting import FREE, cost_of
from discreet.answers.sql import Asker
from discreet.curator import Curator, Version
from discreet.errors import UsageError
from discreet.inference.linear.solver import solver
from discreet.ledger.records import Reservation
from discreet.measurement import Law, law_from_data, law_to_data
from discreet.mechanisms.addition import Integers
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.strategy import keeping
from discreet.program import Program
from discreet.schema.schema import closest
from discreet.tables.planning.errors import mean_variance
from discreet.tables.planning.plan import Planned, plan, rmse
from discreet.tables.planning.words import words
from discreet.tables.ranges.adaptive import TEST, Adapted, adapted, law_of, tested
from discreet.tables.ranges.asked import Pair, pairs_of, places_of
from discreet.tables.ranges.reading import Ranges
from discreet.tables.ranges.ruler import Ruler, ruler_of
from discreet.tables.reserving import Terms, left_out, reserve
from discreet.tables.workload import AllRanges, GivenRanges, Workload

#: Strategies that can be asked for by name.
STRATEGIES = ("best", "adaptive", "identity", "binary")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked: a column, perhaps ranges, how long to plan and by which strategy."""

    column: str
    pairs: list[Pair] | None = None
    strategy: str = "best"
    seconds: float = 1.0
    only: bool = False

    @staticmethod
    def of(
        column: str,
        ranges: Iterable[Pair] | str | PathLike[str] | None,
        strategy: str = "best",
        seconds: object = 1,
        only: bool = False,
    ) -> Wanted:
        """What is asked, checked. `only`: planned for the given ranges alone, with less noise for them."""
        if not isinstance(column, str) or not isinstance(strategy, str):
            raise UsageError("a column and a strategy are named by text")
        if strategy not in STRATEGIES:
            raise UsageError(f"no strategy is called {strategy[:40]!r}", hint=closest(strategy, STRATEGIES))
        if only and (ranges is None or strategy != "best"):
            raise UsageError("only is for given ranges, and the best strategy", hint="--ranges FILE --only")
        try:
            found = float(str(seconds))
        except ValueError:
            found = float("nan")
        if not 0 < found <= 3600:
            raise UsageError(f"seconds must be above 0 and at most 3600, got {str(seconds)[:40]}")
        return Wanted(column=column, pairs=pairs_of(ranges), strategy=strategy, seconds=found, only=only)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """What a release would be: its ruler, plan and noise. Free, and the same on an empty table."""

    ruler: Ruler
    planned: Planned
    law: Law
    event: Reserved
    places: tuple[tuple[int, int], ...]
    rows: int

    @property
    def expected_rmse(self) -> float:
        return rmse(self.planned, self.law)

    @property
    def lower_bound(self) -> float:
        """What no strategy of this kind goes below.

        The planner's bound is for continuous noise; discrete noise has less variance, in proportion least on a
        strategy whose columns are as short as whole numbers can be. That is taken off.
        """
        if isinstance(self.law, DiscreteLaplace):
            whole, least = 2 * self.law.scale**2, Fraction(self.rows) / (self.event.epsilon or Fraction(1))
            share = _variance(DiscreteLaplace, scale=least) / float(2 * least**2)
        else:
            whole, least = self.law.sigma2, Fraction(self.rows**2) / (2 * self.event.rho)
            share = _variance(DiscreteGaussian, sigma2=least) / float(least)
        return math.sqrt(self.planned.lower_bound * float(whole) * min(1.0, share))

    def to_data(self) -> dict[str, Any]:
        return {
            "column": self.ruler.column.name,
            "cells": self.ruler.cells,
            "strategy": self.planned.words,
            "expected_rmse": self.expected_rmse,
            "lower_bound": self.lower_bound,
            "rows_measured": self.planned.strategy.rows,
            "cost": cost_of(self.event).to_data(up=True),
        }


def quote(wanted: Wanted, terms: Terms, *, version: Version, guarantee: Guarantee, curator: Curator) -> Quote:
    """Plan a release. Reads public facts alone."""
    return planned(wanted, terms.event(guarantee, version, curator), version)


@lru_cache(maxsize=4)
def _plan(workload: Workload, gaussian: bool, seconds: float, name: str) -> Planned:
    """A plan takes a second to make, and is asked for twice."""
    return plan(workload, gaussian=gaussian, seconds=seconds, strategy=name)


def planned(wanted: Wanted, event: Reserved, version: Version) -> Quote:
    """The plan of a release that costs a reservation."""
    ruler = _ruler(wanted, version)
    places = places_of(wanted.pairs, ruler)
    workload: Workload = AllRanges(ruler.cells)
    if wanted.only:
        lows, highs = (np.array(ends, dtype=np.int64) for ends in zip(*places, strict=True))
        workload = GivenRanges(ruler.cells, lows, highs)
    names = {"best": ("best", "identity"), "adaptive": ("best", "identity")}.get(wanted.strategy, (wanted.strategy,))
    plans = [_plan(workload, event.epsilon is None, wanted.seconds, name) for name in names]
    rows, share = version.schema.unit.rows, Fraction(1) - (TEST if wanted.strategy == "adaptive" else 0)
    # By the real law: at a large epsilon discrete noise on single cells is all but nothing, and no plan is better.
    best = min(plans, key=lambda each: rmse(each, law_of(each.strategy, event, rows, share)))
    if wanted.strategy == "adaptive":
        tested(ruler.cells, best, event, rows)
    law = law_of(best.strategy, event, rows, share)
    return Quote(ruler=ruler, planned=best, law=law, event=event, places=places, rows=rows)


def _variance(kind: Any, **given: Fraction) -> float:
    try:
        return float(kind(**given).variance())
    except UsageError:  # noise so small that nobody draws it
        return 0.0


def _ruler(wanted: Wanted, version: Version) -> Ruler:
    column = version.schema.column(wanted.column)
    if column is None:
        hint = closest(wanted.column, [each.name for each in version.schema.columns])
        raise UsageError(f"table {version.table!r} has no column {wanted.column[:60]!r}", hint=hint)
    return ruler_of(column)


def release(
    wanted: Wanted,
    terms: Terms | None,
    *,
    version: Version,
    guarantee: Guarantee,
    curator: Curator,
    asker: Asker,
    fresh: bool = False,
) -> Ranges:
    """The ranges of a column: from a stored release that is exact enough, free; else measured and charged.

    Guarantee: one charge of a reservation, and all that is read is drawn from it or public.
    """
    ruler = _ruler(wanted, version)
    places = places_of(wanted.pairs, ruler)
    stored = None if fresh else _stored(wanted, ruler, places, terms, version, guarantee, curator)
    if stored is not None:
        return stored
    if terms is None:
        raise UsageError(
            f"no stored release of {wanted.column!r} tells these ranges of version {version.number}",
            hint=_elsewhere(ruler, version, curator),
        )
    event = terms.event(guarantee, version, curator)
    asked = {
        "ranges": ruler.column.name,
        "edges": _edges(ruler),
        "workload": places if wanted.only else "all",
        "strategy": wanted.strategy,
        "seconds": wanted.seconds,
    }
    planned(wanted, event, version)  # what cannot be planned is refused before it is paid
    held, event, known = reserve(asked, event, terms, version=version, curator=curator, asker=asker, fresh=fresh)
    # Stored before the draw: a planner may get better, and what is begun must be gone on with.
    summary = _summary(wanted, planned(wanted, event, version))
    told = json.loads(curator.ledger.store(held, json.dumps(summary)))
    made = replace(_read(told, held, ruler, version=version, curator=curator, cached=known), asked=places)
    return replace(made, warnings=(*made.warnings, *terms.notes(event, guarantee)))


def _summary(wanted: Wanted, quoted: Quote) -> dict[str, Any]:
    """What a release is read by for ever. Public facts."""
    return {
        "kind": "ranges",
        "column": quoted.ruler.column.name,
        "edges": _edges(quoted.ruler),
        "only": wanted.only,
        "name": wanted.strategy,
        "adaptive": wanted.strategy == "adaptive",
        "strategy": keeping.kept(quoted.planned.strategy),
        "mean_variance": quoted.planned.mean_variance,
        "law": law_to_data(quoted.law),
        "words": quoted.planned.words,
        "expected_rmse": quoted.expected_rmse,
    }


def _edges(ruler: Ruler) -> list[int]:
    """The cut of a column in few numbers: first edge, last edge and cells where they are even."""
    return [ruler.edges[0], ruler.edges[-1], ruler.cells] if ruler.column.edges is None else list(ruler.edges)


def _read(told: dict[str, Any], held: str, ruler: Ruler, *, version: Version, curator: Curator, cached: bool) -> Ranges:
    """A release as it was begun: what was drawn is read back, what was not is drawn now."""
    program = Program(curator, version, held)
    found = Ranges(
        release=held,
        table=version.table,
        version=version.number,
        ruler=ruler,
        strategy=keeping.read(told["strategy"]),
        law=law_from_data(told["law"]),
        noisy=np.zeros(0, dtype=np.int64),
        words=told["words"],
        expected_rmse=told["expected_rmse"],
        cost=FREE if cached else cost_of(program.event),
        cached=cached,
        warnings=("rows where the column is NULL are in no range", *left_out(version, curator, [ruler.column.name])),
    )
    drawn = measured(program, told, ruler)
    return _with(found, drawn) if isinstance(drawn, Adapted) else replace(found, noisy=drawn)


def measured(program: Program, told: dict[str, Any], ruler: Ruler) -> Integers | Adapted:
    """What a stored release says it measures: read back where it was drawn, else drawn now."""
    strategy = keeping.read(told["strategy"])
    if not told["adaptive"]:
        return program.linear((ruler.axis(),), [(strategy, law_from_data(told["law"]))])[0]
    planned = Planned(
        workload=AllRanges(ruler.cells),
        strategy=strategy,
        gaussian=program.event.epsilon is None,
        mean_variance=told["mean_variance"],
        lower_bound=0.0,
        words=told["words"],
    )
    return adapted(program, ruler.axis(), planned)


def described(payload: dict[str, Any], ruler: Ruler) -> bool:
    """Whether what a stored release says of itself follows from its column and strategy.

    Of a strategy for given ranges alone, which are not stored, the variance that was planned is what it says.
    """
    if type(payload["only"]) is not bool or payload["name"] not in STRATEGIES:
        return False
    if (payload["edges"], payload["adaptive"]) != (_edges(ruler), payload["name"] == "adaptive"):
        return False
    variance, strategy = payload["mean_variance"], keeping.read(payload["strategy"])
    if not payload["only"]:
        planned_variance = mean_variance(AllRanges(ruler.cells), solver(strategy))
        if payload["words"] != words(strategy) or not math.isclose(variance, planned_variance, rel_tol=1e-9):
            return False
    expected = math.sqrt(variance * law_from_data(payload["law"]).variance())
    return math.isclose(payload["expected_rmse"], expected, rel_tol=1e-9)


def _with(found: Ranges, drawn: Adapted) -> Ranges:
    """A release by a partition, or by the fixed strategy where the test spoke against one."""
    found = replace(found, strategy=drawn.strategy, law=drawn.law, noisy=drawn.noisy, expected_rmse=drawn.noise_rmse)
    if drawn.buckets is None:
        return replace(found, words=f"{found.words} (a test said that a partition would not pay)")
    return replace(
        found,
        spread=True,
        words=f"{drawn.buckets:,} buckets, chosen by a private test",
        warnings=(
            *found.warnings,
            "cells of a bucket are taken to be even; intervals speak of the noise and not of that",
        ),
    )


def _stored(
    wanted: Wanted,
    ruler: Ruler,
    places: tuple[tuple[int, int], ...],
    terms: Terms | None,
    version: Version,
    guarantee: Guarantee,
    curator: Curator,
) -> Ranges | None:
    """The most exact stored release of the column that tells these ranges and cost what is offered now, or more."""
    least = Fraction(0) if terms is None else terms.event(guarantee, version, curator).rho
    found = [each for each in _releases(ruler, version, curator) if events.loss(each[1]).rho >= least]
    # The most exact first; one by a partition, whose intervals speak of noise alone, only where there is no other.
    for held, _, told in sorted(found, key=lambda each: (each[2]["adaptive"], each[2]["expected_rmse"], each[0])):
        if terms is not None and (told["only"], told["name"]) != (wanted.only, wanted.strategy):
            continue  # who pays gets what they ask for
        if wanted.strategy not in ("best", told["name"]):
            continue
        made = replace(_read(told, held, ruler, version=version, curator=curator, cached=True), asked=places)
        if made.tells(places):
            return made
    return None


def _elsewhere(ruler: Ruler, version: Version, curator: Curator) -> str:
    """Where ranges might be read that are not stored for this version."""
    ledger = curator.ledger
    for held in reversed(ledger.refresh().reservations.values()):
        charge = ledger.state.charges[held.id]
        if charge.table != version.table or held.id not in ledger.state.answers:
            continue
        told = json.loads(ledger.answer(held.id))
        if told.get("kind") != "ranges" or told["column"] != ruler.column.name:
            continue
        if charge.version != version.number:
            return f"{held.id} is about version {charge.version}; --epsilon 1 measures this one"
        if not _spent(held):
            return f"{held.id} was paid but not finished: run the same command with its --epsilon to continue, free"
    return "--epsilon 1 makes one that does"


def _releases(ruler: Ruler, version: Version, curator: Curator) -> Iterator[tuple[str, Reserved, dict[str, Any]]]:
    """Finished releases of the ranges of a column of this version."""
    ledger = curator.ledger
    for held in ledger.refresh().reservations.values():
        charge = ledger.state.charges[held.id]
        if (charge.table, charge.version) != (version.table, version.number) or held.id not in ledger.state.answers:
            continue
        if not held.steps or held.steps[-1].id not in ledger.state.answers or not _spent(held):
            continue
        told = json.loads(ledger.answer(held.id))
        if told.get("kind") == "ranges" and (told["column"], told["edges"]) == (ruler.column.name, _edges(ruler)):
            yield held.id, held.event, told


def _spent(held: Reservation) -> bool:
    """Whether a reservation was used up: its last step was drawn."""
    losses = [step.loss for step in held.steps]
    if held.event.epsilon is not None:
        return sum((loss.epsilon or Fraction(0) for loss in losses), Fraction(0)) == held.event.epsilon
    return sum((loss.rho for loss in losses), Fraction(0)) == held.event.rho
