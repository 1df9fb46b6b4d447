"""Whose record is this? The attack on sparse records by Narayanan and Shmatikov (2008): Scoreboard-RH.

Somebody knows a few things that a person rated, roughly when and how, some of it wrong. Every record gets a score:
for each known item that it holds, a weight (rare items say more: 1 / log of how many rated it) times how near its
stars and its day are. The best record is named only where it stands out from the second best.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np

from discreet.errors import Flag, Message, UsageError
from discreet.lab.attacks.rating_records import (
    COLUMNS,
    AuxiliaryInformation,
    Floats,
    Integers,
    RatingRecords,
    index_ratings,
    read_auxiliary,
)
from discreet.lab.evidence import Evidence, clopper_pearson, percent
from discreet.lab.phrases import count_phrase
from discreet.lab.pictures import bars
from discreet.lab.table_reader import select_columns

if TYPE_CHECKING:
    import pyarrow as pa

#: The paper's constants: how fast a difference in stars, and in days, stops to count; how far the best must stand out.
STARS, DAYS, ECCENTRICITY = 1.5, 30.0, 1.5
#: Films outside of so many that were rated most are rare.
RARE = 500
#: What was reported of Netflix's ratings, by (known, wrong, days, outside the top): Narayanan and Shmatikov.
CLAIMS = {(8, 2, 14, 0): 0.99, (2, 0, 3, 0): 0.68, (8, 2, None, RARE): 0.84}


class AttackOptions(TypedDict, total=False):
    """What the attacker knows, and how many people are looked for."""

    count: int
    wrong: int
    days: int | None
    targets: int
    outside_top: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordGuess:
    """The record with the best score, and by how many standard deviations it beats the second."""

    user: int
    eccentricity: float

    @property
    def sure(self) -> bool:
        return self.eccentricity >= ECCENTRICITY


def scores(records: RatingRecords, auxiliary: AuxiliaryInformation) -> Floats:
    """Every record's score."""
    record_scores = np.zeros(records.users)
    for item, stars, day in zip(
        auxiliary.items.tolist(), auxiliary.stars.tolist(), auxiliary.days.tolist(), strict=True
    ):
        item_slice = slice(records.starts[item], records.starts[item + 1])
        near = np.zeros(item_slice.stop - item_slice.start)
        for values, value, width in ((records.stars, stars, STARS), (records.day, day, DAYS)):
            if np.isfinite(value):
                near += np.exp(np.abs(values[item_slice] - value) / -width)
        record_scores[records.user[item_slice]] += records.weights[item] * near  # a user stands once under an item
    return record_scores


def identify(records: RatingRecords, auxiliary: AuxiliaryInformation) -> RecordGuess:
    """Whose record it is."""
    record_scores = scores(records, auxiliary)
    spread = float(record_scores.std())
    best = int(record_scores.argmax())
    top = float(record_scores[best])
    record_scores[best] = -np.inf
    second = float(record_scores.max())
    return RecordGuess(user=best, eccentricity=(top - second) / spread if spread > 0 else 0.0)


def draw_auxiliary(
    records: RatingRecords,
    user: int,
    *,
    count: int,
    wrong: int,
    days: int | None,
    draw: np.random.Generator,
    outside_top: int = 0,
) -> AuxiliaryInformation:
    """What an acquaintance knows of a user: `count` items, `wrong` of them not the user's, days to within `days`.

    `outside_top`: none of the items is among so many that were rated most often.
    """
    own = records.of(user)
    able = own[~records.is_top(outside_top)[records.item[own]]] if outside_top else own
    places = able[draw.permutation(len(able))[: count - wrong]]
    avoided = records.item[own]
    if outside_top:
        avoided = np.concatenate([avoided, np.flatnonzero(records.is_top(outside_top))])
    chosen = np.concatenate([places, _other_ratings(records, avoided, wrong, draw)]) if wrong else places
    day = records.day[chosen] + (0 if days is None else draw.integers(-days, days + 1, size=count))
    return AuxiliaryInformation(
        items=records.item[chosen],
        stars=records.stars[chosen],
        days=np.full(count, np.nan) if days is None else day,
    )


