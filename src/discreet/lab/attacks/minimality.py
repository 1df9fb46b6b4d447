"""Minimality: a publisher who generalises no more than needed tells, by generalising, that it was needed.

The publisher hides one value: in every class at most 1/l of the people may have it, and k people at least are in it.
Classes that do are published as they are; those of which one does not are published as one. Somebody who knows the rule
and how many people each class has concludes that one of the joined classes broke it (Wong, Fu, Wang and Pei).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, lgamma, log, log1p
from time import process_time

import numpy as np
import pyarrow as pa

from discreet.errors import Flag, Message, UsageError
from discreet.lab.anonymize.anonymity_report import code_roles
from discreet.lab.anonymize.column_codes import CodedColumn, Floats, Integers
from discreet.lab.anonymize.default_hierarchies import default_hierarchy
from discreet.lab.anonymize.equivalence_classes import EquivalenceClasses, group, group_codes
from discreet.lab.evidence import Evidence, clopper_pearson, percent
from discreet.lab.phrases import count_phrase
from discreet.lab.pictures import bars
from discreet.lab.worlds import wards


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _JoinedClasses:
    """Classes that were published as one: their sizes, which are public, and how many in each have the value."""

    sizes: Integers
    exact_having: Integers


def minimality(
    table: pa.Table,
    *,
    quasi: Sequence[str],
    sensitive: str,
    protect: str,
    l: int = 2,  # noqa: E741 - its name for twenty years
    k: int = 2,
) -> Evidence:
    """Release `table` by the minimality rule (generalise the last of `quasi` by one level if needed), and attack it.

    The attacker sees how many people of each joined class have the value, and knows how many people each class has. The
    attacker treats as equally likely every assignment of the value to people that makes the publisher join the classes,
    and names the people who have it with a higher probability than the release allows. Success is the share of them who
    have it, chance is the share that the release shows for their classes, and the bound is what it promises: 1/l.
    """
    if l < 2 or k < 1:
        raise UsageError(
            "minimality needs an l of at least 2 and a k of at least 1", hint=Message(Flag("l", 2), " ", Flag("k", 2))
        )
    start = process_time()
    hidden, (column,) = code_roles(table, quasi, [sensitive])
    if protect not in column.texts():
        raise UsageError(f"no row of {sensitive!r} has the value to protect", hint=Message(Flag("protect", "VALUE")))
    joined = list(_joined_classes(hidden, column.codes == column.texts().index(protect), l=l, k=k))
    named = having = 0
    shown, believed = 0.0, 0.0
    for one in joined:
        beliefs = credibility(one.sizes, int(one.exact_having.sum()), l=l)
        guilty = beliefs > 1 / l + 1e-9
        people = int(one.sizes[guilty].sum())
        named += people
        having += int(one.exact_having[guilty].sum())
        shown += people * float(one.exact_having.sum() / one.sizes.sum())
        believed += float((beliefs * one.sizes)[guilty].sum())
    success, chance = (having / named, shown / named) if named else (0.0, 0.0)
    return Evidence(
        attack="minimality",
        success=success,
        chance=chance,
        bound=1 / l,
        n=named,
        seconds=process_time() - start,
        interval=clopper_pearson(having, named) if named else (0.0, 1.0),
        story=_story(len(joined), named, success, chance, sensitive, l),
        details={
            "joined": len(joined),
            "named": named,
            "having": having,
            "believed": believed / named if named else 0.0,
        },
        picture=lambda: bars(
            f"People named: how many have the protected {sensitive}",
            {"shown by the release": chance, "with knowledge of the rule": success},
            marks={"promised": 1 / l},
        ),
    )


def _story(joined: int, named: int, success: float, chance: float, sensitive: str, l: int) -> tuple[str, ...]:  # noqa: E741
    if not named:
        why = f"{joined:,} times, but this reveals nobody" if joined else "never"
        return (f"The attacker can name nobody. The publisher joined classes to reach l = {l}: {why}.",)
    return (
        f"In {count_phrase(joined, 'place', 'places')} the publisher joined classes because in one of them more than 1 "
        f"in {l} had the protected {sensitive}. The release shows it for {percent(chance)} of the people named here.",
        f"An attacker who knows the rule and the size of each class names {count_phrase(named, 'person', 'people')}, "
        f"and {percent(success)} of them have it. The release promised that no attacker could be right about more than "
        f"{percent(1 / l)}.",
    )


def _joined_classes(hidden: Sequence[CodedColumn], has: Integers, *, l: int, k: int) -> Iterator[_JoinedClasses]:  # noqa: E741
    """The classes that were joined although each had k people: those whose joining says something."""
    ladder = default_hierarchy(hidden[-1])
    upper = ladder.levels[min(1, len(ladder.levels) - 1)]
    fine = group(hidden)
    coarse = group_codes(
        [*(column.codes for column in hidden[:-1]), upper.groups[hidden[-1].codes]],
        [*(column.size for column in hidden[:-1]), len(upper.labels)],
    )
    having = np.bincount(fine.ids[has], minlength=len(fine.sizes))
    parent = coarse.ids[fine.first_rows()]
    for members in _members(parent, coarse):
        sizes, ill = fine.sizes[members], having[members]
        broken = bool((ill * l > sizes).any())
        if len(members) > 1 and sizes.min() >= k and broken and ill.sum() * l <= sizes.sum():
            yield _JoinedClasses(sizes=sizes, exact_having=ill)


def _members(parent: Integers, coarse: EquivalenceClasses) -> Iterator[Integers]:
    """The fine classes of each coarse one."""
    order = np.argsort(parent, kind="stable")
    counts = np.bincount(parent, minlength=len(coarse.sizes))
    yield from np.split(order, np.cumsum(counts)[:-1])


def credibility(sizes: Integers, having: int, *, l: int) -> Floats:  # noqa: E741
    """How likely somebody of each joined class has the value, given that they were joined and `having` have it in all.

    0 < having < the people in all. Because: every way to spread it over the people is equally likely, a class of s
    people with x of them has C(s, x) ways, and only spreads count in which x > s/l in some class. Sums of positive
    terms alone: nothing cancels.

    >>> credibility(np.array([2, 4]), 2, l=2).tolist()
    [1.0, 0.0]
    """
    share = having / int(sizes.sum())
    every = [_ways(int(size), having, share) for size in sizes]
    fine = [np.where(np.arange(len(ways)) * l <= size, ways, 0.0) for ways, size in zip(every, sizes, strict=True)]
    before, after = _cumulative_ways(every, fine, having), _cumulative_ways(every[::-1], fine[::-1], having)[::-1]
    beliefs = np.zeros(len(sizes))
    for place, size in enumerate(sizes):
        (ok, broken), (ok_after, broken_after) = before[place], after[place + 1]
        rest_broken = _convolve(broken, ok_after + broken_after, having) + _convolve(ok, broken_after, having)
        rest_ok = _convolve(ok, ok_after, having)
        mine = every[place] * rest_broken[::-1] + (every[place] - fine[place]) * rest_ok[::-1]
        beliefs[place] = float((np.arange(having + 1) * mine).sum() / mine.sum() / size)
    return beliefs


def _ways(size: int, having: int, share: float) -> Floats:
    """C(size, x) for x = 0, ..., having, times share^x (1 - share)^(size - x).

    Because those factors are the same for every spread of `having` in all, they change no belief; they keep the largest
    terms near 1 instead of beyond what a float holds.
    """
    ways = np.zeros(having + 1)
    for count in range(min(size, having) + 1):
        chosen = lgamma(size + 1) - lgamma(count + 1) - lgamma(size - count + 1)
        ways[count] = exp(chosen + count * log(share) + (size - count) * log1p(-share))
    return ways


def _cumulative_ways(every: Sequence[Floats], fine: Sequence[Floats], having: int) -> list[tuple[Floats, Floats]]:
    """For the classes up to each: the ways in which none of them broke the rule, and in which one did."""
    ok, broken = np.zeros(having + 1), np.zeros(having + 1)
    ok[0] = 1.0
    ways_up_to = [(ok, broken)]
    for ways, within in zip(every, fine, strict=True):
        broken = _convolve(broken, ways, having) + _convolve(ok, ways - within, having)
        ok = _convolve(ok, within, having)
        scale = max(float(ok.max()), float(broken.max()))
        ok, broken = ok / scale, broken / scale
        ways_up_to.append((ok, broken))
    return ways_up_to


def _convolve(one: Floats, other: Floats, having: int) -> Floats:
    return np.convolve(one, other)[: having + 1]


def demo(*, l: int = 2, k: int = 2) -> Evidence:  # noqa: E741
    """Generated villages, where the nurses' results are joined with the others' where too many have the infection."""
    return minimality(wards.villages(), quasi=("village", "job"), sensitive="test", protect="positive", l=l, k=k)
