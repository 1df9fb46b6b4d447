"""The local randomizers, each with two answers that it must hide, and the device that keeps their reports."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.lab.privacy_audit import noise_laws
from discreet.lab.privacy_audit.targets import AuditTarget, identity_target, law_target, pair_target
from discreet.mechanisms.bits import system
from discreet.surveys.device.respondent_device import Device
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.fragment_puzzle import FragmentPuzzle
from discreet.surveys.protocols.local_hash import LocalHashing
from discreet.surveys.protocols.protocol_registry import PROTOCOL_CLASSES, PROTOCOL_PATHS
from discreet.surveys.protocols.randomizer import Randomizer, Reports
from discreet.surveys.protocols.walsh import signs

KIND = "local"
CHOICES = ["a", "b", "c", "d"]
#: Small tables of hashes, so that every report is seen often; the two words fall into different cells of them.
SMALL = {"wide": 4, "functions": 1}
GRID = {"low": 0, "high": 7, "step": 1}

#: Chances of heads: rare ones, and those of two answers at epsilon 1.
COINS = (1 / 2000, 1 / 300, 0.2689, 0.7311)

#: What each protocol is made from beside epsilon, and two answers.
_OF_CHOICES = {"choices": CHOICES}, ("a", "b")
_OF_NUMBERS = GRID, (0, 7)
_QUESTIONS = {name: {"protocol": "response", "options": {"choices": CHOICES}} for name in ("first", "second")}
_OF_SEVERAL = {"questions": _QUESTIONS}, ({"first": "a", "second": "a"}, {"first": "b", "second": "b"})
PROTOCOL_OPTIONS: dict[str, tuple[dict[str, Any], tuple[Any, Any]]] = {
    **dict.fromkeys(("response", "symmetric-unary", "unary", "hashing", "subset"), _OF_CHOICES),
    **dict.fromkeys(("hadamard", "basic-rappor"), _OF_CHOICES),
    "two-coins": ({"choices": ["a", "b"], "epsilon": "ln 3"}, ("a", "b")),
    "fast-hashing": ({**_OF_CHOICES[0], "functions": 4}, ("a", "b")),
    "rappor": ({"wide": 8, "cohorts": 1}, ("a", "b")),
    "sketch": (SMALL, ("a", "d")),
    "hadamard-sketch": (SMALL, ("a", "d")),
    "prefix-words": ({"length": 2, "alphabet": "ab", **SMALL}, ("aa", "bb")),
    "puzzle": ({"length": 2, "alphabet": "ab", **SMALL}, ("aa", "bb")),
    **dict.fromkeys(("duchi", "piecewise", "square-wave", "hybrid", "laplace", "tree"), _OF_NUMBERS),
    "sampled": _OF_SEVERAL,
    "split": _OF_SEVERAL,
}


def targets() -> list[AuditTarget]:
    """Every protocol that can be named, at epsilon 1 (two coins: ln 3); an unknown one fails its audit."""
    protocol_targets = [_target_or_fault(f"local {name}: two answers", name, _protocol) for name in PROTOCOL_PATHS]
    permanent_targets = [
        _target_or_fault(f"local {name}: the kept report", name, _permanent) for name in ("basic-rappor", "rappor")
    ]
    device = identity_target("local device: an answer given again", KIND, _new_report_fault)
    return [*protocol_targets, *permanent_targets, law_target("local coin: law", KIND, _coin_law), device]


def _target_or_fault(title: str, name: str, target: Callable[[str, str], AuditTarget]) -> AuditTarget:
    """A protocol that cannot be made is one line of the table, and no end of the audit."""
    if name not in PROTOCOL_OPTIONS:
        return identity_target(title, KIND, lambda: "the audit does not know this protocol")
    try:
        return target(title, name)
    except Exception as problem:
        fault = f"it cannot be constructed ({type(problem).__name__})"
        return identity_target(title, KIND, lambda: fault)


def _protocol(title: str, name: str) -> AuditTarget:
    """One report. Of those that keep a permanent report, `once` is what one costs that is made of it."""
    randomizer, answers = _make_randomizer(name)

    def draw(world: int, size: int) -> NDArray[Any]:
        answer = answers[world]
        values = np.full(size, answer) if isinstance(answer, int) else [answer] * size
        return _numbers(randomizer, randomizer.randomize_all(values), answers)

    return pair_target(title, KIND, float(getattr(randomizer, "once", randomizer.epsilon)), draw)


def _permanent(title: str, name: str) -> AuditTarget:
    """What is kept for ever, and costs all of epsilon, however often it is told."""
    randomizer, answers = _make_randomizer(name)
    keeping: Any = randomizer

    def draw(world: int, size: int) -> NDArray[Any]:
        kept = [keeping.permanent(answers[world], bits=system()) for _ in range(size)]
        return _numbers(randomizer, np.frombuffer(b"".join(kept), dtype=np.uint8).reshape(size, -1), answers)

    return pair_target(title, KIND, float(randomizer.epsilon), draw, share=0.25)


def _make_randomizer(name: str) -> tuple[Randomizer, tuple[Any, Any]]:
    options, answers = PROTOCOL_OPTIONS[name]
    made: Any = PROTOCOL_CLASSES[name]
    return made(**{"epsilon": 1, **options}), answers


def _numbers(randomizer: Randomizer, reports: Reports, answers: tuple[Any, Any]) -> NDArray[np.int64]:
    """Each report as a number that says as much about the two answers as the report does."""
    if isinstance(randomizer, LocalHashing):
        return _hits(randomizer, reports)
    if isinstance(randomizer, FragmentPuzzle):
        return _agreements(randomizer, reports, answers)
    return _report_numbers(reports)


def _hits(randomizer: LocalHashing, reports: Reports) -> NDArray[np.int64]:
    """Of hash functions that are new in each report: which of the two answers fall into the told bucket."""
    size = randomizer.word // 8
    parts = [np.ascontiguousarray(reports[:, start : start + size]).view(f">u{size}")[:, 0] for start in (0, size)]
    functions, buckets = np.column_stack(parts).astype(f"u{size}"), _report_numbers(reports[:, 2 * size :])
    hits = [randomizer.buckets_of(functions, np.full(len(reports), code)) == buckets for code in (0, 1)]
    return np.asarray(hits[0] * 2 + hits[1], dtype=np.int64)


def _agreements(randomizer: FragmentPuzzle, reports: Reports, answers: tuple[Any, Any]) -> NDArray[np.int64]:
    """Of rows that are new in each report: whether the told sign is that of each answer; and the word's own part."""
    end = reports.shape[1] - randomizer.whole.width
    row_signs, positions = _report_numbers(reports[:, 1:end]), reports[:, 0]
    numbers = randomizer.fragment_numbers([answer.encode() for answer in answers])
    agree = [signs(row_signs >> 1, numbers[code, positions]) == row_signs % 2 for code in (0, 1)]
    return np.asarray(_report_numbers(reports[:, end:]) * 4 + agree[0] * 2 + agree[1])


