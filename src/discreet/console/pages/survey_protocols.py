"""The protocols of surveys, for people who choose one: what each is for, in a few words."""

from __future__ import annotations

from typing import Any

from discreet.surveys.collector.randomizer_design import NOT_IN_BROWSERS
from discreet.surveys.collector.survey_definition import SEVERAL_QUESTION_PROTOCOLS, protocol_classes

_GROUPS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "for a list of choices",
        (
            ("response", "the truth, or at random another choice; best for few choices"),
            ("two-coins", "two fair coins, for two choices; epsilon ln 3"),
            ("subset", "a random set of choices that may contain the truth; the smallest error"),
            ("unary", "a coin for each choice; long reports"),
            ("symmetric-unary", "like unary, with the same coin for yes and no, as in RAPPOR"),
            ("hashing", "choices in buckets; short reports, slow to count"),
            ("fast-hashing", "like hashing, with a public list of hashes; fast to count"),
            ("hadamard", "the shortest reports for many choices"),
            ("basic-rappor", "RAPPOR's two layers of coins, for questions that are asked repeatedly"),
        ),
    ),
    (
        "for any word",
        (
            ("hadamard-sketch", "one noisy bit about the word; short"),
            ("sketch", "many noisy bits about the word; long"),
            ("rappor", "RAPPOR's Bloom filter in two layers of coins"),
            ("prefix-words", "finds words that nobody listed, by their prefixes"),
            ("puzzle", "finds words that nobody listed, by their fragments"),
        ),
    ),
    (
        "for a number",
        (
            ("hybrid", "the mean, with the smallest error for any distribution"),
            ("duchi", "the mean, from one bit"),
            ("piecewise", "the mean, at a large epsilon"),
            ("square-wave", "the whole distribution"),
            ("laplace", "the number with noise on it"),
            ("tree", "how many are in any range"),
        ),
    ),
)


def protocol_groups() -> list[dict[str, Any]]:
    """Every protocol that a survey can use, by what an answer is. One that nobody wrote a word for comes last."""
    protocol_names = [name for name in protocol_classes() if name not in SEVERAL_QUESTION_PROTOCOLS]
    described_groups = [{"words": words, "protocols": [_line(*each) for each in members]} for words, members in _GROUPS]
    described_names = {name for _, members in _GROUPS for name, _ in members}
    rest = [_line(name, "") for name in protocol_names if name not in described_names]
    return [*described_groups, {"words": "others", "protocols": rest}] if rest else described_groups


def protocol_words(name: str) -> str:
    """What a protocol is, in a few words; empty where nobody wrote any."""
    return next((words for _, members in _GROUPS for protocol, words in members if protocol == name), "")


def _line(name: str, words: str) -> dict[str, Any]:
    return {"name": name, "words": words, "browser": name not in NOT_IN_BROWSERS}
