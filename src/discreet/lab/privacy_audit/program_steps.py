"""The steps that every synthesizer is made of: measuring, choosing, and distances, as programs take them.

Each is taken through a real reservation on a real project, of persons who may have two rows each. What a step draws is
held against the law that its share pays for, written down here once more; and canaries have cells of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.events import ReservationEvent
from discreet.answers.whole_table_charge import charge_whole_table
from discreet.kernel.binned_table import BinnedTable, Candidate
from discreet.kernel.program import Program
from discreet.kernel.project_session import open_session
from discreet.lab.privacy_audit import noise_laws
from discreet.lab.privacy_audit.targets import CERTAIN, AuditTarget, canary_target, exact_delta_target, law_target
from discreet.lab.privacy_audit.temporary_project import temporary_project
from discreet.ledger.charge_request import UNNAMED
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.synth.attribute import attribute_of
from discreet.synth.inspect.model_comparison import reservation

KIND = "synth"
#: Whoever has more than two rows must be cut down to two.
LIMIT, ROWS = 2, 5
ONE = Fraction(1)
#: Under which Gaussian noise is reserved; half of the rows' own claim would be seen by far.
DELTA = Fraction(1, 10**6)
#: The most cells; and how many choices, of some milliseconds each, among how many columns' sets.
MOST, CHOICES, WIDE = 4_000, 200, 5
Included = NDArray[np.bool_]
Noisy = NDArray[np.int64]


def targets() -> list[AuditTarget]:
    """Every kind of step."""
    return [
        canary_target("synth measure: a person with too many rows", KIND, 1.0, _column_scores, most=MOST),
        canary_target("synth measure: a pair of columns", KIND, 1.0, _pair_scores, most=MOST),
        canary_target("synth measure: a cell and its neighbour", KIND, 1.0, _neighbour_scores, most=MOST),
        law_target("synth measure: law of laplace", KIND, lambda samples: _measurement_law(samples, Fraction(0))),
        law_target("synth measure: law of gaussian", KIND, lambda samples: _measurement_law(samples, DELTA)),
        law_target("synth distances: law", KIND, _distances),
        law_target("synth choose: law", KIND, _choices),
        exact_delta_target("synth reservation: its delta", KIND, 1.0, float(DELTA), _delta),
    ]


@contextmanager
def binned_program(
    lines: Sequence[str], *, sizes: Sequence[int], reserved: ReservationEvent
) -> Iterator[tuple[Program, BinnedTable]]:
    """A program that reserved so much, and its table cut by columns of so many values 0, 1, 2 ..."""
    columns = {f"c{place}": _closed([str(number) for number in range(size)]) for place, size in enumerate(sizes)}
    with temporary_project(columns, lines, person="who", more=f"rows_per_person = {LIMIT}") as opened:
        session = open_session(opened, "people", UNNAMED)
        version = session.version
        id_ = charge_whole_table(session, reserved, question="audit", price=Fraction(1))
        program = Program(opened.curator, version, id_)
        axes = [attribute.axis() for attribute in map(attribute_of, version.schema.columns) if attribute is not None]
        yield program, BinnedTable(program, tuple(axes))


def _closed(values: Sequence[str]) -> str:
    """A column of these values and no other, not even NULL."""
    return f'type = "category"\nvalues = {json.dumps(list(values))}\nclosed = true'


def _people(included: Included) -> list[str]:
    """Each canary with too many rows in a cell of his own."""
    return [f"p{number},{number},0" for number in np.flatnonzero(included).tolist() for _ in range(ROWS)]


def _canary_scores(noisy: Noisy) -> NDArray[np.float64]:
    """How far each cell is on the way to where a canary moves it: beyond that Laplace noise says nothing more."""
    return np.clip(noisy / LIMIT, 0.0, 1.0)


def _noisy_marginal(included: Included, own: tuple[int, ...]) -> Noisy:
    """One marginal for all of epsilon 1; a line for each canary."""
    with binned_program(_people(included), sizes=[len(included), 2], reserved=reservation(ONE, Fraction(0))) as (
        program,
        table,
    ):
        (noisy_counts,) = table.measure([own], [program.law(ONE)])
    return noisy_counts.reshape(len(included), -1)


def _column_scores(included: Included) -> NDArray[np.float64]:
    return _canary_scores(_noisy_marginal(included, (0,))[:, 0])


def _pair_scores(included: Included) -> NDArray[np.float64]:
    return _canary_scores(_noisy_marginal(included, (0, 1))[:, 0])


def _neighbour_scores(included: Included) -> NDArray[np.float64]:
    """Nobody is in the cell beside the canary's: noise that both have is no noise."""
    noisy = _noisy_marginal(included, (0, 1))
    return _canary_scores(noisy[:, 0] - noisy[:, 1])


