"""What a request says, and what is refused of it: forms, bodies, lines that come twice, and who leaves halfway."""

import dataclasses
import json
import socket
import threading
import time

import httpx2 as httpx
import pytest
import uvicorn
from starlette.testclient import TestClient

from console.alone import alone
from console.house import ORIGIN, world
from discreet.console import app as app_module
from discreet.console import request_reader, security_headers
from discreet.console.app import make_app
from discreet.console.responses import Page, PageTable
from discreet.console.routes import Route, route_table

FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("reading") / "clinic")
    yield made
    made.house.close()


@pytest.fixture(scope="module")
def proxied(clinic):
    settings = dataclasses.replace(clinic.house.settings, behind_proxy=True)
    return make_app(dataclasses.replace(clinic.house, settings=settings))


def ask(app, method, path, headers, content=b""):
    """One request whose header lines are sent as they are, also twice."""

    async def run():
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            return await client.request(method, path, headers=headers, content=content)

    return alone(run())


def log_in(app, *lines, name="nobody", origins=(ORIGIN,)):
    headers = [("origin", each) for each in origins] + [("content-type", FORM), *lines]
    return ask(app, "POST", "/login", headers, f"name={name}&password=wrong".encode())


def forwarded(*lines):
    return [("x-forwarded-for", each) for each in lines]


def test_the_last_word_of_the_last_line_is_the_proxys(clinic, proxied):
    """A proxy that adds a line of its own leaves the client's above it."""
    for number in range(50):
        log_in(proxied, *forwarded(f"198.51.100.{number}", "10.0.0.1, 203.0.113.9"), name=f"n{number}")
    assert log_in(proxied, *forwarded("203.0.113.9"), name="fresh").status_code == 429
    assert log_in(proxied, *forwarded("203.0.113.9", "203.0.113.10"), name="fresh").status_code == 401


@pytest.mark.parametrize("told", [[], [""], ["unknown"], ["203.0.113.9", "_hidden"], ["203.0.113.9,"]])
def test_a_proxy_that_does_not_say_whom_a_request_is_from_is_refused(proxied, told):
    found = log_in(proxied, *forwarded(*told))
    assert found.status_code == 400 and "X-Forwarded-For" in found.text
    assert ask(proxied, "GET", "/s/none", forwarded(*told)).status_code == 400
    assert ask(proxied, "GET", "/healthz", forwarded(*told)).status_code == 200  # whoever watches comes past the proxy


@pytest.mark.parametrize("told", ["203.0.113.77:4711", "[2001:db8::1]:4711", "[2001:db8::1]", "2001:db8::1"])
def test_a_port_makes_no_other_address(clinic, told):
    from starlette.requests import Request

    settings = dataclasses.replace(clinic.house.settings, behind_proxy=True)
    request = Request({"type": "http", "headers": [(b"x-forwarded-for", told.encode())]})
    assert request_reader.client_address(request, settings) in ("203.0.113.77", "2001:db8::1")


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ([("host", "127.0.0.1:8000"), ("host", "evil.example")], 421),
        ([("host", "evil.example"), ("host", "127.0.0.1:8000")], 421),
        ([("host", "127.0.0.1:8000"), ("host", "127.0.0.1:8000")], 421),
        ([("host", "127.0.0.1:8000")], 401),
    ],
)
def test_two_lines_of_a_host_are_none(clinic, lines, status):
    assert log_in(make_app(clinic.house), *lines).status_code == status


@pytest.mark.parametrize(
    "origins", [(ORIGIN, "https://evil.example"), ("https://evil.example", ORIGIN), (ORIGIN, ORIGIN)]
)
def test_two_lines_of_an_origin_are_none(clinic, origins):
    assert log_in(make_app(clinic.house), origins=origins).status_code == 403
    assert (
        log_in(make_app(clinic.house), ("sec-fetch-site", "same-origin"), ("sec-fetch-site", "none")).status_code == 403
    )


def test_files_and_what_is_not_there_have_the_same_names_as_pages(clinic):
    app = make_app(clinic.house)
    for path in ("/assets/style.css", "/assets/none", "/nowhere", "/nowhere.json"):
        assert ask(app, "GET", path, [("host", "evil.example")]).status_code == 421, path
        found = ask(app, "GET", path, [("host", "127.0.0.1:8000")])
        assert found.status_code == (200 if path.endswith("css") else 404)


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "multipart/form-data; boundary=x", ""])
def test_what_is_no_form_is_refused(clinic, kind):
    """Another site can send these without asking first; a form of ours is one kind alone."""
    found = ask(
        make_app(clinic.house), "POST", "/login", [("origin", ORIGIN), ("content-type", kind)], b'{"name": "olga"}'
    )
    assert found.status_code == 415 and "not a form" in found.text


@pytest.mark.parametrize(("fields", "status"), [(1_000, 401), (1_001, 400)])
def test_a_form_of_a_thousand_fields(clinic, fields, status):
    content = "&".join(["name=x", *["f=1"] * (fields - 1)]).encode()
    found = ask(make_app(clinic.house), "POST", "/login", [("origin", ORIGIN), ("content-type", FORM)], content)
    assert found.status_code == status
    assert clinic.client().get("/login?" + "&".join(["f=1"] * fields)).status_code == (200 if status == 401 else 400)


