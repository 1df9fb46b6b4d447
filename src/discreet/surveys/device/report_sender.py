"""A respondent's side: what a survey is, and one report on its way, to this machine's store or to an address."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from typing import Any, Protocol

from discreet.errors import DiscreetError, Flag, Message, Refused, StoreFault, UsageError
from discreet.surveys.collector.intake import RequestRefusal, read_body
from discreet.surveys.collector.survey_definition import VERSION, Survey
from discreet.surveys.collector.survey_store import SurveyStore

#: How long a collector may take, and how much it may say.
WAIT_S = 20.0
MOST_RESPONSE_BYTES = 32 * 1024 * 1024
#: What a sender can do who got no answer.
_RETRY_HINT = "send it again: the same bytes are sent, and counted once"


class ReportTarget(Protocol):
    """Where a survey is, and where its reports go."""

    def survey(self, id_: str) -> Survey:
        """The survey with this id."""

    def send(self, survey: Survey, document: bytes) -> dict[str, Any]:
        """Deliver one report; what the collector answered."""


class StoreTarget:
    """A store on this machine."""

    def __init__(self, store: SurveyStore, *, now: float | None = None) -> None:
        """`now`, in seconds since 1970, stands for the clock where time is simulated."""
        self._store = store
        self._now = now

    def survey(self, id_: str) -> Survey:
        return self._store.survey(id_)

    def send(self, survey: Survey, document: bytes) -> dict[str, Any]:
        """By the way that a request takes, too."""
        try:
            parcel = read_body(document, survey, now=self._now)
            return parcel.answer(self._store.add([parcel.batch])[0])
        except RequestRefusal as wrong:
            raise _refusal(wrong.status, wrong.reason) from None


class CollectorTarget:
    """A collector at an address."""

    def __init__(self, address: str) -> None:
        if not address.startswith(("http://", "https://")):
            raise UsageError(
                "A URL must begin with http:// or https://.", hint=Message(Flag("url", "http://127.0.0.1:8000"))
            )
        self._address = address.rstrip("/")

    def survey(self, id_: str) -> Survey:
        survey = Survey.from_data(self._ask(f"/surveys/{id_}.json"))
        if survey.id != id_:
            raise UsageError("The collector returned another survey.")
        return survey

    def send(self, survey: Survey, document: bytes) -> dict[str, Any]:
        response_data = self._ask(f"/collect/{survey.id}", document)
        counts = [response_data.get(name, 0) for name in ("accepted", "repeated")]
        if any(type(count) is not int for count in counts) or sum(counts) != 1:
            raise StoreFault("the collector's answer is not valid", hint=_RETRY_HINT)
        return {"accepted": counts[0], "repeated": counts[1]}

    def _ask(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310 - the scheme was looked at
            self._address + path, data=body, headers={"Content-Type": "application/json"} if body else {}
        )
        try:
            with urllib.request.urlopen(request, timeout=WAIT_S) as answer:  # noqa: S310
                return _parse_object(answer.read(MOST_RESPONSE_BYTES))
        except urllib.error.HTTPError as problem:
            with problem:
                response_data = _parse_object(problem.read(MOST_RESPONSE_BYTES), empty=True)
            if response_data.get("repeated"):
                return response_data  # it was counted before
            raise _refusal(
                problem.code, _readable(str(response_data.get("error", "The collector refused the report.")))
            ) from None
        except (OSError, ValueError) as problem:
            raise StoreFault("the collector cannot be reached", hint=_RETRY_HINT) from problem


def report_document(survey: Survey, id_: str, report: bytes, *, token: str | None = None) -> bytes:
    """A report as it is sent."""
    fields = {"version": VERSION, "survey": survey.id, "id": id_, "report": report_text(report)}
    return json.dumps(fields | ({"token": token} if token is not None else {})).encode()


def report_text(report: bytes) -> str:
    """A report as text: base64url without padding."""
    return base64.urlsafe_b64encode(report).rstrip(b"=").decode()


def _parse_object(text: bytes, *, empty: bool = False) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        return parsed
    if empty:
        return {}
    raise UsageError("That URL is not a Discreet survey collector.", hint=Message(Flag("url", "http://127.0.0.1:8000")))


def _readable(text: str) -> str:
    """Another machine's sentence, as it may stand on a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:300])


def _refusal(status: int, reason: str) -> DiscreetError:
    """A refused report as the command line's errors: closed is for good, the rest can be set right."""
    if status >= 500 or status == 429:
        return StoreFault(reason.rstrip("."), hint="send it again later: the same bytes are sent, and counted once")
    return Refused(reason) if status == 410 else UsageError(reason)
