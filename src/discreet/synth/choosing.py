"""Which model to fit and how far it may go: from public facts alone, before data is touched.

What is known publicly: the columns and their numbers of values, the guarantee, the time that may be spent, and the
number of rows where the owner said it. The rules come from benchmarks/RESULTS.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.events import Reserved
from discreet.program import noise_sd
from discreet.schema.column import Column
from discreet.synth.attribute import attribute_of
from discreet.synth.fitting import MODEL_MB
from discreet.synth.wanted import Wanted

#: What a value costs on average, for columns whose values are bought and so not known yet.
USUAL_SIZE = 32

#: Below so many rows for each standard deviation of the noise in a histogram, pairs of columns are only noise.
FEWEST_ROWS = 30.0

#: Above so many, marginals of three columns are worth their noise.
MANY_ROWS = 300.0

#: Above so many columns the rounds of AIM over all pairs take minutes.
MANY_COLUMNS = 80

#: Seconds that a fit of a table of 15 columns takes about: (from, kind, rounds for each column, megabytes).
PACES = ((0, "mst", 0, 1.0), (2, "privbayes", 0, 1.0), (3, "aim", 2, 1.0), (10, "aim", 4, 10.0), (60, "aim", 4, 40.0))

#: Where nobody says how long, so many seconds.
USUAL_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A kind of model, why, and how far its fit may go."""

    kind: str
    because: str
    rounds: int | None
    model_mb: float
    workload: int | None
    warnings: tuple[str, ...] = ()


def chosen(wanted: Wanted, columns: Sequence[Column], event: Reserved, *, most_rows: int) -> Choice:
    """The model to fit. `most_rows`: of one person."""
    sizes = [USUAL_SIZE if found is None else found.fine for found in map(attribute_of, columns)]
    width = len(sizes)
    sd = noise_sd(event, most_rows=most_rows, share=Fraction(1, 3 * width))
    strength = math.inf if wanted.rows is None else wanted.rows / sd
    seconds = USUAL_SECONDS if wanted.seconds is None else float(wanted.seconds)
    pace = max((each for each in PACES if each[0] * max(1.0, width / 15) <= seconds), key=lambda each: each[0])
    kind, because = _kind(wanted, pace[1], width, strength)
    small = wanted.model_mb is None and pace[3] < MODEL_MB and kind == "aim"
    model_mb = float(wanted.model_mb) if wanted.model_mb is not None else pace[3] if small else max(MODEL_MB, pace[3])
    return Choice(
        kind=kind,
        because=because,
        rounds=(2 if model_mb <= 1 else 4) * width,
        model_mb=model_mb,
        workload=wanted.workload or (2 if strength < MANY_ROWS else None),
        warnings=_warnings(wanted, sizes, sd, strength),
    )


def _kind(wanted: Wanted, quick: str, width: int, strength: float) -> tuple[str, str]:
    if wanted.kind != "auto":
        return wanted.kind, "as asked"
    if width == 1:
        return "independent", "there is only one column"
    if strength < FEWEST_ROWS:
        return "independent", "with so few rows at this epsilon, how columns go together would be noise"
    if width > MANY_COLUMNS:
        return "mst", f"{width} columns are too many for more than a tree of pairs"
    if quick != "aim":
        return quick, "the most exact model in that time"
    return "aim", "the most exact model where there is time for it"


def _warnings(wanted: Wanted, sizes: Sequence[int], sd: float, strength: float) -> tuple[str, ...]:
    told = []
    if wanted.rows is not None and wanted.rows / max(sizes) < 3 * sd:
        told.append(
            f"the noise in a histogram is about ±{2 * sd:,.0f} rows and an average value of the largest column has "
            f"{wanted.rows / max(sizes):,.0f}: expect only the largest groups; a larger epsilon or fewer values help"
        )
    if strength < FEWEST_ROWS and wanted.kind not in ("auto", "independent"):
        told.append("with so few rows at this epsilon the dependencies between columns will mostly be noise")
    return tuple(told)
