"""Processes that race for a budget: each has some threads that charge until they are refused.

Arguments: the ledger, how many threads, perhaps `processes=N` (else one), and perhaps mutants. Prints "ready" when all
have opened the ledger; on a line of input they start together, and print the ids that they are given, one a line.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable

from crash.harness import say
from crash.mutants import MUTANTS
from discreet.errors import BudgetExceeded
from discreet.ledger.ledger import Ledger
from ledger.ledgers import ask, laplace


def spend(ledger: Ledger) -> None:
    while True:
        try:
            say(ask(ledger, laplace("0.01"), price="0.01").id)
        except BudgetExceeded:
            return


def race(path: str, threads: int, ready: Callable[[], object], start: Callable[[], object]) -> None:
    with Ledger.open(path) as ledger:
        ready()
        start()
        racing = [threading.Thread(target=spend, args=(ledger,)) for _ in range(threads)]
        for thread in racing:
            thread.start()
        for thread in racing:
            thread.join()


def race_together(path: str, threads: int, processes: int) -> None:
    """Importing takes longer than racing: it is done once, and each process is a fork that opens everything itself."""
    (is_ready, ready), (begun, begin) = os.pipe(), os.pipe()
    for _ in range(processes):
        if os.fork() == 0:
            os.close(begin)
            try:
                race(path, threads, lambda: os.write(ready, b"x"), lambda: os.read(begun, 1))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
    os.close(ready)
    for _ in range(processes):
        os.read(is_ready, 1)
    say("ready")
    sys.stdin.readline()
    os.close(begin)  # the end of the file, for all of them at once
    for _ in range(processes):
        os.wait()


def main() -> None:
    path, threads, *more = sys.argv[1:]
    processes = [word.removeprefix("processes=") for word in more if word.startswith("processes=")]
    for mutant in more[len(processes) :]:
        MUTANTS[mutant]()
    if processes:
        race_together(path, int(threads), int(processes[0]))
    else:
        race(path, int(threads), lambda: say("ready"), sys.stdin.readline)


if __name__ == "__main__":
    main()
