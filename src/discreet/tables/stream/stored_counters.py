"""Counters that are stored: from the ledger's data to the counter that it means, and the law of its noise."""

from __future__ import annotations

from typing import Any

from discreet.accounting.events import GaussianEvent, LaplaceEvent
from discreet.accounting.sensitivity import Sensitivity
from discreet.errors import LedgerFault
from discreet.ledger.records import StreamRecord as LedgerStream
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan.price import event_of
from discreet.tables.stream.square_root_counter import SquareRootCounter
from discreet.tables.stream.stream_counter import StreamCounter
from discreet.tables.stream.tree_counter import TreeCounter

Law = DiscreteLaplace | DiscreteGaussian


def counter_of(data: Any) -> StreamCounter:
    """The counter that `to_data` wrote."""
    kind, size, rest = data
    counter: StreamCounter = (
        SquareRootCounter(size)
        if kind == "root"
        else TreeCounter(size, tuple((block, weight) for block, weight in rest))
    )
    if counter.to_data() != data:
        raise LedgerFault(
            "the stream's matrix is not the one that was charged", hint="use the version of Discreet that started it"
        )
    return counter


def law_of(event: LaplaceEvent | GaussianEvent) -> Law:
    """The noise that a stream was charged for."""
    if isinstance(event, LaplaceEvent):
        return DiscreteLaplace(scale=event.scale)
    return DiscreteGaussian(sigma2=event.sigma2)


def open_counter(record: LedgerStream) -> tuple[StreamCounter, Law, Sensitivity]:
    """What a stream draws: its counter, its noise, and how far one person moves the whole of it.

    Guarantee: noise of this law on a matrix that moves so far is the event that was charged, or nothing is drawn.
    """
    counter, law = counter_of(record.of["counter"]), law_of(record.event)
    moves = counter.strategy.sensitivity(record.of["contributions"])
    if event_of(law, moves) != record.event or counter.horizon != record.count:
        raise LedgerFault("the stream's noise is not what was charged", hint="this is a defect; please report it")
    return counter, law, moves
