"""What `discreet explain` says: price, noise, sensitivity with its reasons, whom it touches, the SQL that runs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.accounting.region import ValueSet
from discreet.accounting.sensitivity import Sensitivity
from discreet.answers.affordability import counts_within_50
from discreet.answers.caveats import ledger_caveats
from discreet.answers.query_quote import (
    FREE,
    QueryQuote,
    budget_after,
    budget_cost,
    cost_of,
    laws_of,
    spending,
    width_of,
)
from discreet.answers.reconcile.earlier_estimate import EarlierEstimate
from discreet.answers.reconcile.missing_precision import estimate_data
from discreet.answers.refine import AnswerReading
from discreet.kernel.curator import Version
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.quantile import QuantileChoice
from discreet.mechanisms.rank_choice import RankChoice
from discreet.mechanisms.threshold import KeyThreshold
from discreet.mechanisms.topk import TopKChoice
from discreet.mechanisms.weighted_threshold import WeightedThreshold
from discreet.plan import formula
from discreet.plan.cell_statistics import Statistic, Sum, statistic_name
from discreet.plan.formula.formula_nodes import children
from discreet.plan.price import ChooseBin, Discover, Law, Measure, least_persons
from discreet.plan.query_sensitivity import cells_touched
from discreet.present.cell_text import NULL
from discreet.schema.address import scheme
from discreet.sql.dialect import Dialect, DuckDBDialect
from discreet.sql.emitter import Emitter
from discreet.sql.parsed_query import OutputColumn
from discreet.sql.postgres_dialect import PostgreSQLDialect
from discreet.sql.spark_dialect import SparkDialect
from discreet.sql.sql_writer import SqlWriter, display_names


def explain(
    quoted: QueryQuote,
    stored_reading: AnswerReading | None,
    *,
    confidence: Fraction,
    ledger: Ledger,
    earlier_estimate: EarlierEstimate | None = None,
    enough: bool = False,
    already_charged: bool = False,
) -> dict[str, Any]:
    """What a question would cost, and why, as JSON data; the keys are a contract.

    `stored_reading`: a stored answer is free. `earlier_estimate`: what earlier answers tell, which may be `enough`, and
    then is free. `already_charged`: a process charged it and died; it is answered under that charge.
    """
    free = stored_reading is not None or enough or already_charged
    after = budget_after(quoted, ledger, free=free)
    cost = FREE if free else cost_of(quoted.price.event, budget_cost(quoted, ledger))
    parts = _parts(quoted)
    return {
        "accepted": True,
        "already_charged": already_charged,
        "cost": cost.to_data(up=True),
        "spent_after": spending(after.spent).to_data(up=True),
        "remaining_after": spending(after.remaining).to_data(up=False),
        "counts_after": counts_within_50(quoted.version.schema.unit, after.limits, after.room),
        "sensitivity": parts[0] if parts else _discovered(quoted),
        "parts": parts,
        "noise": _noise(quoted, confidence),
        "steps": _steps(quoted, confidence),
        "stored": None if stored_reading is None else _stored(stored_reading, confidence),
        "told": None
        if earlier_estimate is None
        else estimate_data(earlier_estimate, quoted.price, confidence, enough=enough),
        "keys": discovery_data(quoted),
        "cells": _cells(quoted),
        "confidence": float(confidence),
        "region": region_words(quoted),
        "filter": quoted.decision.arm or "none",
        "because": "; ".join([quoted.because, *ledger_caveats(ledger, quoted.version.population)]),
        "engine_sql": ";\n".join(_sql(quoted)),
    }


def _stored(stored_reading: AnswerReading, confidence: Fraction) -> dict[str, Any]:
    """A stored answer, and how wrong its numbers may be; None where they are dates or of no known width."""
    ends = [each for row in stored_reading.intervals(confidence) for each in row if each is not None]
    widths = [(high - low) / 2 for low, high in ends if not isinstance(low, str) and not isinstance(high, str)]
    widest = max(widths, default=None)
    return {"release": stored_reading.measurement.id, "plus_minus": widest}


def _parts(quoted: QueryQuote) -> list[dict[str, Any]]:
    """The sensitivity of each statistic, with its reasons."""
    parts = []
    for step in quoted.price.steps:
        if isinstance(step, Measure):
            for statistic, moves, share in zip(step.cells.statistics, step.moves, step.shares, strict=True):
                statistic_data = {"statistic": statistic_name(statistic), "share": float(share)}
                parts.append(_sensitivity(moves) | statistic_data)
    return parts


def _sensitivity(moves: Sensitivity) -> dict[str, Any]:
    return {
        "l0": moves.l0,
        "l1": moves.l1,
        "l2": exact.as_float(exact.sqrt(Fraction(moves.l2_squared), up=True), up=False),
        "linf": moves.linf,
        "because": list(moves.because),
    }


def _discovered(quoted: QueryQuote) -> dict[str, Any]:
    """Of questions that add no noise to cells: how many rows a unit moves at most."""
    rows = quoted.price.reach.rows
    because = [
        *quoted.price.reach.because,
        "chosen by scores; one person changes a score by at most the number of their rows",
    ]
    return {"l0": rows, "l1": rows, "l2": float(rows), "linf": rows, "because": because}


def _noise(quoted: QueryQuote, confidence: Fraction) -> list[dict[str, Any]]:
    """How each noisy column comes about, and how wrong it may be where that can be known before."""
    laws = laws_of(quoted.price)
    noise: list[dict[str, Any]] = []
    for output in quoted.query.outputs:
        if output.key is not None or output.grouping is not None:
            continue
        if output.quantile is not None:
            noise.append(_quantile(quoted, output, confidence))
            continue
        assert output.formula is not None
        indexes = sorted(formula.cells(output.formula))
        if not indexes:
            continue
        law = laws[indexes[0]][0]
        width = width_of(quoted.price, output, confidence)
        noise.append(
            {
                "column": output.name,
                "mechanism": _mechanism(law),
                "scale": exact.as_float(_scale(law), up=True),
                "plus_minus": None if width is None else exact.as_float(width, up=True),
                "because": quoted.because,
            }
        )
    return noise


def _mechanism(law: Law) -> str:
    return "discrete Laplace" if isinstance(law, DiscreteLaplace) else "discrete Gaussian"


def _scale(law: Law) -> Fraction:
    return law.scale if isinstance(law, DiscreteLaplace) else exact.sqrt(law.sigma2, up=True)


def _quantile(quoted: QueryQuote, output: OutputColumn, confidence: Fraction) -> dict[str, Any]:
    assert output.quantile is not None
    number = quoted.price.inquiry.order.quantiles[output.quantile]
    steps = [step for step in quoted.price.steps if isinstance(step, ChooseBin) and step.quantile == number]
    mechanism = steps[0].mechanism
    assert isinstance(mechanism, QuantileChoice)
    return {
        "column": output.name,
        "mechanism": "permute-and-flip" if mechanism.flips else "exponential",
        "scale": None,
        "plus_minus": None,
        "bins": mechanism.bins,
        "ranks": exact.as_float(mechanism.plus_minus(confidence), up=True),
        "because": "a quantile is chosen among bins by the number of rows on either side",
    }


def _steps(quoted: QueryQuote, confidence: Fraction) -> list[str]:
    """The parts of the price, in words."""
    lines = []
    for step in quoted.price.steps:
        match step:
            case Discover(mechanism=KeyThreshold() as mechanism, share=share):
                lines.append(
                    f"keys shared by at least about {mechanism.threshold:,} people, found with noise on that number: "
                    f"{float(share):.0%} of the price, delta {exact.show(mechanism.event().delta, up=True)}"
                )
            case Discover(mechanism=WeightedThreshold() as mechanism, share=share):
                lines.append(
                    "keys found by noisy weights, each person's weight split over that person's keys: "
                    f"{float(share):.0%} of the price, delta {exact.show(mechanism.event().delta, up=True)}"
                )
            case Discover(mechanism=mechanism, share=share):
                lines.append(f"the most common keys, chosen one by one: {float(share):.0%} of the price")
            case Measure():
                for statistic, law, share in zip(step.cells.statistics, step.laws, step.shares, strict=True):
                    lines.append(
                        f"{statistic_name(statistic)}: {_mechanism(law)}, {float(share):.0%} of the price, "
                        f"{_where(quoted, step)}within {law.half_width(confidence):,}{_unit(statistic)}"
                    )
            case ChooseBin(mechanism=RankChoice() as mechanism, share=share):
                lines.append(
                    f"one of {mechanism.bins:,} possible limits: exponential mechanism, {float(share):.0%} of the price"
                )
            case ChooseBin(mechanism=QuantileChoice() as mechanism, share=share):
                ranks = exact.show(mechanism.plus_minus(confidence), digits=3, up=True)
                by = "permute-and-flip" if mechanism.flips else "exponential mechanism"
                ends = f", {float(1 - mechanism.share):.0%} of that for its interval" if mechanism.has_interval else ""
                lines.append(
                    f"quantile {exact.show(mechanism.fraction)}: {by} over {mechanism.bins:,} bins, "
                    f"{float(share):.0%} of the price{ends}, within {ranks} rows of its rank"
                )
    names = [each.name for each in quoted.query.outputs if each.formula is not None and _divides_by_root(each.formula)]
    if names:
        few = "a dash where noise leaves no variance to divide by, as it may where there are few rows"
        lines.append(f"{', '.join(names)}: {few}")
    return lines


def _divides_by_root(part: formula.Formula) -> bool:
    """Whether a formula divides by a square root, as a correlation does: it is NULL where that is of no more than 0."""
    if isinstance(part, formula.Arithmetic) and part.operator == "/" and _has_root(part.right):
        return True
    return any(map(_divides_by_root, children(part)))


def _has_root(part: formula.Formula) -> bool:
    return (isinstance(part, formula.Call) and part.name == "sqrt") or any(map(_has_root, children(part)))


def discovery_data(quoted: QueryQuote) -> dict[str, Any] | None:
    """How many people a key needs that is discovered, in numbers and in words; None where none is.

    `public_persons`: how many people there are, as the owner says.
    """
    discovery = next((step for step in quoted.price.steps if isinstance(step, Discover)), None)
    if discovery is None:
        return None
    least, most = least_persons(discovery)
    keys = cells_touched(discovery.keys, quoted.price.reach)
    public = quoted.version.schema.public_persons
    words = f"a key needs about {least:,} people to be shown"
    if isinstance(discovery.mechanism, TopKChoice):
        words += ", more than the keys that are left out"
    if least < most:
        words += f" if they have no other key; about {most:,} if each of them has {keys:,} keys"
    warning = None
    if public is not None and public < least:
        warning = f"the table has about {public:,} people, fewer than a key needs: probably no key will be shown"
    elif public is not None and public < most:
        warning = f"the table has about {public:,} people: if each of them has many keys, few or none will be shown"
    return {
        "least_persons": least,
        "most_persons": most,
        "keys_per_person": keys,
        "public_persons": public,
        "words": words,
        "warning": warning,
    }


def _unit(statistic: Statistic) -> str:
    """In what its noise is told: a count is in what it counts, and a sum in whole grains of the grid it is made on."""
    if not isinstance(statistic, Sum):
        return ""
    return " steps of its grid" if statistic.grain == 1 else f" times {statistic.grain:,} steps of its grid"


def _where(quoted: QueryQuote, step: Measure) -> str:
    """Which cells a step measures. How many keys will be found nobody knows before."""
    size = step.cells.size
    if quoted.price.inquiry.keys:
        return "each discovered key " if size == 1 else f"each of {size:,} cells of each discovered key "
    return "" if size == 1 else f"each of {size:,} cells "


def _cells(quoted: QueryQuote) -> int | None:
    """How many numbers the answer has; None where its keys are yet to be found."""
    if quoted.price.inquiry.keys:
        return None
    return sum(
        step.cells.size * len(step.cells.statistics) for step in quoted.price.steps if isinstance(step, Measure)
    ) + sum(step.cells.size // step.mechanism.bins for step in quoted.price.steps if isinstance(step, ChooseBin))


def _sql(quoted: QueryQuote) -> list[str]:
    """The SQL of each step, without path or key."""
    statements = []
    region = quoted.price.region
    dialect = dialect_at(quoted.version.engine)
    writer = SqlWriter(emitter=Emitter(dialect=dialect), names=display_names(dialect))
    for step in quoted.price.steps:
        if isinstance(step, Discover):
            statements.append(writer.keys(step.plan, step.keys, region, persons=step.persons, weights=step.weights))
        else:
            statements.append(writer.count(step.cells, region))
    return list(dict.fromkeys(statements))


def region_words(quoted: QueryQuote) -> str:
    """The people a question can touch, in words."""
    region, version = quoted.price.region, quoted.version
    if region.is_whole:
        return f"everybody in {version.table}"
    boxes = [" and ".join(_side(version, name, allowed) for name, allowed in box.sides.items()) for box in region.boxes]
    return " or ".join(boxes) or "nobody"


def _side(version: Version, name: str, allowed: ValueSet) -> str:
    column = version.schema.column(name)

    def label(code: Any) -> str:
        if isinstance(code, str):
            return repr(code)
        try:
            return str(column.label(code))  # type: ignore[union-attr]
        except OverflowError:  # beyond the calendar
            return str(code)

    words = []
    for low, high in allowed.runs:
        if isinstance(low, int) and isinstance(high, int):
            ends = [label(code) for code in (range(low, high) if high - low <= 3 else (low, high - 1))]
            words.append(", ".join(ends) if high - low <= 3 else " to ".join(ends))
        elif isinstance(low, str) and high == low + "\0":
            words.append(repr(low))
        else:
            low_word = "" if low is None else f"from {label(low)} "
            high_word = "" if high is None else f"up to {label(high - 1 if isinstance(high, int) else high)}"
            words.append((low_word + high_word).strip() or "anything")
    if allowed.null:
        words.append(NULL)
    return f"{name} is {' or '.join(words)}"


def dialect_at(address: str) -> Dialect:
    """What is written for the engine at an address of discreet.toml.

    >>> dialect_at("postgresql://db/clinic").name
    'postgresql'
    """
    match scheme(address):
        case "postgresql" | "postgres":
            return PostgreSQLDialect()
        case "spark" | "sc":
            return SparkDialect()
        case _:
            return DuckDBDialect()
