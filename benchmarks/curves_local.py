"""Local protocols: what shares and means of 20,000 respondents cost where nobody is trusted, protocol by protocol.

Respondents and the collector are the protocols' own objects, as the survey pages and `discreet survey` use them: there is
no ledger, for nobody holds the truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from curves_data import AGES, people
from curves_picture import BLUE, BROWN, FEW, GREEN, GREY, OLIVE, PURPLE, SOME, Picture, computed, measured, peer
from curves_theory import frequencies, laplace, mean

from discreet.present.charts import ChartCurve, CurvePanel, CurvePoint
from discreet.surveys.protocols.choice_randomizer import ChoiceRandomizer
from discreet.surveys.protocols.protocol_registry import PROTOCOL_CLASSES

PEOPLE = 20_000
SMALL, LARGE = 8, 512
DECLARED = ("response", "symmetric-unary", "unary", "hashing", "fast-hashing", "subset", "hadamard", "basic-rappor")
WORDS = ("rappor", "sketch", "hadamard-sketch")
#: Those whose variance is written down in curves_theory; of the others theory is what the protocol states.
CLOSED = ("response", "symmetric-unary", "unary", "hashing", "subset")
MEANS = {"duchi": GREEN, "piecewise": BLUE, "hybrid": PURPLE, "laplace": BROWN}
LIBRARIES = {"pure-ldp": ("pure_ldp", BROWN), "multi-freq-ldpy": ("multi_freq_ldpy", PURPLE)}


def pictures(epsilons: Sequence[str], *, quick: bool) -> list[Picture]:
    return [
        _frequencies("small", SMALL, DECLARED, epsilons, runs=10 if quick else 40, quick=quick),
        _frequencies("large", LARGE, (*DECLARED, *WORDS), epsilons, runs=1, quick=quick),
        _means(epsilons, runs=20 if quick else 100),
    ]


def shares_of(choices: int) -> np.ndarray:
    """Zipf's law."""
    found = 1 / np.arange(1, choices + 1) ** 1.1
    return found / found.sum()


def _frequencies(
    name: str, choices: int, protocols: Sequence[str], epsilons: Sequence[str], *, runs: int, quick: bool
) -> Picture:
    shares = shares_of(choices)
    codes = np.random.default_rng(14).choice(choices, size=PEOPLE, p=shares)
    exact = np.bincount(codes, minlength=choices)
    order = {
        "codes": codes.tolist(),
        "choices": choices,
        "epsilons": FEW if quick else SOME,
        "quick": quick,
        "runs": runs,
    }
    told = {
        label: peer(environment, "local_curves.py", {**order, "library": environment})
        for label, (environment, _) in LIBRARIES.items()
    }
    panels = tuple(
        CurvePanel(title=protocol, curves=tuple(_panel(protocol, codes, exact, epsilons, runs, told)))
        for protocol in protocols
    )
    return Picture(
        name=f"curves-local-{name}",
        title=f"Local frequencies, {choices} choices",
        up="error of a share: root mean square over the choices",
        panels=panels,
        told=f"{PEOPLE:,} respondents, {choices} choices by Zipf's law. Repaired: `norm_sub`, which leaves no share below 0. "
        "Theory: the published variances; of fast-hashing, hadamard, RAPPOR and sketches what the protocol states. Central: the same counts with "
        "Laplace noise by a curator who is trusted. pure-ldp runs on fewer respondents, and its errors are scaled by the "
        "root of their number; multi-freq-ldpy repairs what it estimates (none below 0), unasked.",
        missing=tuple(each for each in told.values() if isinstance(each, str)),
    )


def _panel(
    protocol: str, codes: np.ndarray, exact: np.ndarray, epsilons: Sequence[str], runs: int, told: dict[str, Any]
) -> Iterator[ChartCurve]:
    found = {epsilon: _run(protocol, epsilon, codes, exact, runs) for epsilon in epsilons}
    yield measured("Discreet", [(each, squares) for each, (squares, _, _) in found.items()], hue=GREEN)
    yield measured("Discreet, repaired", [(each, repaired) for each, (_, repaired, _) in found.items()], hue=BLUE)
    if protocol in CLOSED:
        shares = exact / PEOPLE
        yield computed(
            "theory", lambda epsilon: frequencies(protocol, epsilon, shares, PEOPLE), hue=GREEN, epsilons=epsilons
        )
    else:
        stated = tuple(CurvePoint(x=float(each), value=error) for each, (_, _, error) in found.items())
        yield ChartCurve(name="theory", kind="computed", points=stated, hue=GREEN)
    yield computed("central", lambda epsilon: laplace(epsilon) / PEOPLE, hue=GREY, epsilons=epsilons)
    for label, (_, hue) in LIBRARIES.items():
        known = told[label].get(protocol) if isinstance(told[label], dict) else None
        if isinstance(known, dict) and any(known.values()):
            yield measured(label, known.items(), hue=hue, kind="peer")


