"""The application as a browser and a program see it, over a real connection."""

from __future__ import annotations

import json
import logging
import secrets
import socket

import pytest

from discreet.errors import StoreFault
from discreet.surveys.collector import address_limit
from discreet.surveys.collector.app import CLIENT, PAGES
from discreet.surveys.collector.enrolment import enrol
from discreet.surveys.collector.survey_store import all_reports
from surveys.collector.asked import NO, YES, batch, line, lines, sent, survey
from surveys.collector.serving import ask, served

STRICT = {
    "Content-Security-Policy": "default-src 'self'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A store, its server's port."""
    from discreet.surveys.collector.store_location import open_survey_store

    store = open_survey_store(None, tmp_path_factory.mktemp("served"), make=True)
    with served(store) as port:
        yield store, port
    store.close()


def test_a_report_is_stored_when_it_is_acknowledged(world):
    store, port = world
    asked = survey(store)
    assert ask(port, f"/collect/{asked.id}", lines(line(asked)))[::2] == (200, {"accepted": 1, "repeated": 0})
    assert store.count(asked.id) == 1


def test_a_batch_and_its_replay(world):
    store, port = world
    asked = survey(store)
    body = lines(*(line(asked, report=report) for report in (YES, NO, NO)))
    assert ask(port, f"/collect/{asked.id}", body)[2] == {"accepted": 3, "repeated": 0}
    status, _, told = ask(port, f"/collect/{asked.id}", body)
    assert (status, told["accepted"], told["repeated"]) == (409, 0, 3)
    assert "first one stays" in told["error"]
    status, _, told = ask(port, f"/collect/{asked.id}", body + b"\n" + lines(line(asked, report=YES)))
    assert (status, told["accepted"], told["repeated"]) == (200, 1, 3)
    assert "first one stays" in told["note"]
    assert all_reports(store, asked).tolist() == [[0], [1], [1], [0]]


def test_a_batch_of_which_one_line_is_bad_is_not_counted(world):
    store, port = world
    asked = survey(store)
    status, _, told = ask(port, f"/collect/{asked.id}", lines(line(asked), line(asked) | {"version": 2}))
    assert (status, told["line"]) == (400, 2)
    assert store.count(asked.id) == 0


def test_the_survey_and_its_pages(world):
    store, port = world
    asked = survey(store, minimum=3)
    assert ask(port, f"/surveys/{asked.id}.json")[::2] == (200, asked.to_data())
    for path, file in (
        (f"/s/{asked.id}", PAGES / "respond.html"),
        (f"/s/{asked.id}/results", PAGES / "results.html"),
        ("/static/discreet-local.js", CLIENT),
        ("/static/style.css", PAGES / "style.css"),
    ):
        status, headers, said = ask(port, path)
        assert (status, said) == (200, file.read_bytes()), path
        assert headers.get_content_type() in ("text/html", "text/javascript", "text/css")


def test_results_wait_then_come_then_are_final(world, monkeypatch):
    store, port = world
    monkeypatch.setattr("discreet.surveys.collector.live_results.REST_S", 0.0)
    monkeypatch.setattr("discreet.surveys.collector.live_results.SHARE", 1e9)
    asked = survey(store, minimum=3)
    path = f"/surveys/{asked.id}/results.json"
    told = ask(port, path)[2]
    assert (told["waiting"], told["n"], told["minimum"]) == (True, 0, 3)
    store.add([batch(asked, sent(YES), sent(YES), sent(NO))])
    status, _, told = ask(port, path)
    assert (status, told["n"], [each["choice"] for each in told["estimates"]]) == (200, 3, ["yes", "no"])
    assert {"plus_minus", "halve", "fakes", "epsilon", "closed"} <= told.keys()
    store.end(asked.id)
    assert ask(port, path)[2]["closed"] is True
    assert ask(port, f"/surveys/{asked.id}.json")[2]["closed"] is True


def test_a_closed_survey_refuses_for_good_and_repeats_stay_counted(world):
    store, port = world
    asked, before = survey(store), lines(line(survey()))
    before = lines(line(asked))
    ask(port, f"/collect/{asked.id}", before)
    store.end(asked.id)  # by another process, as far as the server knows
    assert ask(port, f"/collect/{asked.id}", lines(line(asked)))[::2] == (410, {"error": "This survey is closed."})
    assert ask(port, f"/collect/{asked.id}", before)[2]["repeated"] == 1
    assert store.count(asked.id) == 1


def test_tokens(world):
    store, port = world
    asked = survey(store, token=True)
    good, other = enrol(store, asked, 2)
    body = lines(line(asked, token=good))
    assert ask(port, f"/collect/{asked.id}", lines(line(asked)))[0] == 403
    assert ask(port, f"/collect/{asked.id}", lines(line(asked, token=secrets.token_urlsafe(16))))[0] == 403
    assert ask(port, f"/collect/{asked.id}", body)[0] == 200
    assert ask(port, f"/collect/{asked.id}", body)[2]["repeated"] == 1  # a retry is no error
    assert ask(port, f"/collect/{asked.id}", lines(line(asked, token=good)))[0] == 409
    assert ask(port, f"/collect/{asked.id}", lines(line(asked, token=other)))[0] == 200
    assert store.tokens(asked.id) == (2, 2)


@pytest.mark.parametrize("path", ["/surveys/{}.json", "/surveys/{}/results.json", "/s/{}", "/s/{}/results"])
@pytest.mark.parametrize("id_", ["aaaaaaaaaa", "x", "..%2f..%2fetc", "%00", "x" * 5000])
def test_a_survey_that_is_not_there(world, path, id_):
    status, _, told = ask(world[1], path.format(id_))
    assert status == 404
    if path.endswith(".json") or "%2f" in id_:
        assert set(told) == {"error"}
    else:  # a person is told by the page itself
        assert told.startswith(b"<!doctype html>")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/static/../app.py", 404),
        ("GET", "/static/%2e%2e/app.py", 404),
        ("GET", "/static/", 404),
        ("GET", "/openapi.json", 404),
        ("GET", "/docs", 404),
        ("GET", "/collect/aaaaaaaaaa", 405),
        ("DELETE", "/surveys/aaaaaaaaaa.json", 405),
        ("POST", "/collect/aaaaaaaaaa", 404),
        ("PUT", "/collect/aaaaaaaaaa", 405),
    ],
)
def test_every_answer_is_strict_and_every_refusal_one_sentence(world, method, path, status):
    found, headers, told = ask(world[1], path, method=method)
    assert found == status
    assert set(told) == {"error"} and told["error"].endswith(".")
    for name, value in STRICT.items():
        assert headers[name].startswith(value)
    assert "Set-Cookie" not in headers


