"""The protocols of surveys, for people who choose one: what each is for, in one sentence."""

from __future__ import annotations

from typing import Any

from discreet.surveys.collector.randomizer_design import NOT_IN_BROWSERS
from discreet.surveys.collector.survey_definition import SEVERAL_QUESTION_PROTOCOLS, protocol_classes

#: By what is asked; the usual choice of each group comes first.
_GROUPS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Yes or no, or one of a few choices",
        (
            ("response", "The device sends the true answer with a chance that everybody knows, else another answer."),
            ("two-coins", "Yes or no by two fair coins, as in a classroom. Its epsilon is always ln 3, about 1.1."),
        ),
    ),
    (
        "One of many choices",
        (
            ("subset", "The device sends several choices, and the true one is likely among them. Smallest error."),
            ("hadamard", "The device sends one short code. For hundreds of choices."),
            ("fast-hashing", "The device sends which of a few buckets its choice is in. Short, and fast to count."),
            ("hashing", "Like fast-hashing, with a new hash for each report. Short, but slow to count."),
            ("unary", "The device sends yes or no for every choice, with noise. Long reports."),
            ("symmetric-unary", "Like unary, but yes and no are changed equally often, as in RAPPOR."),
            (
                "basic-rappor",
                "For repeated questions: the device keeps its first noise, and adds more to each report.",
            ),
        ),
    ),
    (
        "A number",
        (
            ("hybrid", "For the mean. Its error is the smallest, whatever the numbers are."),
            ("duchi", "For the mean, from one bit of each person."),
            ("piecewise", "For the mean, where epsilon is large."),
            ("square-wave", "For the whole distribution: how many people have which number."),
            ("tree", "For ranges: how many people are between any two numbers."),
            ("laplace", "The device sends its number with noise added."),
        ),
    ),
    (
        "Any word",
        (
            ("hadamard-sketch", "The device sends one noisy bit about its word. You count the words that you name."),
            ("sketch", "Like hadamard-sketch, with many noisy bits. Long reports."),
            ("rappor", "The word sets bits of a Bloom filter, and coins change them. For repeated questions."),
            ("prefix-words", "Finds frequent words that nobody listed, by how they begin."),
            ("puzzle", "Finds frequent words that nobody listed, by their fragments."),
        ),
    ),
)


def protocol_groups() -> list[dict[str, Any]]:
    """Every protocol that a survey can use, by what an answer is. One that nobody wrote a word for comes last."""
    protocol_names = [name for name in protocol_classes() if name not in SEVERAL_QUESTION_PROTOCOLS]
    described_groups = [{"words": words, "protocols": [_line(*each) for each in members]} for words, members in _GROUPS]
    described_names = {name for _, members in _GROUPS for name, _ in members}
    rest = [_line(name, "") for name in protocol_names if name not in described_names]
    return [*described_groups, {"words": "Others", "protocols": rest}] if rest else described_groups


def protocol_words(name: str) -> str:
    """What a protocol is, in one sentence; empty where nobody wrote any."""
    return next((words for _, members in _GROUPS for protocol, words in members if protocol == name), "")


def _line(name: str, words: str) -> dict[str, Any]:
    return {"name": name, "words": words, "browser": name not in NOT_IN_BROWSERS}
