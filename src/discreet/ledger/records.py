"""Records: what the ledger knows about versions, charges and answers. Plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.accounting.events import GaussianEvent, LaplaceEvent, Loss, ReservationEvent
from discreet.accounting.filter import Cost
from discreet.accounting.region import Region
from discreet.ledger.account import SegmentKey
from discreet.schema.person_identity import Naming, naming_of


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRecord:
    """One declared table, as it was made: the ledger holds its schema, so an edited file changes nothing."""

    table: str
    number: int
    population: str
    schema: dict[str, Any]
    source: dict[str, Any]
    file: str
    time: str
    seq: int

    @property
    def naming(self) -> Naming:
        """By which columns it identifies persons; see `protected_unit`."""
        return naming_of(self.table, self.schema, self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeRecord:
    """A charge that is in the ledger. An answer is stored under its id.

    `price`: the epsilon that was asked for. `moved`: how far it raised the epsilon that its population has spent.
    """

    id: str
    seq: int
    time: str
    population: str
    table: str
    version: int
    analyst: str | None
    question: str
    price: Fraction
    cost: Cost
    moved: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCharge:
    """A charge that somebody may make: whom it is about, and what it would cost them."""

    population: str
    table: str
    version: int
    region: Region
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRecord:
    """An answer that is in the ledger: the digest of its payload, and the row that says so."""

    sha256: str
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One step of a program, paid from its reservation. Its answer is stored under its id."""

    id: str
    of: str
    loss: Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    """Exact totals that the owner chose to publish, in words. The numbers are stored under its id."""

    id: str
    population: str
    table: str
    version: int
    words: str


@dataclass(slots=True, kw_only=True)
class Reservation:
    """A guarantee that a program draws its steps from. Closed: no step follows."""

    id: str
    event: ReservationEvent
    steps: list[StepRecord] = field(default_factory=list)
    closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRowRecord:
    """What was drawn at one time of a stream. Its answer is stored under its id; `owner_file` is the owner's own."""

    id: str
    number: int
    owner_file: str


@dataclass(slots=True, kw_only=True)
class StreamRecord:
    """A linear map of counts, paid for as a whole, whose rows are drawn as time goes on. Closed: no row follows.

    `of` says which map it is, of whom, as public data; `count` is the number of times at which rows are drawn.
    """

    id: str
    table: str
    name: str
    event: LaplaceEvent | GaussianEvent
    count: int
    of: dict[str, Any]
    rows: list[StreamRowRecord] = field(default_factory=list)
    closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryEffects:
    """What an entry changed, for the tables beside the chain."""

    populations: tuple[str, ...] = ()
    segments: tuple[tuple[str, SegmentKey], ...] = ()
    charge: str | None = None
    everything: bool = False
