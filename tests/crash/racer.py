"""One of several processes that race for a budget: some threads, each charging until it is refused.

Arguments: the ledger, how many threads, and perhaps a mutant. Prints the ids it was given, one a line.
"""

from __future__ import annotations

import sys
import threading

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


def main() -> None:
    path, threads, *mutants = sys.argv[1:]
    for mutant in mutants:
        MUTANTS[mutant]()
    with Ledger.open(path) as ledger:
        say("ready")
        sys.stdin.readline()
        racing = [threading.Thread(target=spend, args=(ledger,)) for _ in range(int(threads))]
        for thread in racing:
            thread.start()
        for thread in racing:
            thread.join()


if __name__ == "__main__":
    main()
