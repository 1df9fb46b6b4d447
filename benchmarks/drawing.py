"""CPU seconds and memory of draws, measured the same way in every system of `./do bench noise`.

Standard library only: it runs in every peer's environment. An order comes on stdin: laws and scales, how many draws, how
often, and the CPU seconds that a case may take; a figure for each goes to stdout, for a million draws, or a reason.
Memory is the peak of the whole process, libraries and all.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from usage import peak_mib

MILLION = 10**6

#: Given a law, a scale and a number: a function that draws so many.
Maker = Callable[[str, int, int], Callable[[], object]]


class _TooLong(Exception):
    """The case's CPU seconds are used up."""


def serve(maker: Maker) -> None:
    order = json.load(sys.stdin)
    signal.signal(signal.SIGVTALRM, _stop)
    json.dump([_figure(maker, law, scale, order) for law, scale in order["cases"]], sys.stdout)


def _figure(maker: Maker, law: str, scale: int, order: dict[str, Any]) -> dict[str, Any]:
    signal.setitimer(signal.ITIMER_VIRTUAL, order["most_s"])
    try:
        work = maker(law, scale, order["draws"])
        best = float("inf")
        for _ in range(order["repeats"]):
            start = time.process_time()
            work()
            best = min(best, time.process_time() - start)
    except _TooLong:
        told = f"{order['draws']:,} draws not finished after {order['most_s']} CPU s"
        return {"outcome": "timed out", "reason": told}
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return {"cpu_s": best * MILLION / order["draws"], "peak_mib": peak_mib()}


def _stop(number: int, frame: object) -> None:
    raise _TooLong
