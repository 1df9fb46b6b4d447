"""Counters that are stored: from the ledger's data to the counter that it means, and the law of its noise."""

from __future__ import annotations

from typing import Any

from discreet.accounting.events import Gaussian, Laplace
from discreet.accounting.sensitivity import Sensitivity
from discreet.errors import LedgerFault
from discreet.ledger.records import Stream as Held
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan.price import event_of
from discreet.tables.stream.counter import Counter
from discreet.tables.stream.root import Root
from discreet.tables.stream.tree import Tree

Law = DiscreteLaplace | DiscreteGaussian


def counter_of(data: Any) -> Counter:
    """The counter that `to_data` wrote."""
    kind, size, rest = data
    found: Counter = Root(size) if kind == "root" else Tree(size, tuple((block, weight) for block, weight in rest))
    if found.to_data() != data:
        raise LedgerFault(
            "the stream's matrix is not the one that was paid for", hint="another version of Discreet started it"
        )
    return found


def law_of(event: Laplace | Gaussian) -> Law:
    """The noise that a stream was charged for."""
    if isinstance(event, Laplace):
        return DiscreteLaplace(scale=event.scale)
    return DiscreteGaussian(sigma2=event.sigma2)


def opened(held: Held) -> tuple[Counter, Law, Sensitivity]:
    """What a stream draws: its counter, its noise, and how far one person moves the whole of it.

    Guarantee: noise of this law on a matrix that moves so far is the event that was charged, or nothing is drawn.
    """
    counter, law = counter_of(held.of["counter"]), law_of(held.event)
    moves = counter.strategy.moves(held.of["contributions"])
    if event_of(law, moves) != held.event or counter.horizon != held.count:
        raise LedgerFault("the stream's noise is not what was charged", hint="this is a defect; please report it")
    return counter, law, moves
