"""Derived answers: rows that earlier releases determine, free; and new ones, read together with what was known."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.events import Event, compose
from discreet.answers.answer_block import AnswerBlock
from discreet.answers.answer_columns import labels_of, least_of
from discreet.answers.answer_release import bought_left_out, resumed_notes
from discreet.answers.caveats import caveats, practice_caveats
from discreet.answers.query_quote import FREE, QueryWish, cost_of, spending
from discreet.answers.reconcile.earlier_estimate import EarlierEstimate, EstimatedCell
from discreet.answers.refine import AnswerReading
from discreet.errors import Flag, Message
from discreet.kernel.curator import Curator, Version
from discreet.kernel.measurement import Measurement
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.weighted_sum import half_width
from discreet.plan import formula
from discreet.release import Release, ReleaseColumn
from discreet.sql.parsed_query import OutputColumn

#: So many releases are named in a sentence; all of them are in `from`.
_NAMED = 5


#: Variances between which Gaussian noise is drawn, and so has a law here.
_LEAST_VARIANCE, _MOST_VARIANCE = 1e-6, 1e24


@dataclass(frozen=True, kw_only=True)
class EstimatedBlock(AnswerBlock):
    """One grouping set whose cells have each a law of their own."""

    cell_estimates: Mapping[int, tuple[EstimatedCell, ...]] = field(default_factory=dict)

    def hidden(self, output: OutputColumn) -> NDArray[np.bool_]:
        """None: what is told are counts and sums."""
        return np.zeros(self.size, dtype=np.bool_)

    def noise_law(self, index: int) -> DiscreteGaussian | None:
        """Gaussian noise of the mean variance of the cells: their own laws differ a little. None where there is next to
        none, or where it is larger than anything that is drawn."""
        variance = float(np.mean([cell.variance for cell in self.cell_estimates.get(index, ())] or [0.0]))
        return DiscreteGaussian(sigma2=Fraction(variance)) if _LEAST_VARIANCE <= variance <= _MOST_VARIANCE else None

    def _ends(self, output: OutputColumn, confidence: Fraction) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        assert output.plain is not None and output.formula is not None
        if (output.formula, confidence) not in self.ends:
            index, step = output.plain
            size = abs(float(step))
            widths = np.array([size * half_width(cell.parts, confidence) for cell in self.cell_estimates[index]])
            values = np.broadcast_to(formula.evaluate(output.formula, self.vectors()), self.size)
            self.ends[output.formula, confidence] = values - widths, values + widths
        return self.ends[output.formula, confidence]


@dataclass(frozen=True, kw_only=True)
class DerivedReading(AnswerReading):
    """A question's reading of what is told about it. `measurement`: what was bought for it, or nothing."""

    earlier_estimate: EarlierEstimate

    @property
    def has_independent_noise(self) -> bool:
        """No: several groups may come from the same noisy numbers."""
        return False

    def _block(self, place: int) -> AnswerBlock:
        own = {index: cells for (at, index), cells in self.earlier_estimate.cells.items() if at == place}
        shape = tuple(axis.size for axis in self.query.inquiry.sets[place])
        block = EstimatedBlock(query=self.query, place=place, keys=None, shape=shape, cell_estimates=own)
        for index, cells in own.items():
            block.values[index] = np.array([cell.value for cell in cells], dtype=np.float64)
        return block


def derived_release(
    earlier_estimate: EarlierEstimate,
    wish: QueryWish,
    *,
    version: Version,
    curator: Curator,
    is_less_exact: bool = False,
) -> Release:
    """A release that costs nothing: it is computed from earlier ones. Its event is theirs, which were paid.

    `is_less_exact`: what is wished for would have less noise if it were measured by itself.

    It is not stored. Whoever asks again while nothing new was released gets the same; later, perhaps a better one.
    """
    event = compose([_event(name, curator) for name in earlier_estimate.releases])
    nothing = Measurement(id=_name(earlier_estimate), text=earlier_estimate.query.text, parts=(), event=event)
    paid = "which is paid for" if len(earlier_estimate.releases) == 1 else "which are paid for"
    because = f"this is computed from {release_list_text(earlier_estimate.releases)}, {paid}: nothing is charged"
    release = _release(earlier_estimate, nothing, wish, because, version=version, ledger=curator.ledger, bought=False)
    if not is_less_exact:
        return release
    note = Message("measured by itself it would have less noise: ", Flag("within", "W"), " or ", Flag("fresh", True))
    return release.with_warnings([*release.warnings, note])


def combined_release(
    earlier_estimate: EarlierEstimate, measurement: Measurement, wish: QueryWish, *, version: Version, ledger: Ledger
) -> Release:
    """A release of a new measurement, read together with what was known before."""
    earlier = [name for name in earlier_estimate.releases if name != measurement.id]
    because = f"combined with {release_list_text(earlier)}: only the missing precision was charged"
    return _release(earlier_estimate, measurement, wish, because, version=version, ledger=ledger, bought=True)


def _release(
    earlier_estimate: EarlierEstimate,
    measurement: Measurement,
    wish: QueryWish,
    because: str,
    *,
    version: Version,
    ledger: Ledger,
    bought: bool,
) -> Release:
    query = earlier_estimate.query
    reading = DerivedReading(query=query, measurement=measurement, earlier_estimate=earlier_estimate)
    standing = ledger.account_status(version.population)
    keys = [output.key is not None or output.grouping is not None for output in query.outputs]
    release = Release(
        id=measurement.id,
        table=version.table,
        version=version.number,
        columns=tuple(
            ReleaseColumn(
                name=output.name,
                kind="key" if key else "derived",
                least=least_of(output, query),
                labels=labels_of(output, query),
            )
            for output, key in zip(query.outputs, keys, strict=True)
        ),
        rows=reading.rows,
        event=measurement.event,
        confidence=wish.confidence,
        cost=cost_of(measurement.event, ledger.state.charges[measurement.id].moved)
        if bought and not measurement.is_resumed
        else FREE,
        spent=spending(standing.spent),
        remaining=spending(standing.remaining),
        derived=not bought,
        sources=earlier_estimate.releases,
        read_intervals=reading.intervals,
        read_best=reading.best_rows,
        totals=reading.totals,
    )
    limits = caveats(query, left_out=bought_left_out(version, ledger))
    warnings = [*resumed_notes(measurement), because, *query.warnings, *limits, *practice_caveats(ledger)]
    below_noise, _, cells = release.count_below_noise()
    if below_noise:
        warnings.append(
            Message(
                f"{below_noise:,} of {cells:,} numbers {'is' if below_noise == 1 else 'are'} below the noise; ",
                Flag("within"),
                " buys the missing precision",
            )
        )
    return release.with_warnings(warnings)


def _event(release: str, curator: Curator) -> Event:
    program = curator.ledger.state.reservations.get(release)
    return curator.stored_measurement(release).event if program is None else program.event


def _name(earlier_estimate: EarlierEstimate) -> str:
    """The same for the same question and releases, so that an answer can be recognised."""
    text = "\n".join([earlier_estimate.query.inquiry.question(), *earlier_estimate.releases])
    return f"d-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def release_list_text(releases: tuple[str, ...] | list[str]) -> str:
    """Releases in a sentence."""
    shown = ", ".join(releases[:_NAMED])
    return shown if len(releases) <= _NAMED else f"{shown} and {len(releases) - _NAMED} more"