def _measurement_law(samples: int, delta: Fraction) -> tuple[float, int]:
    """Three marginals, in two steps, one of them over merged cells, with what is known to be in them taken off.

    The first two have the same law: noise that is drawn once for both is seen.
    """
    many = min(MOST, samples)
    included = np.arange(many) % 2 == 0
    event = reservation(ONE, delta)
    with binned_program(_people(included), sizes=[many, 2], reserved=event) as (program, table):
        noisy = table.measure([(0,)], [program.law(Fraction(1, 4))])
        same = table.merged((np.arange(many), np.array([0, 0])))
        noisy += same.measure([(0,)], [program.law(Fraction(1, 4))])
        noisy += table.measure([(0, 1)], [program.law(Fraction(1, 2))])
    rows = np.where(included, LIMIT, 0)
    alone = np.concatenate([noisy[0] - rows, noisy[1] - rows])
    pairs = noisy[2] - np.column_stack([rows, np.zeros_like(rows)]).ravel()
    p_values = [
        noise_laws.noise_p_value(draws, *_law(event, share)) for draws, share in ((alone, 1 / 4), (pairs, 1 / 2))
    ]
    return min(1.0, len(p_values) * min(p_values)), len(alone) + len(pairs)


def _law(event: ReservationEvent, share: float) -> tuple[noise_laws.UpperTail, float]:
    """The noise on a marginal that a person of LIMIT rows moves, for a share of a reservation; and its scale."""
    if event.epsilon is not None:
        scale = LIMIT / (float(event.epsilon) * share)
        return noise_laws.laplace_upper_tail(scale), scale
    sigma = LIMIT / (2 * float(event.rho) * share) ** 0.5
    return noise_laws.gaussian_upper_tail(sigma), sigma


def _distances(samples: int) -> tuple[float, int]:
    """The same distance many times over, each in a group of its own, and all for epsilon 1."""
    many, parts, persons = min(MOST, samples), 3, 4
    scale = LIMIT * parts * 2 * many  # each group has two sets, and a person moves both
    lines = [f"p{person},0,0" for person in range(persons) for _ in range(ROWS)]
    with binned_program(lines, sizes=[2, 2], reserved=reservation(ONE, Fraction(0))) as (program, table):
        noisy_distances = table.distances(
            [[(0,), (1,)]] * many,
            lambda own: np.zeros(2, dtype=np.int64),
            parts=parts,
            law=DiscreteLaplace(scale=Fraction(scale)),
        )
        if program.share_left > 0:  # it was charged less than it costs
            return CERTAIN, many
    noise = np.array(noisy_distances) - 2 * parts * persons * LIMIT
    return noise_laws.law_p_value(noise, noise_laws.laplace_upper_tail(scale), scale), many


def _choices(samples: int) -> tuple[float, int]:
    """A choice of epsilon 1 among all sets of columns, many times over; and again where the best of them does not fit.

    All rows lie in one cell, which an estimate of nobody misses by as many. The first set has all the weight, and of
    the others' scores a penalty leaves nothing: the first is chosen about two times in five.
    """
    many, persons, most = min(CHOICES, samples), 6, 3
    sets = [own for size in range(1, WIDE + 1) for own in combinations(range(WIDE), size)]
    rows = persons * LIMIT
    weights, penalties = [most] + [1] * (len(sets) - 1), [0] + [rows] * (len(sets) - 1)
    candidates = [
        (own, Candidate(estimate=np.zeros(2 ** len(own), dtype=np.int64), weight=weight, penalty=penalty))
        for own, weight, penalty in zip(sets, weights, penalties, strict=True)
    ]
    likely = np.ones(len(sets))
    likely[0] = np.exp(most * rows / (2 * most * LIMIT))
    lines = [f"p{person}" + ",0" * WIDE for person in range(persons) for _ in range(ROWS)]
    more: dict[str, Any] = {"epsilon": ONE, "most_weight": most}
    with binned_program(lines, sizes=[2] * WIDE, reserved=reservation(Fraction(2 * CHOICES), Fraction(0))) as (
        _,
        table,
    ):
        free = [table.choose(sets, lambda: candidates, **more) for _ in range(many)]
        fitting = [
            table.choose(sets, lambda: candidates, fits=lambda place: place > 0, **more) for _ in range(many // 2)
        ]
    rest = np.where(np.arange(len(sets)) > 0, likely, 0.0)
    p_values = [
        noise_laws.masses_p_value(np.array(places), (masses / masses.sum()).tolist())
        for places, masses in ((free, likely), (fitting, rest))
    ]
    return min(1.0, 2 * min(p_values)), len(free) + len(fitting)


def _delta() -> float:
    """The delta, at epsilon 1, of all that (1, DELTA) reserves, spent on one marginal and a person of LIMIT rows."""
    sigma = LIMIT / (2 * float(reservation(ONE, DELTA).rho)) ** 0.5
    support = np.arange(-int(40 * sigma), int(40 * sigma) + LIMIT + 1)
    mass = [np.exp(-((support - shift) ** 2) / (2 * sigma**2)) for shift in (0, LIMIT)]
    return noise_laws.hockey_stick(mass[0] / mass[0].sum(), mass[1] / mass[1].sum(), 1.0)
