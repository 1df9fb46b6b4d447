"""A survey: a question, the randomizer that answers it, and the rules of its collection."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from discreet.errors import UsageError
from discreet.surveys.protocols.collection_periods import PERIOD_BYTES, CollectionPeriods
from discreet.surveys.protocols.randomizer import Randomizer, randomizer_from_parameters

#: The version of a survey's document and of a report on the wire.
VERSION = 1
#: Fewer reports than this are not estimated unless the survey says otherwise.
MINIMUM = 20
#: From this epsilon on an answer is hard to deny; the respondent's page says so too.
WEAK_EPSILON = 3
#: The longest question, in characters.
LONGEST_QUESTION = 2_000
#: The longest name of who asks.
LONGEST_ASKER = 120
#: Protocols that noise the answers to several questions at once.
SEVERAL_QUESTION_PROTOCOLS = ("sampled", "split")

#: Letters and figures that are not mistaken for one another; 10 of them are 50 bits.
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
_ID_LENGTH = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """One question. Only `closed` ever changes, once, and for good."""

    id: str
    question: str
    randomizer: Randomizer
    minimum: int = MINIMUM
    #: Whether a report needs an enrolment token.
    token: bool = False
    created: str
    closed: bool = False
    #: Who asks, as respondents are told; empty where nobody said it.
    asker: str = ""
    #: Where the survey is collected again and again; None where each device answers once.
    periods: CollectionPeriods | None = None

    def __post_init__(self) -> None:
        if not is_survey_id(self.id):
            raise UsageError(f"{self.id[:40]!r} is not the id of a survey")
        if not self.question.strip() or len(self.question) > LONGEST_QUESTION or not self.question.isprintable():
            raise UsageError(f"A question must be one line of at most {LONGEST_QUESTION:,} characters.")
        if len(self.asker) > LONGEST_ASKER or not self.asker.isprintable():
            raise UsageError(f"The asker must be one line of at most {LONGEST_ASKER} characters.")
        if self.randomizer.protocol in SEVERAL_QUESTION_PROTOCOLS:
            raise UsageError(
                "A survey asks one question.",
                hint="make one survey per question; several questions work only in Python",
            )
        if not 1 <= self.minimum <= 10**9:
            raise UsageError(f"The minimum number of reports must be at least 1, not {self.minimum}.")
        if self.periods is not None:
            self.periods.check_randomizer(self.randomizer)

    @property
    def report_width(self) -> int:
        """The bytes of a report as it is sent and stored: where there are periods, its period's number is first."""
        return self.randomizer.width + (0 if self.periods is None else PERIOD_BYTES)

    @classmethod
    def new(
        cls,
        question: str,
        randomizer: Randomizer,
        *,
        minimum: int = MINIMUM,
        token: bool = False,
        asker: str = "",
        periods: CollectionPeriods | None = None,
    ) -> Survey:
        """A survey that begins now, under an id that nobody has."""
        return cls(
            id="".join(secrets.choice(_LETTERS) for _ in range(_ID_LENGTH)),
            question=question,
            randomizer=randomizer,
            minimum=minimum,
            token=token,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            asker=asker,
            periods=periods,
        )

    def as_closed(self) -> Survey:
        """The same survey, closed."""
        return replace(self, closed=True)

    def to_data(self) -> dict[str, Any]:
        """What a respondent's device is told."""
        again = {} if self.periods is None else {"periods": self.periods.to_data()}
        return {
            "version": VERSION,
            "survey": self.id,
            "question": self.question,
            "randomizer": self.randomizer.parameters(),
            "minimum": self.minimum,
            "closed": self.closed,
            "token": self.token,
            "asker": self.asker,
            **again,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Survey:
        """What a collector told this device. Numbers that do not follow from the stated epsilon are refused."""
        try:
            if data["version"] != VERSION:
                raise UsageError(f"This survey has version {data['version']!r}; only version {VERSION} is supported.")
            question, minimum, id_ = str(data["question"]), int(data["minimum"]), str(data["survey"])
            token, closed, asker = bool(data["token"]), bool(data["closed"]), str(data.get("asker", ""))
            randomizer = randomizer_from_parameters(data["randomizer"], protocol_classes())
            periods = CollectionPeriods.from_data(data["periods"]) if "periods" in data else None
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise UsageError("This is not a survey document.") from problem
        return cls(
            id=id_,
            question=question,
            randomizer=randomizer,
            minimum=minimum,
            token=token,
            closed=closed,
            created="",
            asker=asker,
            periods=periods,
        )


def is_survey_id(text: str) -> bool:
    """Whether this can be the id of a survey: safe in an address, a file name and a shell."""
    return len(text) == _ID_LENGTH and set(text) <= set(_LETTERS)


def protocol_classes() -> Mapping[str, type[Randomizer]]:
    """Every protocol that a survey can use."""
    from discreet.surveys.protocols.protocol_registry import PROTOCOL_CLASSES

    return PROTOCOL_CLASSES
