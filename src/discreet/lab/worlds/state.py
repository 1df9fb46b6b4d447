"""A state in 1997: its people, a hospital file without names and a list of voters with names. Seeded: nobody is real.

About 87% of the people are alone with their ZIP code, birth date and sex: what Sweeney found for the United
States comes out where about 7,500 people share a ZIP code. Among the voters six have the governor's birth date, three
of them men, one of these in his ZIP code, as it was in Cambridge, Massachusetts: the six are planted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.lab.samples.invented_names import FAMILY, GIVEN

Integers = NDArray[np.int64]

TODAY = (date(1997, 1, 1) - date(1970, 1, 1)).days
BORN = (date(1945, 9, 14) - date(1970, 1, 1)).days
GOVERNOR = "Augustus Thorne"
#: People to a ZIP code, on average over ZIP codes; they differ by a factor of two or so.
TO_A_ZIP = 7_500
#: The share of adults who vote, and of people whose insurer is the state.
VOTING, INSURED = 0.85, 0.35
DIAGNOSES = ("hypertension", "fracture", "pneumonia", "diabetes", "depression", "cancer", "HIV", "substance use")
COMMON = (0.25, 0.2, 0.17, 0.14, 0.12, 0.08, 0.01, 0.03)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedState:
    """`person` in each table says whose row it is: no attack reads it, it tells which matches were right."""

    people: pa.Table
    hospital: pa.Table
    voters: pa.Table
    #: The governor's number.
    governor: int


def make_state(people: int = 150_000, *, seed: int = 1997) -> GeneratedState:
    """A state of so many people."""
    if people < 10_000:
        raise ValueError(f"a state of {people} people has too few people with the same birth date")
    draw = np.random.default_rng(seed)
    place = _places(people, draw)
    birth = _births(people, draw)
    man = draw.random(people) < 0.49
    adult = birth <= TODAY - 18 * 366
    votes = adult & (draw.random(people) < VOTING)
    insured = draw.random(people) < INSURED
    governor = _plant(place, birth, man, votes)
    insured[governor] = True
    everyone = _people(place, birth, man)
    return GeneratedState(
        people=everyone,
        hospital=_hospital(everyone, np.flatnonzero(insured), draw),
        voters=_voters(everyone, np.flatnonzero(votes), governor, draw),
        governor=governor,
    )


def _places(people: int, draw: np.random.Generator) -> Integers:
    """The number of each one's ZIP code."""
    count = max(2, round(people / TO_A_ZIP))
    sizes = np.cumsum(np.exp(0.35 * draw.standard_normal(count)))
    place: Integers = np.searchsorted(sizes, draw.random(people) * sizes[-1], side="right")
    return place


def _births(people: int, draw: np.random.Generator) -> Integers:
    """Days of birth: as many of each age up to 50, then ever fewer up to 95."""
    ages = np.arange(95)
    weights = np.cumsum(np.clip((95 - ages) / 45, 0, 1))
    age = np.searchsorted(weights, draw.random(people) * weights[-1], side="right")
    days: Integers = np.floor((age + draw.random(people)) * 365.25).astype(np.int64)
    return TODAY - days


def _plant(place: Integers, birth: Integers, man: NDArray[np.bool_], votes: NDArray[np.bool_]) -> int:
    """Make the first voter who is a man the governor and give five others, who vote elsewhere, his birth date."""
    birth[birth == BORN] += 1
    governor = int(np.flatnonzero(votes & man)[0])
    elsewhere = votes & (place != place[governor])
    born = [governor, *np.flatnonzero(elsewhere & man)[:2], *np.flatnonzero(elsewhere & ~man)[:3]]
    birth[born] = BORN
    return governor


def _people(place: Integers, birth: Integers, man: NDArray[np.bool_]) -> pa.Table:
    codes = pa.array([f"{2100 + code:05d}" for code in range(int(place.max()) + 1)])
    return pa.table(
        {
            "person": np.arange(len(place)),
            "zip": codes.take(pa.array(place)),
            "birth": pa.array(birth.astype(np.int32)).cast(pa.date32()),
            "sex": pa.array(["F", "M"]).take(pa.array(man.astype(np.int8))),
        }
    )


def _hospital(people: pa.Table, who: Integers, draw: np.random.Generator) -> pa.Table:
    """A stay of each insured person, in no order that says who they are."""
    who = draw.permutation(who)
    diagnosis = np.searchsorted(np.cumsum(COMMON), draw.random(len(who)), side="right").clip(0, len(COMMON) - 1)
    stays = people.take(pa.array(who))
    stays = stays.append_column("diagnosis", pa.array(DIAGNOSES).take(pa.array(diagnosis)))
    return stays.append_column("cost", pa.array(np.rint(draw.lognormal(8, 1, len(who))).astype(np.int64)))


def _voters(people: pa.Table, who: Integers, governor: int, draw: np.random.Generator) -> pa.Table:
    def picked(values: tuple[str, ...]) -> Any:
        return pa.array(values).take(pa.array(draw.integers(len(values), size=len(who))))

    initials = tuple(f"{letter}." for letter in "ABCDEFGHIJKLMNOPRSTW")
    names = pc.binary_join_element_wise(picked(GIVEN), picked(initials), picked(FAMILY), " ")
    names = pc.if_else(pa.array(who == governor), GOVERNOR, names)
    return people.take(pa.array(who)).append_column("name", names)
