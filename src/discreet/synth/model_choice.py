"""Which model to fit and how far it may go: from public facts alone, before data is touched.

What is known publicly: the columns and their numbers of values, the guarantee, the time that may be spent, and the
number of rows where the owner said it. The rules come from benchmarks/RESULTS.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from discreet.accounting.events import ReservationEvent
from discreet.kernel.program import noise_sd
from discreet.schema.column import Column
from discreet.synth.aim import most_table
from discreet.synth.attribute import attribute_of
from discreet.synth.cell_choice import MOST_BINS
from discreet.synth.fit_request import FitRequest
from discreet.synth.fit_task import MODEL_MB

#: How many values a column has whose values are bought and so not known yet.
USUAL_SIZE = 32

#: Below so many rows for each standard deviation of the noise in a histogram, pairs of columns are only noise.
FEWEST_ROWS = 30.0

#: Above so many columns the rounds of AIM over all pairs take minutes.
MANY_COLUMNS = 80

#: Where nobody says how long, so many seconds; where nobody says how many rows, so many.
USUAL_SECONDS = 40.0
USUAL_ROWS = 100_000

#: What a fit takes on one core of 2020: seconds for starting; for each column of a tree; for each cell of the model
#: and each cell of a marginal to choose from in each round; for each row in each marginal that is counted.
START_S, COLUMN_S, CELL_S, CANDIDATE_S, ROW_S = 1.0, 0.05, 3.5e-7, 8e-8, 4e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSettings:
    """A way to fit. `order`: of up to how many columns marginals are chosen; `rounds`: for each column."""

    kind: str
    order: int = 2
    model_mb: float = MODEL_MB
    rounds: int = 0


#: The most exact first.
FIT_SETTINGS = (
    FitSettings(kind="aim", order=3, model_mb=40.0, rounds=3),
    FitSettings(kind="aim", order=3, model_mb=10.0, rounds=3),
    FitSettings(kind="aim", order=3, model_mb=1.0, rounds=2),
    FitSettings(kind="aim", order=2, model_mb=4.0, rounds=2),
    FitSettings(kind="aim", order=2, model_mb=1.0, rounds=2),
    FitSettings(kind="mst"),
    FitSettings(kind="privbayes"),
    FitSettings(kind="independent"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A kind of model, why, and how far its fit may go."""

    kind: str
    because: str
    rounds: int | None
    model_mb: float
    workload: int | None
    warnings: tuple[str, ...] = ()


def choose_model(
    request: FitRequest, columns: Sequence[Column], event: ReservationEvent, *, most_rows: int
) -> ModelChoice:
    """The model to fit. `most_rows`: of one person."""
    sizes = [USUAL_SIZE if attribute is None else attribute.fine for attribute in map(attribute_of, columns)]
    sd = noise_sd(event, most_rows=most_rows, share=Fraction(1, 3 * len(sizes)))
    strength = math.inf if request.rows is None else request.rows / sd
    kind, because = _kind(request, len(sizes), strength)
    pace = _settings_within_time(request, sizes, kind)
    quick = kind is None and pace.kind != "aim"
    # A workload of pairs is said where time asks for it; where noise does, the fit itself finds out.
    order = pace.order if pace.kind == "aim" and pace.order < 3 else None
    return ModelChoice(
        kind=pace.kind,
        because="the most accurate model that fits in the given time" if quick else because,
        rounds=pace.rounds * len(sizes) or None,
        model_mb=float(request.model_mb) if request.model_mb is not None else pace.model_mb,
        workload=request.workload or order,
        warnings=_warnings(request, sizes, sd, strength),
    )


def _kind(request: FitRequest, width: int, strength: float) -> tuple[str | None, str]:
    """The kind of model, where it does not depend on the time; and why."""
    if request.kind != "auto":
        return request.kind, "you chose it"
    if request.public is not None:
        return "mst", "the public rows can be used to choose its tree"
    if width == 1:
        return "independent", "there is only one column"
    if strength < FEWEST_ROWS and not request.marginals:
        return "independent", "there are too few rows at this epsilon to measure how columns depend on each other"
    if width > MANY_COLUMNS:
        return "mst", f"with {width:,} columns, only a tree of pairs is practical"
    return None, "it is the most accurate model when there is enough time"


def _settings_within_time(request: FitRequest, sizes: Sequence[int], kind: str | None) -> FitSettings:
    """The most exact way to fit within the time; the quickest where none is."""
    affordable = [
        settings
        for settings in FIT_SETTINGS
        if settings.kind == kind or (kind is None and settings.kind in ("aim", "mst"))
    ]
    most = USUAL_SECONDS if request.seconds is None else float(request.seconds)
    rows = USUAL_ROWS if request.rows is None else request.rows
    if request.model_mb is not None:  # rounds go with the room that was asked for
        affordable = [
            settings for settings in affordable if settings.kind != "aim" or settings.model_mb <= request.model_mb
        ] or affordable[-1:]
    if len(sizes) > MANY_COLUMNS:
        return affordable[-1]
    return next((settings for settings in affordable if seconds_of(settings, sizes, rows=rows) <= most), affordable[-1])


def seconds_of(pace: FitSettings, sizes: Sequence[int], *, rows: int) -> float:
    """About how long a fit takes, at most: a model can stay smaller, and rounds can be fewer."""
    if pace.kind != "aim":
        return START_S + COLUMN_S * len(sizes) + ROW_S * rows * len(sizes) ** 2 / 2
    # Bins are few, and rare values are kept together.
    small = [min(size, MOST_BINS + 1) for size in sizes]
    most = most_table(len(small))
    tables = [math.prod(own) for order in range(1, pace.order + 1) for own in combinations(small, order)]
    allowed_tables = [cells for cells in tables if cells <= most]
    model = min(pace.model_mb * 2**20 / 8, float(math.prod(small)))
    each = CELL_S * model + CANDIDATE_S * sum(allowed_tables)
    return START_S + pace.rounds * len(sizes) * each + ROW_S * rows * len(allowed_tables)


def _warnings(request: FitRequest, sizes: Sequence[int], sd: float, strength: float) -> tuple[str, ...]:
    warnings = []
    if request.rows is not None and request.rows / max(sizes) < 3 * sd:
        warnings.append(
            f"the noise in a histogram is about ±{2 * sd:,.0f} rows, and an average value of the largest column has "
            f"{request.rows / max(sizes):,.0f} rows: expect only the largest groups to be accurate; use a larger "
            "epsilon or fewer values"
        )
    if strength < FEWEST_ROWS and request.kind not in ("auto", "independent"):
        warnings.append("there are too few rows at this epsilon: dependencies between columns will mostly be noise")
    return tuple(warnings)
