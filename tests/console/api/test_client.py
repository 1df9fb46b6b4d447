"""The Python client against a real server: the same types as local use, the same errors, and nothing paid twice."""

import re
import socket
import socketserver
import threading
from decimal import Decimal
from fractions import Fraction

import pytest

import discreet
from console.api.served import serving
from discreet.errors import BudgetExceeded, LedgerFault, QueryFailed, Refused, UsageError
from discreet.project.http_transport import HttpTransport, error_from_data
from discreet.project.question import Explanation
from discreet.project.remote import Remote, connect, decimal
from discreet.release import Release

COUNT = "select disease, count(*) n from patients group by disease"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("client") / "clinic") as found:
        yield found


@pytest.fixture
def remote(served):
    return discreet.connect(served.url, served.token())


def test_a_question_is_as_it_is_locally(served, remote):
    local = served.house.handle.project
    question = remote.sql(COUNT)
    explanation = question.explain(within=10)
    assert isinstance(explanation, Explanation)
    assert explanation.data == local.sql(COUNT).explain(within=10).data and str(explanation)
    release = question.ask(epsilon=0.5)
    assert isinstance(release, Release)
    stored = local.release(release.id)
    assert (release.rows, release.columns, release.event) == (stored.rows, stored.columns, stored.event)
    assert release.intervals == stored.intervals and release.best() == stored.best()
    assert release.interval(0.5) == stored.interval(0.5) != release.intervals
    assert release.to_arrow().equals(stored.to_arrow())
    assert str(release).splitlines()[:2] == str(stored).splitlines()[:2]
    assert release.cost.epsilon == Fraction(1, 2) and release.table == "patients"
    again = question.ask(epsilon=0.5)
    assert again.cached and again.rows == release.rows
    assert remote.release(release.id).rows == release.rows


def test_budget_tables_releases_and_again(served, remote):
    first = remote.sql("select count(*) from visits").ask(epsilon="0.25")
    local = served.house.handle.project.budget("visits")
    told = remote.budget("VISITS")
    assert told.remaining == local.remaining and told.spent == local.spent and type(told) is type(local)
    assert [each["name"] for each in remote.tables()] == ["patients", "visits", "wards"]
    second = remote.again(first.id, epsilon="0.5")
    assert second.id != first.id and second.plus_minus() < first.plus_minus()
    assert remote.releases()[0]["release"] == second.id
    with pytest.raises(UsageError, match="which table"):
        remote.budget()
    with pytest.raises(UsageError, match="no private table 'wards'"):
        remote.budget("wards")


def test_derived_answers_keep_their_confidence(remote):
    remote.sql("select sex, count(*) n from patients group by sex").ask(epsilon=2)
    told = remote.sql("select count(*) n from patients").ask(epsilon="0.01")
    assert told.derived and told.sources and told.intervals
    with pytest.raises(UsageError, match="combined with earlier ones"):
        told.interval(0.5)


def test_errors_are_the_same_classes(remote):
    with pytest.raises(Refused) as told:
        remote.sql("select count(*)\nfrom nowhere").ask(epsilon=1)
    assert (told.value.line, told.value.column) == (2, 6) and "^^^^^^^" in str(told.value)
    with pytest.raises(BudgetExceeded) as spent:
        remote.sql("select sum(age) from patients").ask(epsilon=500)
    assert spent.value.needed["epsilon"]
    with pytest.raises(UsageError, match="how much to spend"):
        remote.sql(COUNT).explain()
    with pytest.raises(UsageError, match="plain finite number"):
        remote.sql(COUNT).ask(epsilon="much")
    with pytest.raises(UsageError, match="nothing here"):
        remote.release("r-none")
    assert isinstance(error_from_data({"error": "x", "hint": "", "code": 5}, sql=""), LedgerFault)
    assert isinstance(error_from_data({"error": "x", "code": 6}, sql=""), QueryFailed)


def test_a_token_that_does_not_hold(served):
    with pytest.raises(UsageError, match="token is unknown"):
        discreet.connect(served.url, "dsc_" + "a" * 43).tables()


@pytest.mark.parametrize(
    "url",
    [
        "http://console.example.org",
        "http://192.0.2.1:8000",
        "http://127.0.0.1.example.org",
        "http://localhost.example.org",
        "ftp://localhost",
        "localhost:8000",
        "https://user:secret@console.example.org",
        "https://console.example.org/elsewhere",
        "https://console.example.org?x=1",
        "",
    ],
)
def test_addresses_that_are_refused(url):
    with pytest.raises(UsageError) as told:
        discreet.connect(url, "dsc_a")
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1", "https://example.org"])
def test_addresses_that_are_not(url):
    assert isinstance(discreet.connect(url, "dsc_a"), Remote)


