"""The attacks of the lab on generated people, each also tried on what Discreet publishes of such people instead.

In every world some people are left out of the protected table. The attack concludes about them, too, so that its
success about people in the table is seen beside its success about people of whom the table holds nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.lab.attacks.protected_release import (
    EPSILON,
    Counts,
    Flags,
    ProtectedOutcome,
    codes_of,
    compare_people,
    noisy_counts,
)
from discreet.lab.evidence import Evidence, percent
from discreet.lab.worlds import wards

if TYPE_CHECKING:
    from discreet.lab.attacks.rating_records import RatingRecords

Integers = NDArray[np.int64]

COUNTS = "noisy counts"
#: A user's ratings beyond so many are not counted; the release of a film service has so many invented records.
MOST_RATINGS, INVENTED_USERS = 100, 4_000
#: People looked for, in the table and outside of it.
LOOKED_FOR = 200


def linkage() -> Evidence:
    """Rows invented from noisy counts of ZIP code, decade of birth, sex and diagnosis, linked with the voters."""
    from discreet.lab.attacks import linkage as lab
    from discreet.lab.worlds.state import DIAGNOSES, make_state

    def attack() -> ProtectedOutcome:
        state = make_state()
        stays = _with_decade(state.hospital)
        inside = np.arange(stays.num_rows) % 2 == 0
        domains = {**_state_domains(stays), "diagnosis": DIAGNOSES}
        counts = noisy_counts(stays.filter(_mask(inside)), domains)
        rows, (diagnosis,) = _invent_rows(counts)
        named = _named_once(rows, _state_keys(state.voters, domains))
        voters = state.voters["person"].to_numpy()
        believed = np.full(state.people.num_rows, -1)
        believed[voters[named[named >= 0]]] = diagnosis[named >= 0]
        exact_diagnosis = codes_of(stays, domains)[-1]
        return compare_people(believed[stays["person"].to_numpy()] == exact_diagnosis, inside)

    return _with_protection(lab.demo(), attack, f"rows that are invented from {COUNTS}")


def sampling() -> Evidence:
    """Rows invented from noisy counts of the sample."""
    from discreet.lab.attacks import sampling as lab
    from discreet.lab.worlds.state import make_state

    def attack() -> ProtectedOutcome:
        people = _with_decade(make_state().people)
        domains = _state_domains(people)
        chosen = np.random.default_rng(1).permutation(people.num_rows)[: people.num_rows // 50]
        inside = np.arange(len(chosen)) % 2 == 0
        counts = noisy_counts(people.take(chosen[inside]), domains)
        named = _named_once(_invent_rows(counts)[0], _state_keys(people, domains))
        return compare_people(np.isin(chosen, named), inside)

    return _with_protection(lab.demo(), attack, f"rows that are invented from {COUNTS} of the sample")


def ratings() -> Evidence:
    """Records invented from noisy counts of how often each film was rated."""
    from discreet.lab.attacks import ratings as lab
    from discreet.lab.attacks.rating_records import index_ratings
    from discreet.lab.worlds.rating_service import make_ratings

    service = index_ratings(make_ratings())

    def attack() -> ProtectedOutcome:
        draw = np.random.default_rng(1)
        inside = np.arange(service.users) % 2 == 0
        invented = _invent_records(service, inside)
        targets = draw.permutation(service.users)[: 2 * LOOKED_FOR]
        right = np.zeros(len(targets), dtype=bool)
        for place, user in enumerate(targets.tolist()):
            guess = lab.identify(invented, lab.draw_auxiliary(service, user, count=8, wrong=2, days=14, draw=draw))
            films = invented.item[invented.of(guess.user)]
            right[place] = guess.sure and np.isin(films, service.item[service.of(user)]).mean() > 0.5
        return compare_people(right, inside[targets])

    return _with_protection(lab.demo(service), attack, "records that are invented from noisy counts of the films")


def homogeneity() -> Evidence:
    """Noisy counts read as exact: a condition is certain where no other has a count above 0."""
    from discreet.lab.attacks import homogeneity as lab

    def attack() -> ProtectedOutcome:
        possible, exact_condition, inside = _patients()
        return compare_people(_left_over(possible, exact_condition, 1), inside)

    return _with_protection(lab.demo(), attack, COUNTS)


def background() -> Evidence:
    """The same, if two conditions besides can be ruled out."""
    from discreet.lab.attacks import background as lab

    def attack() -> ProtectedOutcome:
        possible, exact_condition, inside = _patients()
        return compare_people(_left_over(possible, exact_condition, 3), inside)

    return _with_protection(lab.demo(), attack, COUNTS)


def minimality() -> Evidence:
    """The publisher joins classes by noisy counts; one nurse of each village is not in the table."""
    from discreet.lab.attacks import minimality as lab

    def attack() -> ProtectedOutcome:
        people = wards.villages()
        domains = {
            "village": sorted(set(people["village"].to_pylist())),
            "job": ("nurse", "other"),
            "test": ("negative", "positive"),
        }
        village, job, test = codes_of(people, domains)
        outside = (job == 0) & (np.append(-1, village[:-1]) != village)  # nurses come first
        counts = noisy_counts(people.filter(_mask(~outside)), domains)
        sizes = np.bincount(village[(job == 0) & ~outside], minlength=len(counts))
        joined = 2 * counts[:, 0, 1] > sizes
        nurse = job == 0
        return compare_people((test == 1)[nurse], ~outside[nurse], named=joined[village][nurse])

    return _with_protection(lab.demo(), attack, f"a table whose classes are joined by {COUNTS}")


def intersection() -> Evidence:
    """Two hospitals publish noisy counts, each for half of epsilon; some patients of both are in neither table."""
    from discreet.lab.attacks import intersection as lab

    def attack() -> ProtectedOutcome:
        first, second, both = wards.hospitals(both=2_000)
        left_out = 1_000
        both = _with_age_group(both, 5)
        domains = {**_ward_domains(both, 5), wards.SENSITIVE: [f"D{code:03d}" for code in range(150)]}
        present = both.slice(left_out)
        others = left_out  # as many patients of one hospital alone
        tables = [_with_age_group(table, 5) for table in (first.slice(0, others), second.slice(2_000, others))]
        codes = codes_of(both, domains)
        possible = np.logical_and(
            *(
                noisy_counts(pa.concat_tables([table, present]), domains, epsilon=EPSILON / 2)[codes[:-1]] > 0
                for table in tables
            )
        )
        return compare_people(_left_over(possible, codes[-1], 1), np.arange(both.num_rows) >= left_out)

    return _with_protection(lab.demo(), attack, f"{COUNTS} of both hospitals, with one budget for both")


def census() -> Evidence:
    """The strongest attacker on a noisy table, who knows everybody but a newcomer."""
    from discreet.lab.attacks import census as lab
    from discreet.lab.attacks.census.newcomer_game import play_newcomer_game

    evidence = lab.demo()
    start = time.process_time()
    game = play_newcomer_game(lab.seven_people(), Fraction(EPSILON))
    sentence = (
        "On tables with noise (epsilon 1), an attacker who knows everybody else guesses a newcomer's record right in "
        f"{percent(game.named / game.trials)} of {game.trials:,} tables; without noise in "
        f"{percent(game.named_without_noise / game.trials)}."
    )
    outcome = {
        "success": game.named / game.trials,
        "n": game.trials,
        "epsilon": float(EPSILON),
        "allowed": game.bound,
    }
    return _extend(evidence, outcome, sentence, time.process_time() - start)


def _with_protection(evidence: Evidence, attack: Callable[[], ProtectedOutcome], what: str) -> Evidence:
    """The evidence, and beside it what the same attack does to the protected release."""
    start = time.process_time()
    outcome = attack()
    return _extend(evidence, outcome.to_data(), outcome.sentence(what), time.process_time() - start)


def _extend(evidence: Evidence, outcome: dict[str, Any], sentence: str, seconds: float) -> Evidence:
    return replace(
        evidence,
        seconds=evidence.seconds + seconds,
        story=(*evidence.story, sentence),
        details={**evidence.details, "protected": outcome},
    )


def _patients() -> tuple[Flags, Integers, Flags]:
    """For each of 12,000 patients, of whom half are in the table: possible conditions, the exact one, who is in it."""
    people = _with_age_group(wards.patients(12_000), 10)
    inside = np.arange(people.num_rows) % 2 == 0
    domains = {**_ward_domains(people, 10), wards.SENSITIVE: wards.CONDITIONS}
    counts = noisy_counts(people.filter(_mask(inside)), domains)
    codes = codes_of(people, domains)
    return counts[codes[:-1]] > 0, codes[-1], inside


def _left_over(possible: Flags, exact_value: Integers, most: int) -> Flags:
    """For whom at most so many values are possible, with the right one among them."""
    right: Flags = (possible.sum(axis=1) <= most) & possible[np.arange(len(possible)), exact_value]
    return right


def _mask(flags: Flags) -> Any:
    return pa.array(flags)


def _with_age_group(people: pa.Table, years: int) -> pa.Table:
    """The table with ages in groups of so many years."""
    ages = people["age"].to_numpy() // years * years
    return people.append_column("ages", pa.array(ages).cast(pa.string()))


def _ward_domains(people: pa.Table, years: int) -> dict[str, Any]:
    """What everybody knows: the ZIP codes of the place, groups of ages, the sexes."""
    return {
        "zip": sorted(set(people["zip"].to_pylist())),
        "ages": [str(age) for age in range(18 // years * years, 90, years)],
        "sex": ("F", "M"),
    }


def _with_decade(people: pa.Table) -> pa.Table:
    years = pc.year(people["birth"]).to_numpy() // 10 * 10
    return people.append_column("decade", pa.array(years).cast(pa.string()))


def _state_domains(people: pa.Table) -> dict[str, Any]:
    """What everybody knows of the state."""
    return {
        "zip": sorted(set(people["zip"].to_pylist())),
        "decade": [str(decade) for decade in range(1900, 2000, 10)],
        "sex": ("F", "M"),
    }


def _state_keys(people: pa.Table, domains: dict[str, Any]) -> Integers:
    """ZIP code, day of birth and sex of each person as one number."""
    place, sex = codes_of(people, {name: domains[name] for name in ("zip", "sex")})
    return _key(place, people["birth"].cast("int32").to_numpy().astype(np.int64), sex)


def _key(place: Integers, day: Integers, sex: Integers) -> Integers:
    key: Integers = (place * 100_000 + day + 50_000) * 2 + sex
    return key


def _invent_rows(counts: Counts) -> tuple[Integers, tuple[Integers, ...]]:
    """As many rows as each cell's count says, with any day of its decade: the key of each, and its further columns."""
    place, decade, sex, *more = (np.repeat(axis, np.maximum(counts, 0).ravel()) for axis in _axes(counts))
    first = ((1900 + 10 * decade).astype("U4").astype("datetime64[Y]")).astype("datetime64[D]").astype(np.int64)
    day = first + np.random.default_rng().integers(0, 3_652, len(first))
    return _key(place, day, sex), tuple(more)


