"""Rebuild the people of a block from what was published about them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.errors import UsageError
from discreet.lab import pictures
from discreet.lab.census import kinds
from discreet.lab.census.block import seven
from discreet.lab.census.certain import Certain, certain
from discreet.lab.census.conflict import conflict
from discreet.lab.census.game import Game, play
from discreet.lab.census.model import Block, World
from discreet.lab.census.noised import at_its_word, exact_table, noise_for, noisy_table, within_noise
from discreet.lab.census.solve import MOST, SECONDS, Found, some, worlds
from discreet.lab.census.statistics import compiled
from discreet.lab.evidence import Evidence, clopper_pearson

#: So many worlds are written out in the details.
EXAMPLES = 10
#: So many noisy tables are taken at their word.
TABLES = 20


def attack(
    block: Block,
    *,
    without: Sequence[str] = (),
    epsilon: object = None,
    most: int = MOST,
    seconds: float = SECONDS,
) -> Evidence:
    """How many ways the block can be, and what is certain about its people.

    `without` leaves statistics out; with `epsilon` the counts and sums are published anew, under noise. At most `most`
    ways are listed, and about `seconds` spent on each question; what was cut short says so.
    """
    started = time.process_time()
    block = block.without(without)
    found = worlds(block, most=most, seconds=seconds)
    if not found.worlds and found.complete:
        _inconsistent(block, seconds)
    if epsilon is not None:
        strength = exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON)
        return _protected(block, found, strength, most=most, seconds=seconds, started=started)
    sure = certain(block, found, seconds=seconds)
    people = max(map(len, found.worlds), default=block.people[1])
    chance = min(1.0, people / kinds.possible(block))
    return Evidence(
        attack="census",
        success=len(sure.records) / people if people else 0.0,
        chance=chance,
        n=people,
        interval=clopper_pearson(len(sure.records), people),
        seconds=time.process_time() - started,
        story=_story(block, found, sure, people),
        details={
            **_details(block, found, sure),
            "possible_records": kinds.possible(block),
            "statistics": [one.name for one in block.statistics],
            "examples": [_shown(block, world) for world in found.worlds[:EXAMPLES]],
        },
        picture=lambda: pictures.bars(
            f"{block.title}: how much of it is certain", _shares(block, sure, people), marks={"chance": chance}
        ),
    )


def demo() -> Evidence:
    """The fictional block of seven people: fourteen statistics leave one way it can be."""
    return attack(seven())


def _inconsistent(block: Block, seconds: float) -> None:
    found = conflict(block, seconds=seconds)
    if found is None:  # the time was over before it was known which
        raise UsageError("no block of people fits these statistics", hint="--seconds 600 gives time to find out why")
    rest = "one of them is wrong, or was rounded or noised" if found.minimal else "there may be fewer: --seconds 600"
    raise UsageError(f"no block of people fits these statistics: {found.show()}", hint=rest)


def _details(block: Block, found: Found, sure: Certain) -> dict[str, Any]:
    return {
        "solutions": len(found.worlds),
        "complete": found.complete,
        "stopped_by": found.stopped,
        "certain": {
            "proved": sure.proved,
            "records": _shown(block, sure.records),
            "people": [
                {
                    column.name: None if code is None else column.show(code)
                    for column, code in zip(block.columns, row, strict=True)
                }
                for row in sure.people
            ],
        },
    }


def _shown(block: Block, world: World) -> list[dict[str, int | str]]:
    return [block.show(record) for record in world]


def _shares(block: Block, sure: Certain, people: int) -> dict[str, float]:
    """The share of people whose value in each column is certain, and whose whole record is."""
    known = {
        column.name: sum(row[place] is not None for row in sure.people) / max(1, people)
        for place, column in enumerate(block.columns)
    }
    return {**known, "whole record": len(sure.records) / max(1, people)}


def _story(block: Block, found: Found, sure: Certain, people: int) -> tuple[str, ...]:
    if not found.worlds:
        return ("The time was over before one fitting block was found: nothing is known, neither for nor against.",)
    ways = "1 way" if found.complete and len(found.worlds) == 1 else f"{found.show()} ways"
    first = f"{len(block.statistics)} statistics about {block.title} leave {ways} it can be."
    if not sure.proved:
        return (first, "What they all have in common was not settled in the time.")
    if len(sure.records) == people and found.complete:
        return (first, f"So everybody in it is known, and that is proved: {_told(block, sure.records)}.")
    cells = sum(code is not None for row in sure.people for code in row)
    common = f"All of them agree on {cells} of {people * len(block.columns)} values of the people in ascending order"
    if not sure.records:
        return (first, f"{common}, and on nobody's whole record.")
    return (first, f"{common}, and on {len(sure.records)} of {people} whole records: {_told(block, sure.records)}.")


def _told(block: Block, records: World) -> str:
    return "; ".join(" ".join(str(value) for value in block.show(record).values()) for record in records)


def _protected(block: Block, found: Found, epsilon: Fraction, *, most: int, seconds: float, started: float) -> Evidence:
    if not found.worlds:
        raise UsageError("no fitting block was found in the time, so there is none to protect", hint="--seconds 600")
    noise = noise_for(block, epsilon)
    exact_numbers = exact_table(block, found.worlds[0])
    tables = [noisy_table(exact_numbers, noise) for _ in range(TABLES)]
    word = [some(compiled(at_its_word(block, table)), seconds / TABLES) for table in tables]
    allowing = within_noise(block, tables[0], noise)
    fits = worlds(allowing, most=most, seconds=seconds)
    bare = worlds(at_its_word(block, exact_numbers), most=most, seconds=seconds)
    game = play(block, epsilon)
    return Evidence(
        attack="census",
        success=game.named / game.trials,
        chance=game.chance,
        bound=game.bound,
        n=game.trials,
        interval=clopper_pearson(game.named, game.trials),
        seconds=time.process_time() - started,
        story=_noisy_story(fits, bare, game, word.count("none")),
        details={
            **_details(allowing, fits, certain(allowing, fits, seconds=seconds)),
            "epsilon": float(epsilon),
            "scales": {"count": float(noise.count_law.scale), "sum": float(noise.sum_law.scale)},
            "published": {
                one.name: {"count": count, "sum": total}
                for one, count, total in zip(block.statistics, tables[0].counts, tables[0].sums, strict=True)
            },
            "at_its_word": {"tables": TABLES, "impossible": word.count("none"), "undecided": word.count("undecided")},
            "without_noise": {
                "solutions": len(bare.worlds),
                "complete": bare.complete,
                "newcomers_named": game.bare / game.trials,
            },
        },
        picture=lambda: pictures.bars(
            f"{block.title}: newcomers whose record was named",
            {
                "the same numbers without noise": game.bare / game.trials,
                f"noise, epsilon {exact.show(epsilon)}": game.named / game.trials,
            },
            marks={"the most under epsilon": game.bound},
        ),
    )


def _noisy_story(fits: Found, bare: Found, game: Game, impossible: int) -> tuple[str, ...]:
    return (
        f"Counts and sums with noise for epsilon {exact.show(game.epsilon)}, and no medians: taken at their word, "
        f"{impossible} of {TABLES} such tables fit no block of people at all.",
        f"Allowing for the noise, one of them leaves {fits.show()} ways the block can be; "
        f"the same numbers without noise leave {bare.show()}.",
        f"Somebody new moves in; the attacker knows everybody else and the scale of the noise. The newcomer's record, "
        f"one of {game.candidates:,}, is named in {game.named:,} of {game.trials:,} tables; without noise in "
        f"{game.bare:,}.",
    )
