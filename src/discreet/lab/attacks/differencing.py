"""Differencing: count everybody, count everybody but one, subtract.

Three tales of the same attack. `patients`: all patients of a clinic against all but the one in a certain room.
`name`: holders of a trait with and without one name. `class`: a class that is published in March with 3,005 students
and in April with 3,004, when John has left.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import Flag, Message, UsageError
from discreet.lab import pictures
from discreet.lab.attacks.contest import (
    Contest,
    ServerOutcome,
    check_epsilon,
    check_server,
    check_targets,
    contest_evidence,
    count_blind_guesses,
    count_right_guesses,
)
from discreet.lab.attacks.group_factor import measure_factor
from discreet.lab.attacks.servers import CountQuestion, CountServer, ExactServer, NoisyServer, Whom, discreet_server
from discreet.lab.evidence import Evidence
from discreet.lab.worlds.target_places import DAYS, TargetPlaces, classes, clinics, deal_rows

if TYPE_CHECKING:
    import pyarrow as pa

TALES = ("patients", "name", "class")
#: A clinic has 20 people or more.
MOST_GROUP = 20
#: Pairs of questions whose difference is the target; each stops at another day, so that no answer was given before.
PAIRS = 300
#: Discreet's budget holds one pair; so many questions more are refused.
EXTRA_QUESTIONS = 18
_STORIES = {
    "patients": "Count all patients with the trait, then all except the one in room 12b: the difference is one secret.",
    "name": "Count the trait with one name and without it: the difference is one person's secret.",
    "file": "Count everybody with the trait, then everybody except one: the difference is one person's secret.",
}


def attack(
    table: pa.Table | None = None,
    *,
    trait: str = "",
    value: str | None = None,
    tale: str = "patients",
    epsilon: object = 1,
    targets: int = 1_000,
    server: str = "exact",
    people: int = 1,
) -> Evidence:
    """Guess each target's bit from differences of counts, against an exact server, a noisy server, and Discreet.

    The noisy server has no ledger. With a `table`, its rows are the people and `trait` is the secret column; otherwise
    the people of `tale` are generated. `people`: so many share each secret, so that the difference is 0 or that many.
    """
    start, total = time.process_time(), check_epsilon(epsilon)
    check_server(server)  # before the work
    _check_group(people, generated=table is None and tale != "class")
    places = _places(table, trait, value, tale, check_targets(targets), people)
    leaves = table is None and tale == "class"
    rounds = attack_servers(places, epsilon=total, leaves=leaves)
    factor = None if people == 1 else measure_factor(places, epsilon=total)
    shares = {each.server: each.share for each in rounds}
    return contest_evidence(
        Contest(attack="differencing", server=server, epsilon=total, steps=2, people=people),
        rounds,
        seconds=time.process_time() - start,
        story=(_story(places, "file" if table is not None else tale), *([factor.sentence] if factor else [])),
        details={
            "tale": "file" if table is not None else tale,
            "places": places.count,
            "people": len(places.place),
            **({} if factor is None else {"group": factor.to_data()}),
        },
        picture=lambda bound: pictures.bars(
            f"Differencing: share of targets guessed right, total epsilon {float(total):g}",
            shares,
            marks={"chance": 0.5, "bound": bound},
        ),
    )


def demo() -> Evidence:
    """The attack on generated clinics."""
    return attack()


def attack_servers(
    people: TargetPlaces, *, epsilon: Fraction, leaves: bool
) -> tuple[ServerOutcome, ServerOutcome, ServerOutcome]:
    """The same attack on the three servers; the noisy ones give half of epsilon to each question."""
    each = epsilon / 2
    exact = attack_server(ExactServer(people=people), people, pairs=1, leaves=leaves)
    noisy_server = NoisyServer(exact=ExactServer(people=people), epsilon=each)
    noisy = attack_server(noisy_server, people, pairs=PAIRS, leaves=leaves)
    with discreet_server(people, budget=epsilon, epsilon=each) as server:
        ours = attack_server(server, people, pairs=1, leaves=leaves, more=EXTRA_QUESTIONS)
    return exact, noisy, ours


def attack_server(
    server: CountServer, people: TargetPlaces, *, pairs: int, leaves: bool, more: int = 0
) -> ServerOutcome:
    """Ask `pairs` pairs of questions, average their differences, and guess; then ask `more`, to see them refused.

    Where targets leave, all first halves must be asked before: an attacker asks no more of them than can be paired.
    """
    days = [DAYS - 1 - place for place in range(pairs)]
    before = [server.ask(CountQuestion(whom="everybody", until=day)) for day in days]
    if leaves:
        server.leave()
    rest: Whom = "everybody" if leaves else "all but the target"
    after = [server.ask(CountQuestion(whom=rest, until=day)) for day in days]
    others = [server.ask(CountQuestion(whom="everybody", until=DAYS - 1 - pairs - place)) for place in range(more)]
    differences = [x - y for x, y in zip(before, after, strict=True) if x is not None and y is not None]
    was_answered = [counts is not None for counts in (*before, *after, *others)]
    secrets = people.secrets
    return ServerOutcome(
        server=server.name,
        right=count_right_guesses(np.mean(differences, axis=0) / people.group, secrets)
        if differences
        else count_blind_guesses(secrets),
        n=len(secrets),
        answered=sum(was_answered),
        refused=len(was_answered) - sum(was_answered),
    )


def _check_group(people: int, *, generated: bool) -> None:
    if not 1 <= people <= MOST_GROUP:
        raise UsageError(
            f"the number of people who share a secret must be 1 to {MOST_GROUP}, not {people:,}",
            hint=Message(Flag("people", 4)),
        )
    if people > 1 and not generated:
        raise UsageError(
            "people who share a secret are generated, in the scenarios patients and name",
            hint=Message("leave out ", Flag("people"), ", the file and ", Flag("tale", "class")),
        )


def _places(table: pa.Table | None, trait: str, value: str | None, tale: str, targets: int, group: int) -> TargetPlaces:
    if table is not None:
        return deal_rows(table, trait, value, targets)
    if tale not in TALES:
        raise UsageError(f"there is no scenario {tale!r}", hint=Message(Flag("tale"), f" {', '.join(TALES)}"))
    if tale == "class":
        return classes(targets)
    return clinics(targets, mark=("room", "12b") if tale == "patients" else ("name", "John Ramos"), group=group)


def _story(people: TargetPlaces, tale: str) -> str:
    if people.group > 1:
        return (
            f"Count everybody with the trait, then everybody except {people.group} people who share a secret: the "
            f"difference is 0 or {people.group}, and tells about all of them."
        )
    if tale != "class":
        return _STORIES[tale]
    server = ExactServer(people=people)
    march = server.ask(CountQuestion(whom="everybody"))
    server.leave()
    april = server.ask(CountQuestion(whom="everybody"))
    assert march is not None and april is not None
    size = int(np.count_nonzero(people.place == 0))
    return (
        f"In March, a class of {size:,} has {march[0]} rich students; in April, {april[0]} of {size - 1:,}. "
        "John left in between: together, the two published counts reveal what his family earns."
    )