def test_no_answer_sets_a_cookie_or_lets_another_site_in(world):
    store, port = world
    asked = survey(store)
    for path in (
        f"/s/{asked.id}",
        f"/surveys/{asked.id}.json",
        f"/surveys/{asked.id}/results.json",
        "/static/style.css",
    ):
        _, headers, _ = ask(port, path, Origin="https://elsewhere.example")
        assert "Set-Cookie" not in headers and "Access-Control-Allow-Origin" not in headers
        assert headers["Content-Security-Policy"].startswith("default-src 'self';")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://here.example"}, 200),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "null"}, 200),
        ({"Origin": "http://elsewhere.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://elsewhere.example"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://elsewhere.example"}, 403),
    ],
)
def test_a_page_of_another_site_cannot_make_its_visitors_answer(world, headers, status):
    store, port = world
    asked = survey(store)
    found = ask(port, f"/collect/{asked.id}", lines(line(asked)), Host="here.example", **headers)
    assert found[0] == status
    assert store.count(asked.id) == (status == 200)


def test_an_address_that_sends_too_much_must_wait(file_store, monkeypatch):
    """Ten at once, and one every two minutes: not even the slowest machine saves up two while this runs."""
    asked = survey(file_store)
    monkeypatch.setattr(address_limit, "SAVED_S", 1200.0)
    with served(file_store, rate=1 / 120) as port:
        assert ask(port, f"/collect/{asked.id}", lines(*(line(asked) for _ in range(9))))[0] == 200
        status, headers, told = ask(port, f"/collect/{asked.id}", lines(line(asked), line(asked), line(asked)))
        assert (status, "later" in told["error"]) == (429, True)
        assert int(headers["Retry-After"]) >= 60
        assert ask(port, f"/collect/{asked.id}", lines(line(asked)))[0] == 429
    assert file_store.count(asked.id) == 9


def test_a_batch_that_no_wait_would_let_in(file_store):
    asked = survey(file_store)
    with served(file_store, rate=1) as port:
        status, _, told = ask(port, f"/collect/{asked.id}", lines(*(line(asked) for _ in range(50))))
        assert (status, told["error"]) == (413, "This collector accepts at most 20 reports in a batch.")
    assert file_store.count(asked.id) == 0


def test_a_store_that_fails_is_told_and_nothing_is_acknowledged(file_store, monkeypatch):
    asked, real = survey(file_store), file_store.add
    with served(file_store) as port:

        def failing(batches):
            raise StoreFault("the disk is full")

        monkeypatch.setattr(file_store, "add", failing)
        body = lines(line(asked))
        status, headers, told = ask(port, f"/collect/{asked.id}", body)
        assert (status, headers["Retry-After"]) == (503, "2")
        assert "disk" not in told["error"]
        monkeypatch.setattr(file_store, "add", real)
        assert ask(port, f"/collect/{asked.id}", body)[2] == {"accepted": 1, "repeated": 0}


def test_nobody_is_written_down(file_store, caplog, capfd):
    """No log line for any request, good or bad."""
    asked = survey(file_store)
    with caplog.at_level(logging.DEBUG, logger="uvicorn"), served(file_store) as port:
        ask(port, f"/collect/{asked.id}", lines(line(asked)))
        ask(port, f"/collect/{asked.id}", b"no")
        ask(port, "/nowhere")
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"\x16\x03\x01 what is this\r\n\r\n")
            connection.recv(1000)
    said = caplog.text + "".join(capfd.readouterr())
    assert "127.0.0.1" not in said.replace(f"127.0.0.1:{port}", "")
    assert asked.id not in said


def test_a_survey_made_while_serving_is_served(world):
    store, port = world
    asked = survey(store)
    assert json.loads(json.dumps(ask(port, f"/surveys/{asked.id}.json")[2]))["survey"] == asked.id
