"""The law of neighbours, as `discreet audit neighbours` ships it, under the names of these tests; and answers with noise."""

from fractions import Fraction
from pathlib import Path

from discreet.answers.refine import AnswerReading
from discreet.kernel.curator import Curator
from discreet.kernel.measurement import Measurement
from discreet.lab.neighbours.neighbour_law import DELTA, EPSILON, NORMS, norms
from discreet.lab.neighbours.neighbour_law import NeighbourLaw as Law
from discreet.lab.neighbours.neighbour_law import price_of as priced
from discreet.lab.neighbours.neighbour_pair import DeclaredSide as Declared
from discreet.lab.neighbours.neighbour_pair import Pair
from discreet.sql.query_parser import parse_query

__all__ = ["DELTA", "EPSILON", "NORMS", "Declared", "Law", "Pair", "answered", "norms", "priced"]


def answered(pair: Pair, text: str, *, gaussian: bool = False) -> list[tuple]:
    """The answers to a question on both neighbours, as they are stored, read and shown. Whatever the noise, nothing fails."""
    asked = parse_query(text, pair.catalog)
    found = priced(asked, gaussian=gaussian)
    shown = []
    for side in (pair.whole, pair.less):
        curator = Curator(ledger=None, engine=side.engine, folder=Path())
        parts, event = curator.draw(found, side.tables(asked))
        assert event == found.event, "what was drawn is not what is charged"
        stored = Measurement(id="r-1", text=text, parts=parts, event=event).to_text()
        reading = AnswerReading(query=asked, measurement=Measurement.from_text(stored))
        intervals = reading.intervals(Fraction(95, 100))
        assert len(reading.rows) == len(intervals)
        kinds = [output.key is None and output.grouping is None for output in asked.outputs]
        shown.append(
            tuple(tuple("#" if noisy else cell for cell, noisy in zip(row, kinds, strict=True)) for row in reading.rows)
        )
    if not found.inquiry.keys and asked.having is None and not asked.order:
        assert shown[0] == shown[1], "what is shown beside the numbers is public"
    return shown
