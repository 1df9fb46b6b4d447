"""Sockets: where they listen, and that answers are not held back."""

from __future__ import annotations

import socket

import pytest

from discreet.errors import UsageError
from discreet.surveys.collector.http_server import bind_socket, url_of
from surveys.collector.asked import line, lines, survey
from surveys.collector.serving import served


def test_an_address_for_browsers():
    with bind_socket("127.0.0.1", 0) as listening:
        host, port = listening.getsockname()
        assert url_of(listening) == f"http://{host}:{port}"


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_an_address_of_version_6():
    try:
        listening = bind_socket("::1", 0)
    except UsageError:
        pytest.skip("IPv6 is switched off here")
    with listening:
        assert url_of(listening).startswith("http://[::1]:")


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", -1), ("127.0.0.1", 65536), ("no such host", 0)])
def test_what_cannot_be_served(host, port):
    with pytest.raises(UsageError):
        bind_socket(host, port)


def test_answers_are_not_held_back(file_store, monkeypatch):
    """Without TCP_NODELAY each answer on a connection that stays open waits 40 ms for the client's kernel."""
    asked, set_to = survey(file_store), []
    real = socket.socket.setsockopt

    def seen(connection, *options):
        set_to.append(options[:2])
        return real(connection, *options)

    monkeypatch.setattr(socket.socket, "setsockopt", seen)
    with served(file_store) as port, socket.create_connection(("127.0.0.1", port)) as client:
        body = lines(line(asked))
        client.sendall(
            f"POST /collect/{asked.id} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        )
        assert client.recv(1000).startswith(b"HTTP/1.1 200 ")
    assert (socket.IPPROTO_TCP, socket.TCP_NODELAY) in set_to
