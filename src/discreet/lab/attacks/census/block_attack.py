"""Rebuild the people of a block from what was published about them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.errors import Flag, Message, UsageError
from discreet.lab import pictures
from discreet.lab.attacks.census import record_kinds
from discreet.lab.attacks.census.block_constraints import compile_block
from discreet.lab.attacks.census.certainty import CertainRecords, find_certain
from discreet.lab.attacks.census.conflict import find_conflict
from discreet.lab.attacks.census.example_block import seven_people
from discreet.lab.attacks.census.newcomer_game import NewcomerGame, play_newcomer_game
from discreet.lab.attacks.census.published_block import CensusBlock, World
from discreet.lab.attacks.census.table_noise import exact_table, noise_for, noisy_table, taken_as_exact, within_noise
from discreet.lab.attacks.census.world_search import MOST, SECONDS, FittingWorlds, find_world, find_worlds
from discreet.lab.evidence import Evidence, clopper_pearson

#: So many worlds are written out in the details.
EXAMPLES = 10
#: So many noisy tables are taken at their word.
TABLES = 20


def attack(
    block: CensusBlock,
    *,
    without: Sequence[str] = (),
    epsilon: object = None,
    most: int = MOST,
    seconds: float = SECONDS,
) -> Evidence:
    """Find every set of people that fits the published statistics, and what is certain about them.

    `without` leaves statistics out; with `epsilon` the counts and sums are published again with noise. The search lists
    at most `most` solutions and takes about `seconds` for each step; the result says where it was cut short.
    """
    started = time.process_time()
    block = block.without(without)
    fitting = find_worlds(block, most=most, seconds=seconds)
    if not fitting.worlds and fitting.complete:
        _refuse_conflict(block, seconds)
    if epsilon is not None:
        strength = exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON)
        return _noisy_evidence(block, fitting, strength, most=most, seconds=seconds, started=started)
    sure = find_certain(block, fitting, seconds=seconds)
    people = max(map(len, fitting.worlds), default=block.people[1])
    chance = min(1.0, people / record_kinds.count_possible_records(block))
    return Evidence(
        attack="census",
        success=len(sure.records) / people if people else 0.0,
        chance=chance,
        n=people,
        interval=clopper_pearson(len(sure.records), people),
        seconds=time.process_time() - started,
        story=_story(block, fitting, sure, people),
        details={
            **_details(block, fitting, sure),
            "possible_records": record_kinds.count_possible_records(block),
            "statistics": [one.name for one in block.statistics],
            "examples": [_readable_records(block, world) for world in fitting.worlds[:EXAMPLES]],
        },
        picture=lambda: pictures.bars(
            f"{block.title}: what is certain", _shares(block, sure, people), marks={"chance": chance}
        ),
    )


def demo() -> Evidence:
    """Attack the fictional block of seven people: fourteen statistics leave one solution."""
    return attack(seven_people())


def _refuse_conflict(block: CensusBlock, seconds: float) -> None:
    contradiction = find_conflict(block, seconds=seconds)
    if contradiction is None:  # the time was over before it was known which
        raise UsageError(
            "no block of people fits these statistics",
            hint=Message(Flag("seconds", 600), ", to have time to find the reason"),
        )
    rest = (
        "correct them: one of them is wrong, or was rounded or has noise"
        if contradiction.minimal
        else Message(Flag("seconds", 600), ", to find a smaller set of contradicting numbers")
    )
    raise UsageError(f"no block of people fits these statistics: {contradiction.show()}", hint=rest)


def _details(block: CensusBlock, fitting: FittingWorlds, sure: CertainRecords) -> dict[str, Any]:
    return {
        "solutions": len(fitting.worlds),
        "complete": fitting.complete,
        "stopped_by": fitting.stopped,
        "certain": {
            "proved": sure.proved,
            "records": _readable_records(block, sure.records),
            "people": [
                {
                    column.name: None if code is None else column.show(code)
                    for column, code in zip(block.columns, row, strict=True)
                }
                for row in sure.people
            ],
        },
    }


def _readable_records(block: CensusBlock, world: World) -> list[dict[str, int | str]]:
    return [block.show(record) for record in world]


def _shares(block: CensusBlock, sure: CertainRecords, people: int) -> dict[str, float]:
    """The share of people whose value in each column is certain, and whose whole record is."""
    certain_shares = {
        column.name: sum(row[place] is not None for row in sure.people) / max(1, people)
        for place, column in enumerate(block.columns)
    }
    return {**certain_shares, "whole record": len(sure.records) / max(1, people)}


def _story(block: CensusBlock, fitting: FittingWorlds, sure: CertainRecords, people: int) -> tuple[str, ...]:
    if not fitting.worlds:
        return ("Time ran out before a fitting block was found: this shows nothing, neither for nor against.",)
    unique = fitting.complete and len(fitting.worlds) == 1
    solutions = "1 solution: exactly one set of people fits" if unique else f"{fitting.show()} solutions"
    first = f"{len(block.statistics)} statistics about {block.title} have {solutions}."
    if not sure.proved:
        return (first, "Time ran out before it was decided what all solutions have in common.")
    if len(sure.records) == people and fitting.complete:
        return (first, f"So every record is known, and this is proved: {_records_text(block, sure.records)}.")
    cells = sum(code is not None for row in sure.people for code in row)
    common = (
        f"All solutions agree on {cells:,} of {people * len(block.columns):,} values (people sorted in ascending order)"
    )
    if not sure.records:
        return (first, f"{common}, and on no whole record.")
    return (
        first,
        f"{common}, and on {len(sure.records)} of {people} whole records: {_records_text(block, sure.records)}.",
    )


def _records_text(block: CensusBlock, records: World) -> str:
    return "; ".join(" ".join(str(value) for value in block.show(record).values()) for record in records)


def _noisy_evidence(
    block: CensusBlock, fitting: FittingWorlds, epsilon: Fraction, *, most: int, seconds: float, started: float
) -> Evidence:
    if not fitting.worlds:
        raise UsageError(
            "time ran out before a fitting block was found, so there is nothing to add noise to",
            hint=Message(Flag("seconds", 600)),
        )
    noise = noise_for(block, epsilon)
    exact_numbers = exact_table(block, fitting.worlds[0])
    tables = [noisy_table(exact_numbers, noise) for _ in range(TABLES)]
    word = [find_world(compile_block(taken_as_exact(block, table)), seconds / TABLES) for table in tables]
    allowing = within_noise(block, tables[0], noise)
    fits = find_worlds(allowing, most=most, seconds=seconds)
    bare = find_worlds(taken_as_exact(block, exact_numbers), most=most, seconds=seconds)
    game = play_newcomer_game(block, epsilon)
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
            **_details(allowing, fits, find_certain(allowing, fits, seconds=seconds)),
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
                "newcomers_named": game.named_without_noise / game.trials,
            },
        },
        picture=lambda: pictures.bars(
            f"{block.title}: newcomers whose record was guessed",
            {
                "the same numbers without noise": game.named_without_noise / game.trials,
                f"noise, epsilon {exact.show(epsilon)}": game.named / game.trials,
            },
            marks={"most possible under epsilon": game.bound},
        ),
    )


def _noisy_story(fits: FittingWorlds, bare: FittingWorlds, game: NewcomerGame, impossible: int) -> tuple[str, ...]:
    return (
        f"The counts and sums are published with noise for epsilon {exact.show(game.epsilon)}, without medians. Read "
        f"as exact numbers, {impossible} of {TABLES} such tables fit no block of people at all.",
        f"If the attacker allows for the noise, one of these tables has {fits.show()} solutions; "
        f"the same numbers without noise have {bare.show()}.",
        f"A new person moves in. The attacker knows everybody else and the noise scale, and guesses the newcomer's "
        f"record, one of {game.candidates:,}, right in {game.named:,} of {game.trials:,} tables; without noise in "
        f"{game.named_without_noise:,}.",
    )