@pytest.mark.parametrize("token", ["", "a b", "a\r\nX-Evil: 1", "é"])
def test_tokens_that_are_none(token):
    with pytest.raises(UsageError, match="not a console token"):
        discreet.connect("https://example.org", token)


def test_a_token_is_not_shown(remote, served):
    assert "dsc_" not in repr(remote) and "dsc_" not in str(remote.sql(COUNT))


def test_numbers_travel_as_they_are_meant():
    told = {0.1: "0.1", "0.10": "0.10", 3: "3", Decimal("1e-7"): "1E-7", Fraction(1, 8): "0.125", Fraction(1, 3): None}
    for value, wanted in told.items():
        if wanted is None:
            with pytest.raises(UsageError, match="no finite decimal"):
                decimal(value, name="epsilon")
        else:
            assert decimal(value, name="epsilon") == wanted
    with pytest.raises(UsageError):
        decimal(float("nan"), name="epsilon")


class Flaky(socketserver.ThreadingTCPServer):
    """Between client and server: passes requests on, and loses some answers."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port, losing):
        super().__init__(("127.0.0.1", 0), _Passing)
        self.port, self.losing, self.seen = port, losing, []


class _Passing(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.settimeout(10)
        asked = b""
        while b"\r\n\r\n" not in asked or not _whole(asked):
            piece = self.request.recv(65536)
            if not piece:
                return
            asked += piece
        number = len(self.server.seen)
        self.server.seen.append(asked)
        if self.server.losing(number) == "asking":
            return
        with socket.create_connection(("127.0.0.1", self.server.port)) as behind:
            own = f"127.0.0.1:{self.server.port}".encode()
            here = f"127.0.0.1:{self.server.server_address[1]}".encode()
            behind.sendall(asked.replace(here, own).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
            told = b""
            while piece := behind.recv(65536):
                told += piece
        if self.server.losing(number) == "answer":
            self.request.sendall(told[:40])
            return
        self.request.sendall(told)


def _whole(asked):
    head, _, body = asked.partition(b"\r\n\r\n")
    sizes = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    return len(body) >= int(sizes[0] if sizes else 0)


@pytest.mark.parametrize("what", ["asking", "answer"])
def test_what_is_lost_is_sent_again_under_the_same_key_and_paid_once(served, what):
    with Flaky(int(served.url.rpartition(":")[2]), lambda number: what if number < 2 else "") as between:
        threading.Thread(target=between.serve_forever, daemon=True).start()
        before = len(served.charges)
        remote = discreet.connect(f"http://127.0.0.1:{between.server_address[1]}", served.token())
        release = remote.sql("select sex, count(*) from patients group by sex").ask(epsilon=0.1, fresh=True)
        between.shutdown()
    assert len(between.seen) == 3 and len({_key(each) for each in between.seen}) == 1 and _key(between.seen[0])
    assert len(served.charges) == before + 1 and release.id in served.charges


def _key(asked):
    return next((line for line in asked.split(b"\r\n") if line.lower().startswith(b"idempotency-key")), b"")


def test_without_patience_it_says_so():
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    with pytest.raises(UsageError, match="cannot be reached"):
        HttpTransport(url=url, token="dsc_a", patience_s=0).send("GET", "/api/v1/tables")


def test_what_cannot_be_reached_tells_the_key_to_go_on_with():
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    question = connect(url, "dsc_a", patience_s=0).sql("select count(*) from patients")
    with pytest.raises(UsageError, match="cannot be reached") as told:
        question.ask(epsilon=1)
    key = re.search(r"key='([^']{20,})'", told.value.hint)[1]
    with pytest.raises(UsageError) as again:
        question.ask(epsilon=1, key=key)
    assert f"key={key!r}" in again.value.hint
    with pytest.raises(UsageError) as free:
        question.explain(epsilon=1)
    assert "nothing was charged" in free.value.hint


def test_a_key_that_was_told_brings_the_answer_and_pays_once(served):
    """The server answered, and its answer was lost for longer than the client is patient."""
    before = len(served.charges)
    with Flaky(int(served.url.rpartition(":")[2]), lambda number: "answer") as between:
        threading.Thread(target=between.serve_forever, daemon=True).start()
        remote = connect(f"http://127.0.0.1:{between.server_address[1]}", served.token(), patience_s=0)
        with pytest.raises(UsageError) as told:
            remote.sql("select ward, count(*) from patients group by ward").ask(epsilon=0.1, fresh=True)
        between.shutdown()
    key = re.search(r"key='([^']{20,})'", told.value.hint)[1]
    near = discreet.connect(served.url, served.token())
    release = near.sql("select ward, count(*) from patients group by ward").ask(epsilon=0.1, fresh=True, key=key)
    assert len(served.charges) == before + 1 and release.id in served.charges


@pytest.mark.parametrize("port", ["99999", "0", "-1", "x"])
def test_an_impossible_port_is_told_at_once(port):
    with pytest.raises(UsageError, match="a port is 1 to 65535"):
        discreet.connect(f"http://127.0.0.1:{port}", "dsc_a")


def one_answer(answer):
    """A server that says one thing to everybody; its address, and what it was sent."""
    listening, seen = socket.create_server(("127.0.0.1", 0)), []

    def serve():
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                seen.append(connection.recv(65536))
                connection.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return listening, f"http://127.0.0.1:{listening.getsockname()[1]}", seen


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://example.org/\r\nContent-Length: 0\r\n\r\n",
            "not a Discreet console .it answered with status 302",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "not a Discreet console"),
        (b'HTTP/1.1 404 No\r\nContent-Length: 14\r\n\r\n{"detail": "x"', "not a Discreet console"),
        (b"HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\n[]", "not a Discreet console"),
        (b"nonsense\r\n\r\n", "cannot be reached"),
        (b"HTTP/1.1 503 Away\r\nContent-Length: 0\r\n\r\n", "not a Discreet console"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}", "cannot be reached"),
    ],
)
def test_what_is_no_console(answer, words):
    listening, url, seen = one_answer(answer)
    with listening, pytest.raises(UsageError, match=words):
        HttpTransport(url=url, token="dsc_a", patience_s=0.3).send("GET", "/api/v1/tables")
    assert seen and all(b"example.org" not in each for each in seen)


def test_what_must_not_be_sent_twice_is_sent_once():
    listening, url, seen = one_answer(b"")
    with listening, pytest.raises(UsageError, match="cannot be reached"):
        HttpTransport(url=url, token="dsc_a").send("POST", "/api/v1/tokens", {}, safe=False)
    assert len(seen) == 1


def test_retry_after_is_kept():
    listening, url, seen = one_answer(
        b'HTTP/1.1 429 No\r\nRetry-After: 1\r\nContent-Length: 26\r\n\r\n{"error": "x", "hint": ""}'
    )
    with listening, pytest.raises(UsageError):
        HttpTransport(url=url, token="dsc_a", patience_s=2.5).send("GET", "/api/v1/tables")
    assert len(seen) == 2


def test_tls_is_verified(tmp_path):
    """A server with a certificate that nobody signed is not talked to, unless it is named."""
    import ssl

    from console.api.certificates import self_signed

    certificate, key = self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listening, seen = socket.create_server(("127.0.0.1", 0)), []

    def serve():
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(connection, server_side=True) as secure:
                    seen.append(secure.recv(65536))
                    secure.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"tables": []}')
            except OSError:
                connection.close()

    threading.Thread(target=serve, daemon=True).start()
    url = f"https://localhost:{listening.getsockname()[1]}"
    with listening:
        with pytest.raises(UsageError, match="cannot be trusted"):
            HttpTransport(url=url, token="dsc_a", patience_s=5).send("GET", "/api/v1/tables")
        assert not any(b"dsc_a" in each for each in seen)
        told = HttpTransport(url=url, token="dsc_a", patience_s=5, certificates=str(certificate)).send(
            "GET", "/api/v1/tables"
        )
        assert told == {"tables": []}
        other = f"https://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(UsageError, match="cannot be trusted"):
            HttpTransport(url=other, token="dsc_a", patience_s=5, certificates=str(certificate)).send(
                "GET", "/api/v1/tables"
            )


@pytest.mark.parametrize("body", [b"", b'{"tab'])
def test_an_answer_that_ends_early_is_lost_and_not_no_console(body):
    """A server that is killed after the head of its answer: the same is sent again."""
    listening, url, seen = one_answer(b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n" + body)
    with listening, pytest.raises(UsageError, match="reached"):
        HttpTransport(url=url, token="dsc_a", patience_s=0).send("GET", "/api/v1/tables")
    assert seen