def _other_ratings(records: RatingRecords, own_items: Integers, wrong: int, draw: np.random.Generator) -> Integers:
    """Somebody else's ratings of `wrong` different items that are not held: popular items are likelier."""
    other_places = _first_unrated(records, own_items, draw.integers(len(records.user), size=16 * wrong))
    if len(other_places) < wrong:  # hardly ever: somebody rated nearly everything
        other_places = _first_unrated(records, own_items, draw.permutation(len(records.user)))
    return other_places[:wrong]


def _first_unrated(records: RatingRecords, own_items: Integers, places: Integers) -> Integers:
    """Of these places the first of each item that is not held, in their order."""
    free = places[~np.isin(records.item[places], own_items)]
    return free[np.sort(np.unique(records.item[free], return_index=True)[1])]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDefence:
    """What Netflix relied on: only a sample of the users is published, and some of their ratings are changed.

    `share`: of the users; `changed`: of their ratings, each by a star, with another day up to two weeks away.
    """

    share: float = 0.1
    changed: float = 0.2

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise UsageError(
                f"the share of published users must be above 0 and at most 1, not {self.share:g}",
                hint=Message(Flag("sample", 0.1)),
            )
        if not 0 <= self.changed <= 1:
            raise UsageError(
                f"the share of changed ratings must be between 0 and 1, not {self.changed:g}",
                hint=Message(Flag("perturb", 0.2)),
            )

    def publish(self, records: RatingRecords, draw: np.random.Generator) -> tuple[RatingRecords, Integers]:
        """The published records, and whose they are."""
        kept = np.sort(draw.permutation(records.users)[: max(2, round(self.share * records.users))])
        sample = records.of_users(kept)
        changed = draw.random(len(sample.user)) < self.changed
        stars = sample.stars + np.where(changed, draw.choice([-1.0, 1.0], len(changed)), 0.0)
        days = sample.day + np.where(changed, draw.integers(-14, 15, len(changed)), 0)
        return replace(sample, stars=np.clip(stars, *_ends(records.stars)), day=days), kept

    def describe(self) -> str:
        return f"{percent(self.share)} of users are published, with {percent(self.changed)} of their ratings changed"


