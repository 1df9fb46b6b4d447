"""A line for each visit: when, which route, what status, who. Nothing that was said."""

import io
import json
import stat
import threading

import pytest

from console.house import COOKIE, world
from discreet.console.access_log import AccessLog

CANARY = "canary-4711"


def lines(stream):
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.fixture
def stream():
    return io.StringIO()


def test_a_line(stream):
    logs = AccessLog(stream, grid_ms=250, clock=lambda: 86_400.9, passing=lambda: 107.6)
    logs.line(method="GET", route="/a/{release}", status=200, who="ann", since=107.0)
    (line,) = lines(stream)
    assert len(line.pop("id")) == 8
    assert line == {
        "time": "1970-01-02T00:00:00Z",
        "method": "GET",
        "route": "/a/{release}",
        "status": 200,
        "who": "ann",
        "ticks": 2,
    }


def test_a_name_cannot_begin_another_line(stream):
    AccessLog(stream).line(method="GET", route="/", status=200, who='ann\n{"status": 500}\u2028', since=0)
    (line,) = lines(stream)
    assert line["who"].startswith("ann\n") and stream.getvalue().count("\n") == 1 and stream.getvalue().isascii()


def test_a_defect_tells_places_and_no_words(stream):
    def deep(cell):
        raise ValueError(f"could not convert {cell!r}")

    try:
        try:
            deep(CANARY)
        except ValueError as problem:
            raise KeyError(CANARY) from problem
    except KeyError as problem:
        AccessLog(stream).defect(problem, id_="abcd")
    (line,) = lines(stream)
    assert line["defect"] == "KeyError" and line["id"] == "abcd"
    assert line["places"][-1].startswith("test_logs.py:")
    assert CANARY not in stream.getvalue() and "convert" not in stream.getvalue()
    assert "/" not in "".join(line["places"]), "no folder of this machine"


def test_a_full_disk_ends_no_visit(tmp_path):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "no space")

    AccessLog(Full()).line(method="GET", route="/", status=200, who=None, since=0)
    closed = io.StringIO()
    closed.close()
    AccessLog(closed).line(method="GET", route="/", status=200, who=None, since=0)


def test_a_file_of_its_owner_alone(tmp_path):
    for _ in range(2):
        AccessLog.to_file(tmp_path / "log").line(method="GET", route="/", status=200, who=None, since=0)
    assert len((tmp_path / "log").read_text().splitlines()) == 2
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600


def test_standard_error_where_nothing_is_told(capsys):
    AccessLog().line(method="GET", route="/", status=404, who=None, since=0)
    assert json.loads(capsys.readouterr().err)["status"] == 404


def test_threads_do_not_mix_their_lines(stream):
    logs = AccessLog(stream)
    threads = [
        threading.Thread(target=lambda: [logs.line(method="GET", route="/", status=200, who="x" * 500, since=0)] * 20)
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {line["who"] for line in lines(stream)} == {"x" * 500}


def test_through_the_console_nothing_that_was_said_is_written_down(tmp_path):
    """Canaries in a path, a query, a body, a form, headers, a cookie and a token; and the answer's own cells."""
    made = world(tmp_path / "clinic")
    try:
        token, client = made.token(), made.client()
        headers = {"authorization": f"Bearer {token}", "user-agent": CANARY, "referer": f"http://x/{CANARY}"}
        sql = f"select disease, count(*) as \"{CANARY}\" from patients where disease <> 'gout' group by disease"
        told = client.post(
            f"/api/v1/query?{CANARY}=1",
            json={"sql": sql, "epsilon": "0.1"},
            headers={**headers, "idempotency-key": CANARY},
        )
        assert told.status_code == 200
        client.get(f"/api/v1/releases/{CANARY}", headers=headers)
        client.get(f"/d/{CANARY}", headers=headers)
        client.get(f"/{CANARY}")
        client.post("/api/v1/query", content=CANARY, headers=headers)
        client.get("/", headers={"authorization": f"Bearer {CANARY}"})
        client.cookies.set(COOKIE, CANARY)
        client.get("/", headers={"x-forwarded-for": "203.0.113.7"})
        text = (tmp_path / "console.log").read_text()
    finally:
        made.house.close()
    assert len(text.splitlines()) >= 5 and '"/api/v1/query"' in text and '"who": "ann"' in text
    for secret in (CANARY, token, "dsc_", "203.0.113.7", "testclient", "127.0.0.1", "mumps", told.json()["release"]):
        assert secret not in text, secret
