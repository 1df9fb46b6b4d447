"""The attack: ask many counts, and solve for everybody's bit at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Flag, Message, UsageError
from discreet.lab import pictures
from discreet.lab.attacks.contest import check_epsilon
from discreet.lab.attacks.reconstruction import exhaustive, hadamard, least_squares, linear_program
from discreet.lab.attacks.reconstruction.answer_noise import MOST_HADAMARD, AnswerNoise, random_subsets
from discreet.lab.evidence import Evidence, best_under, clopper_pearson

METHODS = ("squares", "hadamard", "lp", "exhaustive")
#: The curve of accuracy against noise is drawn for so many people, as often as makes its points steady.
CURVE_PEOPLE, CURVE_TURNS = 256, 4
CURVE = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
#: How many people are generated: fewer where the method bears no more.
PEOPLE, MOST_USUAL = {"lp": 100, "exhaustive": exhaustive.MOST_PEOPLE}, 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconstructedBits:
    """What one reconstruction found: bits, the number of questions it asked, and its CPU seconds."""

    bits: NDArray[np.bool_]
    questions: int
    seconds: float


def attack(
    bits: Sequence[bool] | NDArray[np.bool_] | None = None,
    *,
    people: int | None = None,
    queries: int | None = None,
    noise: float | None = None,
    method: str = "squares",
    epsilon: object = None,
    curve: bool = True,
) -> Evidence:
    """Reconstruct secret bits from noisy counts of subsets; without `bits`, the bits of generated people.

    `noise` is a multiple of sqrt(n) (default 0.25). With `epsilon` the server is differentially private instead: all
    its answers together cost `epsilon`, and no bit is guessed better than `best_under(epsilon)`, or better than by an
    attacker who knows which bit is more common. The interval treats people as independent trials.
    """
    chance = np.random.default_rng()
    law = _noise_of(noise, epsilon)
    secret = _secret_bits(bits, people, method, chance)
    outcome = reconstruct(secret, queries=queries, noise=law, method=method, chance=chance)
    right = int(np.count_nonzero(outcome.bits == secret))
    share = float(secret.mean())
    blind = 0.5 if bits is None else max(share, 1 - share)
    points = accuracy_curve(chance) if curve else {}
    return Evidence(
        attack="reconstruction",
        success=right / len(secret),
        chance=blind,
        bound=None if law.epsilon is None else max(blind, best_under(float(law.epsilon))),
        n=len(secret),
        seconds=outcome.seconds,
        interval=clopper_pearson(right, len(secret)),
        story=_story(law, outcome, len(secret), len(secret) - right, method),
        details=_details(law, outcome, len(secret), len(secret) - right, method, points),
        picture=lambda: _picture(points or accuracy_curve(chance), None if bits is None else right / len(secret)),
    )


def demo() -> Evidence:
    """The attack on 2,000 generated people, and its accuracy against the noise."""
    return attack()


def reconstruct(
    secret: NDArray[np.bool_], *, queries: int | None, noise: AnswerNoise, method: str, chance: np.random.Generator
) -> ReconstructedBits:
    """Ask a server that holds `secret`, and solve."""
    _check(method, queries, noise)
    people, start = len(secret), time.process_time()
    match method:
        case "hadamard":
            answers = noise.perturb(hadamard.counts(secret), people, chance)
            bits = hadamard.estimate(answers, people) > 0.5
        case "exhaustive":
            exhaustive.check(people)
            answers = noise.perturb(exhaustive.counts(secret), people, chance)
            bits = exhaustive.consistent_bits(answers, people, noise.bound(people))
        case _:
            count = 4 * people if queries is None else queries
            if method == "lp":
                linear_program.check(people, count)
            subsets = random_subsets(people, count, chance)
            answers = noise.perturb((subsets @ secret.astype(np.float32)).astype(np.float64), people, chance)
            if method == "lp":
                bits = linear_program.estimate(subsets, answers, bounded=noise.epsilon is None) > 0.5
            else:
                bits = least_squares.round_to_bits(subsets, answers, least_squares.estimate(subsets, answers))
    return ReconstructedBits(bits=bits, questions=len(answers), seconds=time.process_time() - start)


def _check(method: str, queries: int | None, noise: AnswerNoise) -> None:
    """Refuse what a method cannot take."""
    if method not in METHODS:
        raise UsageError(f"there is no method {method!r}", hint=Message(Flag("method"), f" {', '.join(METHODS)}"))
    if queries is not None and queries < 1:
        raise UsageError(f"there must be at least 1 query, not {queries:,}")
    if queries is not None and method in ("hadamard", "exhaustive"):
        raise UsageError(
            f"the method {method} determines the number of queries itself", hint=Message("leave out ", Flag("queries"))
        )
    if method == "exhaustive" and noise.epsilon is not None:
        raise UsageError(
            "an exhaustive search needs bounded noise", hint=Message(Flag("noise"), ", or ", Flag("method", "squares"))
        )


def accuracy_curve(chance: np.random.Generator) -> dict[str, list[float]]:
    """The share of bits found at each noise of the curve; and what is found when all answers cost epsilon 1."""
    return {
        "noise": list(CURVE),
        "squares": [_accuracy(AnswerNoise(multiple=each), "squares", chance) for each in CURVE],
        "hadamard": [_accuracy(AnswerNoise(multiple=each), "hadamard", chance) for each in CURVE],
        "epsilon_1": [
            _accuracy(AnswerNoise(epsilon=check_epsilon(1)), method, chance) for method in ("squares", "hadamard")
        ],
    }


def _accuracy(noise: AnswerNoise, method: str, chance: np.random.Generator) -> float:
    right = 0
    for _ in range(CURVE_TURNS):
        secret = chance.random(CURVE_PEOPLE) < 0.5
        outcome = reconstruct(secret, queries=None, noise=noise, method=method, chance=chance)
        right += int(np.count_nonzero(outcome.bits == secret))
    return right / (CURVE_TURNS * CURVE_PEOPLE)


def _noise_of(noise: float | None, epsilon: object) -> AnswerNoise:
    if epsilon is None:
        return AnswerNoise(multiple=0.25 if noise is None else noise)
    if noise is not None:
        raise UsageError(
            Message(Flag("epsilon"), " determines the noise"),
            hint=Message("give ", Flag("noise"), " or ", Flag("epsilon"), ", not both"),
        )
    return AnswerNoise(epsilon=check_epsilon(epsilon))


def _secret_bits(
    bits: Sequence[bool] | NDArray[np.bool_] | None, people: int | None, method: str, chance: np.random.Generator
) -> NDArray[np.bool_]:
    """The bits to be found: the first `people` of those given, or generated ones."""
    if people is not None and people < 1:
        raise UsageError(f"there must be at least 1 person to reconstruct, not {people:,}")
    count = people or PEOPLE.get(method, MOST_USUAL)
    if bits is not None:
        given = np.asarray(bits, dtype=np.bool_)
        count = min(len(given), people or len(given))
        if not count:
            raise UsageError("there are no bits to reconstruct")
    if method == "exhaustive":
        exhaustive.check(count)
    if count > MOST_HADAMARD:
        raise UsageError(
            f"at most {MOST_HADAMARD:,} people can be reconstructed, not {count:,}", hint=Message(Flag("n", 100000))
        )
    return chance.random(count) < 0.5 if bits is None else given[:count]


def _details(
    law: AnswerNoise, outcome: ReconstructedBits, people: int, wrong: int, method: str, curve: dict[str, list[float]]
) -> dict[str, Any]:
    details: dict[str, Any] = {"method": method, "people": people, "queries": outcome.questions, "wrong": wrong}
    if law.epsilon is None:
        details |= {"noise": law.multiple, "largest_error": law.bound(people)}
    else:
        details |= {"epsilon": float(law.epsilon), "noise_scale": float(outcome.questions / law.epsilon)}
    if method == "exhaustive":
        details["promised_wrong"] = min(people, int(4 * law.bound(people)))
    return details | ({"curve": {"people": CURVE_PEOPLE, "generated": True, **curve}} if curve else {})


def _story(law: AnswerNoise, outcome: ReconstructedBits, people: int, wrong: int, method: str) -> tuple[str, ...]:
    counts_phrase = f"{outcome.questions:,} counts about {people:,} people"
    if law.epsilon is not None:
        return (
            f"From {counts_phrase} with a total epsilon of {float(law.epsilon):g}, the attack gets {wrong:,} of the "
            "secret bits wrong.",
        )
    exposed = 20 * wrong <= people
    recovered = f"all but {wrong:,} of the secret bits" if wrong else "every secret bit"
    sentences = (
        f"From {counts_phrase}, each wrong by up to {law.bound(people):.1f}, the attack recovers {recovered}"
        + (": too many answers with too little noise reveal the table." if exposed else "."),
    )
    if method != "exhaustive":
        return sentences
    most = 4 * law.bound(people)
    return (
        *sentences,
        f"No noise within that bound can hide more than {most:.1f} bits (4 times the bound) from this search.",
    )


def _picture(points: dict[str, list[float]], of_file: float | None) -> str:
    """The curve is of generated people, and says so; a file's own bits are a mark across it."""
    mine = {} if of_file is None else {"your file": of_file}
    return pictures.curves(
        f"Reconstruction: share of bits found, by noise ({CURVE_PEOPLE} generated people)",
        points["noise"],
        {"4 n random queries": points["squares"], "n Hadamard queries": points["hadamard"]},
        across="largest error of an answer, in units of sqrt(n)",
        low=0.4,
        marks={"total epsilon 1": max(points["epsilon_1"]), **mine},
    )
