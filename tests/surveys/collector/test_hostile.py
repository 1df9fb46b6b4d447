"""Hostile requests: a 4xx each, nothing stored, nothing lost, and the collector goes on."""

from __future__ import annotations

import json
import secrets
import socket
import threading

import pytest

from discreet.surveys.collector import collector
from discreet.surveys.collector.intake import LONGEST_BODY
from discreet.surveys.collector.store_location import open_survey_store
from surveys.collector.asked import line, lines, survey
from surveys.collector.serving import ask, raw, served


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    store = open_survey_store(None, tmp_path_factory.mktemp("hostile"), make=True)
    with served(store) as port:
        yield store, port
    store.close()


@pytest.fixture
def target(world):
    """A survey with one report, that is still alone at the end; and an honest one is still taken then."""
    store, port = world
    asked = survey(store)
    assert ask(port, f"/collect/{asked.id}", lines(line(asked)))[0] == 200
    yield asked, port
    assert store.count(asked.id) == 1
    assert ask(port, f"/collect/{asked.id}", lines(line(asked)))[0] == 200
    assert store.count(asked.id) == 2


def refused(found) -> int:
    status, _, told = found
    assert 400 <= status < 500
    assert isinstance(told["error"], str) and told["error"].endswith(".")
    return status


def test_bodies_that_are_no_reports(target):
    asked, port = target
    good = line(asked)
    for body in (
        b"",
        b"{",
        b"[" * 10_000,
        b'{"a":' * 3_000,
        b"\xff" * 5_000,
        b"1" * 10_000,
        b"-" * 500_000,
        b"\n" * 500_000,
        lines(good | {"report": "A" * 16_000}),
        lines(good | {"id": "f" * 16_000}),
        lines(good | {"version": 99}),
        lines(good | {"survey": "aaaaaaaaaa"}),
        lines(*(line(asked) for _ in range(500)), good | {"report": "_w"}),
        json.dumps([good]).encode(),
    ):
        refused(ask(port, f"/collect/{asked.id}", body))


def test_ten_megabytes_are_refused_and_their_sender_hears_why(target):
    asked, port = target
    status = refused(ask(port, f"/collect/{asked.id}", b"x" * 10_000_000))
    assert status == 413


def test_a_length_that_is_too_much_is_refused_before_a_byte_of_it_comes(target):
    asked, port = target
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(f"POST /collect/{asked.id} HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n".encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_a_body_without_a_length_is_counted_while_it_comes(target):
    asked, port = target
    head = f"POST /collect/{asked.id} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    assert raw(port, head, *[chunk] * 40, b"0\r\n\r\n").startswith(b"HTTP/1.1 413 ")


def test_an_endless_body_is_cut_off(target):
    asked, port = target
    head = f"POST /collect/{asked.id} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    sent = 0
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(head)
        try:
            while sent < 200:
                connection.sendall(chunk)
                sent += 1
        except OSError:
            pass
    assert sent < 60  # 16 MB are thrown away; then what the two kernels hold


def test_a_chunked_batch_is_taken(target):
    asked, port = target
    body = lines(line(asked) | {"version": 3})
    head = f"POST /collect/{asked.id} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    assert raw(port, head.encode(), chunks).startswith(b"HTTP/1.1 400 ")


def test_a_body_that_does_not_come_is_not_waited_for(target, monkeypatch):
    asked, port = target
    monkeypatch.setattr(collector, "BODY_S", 0.2)
    head = f"POST /collect/{asked.id} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(head + b"{")
        assert connection.recv(1000).startswith(b"HTTP/1.1 408 ")


def test_a_sender_that_leaves_in_the_middle(target, caplog):
    asked, port = target
    body = lines(line(asked))
    for size in (0, 1, len(body) - 1):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            head = f"POST /collect/{asked.id} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body[:size])
    assert ask(port, f"/surveys/{asked.id}.json")[0] == 200
    assert caplog.text == ""


@pytest.mark.parametrize("head", [b"POST\r\n\r\n", b"\0" * 500, b"GET / HTTP/9.9\r\n\r\n", b"A" * 100_000])
def test_what_is_no_http(target, head):
    found = raw(target[1], head)
    assert found == b"" or found.startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize("length", ["-1", "abc", "1e3", "9" * 40, "١"])
def test_lengths_that_are_none(target, length):
    asked, port = target
    head = f"POST /collect/{asked.id} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{{}}".encode()
    assert raw(port, head).startswith(b"HTTP/1.1 4")


def test_too_much_at_once_is_told_to_come_back(target, monkeypatch):
    asked, port = target
    monkeypatch.setattr(collector, "MOST_PENDING_BYTES", 100)
    status, headers, _ = ask(port, f"/collect/{asked.id}", b"x" * 1000)
    assert (status, headers["Retry-After"]) == (503, "2")


def test_the_largest_batch_is_taken_while_others_are_served(world):
    store, port = world
    asked = survey(store)
    told = [line(asked) for _ in range(LONGEST_BODY // (len(lines(line(asked))) + 1))]
    found = []
    thread = threading.Thread(target=lambda: found.append(ask(port, f"/collect/{asked.id}", lines(*told))))
    thread.start()
    assert ask(port, f"/surveys/{asked.id}.json")[0] == 200
    thread.join()
    assert found[0][::2] == (200, {"accepted": len(told), "repeated": 0})
    assert store.count(asked.id) == len(told) > 5_000


def test_replays_from_many_at_once_count_once(world):
    store, port = world
    asked = survey(store)
    body = lines(*(line(asked, id_=secrets.token_hex(16)) for _ in range(20)))
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(ask(port, f"/collect/{asked.id}", body)[2]["accepted"]))
        for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0] * 11 + [20]
    assert store.count(asked.id) == 20
