"""Three synthetic tables of the same generated people: one that leaks, one that knows nobody, and Discreet's own."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from functools import partial

import pyarrow as pa

from discreet.lab import pictures
from discreet.lab.attacks.synthetic.attack_suite import run_attacks
from discreet.lab.attacks.synthetic.coded_tables import code_tables
from discreet.lab.attacks.synthetic.project_publisher import discreet_publisher
from discreet.lab.attacks.synthetic.shadow_models import shadow
from discreet.lab.evidence import Evidence, percent
from discreet.lab.worlds.town import COLUMNS, independent_columns, jittered, town

EPSILON = 1.0
PEOPLE = 2_000
#: Shadow models are fitted to so few people, where one counts most.
FEW = 100
RELEASES = 24

_LEAKY, _APART, _OURS = "jittered copy", "independent", f"Discreet, epsilon {EPSILON:g}"


def demo(*, people: int = PEOPLE, attacks: int = 500, releases: int = RELEASES) -> Evidence:
    """Attack the three, and play the shadow-model game against the first and the last."""
    everybody = town(3 * people)
    original, control, elsewhere = (everybody.slice(start * people, people) for start in range(3))
    ours = discreet_publisher(table="town", columns=COLUMNS, epsilon=EPSILON, model="mst")
    with closing(ours(original)) as tables:
        made = {_LEAKY: jittered(original), _APART: independent_columns(elsewhere), _OURS: next(tables)}
    outcomes = {
        name: run_attacks(
            code_tables(original, each, control), attacks=attacks, epsilon=EPSILON if name == _OURS else None
        )
        for name, each in made.items()
    }
    games = _shadow_games(releases)
    return _evidence(outcomes, games)


def _shadow_games(releases: int) -> dict[str, Evidence]:
    """Shadow models, against a target whom nobody is like. The simplest model: it is fitted a hundred times."""
    small = town(FEW)
    ours = discreet_publisher(table="town", columns=COLUMNS, epsilon=EPSILON, model="independent")
    target = _rarest_person(small)
    return {
        _LEAKY: shadow(_jittered_releases, small, target=target, releases=releases),
        _OURS: shadow(ours, small, target=target, releases=releases, epsilon=EPSILON),
    }


def _rarest_person(table: pa.Table) -> int:
    """The person whose values are rarest, column by column."""
    rarity = [0] * table.num_rows
    for column in table.columns:
        counts = {each["values"]: each["counts"] for each in column.value_counts().to_pylist()}
        rarity = [sum_ + counts[value] for sum_, value in zip(rarity, column.to_pylist(), strict=True)]
    return rarity.index(min(rarity))


def _jittered_releases(table: pa.Table) -> Generator[pa.Table]:
    seed = 0
    while True:
        yield jittered(table, seed=seed)
        seed += 1


def _evidence(outcomes: dict[str, list[Evidence]], games: dict[str, Evidence]) -> Evidence:
    leaky = max(outcomes[_LEAKY], key=lambda each: each.interval[0] - each.chance)
    story = [f"Synthetic does not mean anonymous. The strongest attack on the {_LEAKY} is {leaky.attack}."]
    for name, attacks in outcomes.items():
        sentence = ", ".join(
            f"{each.attack} {percent(each.success)} (other people {percent(each.chance)})" for each in attacks
        )
        story.append(f"{name}: {sentence}.")
    ours = games[_OURS]
    story.append(
        f"Shadow models guess right whether one person's row was used {percent(games[_LEAKY].success)} of the time for "
        f"the {_LEAKY} and {percent(ours.success)} for Discreet's tables, where no attack can do better than "
        f"{percent(ours.bound or 0)}."
    )
    return Evidence(
        attack="synthetic",
        success=leaky.success,
        chance=leaky.chance,
        n=leaky.n,
        seconds=sum(each.seconds for each in [*(one for all_ in outcomes.values() for one in all_), *games.values()]),
        interval=leaky.interval,
        confidence=leaky.confidence,
        story=tuple(story),
        details={
            "strongest": leaky.attack,
            "releases": {name: {each.attack: each.to_data() for each in attacks} for name, attacks in outcomes.items()},
            "leaks": {name: [each.attack for each in attacks if each.breaks] for name, attacks in outcomes.items()},
            "shadow": {name: each.to_data() for name, each in games.items()},
        },
        picture=partial(_picture, outcomes, games),
    )


def _picture(outcomes: dict[str, list[Evidence]], games: dict[str, Evidence]) -> str:
    values = {name: (attacks[0].success, 0.5) for name, attacks in outcomes.items()}
    values |= {f"{name.split(',')[0]}: shadow models": (each.success, 0.5) for name, each in games.items()}
    return pictures.bars_with_marks("Membership: share guessed right", values, mark="chance")
