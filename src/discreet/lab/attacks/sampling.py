"""Sampling as "protection": only a share of the rows is published, without names. Those in it are exposed as before.

Somebody holds a list of the whole population with the same columns (a register, a list of voters, a marketer's file).
A published row is named where exactly one person on the list has its values: whether the row was published with 99
times as many others, or without them, changes nothing for it. What sampling lowers is the share of the *population*
that is exposed, which is no comfort to those who are.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa

from discreet.errors import Command, Flag, Message, UsageError
from discreet.lab.attacks.table_match import TableMatch, count_codes, join_names, look_up_counts, match_tables
from discreet.lab.evidence import Evidence, clopper_pearson, percent
from discreet.lab.phrases import count_phrase
from discreet.lab.pictures import bars


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleExposure:
    """What a sample shows to somebody who has the population's columns."""

    people: int
    rows: int
    #: Rows with the values of exactly one person; rightly so, where that is known.
    named: int
    #: Rows that are alone in the sample; of these, those that are alone in the population.
    sample_unique: int
    population_unique_too: int
    #: How often a name picked from those that fit is right, for a row that is alone in the sample.
    guess_is_right: float
    #: The share of all people who are alone: whom a publication of everybody would expose.
    unique_in_population: float


def draw_sample(population: pa.Table, share: float, *, seed: int | None = None) -> pa.Table:
    """Draw a random sample of rows, as a publisher does. It protects nobody, so `seed` may make it repeatable."""
    if not 0 < share <= 1:
        raise UsageError(
            f"the share of rows must be above 0 and at most 1, not {share:g}", hint=Message(Flag("share", 0.01))
        )
    rows = max(1, round(share * population.num_rows))
    chosen = np.random.default_rng(seed).permutation(population.num_rows)[:rows]
    return population.take(pa.array(chosen))


def expose(sample: pa.Table, population: pa.Table, *, on: Sequence[str], truth: str | None = None) -> Evidence:
    """Measure how many rows of `sample` an attacker can name who has the columns `on` of the whole population."""
    began = time.process_time()
    if sample.num_rows > population.num_rows:
        raise UsageError(
            f"the sample has {sample.num_rows:,} rows, but the population has only {population.num_rows:,}",
            hint=Message("give the population file first: ", Command("attack sampling", "EVERYBODY", "SAMPLE")),
        )
    exposed = _measure_exposure(
        match_tables(sample, population, on=on, truth=truth, called=("the sample", "the population"))
    )
    named_share, everybody = exposed.named / exposed.rows, exposed.unique_in_population
    return Evidence(
        attack="sampling",
        success=named_share,
        chance=1 / exposed.people,
        n=exposed.rows,
        seconds=time.process_time() - began,
        interval=clopper_pearson(exposed.named, exposed.rows),
        story=_story(exposed, on),
        details={"on": list(on), **asdict(exposed), "named_of_population": exposed.named / exposed.people},
        picture=lambda: bars(
            f"Share named by {join_names(on)}", {"in the sample": named_share, "if everybody were published": everybody}
        ),
    )


def _measure_exposure(matching: TableMatch) -> SampleExposure:
    mine, theirs = matching.codes(matching.on)
    people = count_codes(theirs)
    candidates = look_up_counts(people, mine)
    alone = candidates == 1
    lone = look_up_counts(count_codes(mine), mine) == 1
    right = matching.right(mine, theirs, alone)
    return SampleExposure(
        people=len(theirs),
        rows=len(mine),
        named=int((alone if right is None else right).sum()),
        sample_unique=int(lone.sum()),
        population_unique_too=int((lone & alone).sum()),
        guess_is_right=float(np.sum(1 / candidates[lone & (candidates > 0)])) / max(1, int(lone.sum())),
        unique_in_population=int((people == 1).sum()) / len(theirs),
    )


def _story(exposed: SampleExposure, on: Sequence[str]) -> tuple[str, ...]:
    rows, people, lone = exposed.rows, exposed.people, exposed.sample_unique
    alone = "Nobody is unique within the sample."
    if lone:
        alone = (
            f"{percent(lone / rows)} are unique within the sample. Of these, "
            f"{percent(exposed.population_unique_too / lone)} are also unique in the whole population, and a name "
            f"picked at random from the people who match is right {percent(exposed.guess_is_right)} of the time."
        )
    return (
        f"{rows:,} of {count_phrase(people, 'person', 'people')} ({percent(rows / people)}) "
        f"{'was' if rows == 1 else 'were'} published without names. An attacker who has everybody's {join_names(on)} "
        f"names {percent(exposed.named / rows)} of them; if everybody had been published, it would be "
        f"{percent(exposed.unique_in_population)}.",
        alone,
        f"The average risk over the whole population is {percent(exposed.named / people)}: sampling lowers that "
        "average, but does not protect the people who are in the sample.",
    )


def demo(*, share: float = 0.01) -> Evidence:
    """A sample of a generated state's people."""
    from discreet.lab.worlds.state import make_state

    people = make_state().people
    return expose(draw_sample(people, share, seed=1), people, on=("zip", "birth", "sex"), truth="person")