def test_nobody_sends_more_than_a_login_needs(clinic):
    headers = [("origin", ORIGIN), ("content-type", FORM)]
    app, most = make_app(clinic.house), request_reader.LONGEST_OF_NOBODY
    assert most == 65_536
    assert ask(app, "POST", "/login", headers, b"name=" + b"a" * (most - 5)).status_code == 401
    assert ask(app, "POST", "/login", headers, b"name=" + b"a" * (most - 4)).status_code == 413
    analyst = clinic.browser("analyst")
    assert analyst.post("/ask/price", {"sql": "x" * 80_000}).status_code == 200
    assert analyst.post("/ask/price", {"sql": "x" * (1 << 20)}).status_code == 413


#: As docs/console.md has them; a word less is a door.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
EVERYWHERE = {
    "content-security-policy": POLICY,
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


def test_the_headers_are_these(clinic):
    assert security_headers.HEADERS == EVERYWHERE
    for path in ("/login", "/assets/style.css", "/nowhere", "/healthz", "/api/v1/tables"):
        found = clinic.client().get(path)
        cached = (
            "no-cache" if path.startswith("/assets/") else "no-store"
        )  # the same for everybody: kept, and asked after
        expected = EVERYWHERE | {"cache-control": cached}
        assert {name: found.headers.get(name) for name in EVERYWHERE} == expected, path


def planted(clinic, monkeypatch, *routes):
    monkeypatch.setattr(app_module, "route_table", lambda: (*route_table(), *routes))
    return TestClient(make_app(clinic.house), base_url=ORIGIN, follow_redirects=False, raise_server_exceptions=False)


def test_a_page_that_fails_says_one_sentence(clinic, monkeypatch):
    def fails(_):
        raise ValueError("a cell: zebra")

    route = Route(method="GET", path="/fails", handler=fails, role="public")
    client = planted(clinic, monkeypatch, route)
    for path in ("/fails", "/fails.json"):
        found = client.get(path)
        assert found.status_code == 500 and "Something went wrong on the server." in found.text
        assert "zebra" not in found.text and "ValueError" not in found.text
    lines = [json.loads(line) for line in (clinic.folder.parent / "console.log").read_text().splitlines()]
    assert any(line.get("defect") == "ValueError" for line in lines) and "zebra" not in str(lines)


def test_what_fails_outside_of_all_pages_is_one_sentence_with_all_headers(clinic, monkeypatch):
    def broken(**_):
        raise ValueError("a cell: zebra")

    monkeypatch.setattr(clinic.house.access_log.__class__, "line", lambda self, **more: broken(**more))
    found = TestClient(make_app(clinic.house), base_url=ORIGIN, raise_server_exceptions=False).get("/healthz")
    assert (found.status_code, found.text) == (500, "Something went wrong here.\n")
    assert {name: found.headers.get(name) for name in EVERYWHERE} == EVERYWHERE


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_a_cell_that_a_spreadsheet_would_run_is_quoted(clinic, monkeypatch, first):
    text = f"{first}1+1"
    rows = [[text], ["plain"], [-1], ["inside\r=1"]]
    page = Page(template="lab.html", data={}, table=PageTable(columns=(text,), rows=rows))
    route = Route(method="GET", path="/cells", handler=lambda _: page, role="public")
    found = planted(clinic, monkeypatch, route).get("/cells.csv")
    quoted = f'"\'{text}"' if first in "\r\n" else f"'{text}"
    assert found.text == f'{quoted}\n{quoted}\nplain\n-1\n"inside\r=1"\n'


class Running:
    """A server of the real kind, for requests that never end."""

    def __init__(self, app):
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        config = uvicorn.Config(app, log_config=None, log_level="error", access_log=False, ws="none", lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listening]})

    def __enter__(self):
        self._thread.start()
        until = time.monotonic() + 20
        while not self._server.started and time.monotonic() < until:
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        self._server.should_exit = True
        self._thread.join(20)
        self._listening.close()

    def begun(self):
        """A form whose end does not come."""
        made = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        head = (
            f"POST /login HTTP/1.1\r\nHost: {ORIGIN[7:]}\r\nOrigin: {ORIGIN}\r\n"
            f"Content-Type: {FORM}\r\nContent-Length: 100\r\n\r\nname=a"
        )
        made.sendall(head.encode())
        return made


def logged(clinic, since):
    return [json.loads(line) for line in (clinic.folder.parent / "console.log").read_text()[since:].splitlines()]


def test_who_leaves_halfway_is_no_defect(clinic):
    since = len((clinic.folder.parent / "console.log").read_text())
    with Running(make_app(clinic.house)) as server:
        for _ in range(3):
            server.begun().close()
        until = time.monotonic() + 10
        while len(logged(clinic, since)) < 3 and time.monotonic() < until:
            time.sleep(0.02)
    assert [line.get("status") for line in logged(clinic, since)] == [499] * 3


def test_a_body_that_does_not_come_is_not_waited_for(clinic, monkeypatch):
    assert request_reader.BODY_S == 20
    monkeypatch.setattr(request_reader, "BODY_S", 0.3)
    with Running(make_app(clinic.house)) as server, server.begun() as slow:
        assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