def _run(
    protocol: str, epsilon: str, codes: np.ndarray, exact: np.ndarray, runs: int
) -> tuple[list[float], list[float], float]:
    """The squared errors of shares, those of repaired ones, and the error that the protocol itself states."""
    words = [f"word {place}" for place in range(len(exact))]
    randomizer: Any = (
        PROTOCOL_CLASSES[protocol](words, epsilon=epsilon)
        if protocol in DECLARED
        else PROTOCOL_CLASSES[protocol](epsilon=epsilon)
    )  # type: ignore[call-arg]
    listed = isinstance(randomizer, ChoiceRandomizer)
    answers = np.tile(codes, runs) if listed else [words[code] for code in codes] * runs
    reports = randomizer.randomize_all(answers)
    squares: list[float] = []
    repaired: list[float] = []
    stated = []
    for run in range(runs):
        part = reports[run * PEOPLE : (run + 1) * PEOPLE]
        found = randomizer.estimate(part) if listed else randomizer.estimate(part, words)
        squares += (((found.counts - exact) / PEOPLE) ** 2).tolist()
        repaired += (((found.norm_sub().counts - exact) / PEOPLE) ** 2).tolist()
        variances = randomizer.variances(exact.astype(float), PEOPLE) if listed else found.variances
        stated.append(float(variances.mean()) / PEOPLE**2)
    return squares, repaired, math.sqrt(float(np.mean(stated)))


def _means(epsilons: Sequence[str], *, runs: int) -> Picture:
    ages = people().codes["age"][:PEOPLE]
    around = 2 * ages / (AGES - 1) - 1  # between -1 and 1, as the papers have it
    curves: list[ChartCurve] = []
    for protocol, hue in MEANS.items():
        found = [(epsilon, _mean_errors(protocol, epsilon, ages, runs)) for epsilon in epsilons]
        curves.append(measured(protocol, found, hue=hue))
        law = computed(
            f"{protocol}, theory",
            lambda epsilon, protocol=protocol: (AGES - 1) / 2 * mean(protocol, epsilon, around),
            hue=hue,
            epsilons=epsilons,
            is_named=False,
        )
        curves.append(law)
    central = computed(
        "central, Laplace",
        lambda epsilon: (AGES - 1) / 2 * math.sqrt(2) / epsilon / PEOPLE,
        hue=GREY,
        epsilons=epsilons,
    )
    spread = float(ages.std()) / math.sqrt(PEOPLE)
    drawn = computed("other people", lambda _: spread, hue=OLIVE, epsilons=epsilons)
    return Picture(
        name="curves-local-means",
        title="Local means",
        up="error of a mean age: root mean square, in years",
        panels=(CurvePanel(title="", curves=(*curves, central, drawn)),),
        told=f"The mean age of {PEOPLE:,} respondents, between 0 and {AGES - 1}, over {runs} surveys. Theory: the published "
        "variances. Central: the centred sum with Laplace noise, by a curator who is trusted, over a number of people that is "
        "known. Other people: how far the mean of another sample of as many would be off, without any privacy.",
        missing=("pure-ldp, multi-freq-ldpy: they have no means",),
    )


def _mean_errors(protocol: str, epsilon: str, ages: np.ndarray, runs: int) -> list[float]:
    randomizer: Any = PROTOCOL_CLASSES[protocol](low=0, high=AGES - 1, step=1, epsilon=epsilon)  # type: ignore[call-arg]
    exact, found = float(ages.mean()), []
    for _ in range(runs):
        found.append((randomizer.estimate(randomizer.randomize_all(ages)).value - exact) ** 2)
    return found
