"""One attack against several servers: how often each let the target's bit be guessed, told as one `Evidence`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.errors import Flag, Message, UsageError
from discreet.lab.evidence import Evidence, best_under, clopper_pearson, percent, replacement_guarantee

#: Flags name servers by their first word.
SERVERS = ("exact", "noisy", "discreet")
#: Budgets that fit a ledger and leave noise to be seen.
MOST_EPSILON = Fraction(100)
MOST_TARGETS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOutcome:
    """The attack against one server: guesses that were right, of `n`; questions answered and refused."""

    server: str
    right: int
    n: int
    answered: int
    refused: int = 0
    cached: int = 0

    @property
    def share(self) -> float:
        return self.right / self.n

    def to_data(self, bound: float) -> dict[str, Any]:
        """As JSON has it."""
        low, high = clopper_pearson(self.right, self.n)
        return {
            "server": self.server,
            "success": self.share,
            "confidence_interval": [low, high],
            "breaks": low > bound,
            "answered": self.answered,
            "refused": self.refused,
            "cached": self.cached,
        }


def check_epsilon(epsilon: object) -> Fraction:
    """A budget that was wished for, checked."""
    return exact.positive(epsilon, name="epsilon", most=MOST_EPSILON)


def check_targets(targets: int) -> int:
    """How many targets, checked."""
    if not 2 <= targets <= MOST_TARGETS:
        raise UsageError(f"the number of targets must be 2 to {MOST_TARGETS:,}, not {targets:,}")
    return targets


def check_server(server: str) -> str:
    """Which server stands in front, checked."""
    if server not in SERVERS:
        raise UsageError(f"there is no server {server!r}", hint=Message(Flag("server"), f" {', '.join(SERVERS)}"))
    return server


def count_right_guesses(estimates: NDArray[np.float64], secrets: NDArray[np.bool_]) -> int:
    """How many bits are told right by what was estimated; a tie is guessed by a coin.

    An estimate is the bit plus noise that is as likely up as down, so the nearer of 0 and 1 is the better guess.
    """
    tie = estimates == 0.5
    coins = np.random.default_rng().random(len(estimates)) < 0.5
    return int(np.count_nonzero(np.where(tie, coins, estimates > 0.5) == secrets))


def count_blind_guesses(secrets: NDArray[np.bool_]) -> int:
    """What is told right by somebody to whom no question was answered."""
    return count_right_guesses(np.full(len(secrets), 0.5), secrets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """An attack on three servers, of which one stands in front, for one epsilon in all.

    `steps`: how far apart the two tables are between which the bit decides. 1: somebody, or a link, is there or is not.
        2: somebody is known to be there, and only a trait is in doubt, so that one person is put in another's place.
    `people`: how many share the bit; that many times as far.
    """

    attack: str
    server: str
    epsilon: Fraction
    steps: int
    people: int = 1


def contest_evidence(
    contest: Contest,
    rounds: Sequence[ServerOutcome],
    *,
    seconds: float,
    story: tuple[str, ...],
    details: dict[str, Any],
    picture: Callable[[float], str],
) -> Evidence:
    """What the attack shows; the named server stands in front, the others in the details.

    Guarantee: nobody guesses a fair bit right more often than `bound` from answers that are epsilon-private in all,
        whatever they ask; where it is a trait, from counts of those who have it, not more often than `bound_of_counts`.
    Because: losses add over steps, and epsilon bounds each. Among those counted a target is one row more or less.
    """
    epsilon, steps = contest.epsilon, contest.steps
    front = rounds[SERVERS.index(check_server(contest.server))]
    together = float(epsilon) * contest.people
    one = best_under(together)
    bound = one if steps == 1 else best_under(*replacement_guarantee(together))
    return Evidence(
        attack=contest.attack,
        success=front.share,
        chance=0.5,
        bound=bound,
        n=front.n,
        seconds=seconds,
        interval=clopper_pearson(front.right, front.n),
        story=(*story, *(_outcome_sentence(each) for each in rounds)),
        details={
            "server": front.server,
            "epsilon": float(epsilon),
            **({} if steps == 1 else {"bound_of_counts": one}),
            **details,
            "servers": [each.to_data(bound) for each in rounds],
        },
        picture=lambda: picture(bound),
    )


def _outcome_sentence(each: ServerOutcome) -> str:
    refused = f", refused: {each.refused:,}" if each.refused else ""
    return f"{each.server}: {percent(each.share)} of targets guessed right (answered: {each.answered:,}{refused})"
