"""The time grid: an answer leaves when the time since its request came is a whole number of ticks.

Guarantee: of how long a question took, its answer's time tells the number of ticks and nothing finer: neither the noise
    that was drawn nor the rows that were counted move it within a tick.
Because: the tick is chosen by the time that has passed when the answer is ready, and the wait for it ends by the clock
    alone. What passes after it (a busy machine, the network) is the same for every answer of that tick.

What is left: a question near a tick's edge tells on which side of it it fell; docs/decisions/0018 says what one bit
for each charged question is worth.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable


def tick(elapsed_s: float, *, grid_ms: int) -> int:
    """The first tick at which something may leave that took so long. Never the zeroth: nothing leaves at once.

    >>> tick(0.0, grid_ms=250), tick(0.25, grid_ms=250), tick(0.2501, grid_ms=250)
    (1, 1, 2)
    """
    return max(1, math.ceil(elapsed_s * 1000 / grid_ms))


def at_tick(began: float, now: float, *, grid_ms: int) -> float:
    """When the first tick after `now` is, of what began at `began`; by the same clock."""
    return began + tick(now - began, grid_ms=grid_ms) * grid_ms / 1000


#: So long before a tick the end of a question is entered, so that its answer leaves at that tick.
_BEFORE_S = 0.06


def due(began: float, now: float, *, grid_ms: int) -> float:
    """When the next end may be entered, or a stop take effect: a little before a tick, at which its answer leaves."""
    return at_tick(began - min(_BEFORE_S, grid_ms / 4000), now, grid_ms=grid_ms)


def wait_until_due(began: float, *, grid_ms: int, clock: Callable[[], float] = time.monotonic) -> None:
    """Wait until an end is `due`: then what came of a question may be entered in the ledger.

    Everybody who may ask sees what the ledger holds, so an end that were entered when the counting ended would tell its
    time to whoever looks often enough, and the grid of its answer would hide nothing.
    """
    now = clock()
    time.sleep(max(0.0, due(began, now, grid_ms=grid_ms) - now))


async def until_tick(
    began: float,
    *,
    grid_ms: int,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Wait for the next tick of what began at `began`."""
    leaves = at_tick(began, clock(), grid_ms=grid_ms)
    while (left := leaves - clock()) > 0:  # a sleep may end a little early
        await sleep(left)
