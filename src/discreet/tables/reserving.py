"""What a release of tables may lose, in the terms of the ledger, and its one charge."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.accounting.convert import rho_from_epsilon
from discreet.accounting.events import Reserved
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.region import Region
from discreet.answers.afford import largest_question
from discreet.answers.caveats import declared_table, doubled
from discreet.answers.charging import charged
from discreet.answers.sql import Asker
from discreet.curator import Curator, Version
from discreet.errors import BudgetExceeded, UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What may be spent: an epsilon, or, with a delta, the pair as the guarantee of this release."""

    epsilon: Fraction
    delta: Fraction | None = None

    @staticmethod
    def of(epsilon: object, delta: object = None) -> Terms:
        """The terms in the words of the command line or of Python, checked."""
        return Terms(
            epsilon=exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON),
            delta=None if delta is None else exact.probability(delta, name="delta"),
        )

    def event(self, guarantee: Guarantee, version: Version, curator: Curator) -> Reserved:
        """The reservation: pure Laplace noise, unless a delta is given or only the zCDP filter can take it.

        As for questions in SQL: an epsilon without a delta costs rho = epsilon^2 / 2 on Gaussian noise.
        """
        pure = Reserved(epsilon=self.epsilon, rho=self.epsilon**2 / 2, delta=Fraction(0))
        gaussian = Reserved(epsilon=None, rho=self.epsilon**2 / 2, delta=Fraction(0))
        if self.delta == 0:
            return pure
        if self.delta is not None:
            return Reserved(epsilon=None, rho=self._rho(guarantee), delta=Fraction(0))
        if guarantee.accounting == "zcdp":
            return gaussian
        if guarantee.limits.rho is None or _arm(pure, guarantee, version, curator) == "pure":
            return pure
        return gaussian if _arm(gaussian, guarantee, version, curator) is not None else pure

    def _rho(self, guarantee: Guarantee) -> Fraction:
        assert self.delta is not None
        if guarantee.limits.rho is None:
            raise UsageError(
                "--delta means Gaussian noise, and the table's budget has no delta to convert its rho with",
                hint="leave --delta out",
            )
        rho = rho_from_epsilon(self.epsilon, self.delta)
        if rho <= 0:
            raise UsageError(f"epsilon {exact.show(self.epsilon)} at this delta is too small for noise to be finite")
        return rho

    def notes(self, event: Reserved, guarantee: Guarantee) -> list[str]:
        """What the reader should know of the noise, where it is not of the kind that was asked for."""
        if event.epsilon is not None or self.delta is not None or guarantee.accounting == "zcdp":
            return []
        return [
            "the budget's pure part is used up, so the noise is Gaussian: this cost rho "
            f"{exact.show(event.rho, up=True)} of its (epsilon, delta), and no pure epsilon"
        ]


def _affordable(terms: Terms, version: Version, curator: Curator) -> str:
    """What still fits, without a delta."""
    most = largest_question(curator.ledger.room(version.population))
    if most <= 0:
        return "nothing fits any more; the owner can grant more, or read what was released"
    return f"--epsilon {exact.show(min(most, terms.epsilon))} fits, without --delta; or ask the owner to grant more"


def left_out(version: Version, curator: Curator, columns: Sequence[str] = ()) -> list[str]:
    """What the counts of a version describe by these columns, and what is not protected; intervals do not tell."""
    read = [(version.table, column) for column in columns]
    told = declared_table({version.table: version.schema}, read)
    return told + doubled(curator.ledger, version.population)


def _arm(event: Reserved, guarantee: Guarantee, version: Version, curator: Curator) -> str | None:
    decision = curator.ledger.preview(
        population=version.population,
        table=version.table,
        version=version.number,
        region=Region.whole(),
        event=event,
        guarantee=guarantee,
        booking=False,
    )
    return decision.arm


def reserve(
    asked: dict[str, Any],
    event: Reserved,
    terms: Terms,
    *,
    version: Version,
    curator: Curator,
    asker: Asker,
    fresh: bool = False,
) -> tuple[str, Reserved, bool]:
    """The reservation, one that is there for what is asked or a new charge, its event, and whether it was there.

    What is asked for on the same terms is the same, whatever noise the ledger's state would have it bring by now: so
    the event is that of the reservation, not always the one given.
    """
    told = asked | {"table": version.table, "version": version.number}
    told |= {"epsilon": str(terms.epsilon), "delta": str(terms.delta)}
    question = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
    known = None if fresh else curator.ledger.reserved(version.table, version.number, question)
    if known is not None:
        return known.id, known.event, True
    try:
        id_ = charged(
            version,
            event,
            question=question,
            price=terms.epsilon,
            curator=curator,
            asker=asker,
            once=not fresh,
        )
    except BudgetExceeded as problem:
        problem.hint = problem.hint or _affordable(terms, version, curator)
        raise
    return id_, curator.ledger.reservation(id_).event, False
