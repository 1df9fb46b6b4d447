"""An earlier answer that `again` makes more precise: what that costs, and how precise it will be. Free.

How precise is told by reading the earlier noisy numbers with the noise that they would have: no data is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.answers.instalments import cheaper, refined_quote
from discreet.answers.query_quote import QueryQuote, QueryWish, quote
from discreet.answers.refine import AnswerReading
from discreet.kernel.curator import Curator
from discreet.kernel.measurement import Measurement, NoisyCells
from discreet.kernel.project_session import Session
from discreet.plan.price import Measure
from discreet.present.cell_text import format_with_noise
from discreet.sql.parsed_query import ParsedQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierAnswer:
    """A stored answer to a query, which `again` makes more precise."""

    query: ParsedQuery
    measurement: Measurement
    session: Session

    def quote(self, wish: QueryWish) -> QueryQuote:
        """The price of so much more epsilon: as a refinement, or measured anew, whichever costs the budget less."""
        version, guarantee, curator = self.session.version, self.session.guarantee, self.session.curator
        anew = quote(self.query, wish, version=version, guarantee=guarantee, ledger=curator.ledger, booking=False)
        refined = refined_quote(
            self.query, wish, self.measurement, version=version, guarantee=guarantee, curator=curator
        )
        return cheaper(anew, refined, curator)

    def read_with(self, quoted: QueryQuote) -> tuple[str, ...]:
        """The measurements that one at this quote is read together with."""
        if self.query.inquiry.keys:
            return ()
        first = self.measurement
        return first.also if quoted.price.refines else (first.id, *first.also)

    def plus_minus(self, confidence: Fraction) -> str | None:
        """The largest ± of its numbers, as answers show it; None where they have none."""
        return _shown_plus_minus(stored_answer(self.query, self.measurement, self.session.curator), confidence)

    def plus_minus_after(self, quoted: QueryQuote, confidence: Fraction) -> str | None:
        """The largest ± after `again` at this quote; None where it depends on the data."""
        steps = {step.place: step for step in quoted.price.steps if isinstance(step, Measure)}
        if self.query.inquiry.keys or len(steps) != len(quoted.price.steps):  # measured again, not averaged
            return None
        parts = [
            replace(part, statistics=steps[part.place].statistics, laws=tuple(steps[part.place].laws))
            if isinstance(part, NoisyCells) and part.place in steps
            else part
            for part in self.measurement.parts
        ]
        curator = self.session.curator
        others = tuple(curator.stored_measurement(id_) for id_ in self.read_with(quoted))
        after = replace(self.measurement, parts=tuple(parts))
        return _shown_plus_minus(AnswerReading(query=self.query, measurement=after, others=others), confidence)


def stored_answer(query: ParsedQuery, measurement: Measurement, curator: Curator) -> AnswerReading:
    """A query's reading of a stored measurement, with those that it is read together with."""
    others = tuple(curator.stored_measurement(id_) for id_ in measurement.also)
    return AnswerReading(query=query, measurement=measurement, others=others)


def _shown_plus_minus(reading: AnswerReading, confidence: Fraction) -> str | None:
    """The largest ± of an answer's numbers, with the digits that answers show."""
    widths: list[int | float] = []
    for row in reading.intervals(confidence):
        for ends in row:
            if ends is None:
                continue
            low, high = ends
            if isinstance(low, str) or isinstance(high, str):  # dates have no ±
                continue
            if isinstance(low, int) and isinstance(high, int) and (high - low) % 2 == 0:
                widths.append((high - low) // 2)
            else:
                widths.append((high - low) / 2)
    widest = max(widths, default=None)
    return None if widest is None else format_with_noise(0 * widest, -widest, widest).partition(" ± ")[2]