def _ends(values: Floats) -> tuple[float, float]:
    """The least and the largest of those that are known."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (-np.inf, np.inf)


def attack(
    records: RatingRecords,
    *,
    count: int = 8,
    wrong: int = 2,
    days: int | None = 14,
    targets: int = 500,
    seed: int = 1,
    outside_top: int = 0,
    defence: SampleDefence | None = None,
) -> Evidence:
    """Measure how often a user's record is found from `count` known ratings, of which `wrong` are wrong.

    `outside_top`: no known item is among so many that were rated most often. With a `defence`, success is about the
    users whom it publishes.
    """
    if not 0 <= wrong < count:
        raise UsageError(
            f"{wrong} of {count} known ratings cannot be wrong", hint=Message(Flag("known", 8), " ", Flag("wrong", 2))
        )
    if days is not None and days < 0:
        raise UsageError(f"the precision of days cannot be {days}", hint=Message(Flag("days", 14)))
    if targets < 1:
        raise UsageError(f"there must be at least 1 target, not {targets}", hint=Message(Flag("targets", 500)))
    if outside_top < 0:
        raise UsageError(f"there cannot be {outside_top} top items", hint=Message(Flag("outside-top", 500)))
    able = _able_users(records, count=count, wrong=wrong, outside_top=outside_top)
    draw = np.random.default_rng(seed)
    published, owner = records, np.arange(records.users)
    if defence is not None:
        published, owner = defence.publish(records, draw)
    is_published = np.isin(able, owner)
    if not is_published.any():
        raise UsageError("nobody with enough ratings was published", hint=Message(Flag("sample", 0.5)))
    began = time.process_time()

    def look_for(users: Integers) -> Integers:
        outcomes = np.zeros(4, dtype=np.int64)  # found, wrongly named, not sure but right, not sure
        for user in users[draw.permutation(len(users))[:targets]].tolist():
            auxiliary = draw_auxiliary(
                records, user, count=count, wrong=wrong, days=days, draw=draw, outside_top=outside_top
            )
            guess = identify(published, auxiliary)
            outcomes[2 * (not guess.sure) + (owner[guess.user] != user)] += 1
        return outcomes

    outcomes = look_for(able[is_published])
    absent = look_for(able[~is_published]) if not is_published.all() else None
    seconds = time.process_time() - began
    evidence = _evidence(published, outcomes, seconds, count=count, wrong=wrong, days=days, outside_top=outside_top)
    if defence is None:
        return evidence
    named = None if absent is None else float(absent[1] / absent.sum())
    sentence = f"This is the attack on the release with the defence: {defence.describe()}."
    if named is not None:
        sentence += f" Of people who were not published, {percent(named)} are wrongly given somebody's record."
    return replace(
        evidence,
        story=(*evidence.story, sentence),
        details={
            **evidence.details,
            "sample": defence.share,
            "perturbed": defence.changed,
            "unpublished_named": named,
        },
    )


def _able_users(records: RatingRecords, *, count: int, wrong: int, outside_top: int) -> Integers:
    """Users of whom so much can be known."""
    top = records.is_top(outside_top)
    rated = np.bincount(records.user[~top[records.item]], minlength=records.users)
    able = np.flatnonzero((rated >= count - wrong) & (rated <= len(top) - top.sum() - wrong))
    if not len(able) or records.users < 2:
        where = f" outside the {outside_top:,} most rated" if outside_top else ""
        raise UsageError(
            f"nobody in the table has {count - wrong} rated and {wrong} unrated items{where}",
            hint=Message(Flag("known", 4), " ", Flag("wrong", 0)),
        )
    return able


def compare_defence(records: RatingRecords, defence: SampleDefence, **options: Unpack[AttackOptions]) -> Evidence:
    """The attack on what a defence publishes, and beside it the attack on all records, by the same knowledge."""
    bare, evidence = attack(records, **options), attack(records, defence=defence, **options)
    sentence = f"Without the defence, the same knowledge finds {percent(bare.success)} of people."
    shares = {"all records": bare.success, "a perturbed sample": evidence.success}
    return replace(
        evidence,
        seconds=bare.seconds + evidence.seconds,
        story=(*evidence.story, sentence),
        details={**evidence.details, "without_defence": bare.success},
        picture=lambda: bars("Share of records found", shares),
    )


def _evidence(
    records: RatingRecords,
    outcomes: Integers,
    seconds: float,
    *,
    count: int,
    wrong: int,
    days: int | None,
    outside_top: int = 0,
) -> Evidence:
    identified, misled, near, unsure = (int(outcome) for outcome in outcomes)
    n = identified + misled + near + unsure
    when = "no days" if days is None else f"days known to ±{days}"
    if outside_top:
        when += f", all outside the {outside_top:,} most rated"
    published = CLAIMS.get((count, wrong, days, outside_top))
    values = {"found": identified / n, "best, not sure": near / n, "not found": unsure / n, "wrongly named": misled / n}
    return Evidence(
        attack="ratings",
        success=identified / n,
        chance=1 / records.users,
        n=n,
        seconds=seconds,
        interval=clopper_pearson(identified, n),
        story=(
            f"An attacker who knows {count_phrase(count, 'rating', 'ratings')} of a person ({wrong or 'none'} of them "
            f"wrong, {when}) finds that person's record among {records.users:,} and is sure of it in "
            f"{percent(identified / n)} of cases; in {percent(misled / n)} the attacker is sure and wrong.",
            *(
                ["The record needs no name: an attacker who finds it can read everything else the person rated."]
                if identified
                else []
            ),
            *(
                [f"For the ratings that Netflix published, {published:.0%} was reported for this knowledge."]
                if published
                else []
            ),
        ),
        details={
            "known": count,
            "wrong": wrong,
            "days": days,
            "outside_top": outside_top,
            "reported": published,
            "users": records.users,
            "ratings": len(records.user),
            "found": identified,
            "wrongly_named": misled,
            "best_but_not_sure": near,
            "not_found": unsure,
            "seconds_per_target": seconds / n,
        },
        picture=lambda: bars(f"{count} ratings known, {wrong} wrong, {when}", values),
    )


def recognise(
    records: RatingRecords, about: pa.Table, names: Sequence[str] = COLUMNS, *, truth: str | None = None
) -> Evidence:
    """Find the records of named people from their ratings in `about`, which has the same columns as the ratings.

    `truth`: the column of `about` that says which user each person is. Without it, `success` is the share of people for
    whom one record stands out.
    """
    began = time.process_time()
    who, auxiliaries = read_auxiliary(records, about, names, of="the file about people")
    guesses = {person: identify(records, auxiliary) for person, auxiliary in zip(who, auxiliaries, strict=True)}
    users = records.user_names.to_pylist()
    sure_users = {person: users[guess.user] for person, guess in guesses.items() if guess.sure}
    if truth is None:
        right = len(sure_users)
    else:
        # One by one: the people may be called by their user's name themselves.
        called, owned = (
            select_columns(about, [each], of="the file about people")[each].to_pylist() for each in (names[0], truth)
        )
        owner = dict(zip(called, map(str, owned), strict=True))
        right = sum(str(user) == owner[person] for person, user in sure_users.items())
    what = "stands out" if truth is None else "is found and is the right one"
    n = len(guesses)
    return Evidence(
        attack="ratings",
        success=right / n,
        chance=1 / records.users,
        n=n,
        seconds=time.process_time() - began,
        interval=clopper_pearson(right, n),
        story=(f"For {right:,} of {count_phrase(n, 'person', 'people')} one record out of {records.users:,} {what}.",),
        details={
            "users": records.users,
            "ratings": len(records.user),
            "sure": len(sure_users),
            "right": None if truth is None else right,
            "people": [
                {
                    "person": str(person),
                    "record": str(users[guess.user]),
                    "eccentricity": guess.eccentricity,
                    "sure": guess.sure,
                }
                for person, guess in guesses.items()
            ],
        },
        picture=lambda: bars(
            "Records of named people", {"sure": len(sure_users) / n, "not sure": 1 - len(sure_users) / n}
        ),
    )


def demo(service: RatingRecords | None = None) -> Evidence:
    """On a generated service of 20,000 users: eight ratings; beside it two, eight without days, of any or of rare
    films, and eight on a perturbed sample."""
    if service is None:
        from discreet.lab.worlds.rating_service import make_ratings

        service = index_ratings(make_ratings())
    main, two, undated, rare = (
        attack(service, count=count, wrong=wrong, days=days, outside_top=top)
        for count, wrong, days, top in ((8, 2, 14, 0), (2, 0, 3, 0), (8, 2, None, 0), (8, 2, None, RARE))
    )
    sample = attack(service, defence=SampleDefence())
    sentences = (
        f"Two ratings with days known to ±3 are enough to find {percent(two.success)} of people; eight ratings without "
        f"days find {percent(undated.success)}.",
        f"Eight ratings without days, all outside the {RARE} most rated films and two of them wrong, find "
        f"{percent(rare.success)}; {CLAIMS[8, 2, None, RARE]:.0%} was reported for Netflix, which had about 500,000 "
        f"users, not {service.users:,}.",
        f'"Only a small sample, and perturbed", as Netflix said: if {SampleDefence().describe()}, eight ratings still '
        f"find {percent(sample.success)} of the people in it, instead of {percent(main.success)}.",
    )
    shares = {
        "8 known, 2 wrong, 14 days": main.success,
        "2 known, 3 days": two.success,
        "8 known, 2 wrong, no days": undated.success,
        f"8 known outside the top {RARE}, 2 wrong, no days": rare.success,
        "8 known, 2 wrong, 14 days, perturbed sample": sample.success,
    }
    return replace(
        main,
        seconds=sum(each.seconds for each in (main, two, undated, rare, sample)),
        story=(*main.story, *sentences),
        details={**main.details, "settings": shares},
        picture=lambda: bars("Share of records found, by what the attacker knows", shares),
    )
