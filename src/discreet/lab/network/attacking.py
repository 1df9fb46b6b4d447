"""Networks: is there this link, is there this person? From exact statistics, from badly noised ones, and from ours."""

from __future__ import annotations

import time

import numpy as np

from discreet.errors import UsageError
from discreet.lab import pictures
from discreet.lab.contest import epsilon_of, evidence, server_of
from discreet.lab.evidence import Evidence
from discreet.lab.network import guessing, keepers
from discreet.lab.network.tales import MADE, TALES

#: Towns, each with a coin of its own: every one of them asks Discreet once or twice.
TOWNS, MOST_TOWNS = 60, 2_000


def attack(
    *, tale: str = "keepers", epsilon: object = 1, targets: int | None = None, server: str = "exact"
) -> Evidence:
    """Guess coins from what is published of networks that differ by one link, or by one person with all links.

    The servers: exact statistics; noise on each number as if it were the only one and moved by one at most; Discreet,
    driven by its public path, with a whole budget of `epsilon` for each coin.
    """
    start, total = time.process_time(), epsilon_of(epsilon)
    server_of(server)  # before the work
    coins = np.random.default_rng().random(_targets(tale, targets)) < 0.5
    if tale == "keepers":
        rounds, told, unit = keepers.against(coins, total), keepers.TOLD, "edge"
    else:
        made = MADE[tale]()
        rounds = (
            guessing.against_exact(made, coins),
            guessing.against_noisy(made, coins, total),
            guessing.against_discreet(made, coins, total),
        )
        told, unit = made.told, made.unit
    shares = {each.server: each.share for each in rounds}
    what = "link" if unit == "edge" else "person"
    return evidence(
        "network",
        rounds,
        server=server,
        epsilon=total,
        steps=1,
        seconds=time.process_time() - start,
        story=(told,),
        details={"tale": tale, "unit": unit},
        picture=lambda bound: pictures.bars(
            f"Networks: whether a {what} is there, epsilon {float(total):g} in all",
            shares,
            marks={"chance": 0.5, "bound": bound},
        ),
    )


def demo() -> Evidence:
    """The attack on the keepers of lighthouses."""
    return attack()


def _targets(tale: str, targets: int | None) -> int:
    """How many coins, checked."""
    if tale not in TALES:
        raise UsageError(f"there is no tale {tale!r}", hint=f"--tale {', '.join(TALES)}")
    usual, most = (keepers.PAIRS, keepers.MOST_PAIRS) if tale == "keepers" else (TOWNS, MOST_TOWNS)
    found = usual if targets is None else targets
    if not 2 <= found <= most:
        raise UsageError(f"the tale {tale!r} has 2 to {most:,} targets, not {found:,}")
    return found
