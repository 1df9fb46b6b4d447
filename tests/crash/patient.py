"""A curator who charges until the budget is gone, and asks again when the ledger's server is not there.

Arguments: the ledger, and how many threads. Prints "id answer" for each answer it gives out.
"""

from __future__ import annotations

import random
import sys
import threading
import time

from crash.harness import say
from discreet.errors import BudgetExceeded, LedgerFault
from discreet.ledger.ledger import Ledger
from ledger.ledgers import ask, laplace

#: A thread asks about three times a second, so that a fast machine does not end before its server is killed.
PAUSE_S = 0.6


def spend(ledger: Ledger) -> None:
    while True:
        time.sleep(random.uniform(0, PAUSE_S))
        try:
            charge = ask(ledger, laplace("0.01"), price="0.01")
            say(f"{charge.id} {ledger.store(charge.id, f'answer to {charge.id}')}")
        except BudgetExceeded:
            return
        except LedgerFault as fault:
            say(f"fault {type(fault).__name__} {fault.reason}")


def main() -> None:
    address, threads = sys.argv[1:]
    with Ledger.open(address) as ledger:
        say("ready")
        sys.stdin.readline()
        spending = [threading.Thread(target=spend, args=(ledger,)) for _ in range(int(threads))]
        for thread in spending:
            thread.start()
        for thread in spending:
            thread.join()


if __name__ == "__main__":
    main()
