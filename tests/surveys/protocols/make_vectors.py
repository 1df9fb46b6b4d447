"""Writes vectors.json: for each protocol, bytes of randomness and the report that they make.

    python tests/surveys/protocols/make_vectors.py

Whoever writes a client in another language starts here: read `tape` as the stream of random bytes,
make the report of `value` under `parameters`, and have used up exactly the tape.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import reference_sampler
from discreet.surveys.protocols.choice_randomizer import ChoiceRandomizer
from discreet.surveys.protocols.grid_numbers import Duchi, GridRandomizer
from discreet.surveys.protocols.hadamard import HadamardResponse
from discreet.surveys.protocols.interval_tree import Tree
from discreet.surveys.protocols.laplace_record import LaplaceRecord
from discreet.surveys.protocols.local_hash import FastHashing, LocalHashing
from discreet.surveys.protocols.prefix_words import PrefixWords
from discreet.surveys.protocols.randomized_response import RandomizedResponse, TwoCoins
from discreet.surveys.protocols.randomizer import Randomizer
from discreet.surveys.protocols.rappor import BasicRappor, Rappor
from discreet.surveys.protocols.sketch import CountMeanSketch, HadamardSketch
from discreet.surveys.protocols.subset_selection import SubsetSelection
from discreet.surveys.protocols.unary import OptimisedUnary, SymmetricUnary
from discreet.surveys.protocols.window_mechanism import Hybrid, Piecewise, SquareWave

HERE = Path(__file__).resolve().parent / "vectors.json"

YES_NO = ["yes", "no"]
FRUIT = ["apple", "pear", "plum", "fig", "kiwi"]
#: Letters that take one to four bytes; the last two look alike and are different words.
UNICODE = ["naïve", "北京", "🍐🍎", "straße", "Ω", "ñ", "n\u0303o"]
MANY = [f"choice {place}" for place in range(1, 301)]
#: The last two are one word, once composed.
WORDS = ["a", "naïve", "🎉", "北京" * 20, "e\u0301te\u0301", "été"]
GRIDS = [
    {"low": "0.5", "high": "2.5", "step": "0.01"},
    {"low": -10, "high": 10, "step": 5},
    {"low": 0, "high": 1_000_000, "step": 1},
]

LISTS: list[Any] = [
    RandomizedResponse,
    SymmetricUnary,
    OptimisedUnary,
    LocalHashing,
    FastHashing,
    SubsetSelection,
    HadamardResponse,
    BasicRappor,
]


def randomizers() -> Iterator[Randomizer]:
    """Every protocol that the client speaks, small and large, weak and strong."""
    for kind in LISTS:
        yield kind(YES_NO, epsilon="1.1")
        yield kind(FRUIT, epsilon="0.1")
        yield kind(UNICODE, epsilon="2")
        yield kind(MANY, epsilon="6")
    yield RandomizedResponse.two_coins()
    yield FastHashing(FRUIT, epsilon="1", functions=1000, label="fruit 🍐")
    for sketch in (CountMeanSketch, HadamardSketch):
        yield sketch(epsilon="1.1", functions=3, wide=16, salt="")
        yield sketch(epsilon="4", functions=256, wide=128, salt="ünï")
    yield HadamardSketch(epsilon="2", functions=65536, wide=1024)
    yield Rappor(epsilon="4", wide=32)
    yield Rappor(epsilon="6", once="0.7", functions=2, wide=64, cohorts=300, salt="ünï")
    for number in (Duchi, Piecewise, SquareWave, Hybrid):
        for grid in GRIDS:
            yield number(**grid, epsilon="0.5")
            yield number(**grid, epsilon="3")
    yield TwoCoins(YES_NO)
    yield TwoCoins(UNICODE[:2], epsilon="2")
    for grid in GRIDS:
        yield LaplaceRecord(**grid, epsilon="0.5")
        yield LaplaceRecord(**grid, epsilon="ln 3")
    for grid, oracle in itertools.product(GRIDS[:2], ("unary", "hashing")):
        yield Tree(**grid, epsilon="0.5", oracle=oracle)
        yield Tree(**grid, epsilon="3", oracle=oracle, fanout=3)
    yield Tree(low=0, high=9999, step=1, epsilon="1")
    yield PrefixWords(epsilon="1.1", length=64, functions=3, wide=16, salt="")
    yield PrefixWords(epsilon="4", length=60, alphabet="aeintv\u00efé🎉北京", salt="ünï", functions=65, wide=128)


def randomize(randomizer: Randomizer, value: Any, bits: Any) -> bytes:
    """A report as another client makes it: of Laplace noise by the sampler in whole numbers, else as Python does."""
    if not isinstance(randomizer, LaplaceRecord):
        return randomizer.randomize(value, bits=bits)
    noisy = randomizer.code(value) + reference_sampler.laplace(randomizer.noise.scale, bits=bits)
    told = min(max(noisy, -randomizer.far), randomizer.steps + randomizer.far) + randomizer.far
    return told.to_bytes(randomizer.width, "big")


def answers(randomizer: Randomizer) -> list[Any]:
    """Answers at both ends and in the middle of what can be answered."""
    if isinstance(randomizer, ChoiceRandomizer):
        return [randomizer.choices[0], randomizer.choices[len(randomizer.choices) // 2], randomizer.choices[-1]]
    if isinstance(randomizer, GridRandomizer):
        low, high, step = (float(end) for end in (randomizer.low, randomizer.high, randomizer.step))
        between = low + step / 2, low + 1.49 * step, high - 0.51 * step
        return [str(low), high, *(repr(value) for value in between), " 1e0 ", 0.5 + step / 3]
    if isinstance(randomizer, PrefixWords):
        return [
            "a",
            "naïve",
            "e\u0301te\u0301",
            "été",
            *(["北京" * 10, "🎉"] if randomizer.spelling.alphabet else ["🎉"]),
        ]
    return WORDS


class Recorder:
    """An endless stream of bytes made from a seed; remembers what was read of it.

    One byte in four is one of `ties`: the bytes that the coins compare with, so that flips stay open
    for more than a byte, which plain random bytes hardly ever show.
    """

    def __init__(self, seed: str, ties: bytes = b"") -> None:
        self.seed = seed
        self.ties = np.frombuffer(ties, dtype=np.uint8)
        self.read: list[bytes] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        made = hashlib.shake_128(f"{self.seed}/{len(self.read)}".encode()).digest(3 * 8 * count)
        fresh, which, place = np.frombuffer(made, dtype=np.uint8).reshape(3, -1)
        if self.ties.size:
            fresh = np.where(which < 64, self.ties[place % self.ties.size], fresh)
        self.read.append(fresh.tobytes())
        return np.frombuffer(self.read[-1], dtype=np.uint64)

    @property
    def tape(self) -> bytes:
        return b"".join(self.read)


def ties(randomizer: Randomizer) -> bytes:
    """The bytes of all numbers that the coins of a randomizer could be compared with."""
    numbers = [randomizer.numbers()]
    numbers += [inner for inner in numbers[0].values() if isinstance(inner, dict)]
    numbers += [level["numbers"] for level in numbers[0].get("levels", [])]
    whole = [number for some in numbers for number in some.values() if type(number) is int]
    return b"".join(number.to_bytes(8, "big").lstrip(b"\0") for number in whole)


def vector(seed: str, randomizer: Randomizer, value: Any) -> dict[str, Any]:
    """One report and the bytes of randomness that it was made from, as hexadecimal."""
    recorder = Recorder(seed, ties(randomizer))
    report = randomize(randomizer, value, recorder)
    return {"value": value, "tape": recorder.tape.hex(), "report": report.hex()}


def vectors() -> list[dict[str, Any]]:
    found = []
    for number, randomizer in enumerate(randomizers()):
        cases = [
            vector(f"{number}/{value}/{time}", randomizer, value) for value in answers(randomizer) for time in range(2)
        ]
        found.append({"parameters": randomizer.parameters(), "reports": cases})
    return found


def text() -> str:
    return json.dumps({"version": 1, "vectors": vectors()}, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    HERE.write_text(text(), encoding="utf-8")