def _report_numbers(reports: Reports) -> NDArray[np.int64]:
    """The bytes of each report as one number."""
    if reports.shape[1] > 7:
        raise ValueError("an audited report can have at most 7 bytes")
    return np.asarray(reports.astype(np.int64) @ (256 ** np.arange(reports.shape[1] - 1, -1, -1, dtype=np.int64)))


def _coin_law(samples: int) -> tuple[float, int]:
    """The coins that all protocols flip, of biases that differ in their first byte and beyond it.

    Flipped one bias at a time, and each coin of a bias of its own.
    """
    biased_coins = [coins.Coin(heads=int(chance * 256**coins.PLANES)) for chance in COINS]
    alone = [coin.flips(samples, bits=system()) for coin in biased_coins]
    mixed = coins.flips_of(np.tile([coin.heads for coin in biased_coins], samples), bits=system()).reshape(samples, -1)
    p_values = [
        noise_laws.count_p_value(int(flips.sum()), samples, coin.heads / 256**coins.PLANES)
        for side in (alone, mixed.T)
        for coin, flips in zip(biased_coins, side, strict=True)
    ]
    return min(1.0, len(p_values) * min(p_values)), 2 * samples * len(COINS)


def _new_report_fault() -> str:
    """A device answers the same with the same report: another one each time could be averaged."""
    made: Any = PROTOCOL_CLASSES["symmetric-unary"]
    randomizer = made([str(number) for number in range(200)], epsilon=1)  # equal by chance: less than 2^-180
    with tempfile.TemporaryDirectory(prefix="discreet-audit-") as folder:
        device = Device(Path(folder) / "device")
        first, *others = (device.answer("survey", randomizer, "7") for _ in range(4))
    if any(each.report != first.report for each in others):
        return "it draws a new report for an earlier answer"
    return "" if others[-1].lifetime == first.lifetime else "it charges an earlier report again"
