"""A batch that was planned as one, measured: one charge, the plan stored under it, then a step for each of its parts.

What `program` promises holds: nothing is read before it is paid, what was drawn is stored before it is shown, and a
batch whose process died goes on where it was, by the plan that it was begun with.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from discreet import exact
from discreet.accounting.events import ReservationEvent
from discreet.answers.query_quote import QueryWish
from discreet.answers.whole_table_charge import charge_whole_table
from discreet.answers.workload.batch_cells import CellGrid, cut_cells
from discreet.answers.workload.batch_quote import BatchQuote, SessionOf, lone_price, plan_batch
from discreet.answers.workload.drawn_batch import DrawnBatch
from discreet.answers.workload.query_batch import QueryBatch
from discreet.answers.workload.stored_batch import StoredBatch, StoredGrid
from discreet.errors import Flag, LedgerFault, Message
from discreet.inference.reconcile import ColumnDomains
from discreet.kernel.program import AddedRows, Program
from discreet.kernel.project_session import Session
from discreet.kernel.version import Version
from discreet.sql.parsed_query import ParsedQuery


def batch_question(batch: QueryBatch, wish: QueryWish, weights: Sequence[Fraction] | None) -> str:
    """What the ledger knows a batch by: what its statements measure, on which terms."""
    data = {
        "batch": [batch.whole(group).inquiry.question() for group in batch.groups],
        "statements": [[query.text for query in group] for group in batch.groups],
        "epsilon": None if wish.epsilon is None else exact.write(wish.epsilon),
        "delta": None if wish.delta is None else exact.write(wish.delta),
        "weights": None if weights is None else [exact.write(weight) for weight in weights],
    }
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def begun_batch(
    queries: Sequence[ParsedQuery], wish: QueryWish, session: Session, *, weights: Sequence[Fraction] | None = None
) -> str | None:
    """The reservation of this very batch, drawn in full or not; None where there is none."""
    version = session.version
    question = batch_question(QueryBatch.of(queries), wish, weights)
    reservation = session.ledger.find_reservation(version.table, version.number, question)
    return None if reservation is None else reservation.id


def measure_batch(
    quoted: BatchQuote,
    queries: Sequence[ParsedQuery],
    wish: QueryWish,
    sessions: SessionOf,
    *,
    weights: Sequence[Fraction] | None = None,
    fresh: bool = False,
) -> DrawnBatch:
    """Charge a batch as quoted, and measure it. `fresh`: charge it again, if it was charged before.

    Guarantee: all that is drawn loses no more than the reservation, for the people of its region, and nothing for
        others.
    Because: docs/proofs/batches.md.
    """
    session = joined_session(queries, sessions)
    for version in session.joined:
        session.curator.check_ready(version)
    asker = session.asker
    id_ = charge_whole_table(
        replace(session, asker=replace(asker, key=None if asker.key is None else f"{asker.key}.0")),
        quoted.event,
        question=batch_question(quoted.batch, wish, weights),
        price=quoted.epsilon,
        once=not fresh,
        region=quoted.region,
    )
    text = StoredBatch.of(quoted, queries).to_text()
    session.ledger.store(id_, text)  # whoever stored first
    return draw_batch(id_, queries, session)


def resume_batch(
    id_: str,
    queries: Sequence[ParsedQuery],
    wish: QueryWish,
    sessions: SessionOf,
    *,
    weights: Sequence[Fraction] | None = None,
    answered: Sequence[int] = (),
    split: Sequence[ParsedQuery] | None = None,
) -> DrawnBatch:
    """A batch that was charged before: what is stored of it, and the rest drawn now, under that charge.

    `split`: see `plan_batch`.
    """
    session = joined_session(queries, sessions)
    ledger = session.ledger
    if id_ not in ledger.refresh().answers:
        event = ledger.reservation(id_).event
        quoted = plan_batch(queries, wish, sessions, weights=weights, answered=answered, event=event, split=split)
        if quoted is None:
            raise LedgerFault(f"the batch of {id_} cannot be planned any more", hint="run its statements one by one")
        ledger.store(id_, StoredBatch.of(quoted, queries).to_text())
    missing = DrawnBatch.read(ledger, id_) is None
    return replace(draw_batch(id_, queries, session), is_resumed=missing)


def joined_session(queries: Sequence[ParsedQuery], sessions: SessionOf) -> Session:
    """The session of a batch: with every version that one of its statements reads."""
    own = [sessions(query) for query in queries]
    joined: dict[tuple[str, int], Version] = {
        (version.table, version.number): version for each in own for version in each.joined
    }
    return replace(own[0], joined=tuple(joined.values()))


def draw_batch(id_: str, queries: Sequence[ParsedQuery], session: Session) -> DrawnBatch:
    """Take the steps of a stored plan: read back what was drawn, and draw what was not."""
    ledger = session.ledger
    stored = StoredBatch.from_text(ledger.answer(id_))
    program = Program(session.curator, session.version, id_, joined=session.joined, region=stored.region)
    take_steps(program, stored, queries, program.event)
    drawn = DrawnBatch.read(ledger, id_)
    assert drawn is not None
    return drawn


def take_steps(program: Program, stored: StoredBatch, queries: Sequence[ParsedQuery], event: ReservationEvent) -> None:
    """The steps of a plan: a linear one for each grid, and a question for each group that is measured by itself."""
    batch = QueryBatch.of(queries)
    wholes = [batch.whole(group) for group in batch.groups]
    measured = [wholes[place] for place in stored.groups]
    grids = cut_cells(measured, ColumnDomains.of(program.version.schema.columns)).grids
    for grid in stored.grids:
        relation = _relation_of(grid, grids)
        added = AddedRows(
            plan=relation.plan,
            statistic=relation.statistic,
            publics=measured[relation.numbers[0].statement].publics,
        )
        program.linear(grid.axes, [(grid.strategy, grid.law)], added=added)
    for place in stored.alone:
        group = stored.groups[place]
        assert group.share is not None
        priced = lone_price(
            wholes[place],
            group.share,
            is_pure=event.epsilon is not None,
            delta=group.delta,
            confidence=group.confidence,
        )
        program.run(priced, publics=wholes[place].publics)


def _relation_of(stored: StoredGrid, grids: Sequence[CellGrid]) -> CellGrid:
    """A grid of the same relation and statistic, cut as it may be by now: the stored one says how it is cut."""
    same = next((grid for grid in grids if stored.is_of(grid)), None)
    if same is None:
        raise LedgerFault(
            "the batch was begun with statements that have another meaning now",
            hint=Message("run it with another epsilon, or its statements one by one with ", Flag("fresh", True)),
        )
    return same