def _axes(counts: Counts) -> list[Integers]:
    return [axis.ravel() for axis in np.indices(counts.shape)]


def _named_once(rows: Integers, people: Integers) -> Integers:
    """For each row the only person with its key; -1 where there is none, or more than one."""
    keys, first, times = np.unique(people, return_index=True, return_counts=True)
    at = np.minimum(np.searchsorted(keys, rows), len(keys) - 1)
    named: Integers = np.where((keys[at] == rows) & (times[at] == 1), first[at], -1)
    return named


def _invent_records(service: RatingRecords, inside: Flags) -> RatingRecords:
    """Records of invented users, who rate films as often as noisy counts say.

    Guarantee: one user moves the law of the counts by a factor of exp(epsilon) at most.
    Because: of each user at most MOST_RATINGS ratings are counted, so that the counts change by that many in all, and
        the noise has that scale over epsilon. Which films exist is public.
    """
    from discreet.lab.attacks.rating_records import index_ratings
    from discreet.mechanisms.bits import system
    from discreet.mechanisms.laplace import DiscreteLaplace

    rank = np.empty(len(service.user), dtype=np.int64)
    rank[service.places] = np.arange(len(service.user)) - np.repeat(
        service.user_starts[:-1], np.diff(service.user_starts)
    )
    counted = inside[service.user] & (rank < MOST_RATINGS)
    items = len(service.item_names)
    exact_counts = np.bincount(service.item[counted], minlength=items)
    noise = DiscreteLaplace(scale=MOST_RATINGS / EPSILON).draw(items, bits=system())
    chances = np.cumsum(np.maximum(exact_counts + noise, 1))
    draw = np.random.default_rng()
    item = np.searchsorted(chances, draw.random(INVENTED_USERS * MOST_RATINGS) * chances[-1], side="right")
    item = np.concatenate([np.arange(items), np.minimum(item, items - 1)])  # every film once: its number stays
    user = np.concatenate([np.arange(items) % INVENTED_USERS, np.repeat(np.arange(INVENTED_USERS), MOST_RATINGS)])
    stars = draw.integers(1, 6, len(item))
    return index_ratings(pa.table({"user": user, "item": item, "stars": stars}), ("user", "item", "stars"))
