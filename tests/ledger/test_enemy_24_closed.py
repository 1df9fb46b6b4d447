"""What a query closes, against charging it: the same verdicts before and after, and asking changes nothing."""

from contextlib import suppress
from random import Random

import pytest

from discreet.accounting import events
from discreet.accounting.filter import Cost
from discreet.errors import DiscreetError
from discreet.ledger.ledger import Ledger
from discreet.ledger.records import PlannedCharge
from ledger.ledgers import ask, gaussian, guarantee, laplace, make, people
from tiers import size


def groups(random):
    return people(*random.sample(range(3), random.randint(1, 2)))


@pytest.mark.parametrize("seed", range(size(12, 300)))
def test_it_closes_what_is_refused_after_it(path, seed):
    random = Random(seed)
    ledger = make(path, guarantee(1, "1e-6"))
    for number in range(random.randint(0, 4)):
        ask(ledger, random.choice([laplace("0.1"), gaussian("0.005")]), region=groups(random), question=f"q{number}")
    if random.random() < 0.5:
        ledger.close()
        ledger = Ledger.open(path)
    wanted = [laplace("0.2"), laplace("0.5"), laplace("0.9"), gaussian("0.02")]
    planned = [(random.choice(wanted), groups(random), random.choice([1, 1, 2])) for _ in range(4)]
    planned[0] = (*planned[0][:2], 1)

    def accepted():
        return [
            ledger.state.preview(
                population="patients", table="patients", version=version, region=region, event=event
            ).accepted
            for event, region, version in planned[1:]
        ]

    before, status = accepted(), ledger.state.account("patients").status()
    first, *later = [
        PlannedCharge(
            population="patients",
            table="patients",
            version=version,
            region=region,
            cost=Cost.of(events.loss(event)),
        )
        for event, region, version in planned
    ]
    closed = ledger.closed_by(first, later)
    assert (accepted(), ledger.state.account("patients").status()) == (before, status)
    with suppress(DiscreetError):  # where it is refused itself, nothing is asked of what it closes
        ask(ledger, planned[0][0], region=planned[0][1], question="first")
        assert closed == [is_open and not after for is_open, after in zip(before, accepted(), strict=True)]
    ledger.close()
