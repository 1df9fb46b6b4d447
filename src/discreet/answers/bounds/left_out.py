"""What share of the rows rows_per_person leaves out, in a few words, where `bounds --report` has bought it. Free.

Because: it reads stored noisy numbers alone.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from discreet.answers.bounds.bounds_terms import BoundsTerms
from discreet.answers.bounds.share_text import share_text
from discreet.answers.bounds.truncation import roster_inquiries, truncation_of
from discreet.kernel.curator import Version
from discreet.kernel.measurement import Measurement
from discreet.ledger.ledger import Ledger


def left_out_words(version: Version, ledger: Ledger) -> str | None:
    """What the limit on rows leaves out of a version; None where nobody has bought that, or the noise hides it."""
    unit = version.schema.unit
    if unit.is_row:
        return None
    stored = [ledger.find(version.table, version.number, each.question()) for each in roster_inquiries(version)]
    if not all(stored):
        return None
    wide, narrow = (ledger.answer(ids[-1]) for ids in stored)
    return _words(wide, narrow, unit.rows)


@lru_cache(maxsize=64)
def _words(wide: str, narrow: str, declared: int) -> str | None:
    """From the two stored histograms, as texts; the same for all answers about a version."""
    terms = BoundsTerms(epsilon=Fraction(1))  # of no matter for the share
    truncation = truncation_of(Measurement.from_text(wide), Measurement.from_text(narrow), terms, declared=declared)
    if truncation.up_to is None:
        return None
    effect = next(each for each in truncation.limits if each.declared)
    some = f"at most {truncation.more:,} persons" if truncation.more else "nobody"
    if effect.left_out is None:
        return f"{some} had more rows" if declared >= truncation.up_to else None
    beyond = f"; {some} had more than {truncation.up_to:,} rows" if truncation.more else ""
    return f"leaves out {share_text(effect.left_out)} of the rows{beyond}"
