"""The two tiers of the suite: fast (`./do test`) and deep (`./do test --deep`).

A test that is too long for the fast tier takes one of these ways, and each keeps its assertion in the fast tier:

- `size(fast, deep)`: the same test with fewer samples; `examples(n)` for hypothesis.
- `@pytest.mark.thin(n)`: n of its cases, spread evenly, run in the fast tier; the others are deep.
- `@pytest.mark.deep`: the whole test, or all tests of an engine, are deep; `@pytest.mark.fast` brings one case back.
  A fast test of the same guarantee must stay (CONTRIBUTING names it).
- `@pytest.mark.versions`: a case on another version of a server than the tests' own; deep, whatever else is marked.

A case that is named on the command line runs in either tier.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TypeVar

import pytest

T = TypeVar("T")

#: Set by `./do test --deep` and `./do fuzz`.
DEEP = os.environ.get("DISCREET_DEEP") == "1"

#: The share of the fuzzers' work, or a multiple of it.
FUZZ = float(os.environ.get("DISCREET_FUZZ", "1"))


def size(fast: T, deep: T) -> T:
    """What the tier of this run takes: a number of samples, a list of cases, a setting."""
    return deep if DEEP else fast


def examples(deep: int) -> int:
    """Of the examples that hypothesis draws in the deep tier a quarter. (Always the same ones, in either tier.)"""
    return size(max(deep // 4, 5), deep)


def fuzzed(count: int) -> int:
    """So much of a fuzzer's work does this run ask for: `DISCREET_FUZZ=0.05 ./do fuzz` a twentieth, 10 ten times all."""
    return max(round(count * FUZZ), 1)


def some_fuzzers(items: list[pytest.Item]) -> list[pytest.Item]:
    """Of a fuzzer's cases the share that the run asks for, evenly spread, and one at least."""
    kept = []
    for _, cases in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        listed = list(cases)
        kept += [listed[place] for place in sorted(spread(len(listed), fuzzed(len(listed))))]
    return kept


def mark_deep_cases(items: Iterable[pytest.Item]) -> None:
    """Mark as deep every case that `thin` leaves out of the fast tier."""
    for _, cases in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        listed = [case for case in cases if not case.get_closest_marker("versions")]
        thin = listed[0].get_closest_marker("thin") if listed else None
        if thin is None:
            continue
        kept = spread(len(listed), *thin.args)
        for place, case in enumerate(listed):
            if place not in kept:
                case.add_marker(pytest.mark.deep)


def spread(count: int, kept: int) -> set[int]:
    """`kept` of `count` places, evenly spread; the first and the last are among them."""
    if count <= kept:
        return set(range(count))
    return {round(place * (count - 1) / max(kept - 1, 1)) for place in range(kept)}


def named(arguments: Sequence[str]) -> bool:
    """Whether the command line names single tests: those run whatever their tier."""
    return any("::" in word for word in arguments)
