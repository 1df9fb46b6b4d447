"""What is a report and what is none: everything is refused before anything is stored."""

from __future__ import annotations

import json
import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.surveys.collector.intake import LONGEST_REPORT, RequestRefusal, read_body, token_hash
from discreet.surveys.collector.survey_store import AcceptedBatch, DeclinedBatch
from discreet.surveys.device.report_sender import report_text
from discreet.surveys.protocols.unary import OptimisedUnary
from surveys.collector.asked import NO, YES, line, lines, survey

ASKED = survey()
SEVEN = survey(randomizer=OptimisedUnary([str(number) for number in range(7)], epsilon=1))
TOKENS = survey(token=True)


def wrong(body: bytes, of=ASKED) -> RequestRefusal:
    with pytest.raises(RequestRefusal) as caught:
        read_body(body, of)
    return caught.value


def test_one_report():
    told = line(ASKED, report=NO)
    (found,) = read_body(lines(told), ASKED).batch.reports
    assert (found.id.hex(), found.report, found.token) == (told["id"], NO, None)


def test_a_batch_with_empty_lines_and_carriage_returns():
    told = [line(ASKED, report=report) for report in (YES, NO, YES)]
    body = b"\r\n" + b"\r\n\n".join(json.dumps(each).encode() for each in told) + b"\n"
    assert [found.report for found in read_body(body, ASKED).batch.reports] == [YES, NO, YES]


def test_one_report_over_several_lines():
    (found,) = read_body(json.dumps(line(ASKED), indent=2).encode(), ASKED).batch.reports
    assert found.report == YES


def test_an_id_is_the_same_in_capitals():
    told = line(ASKED, id_="ABCDEF" * 5 + "00")
    assert read_body(lines(told), ASKED).batch.reports[0].id == bytes.fromhex(told["id"])


GOOD = line(ASKED)
DEEP = b'{"a":' * 3000 + b"1" + b"}" * 3000


NO_REPORTS = [
    (b"", 400),
    (b"\n \n", 400),
    (b"no", 400),
    (b"[]", 400),
    (b"null", 400),
    (b'"text"', 400),
    (b"{", 400),
    (b"\xff\xfe", 400),
    (b"\x00" * 100, 400),
    (b"[" * 16_000, 400),
    (DEEP, 413),
    (DEEP[:16_000], 400),
    (b"9" * 10_000, 400),
    (lines(GOOD | {"version": 2}), 400),
    (lines(GOOD | {"version": True}), 400),
    (lines(GOOD | {"version": 1.0}), 400),
    (lines(GOOD | {"version": "1"}), 400),
    (lines(GOOD | {"version": None}), 400),
    (lines(GOOD | {"survey": SEVEN.id}), 400),
    (lines(GOOD | {"survey": [ASKED.id]}), 400),
    (lines(GOOD | {"id": "0" * 31}), 400),
    (lines(GOOD | {"id": "0" * 33}), 400),
    (lines(GOOD | {"id": "0" * 15_000}), 400),
    (lines(GOOD | {"id": " " + "0" * 31}), 400),
    (lines(GOOD | {"id": "g" * 32}), 400),
    (lines(GOOD | {"id": "٣" * 32}), 400),
    (lines(GOOD | {"id": 10**31}), 400),
    (lines(GOOD | {"id": None}), 400),
    (lines(GOOD | {"report": ""}), 400),
    (lines(GOOD | {"report": "AAA"}), 400),
    (lines(GOOD | {"report": "AA=="}), 400),
    (lines(GOOD | {"report": "A="}), 400),
    (lines(GOOD | {"report": "é" * 2}), 400),
    (lines(GOOD | {"report": "Ag"}), 400),  # the third of two choices
    (lines(GOOD | {"report": 0}), 400),
    (lines(GOOD | {"report": ["AA"]}), 400),
    (lines(GOOD | {"name": "Ada"}), 400),
    (lines({key: value for key, value in GOOD.items() if key != "id"}), 400),
    (lines(GOOD | {"token": "x" * LONGEST_REPORT}), 413),
]


@pytest.mark.parametrize("place", range(len(NO_REPORTS)))
def test_what_is_no_report_is_refused_in_one_sentence(place):
    body, status = NO_REPORTS[place]
    found = wrong(body)
    assert found.status == status
    assert found.line is None
    sentence = found.to_data()["error"]
    assert sentence.endswith(".") and len(sentence) < 200


@pytest.mark.parametrize("bad", ["no", "of no choice", "too long"])
def test_a_batch_names_the_line_at_fault(bad):
    bad = {"no": b"no", "of no choice": lines(GOOD | {"report": "Ag"}), "too long": lines(GOOD | {"report": "AAAA"})}[
        bad
    ]
    found = wrong(lines(line(ASKED)) + b"\n\n" + bad + b"\n" + lines(line(ASKED)))
    assert found.line == 3
    assert found.to_data()["error"].startswith("Line 3: ")


def test_bits_that_fill_up_the_last_byte_must_be_empty():
    assert read_body(lines(line(SEVEN, report=b"\xfe")), SEVEN).batch.reports[0].report == b"\xfe"
    assert wrong(lines(line(SEVEN, report=b"\x01")), SEVEN).status == 400


def test_a_token_is_hashed_and_taken_only_where_it_is_needed():
    token = secrets.token_urlsafe(16)
    (found,) = read_body(lines(line(TOKENS, token=token)), TOKENS).batch.reports
    assert found.token == token_hash(token) != token.encode()
    assert read_body(lines(line(ASKED, token=token)), ASKED).batch.reports[0].token is None
    for bad in ("", "x", token + "x", 5, [token], token[:-1] + "é"):
        assert wrong(lines(line(TOKENS, token=bad)), TOKENS).status == 403


@given(st.binary(max_size=300))
def test_any_bytes_are_a_report_or_refused(body):
    try:
        assert read_body(body, ASKED).batch.reports
    except RequestRefusal as found:
        assert 400 <= found.status < 500


_JSON = st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5), st.lists, max_leaves=5)


@given(st.dictionaries(st.sampled_from([*GOOD, "token", "x"]), _JSON, max_size=6))
def test_any_values_are_a_report_or_refused(told):
    body = json.dumps(GOOD | told).encode()
    try:
        (found,) = read_body(body, ASKED).batch.reports
        assert len(found.id) == 16 and found.report in (YES, NO)
    except RequestRefusal as refused:
        assert 400 <= refused.status < 500


@given(st.lists(st.binary(min_size=3, max_size=3), min_size=1, max_size=20))
def test_reports_arrive_as_they_were_sent(reports):
    wide = survey(randomizer=OptimisedUnary([str(number) for number in range(24)], epsilon=1))
    assert all(len(report_text(report)) == 4 for report in reports)
    parcel = read_body(lines(*(line(wide, report=report) for report in reports)), wide)
    assert [found.report for found in parcel.batch.reports] == reports


def test_what_the_sender_is_told():
    parcel = read_body(lines(line(ASKED), line(ASKED)), ASKED)
    assert parcel.answer(AcceptedBatch(2, 0)) == {"accepted": 2, "repeated": 0}
    assert "first one stays" in parcel.answer(AcceptedBatch(1, 1))["note"]
    with pytest.raises(RequestRefusal) as caught:
        parcel.answer(DeclinedBatch(410, "This survey is closed.", 1))
    assert (caught.value.status, caught.value.line) == (410, 2)
