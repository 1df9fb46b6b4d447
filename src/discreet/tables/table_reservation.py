"""What a release of tables may lose, in the terms of the ledger, and its one charge."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.accounting.events import ReservationEvent
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.region import Region
from discreet.accounting.zcdp_conversion import rho_from_epsilon
from discreet.answers.caveats import declared_table_caveats, ledger_caveats
from discreet.answers.whole_table_charge import charge_whole_table
from discreet.errors import Flag, Message, UsageError
from discreet.kernel.curator import Curator, Version
from discreet.kernel.project_session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationTerms:
    """What may be spent: an epsilon, or, with a delta, the pair as the guarantee of this release."""

    epsilon: Fraction
    delta: Fraction | None = None

    @staticmethod
    def of(epsilon: object, delta: object = None) -> ReservationTerms:
        """The terms in the words of the command line or of Python, checked."""
        return ReservationTerms(
            epsilon=exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON),
            delta=None if delta is None else exact.probability(delta, name="delta"),
        )

    def event(self, session: Session, region: Region | None = None) -> ReservationEvent:
        """The reservation: pure Laplace noise, unless a delta is given, or the pure arm is full and Gaussian noise
        costs the budget no more. `region`: whom it is about, where not everybody.

        As for questions in SQL: an epsilon without a delta costs rho = epsilon^2 / 2 on Gaussian noise.
        """
        guarantee = session.guarantee
        pure = ReservationEvent(epsilon=self.epsilon, rho=self.epsilon**2 / 2, delta=Fraction(0))
        gaussian = ReservationEvent(epsilon=None, rho=self.epsilon**2 / 2, delta=Fraction(0))
        if self.delta == 0:
            return pure
        if self.delta is not None:
            return ReservationEvent(epsilon=None, rho=self._rho(guarantee), delta=Fraction(0))
        if guarantee.accounting == "zcdp":
            return gaussian
        by_laplace = session.preview(pure, region=region, booking=False)
        if guarantee.limits.rho is None or by_laplace.arm == "pure":
            return pure
        by_gauss = session.preview(gaussian, region=region, booking=False)
        costs = session.epsilon_moved(by_gauss), session.epsilon_moved(by_laplace)
        dearer = costs[0] is None or (costs[1] is not None and costs[0] > costs[1])
        if not by_gauss.accepted or (by_laplace.accepted and dearer):
            return pure
        return gaussian

    def _rho(self, guarantee: Guarantee) -> Fraction:
        assert self.delta is not None
        if guarantee.limits.rho is None:
            raise UsageError(
                Message(
                    Flag("delta"), " asks for Gaussian noise, but the table's budget has no delta to convert rho with"
                ),
                hint=Message("leave ", Flag("delta"), " out"),
            )
        rho = rho_from_epsilon(self.epsilon, self.delta)
        if rho <= 0:
            raise UsageError(f"epsilon {exact.show(self.epsilon)} at this delta is too small: it needs infinite noise")
        return rho

    def notes(self, event: ReservationEvent, guarantee: Guarantee) -> list[str]:
        """What the reader should know of the noise, where it is not of the kind that was asked for."""
        if event.epsilon is not None or self.delta is not None or guarantee.accounting == "zcdp":
            return []
        return [
            "the sum of epsilons is at its limit, so the noise is Gaussian (rho "
            f"{exact.show(event.rho, up=True)}): it costs the budget no more than Laplace noise, and is smaller"
        ]


def count_caveats(version: Version, curator: Curator, columns: Sequence[str] = ()) -> list[str]:
    """What the counts of a version describe by these columns, and what is not protected; intervals do not tell."""
    read = [(version.table, column) for column in columns]
    notes = declared_table_caveats({version.table: version.schema}, read)
    return notes + ledger_caveats(curator.ledger, version.population)


def reserve(
    request_data: dict[str, Any],
    event: ReservationEvent,
    terms: ReservationTerms,
    session: Session,
    *,
    fresh: bool = False,
    region: Region | None = None,
) -> tuple[str, ReservationEvent, bool]:
    """The reservation, one that is there for what is asked or a new charge, its event, and whether it was there.

    `region`: whom it is about, where not everybody.

    What is asked for on the same terms is the same, whatever noise the ledger's state would have it bring by now: so
    the event is that of the reservation, not always the one given.
    """
    version, ledger = session.version, session.ledger
    question_data = request_data | {"table": version.table, "version": version.number}
    question_data |= {"epsilon": str(terms.epsilon), "delta": str(terms.delta)}
    question = hashlib.sha256(json.dumps(question_data, sort_keys=True).encode()).hexdigest()
    earlier_reservation = None if fresh else ledger.find_reservation(version.table, version.number, question)
    if earlier_reservation is not None:
        return earlier_reservation.id, earlier_reservation.event, True
    id_ = charge_whole_table(session, event, question=question, price=terms.epsilon, once=not fresh, region=region)
    return id_, ledger.reservation(id_).event, False
