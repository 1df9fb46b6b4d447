"""kill -9 of a collector under load: what was acknowledged is counted, once, and nothing else is."""

from __future__ import annotations

import http.client
import json
import random
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from crash.harness import Life, torture
from discreet.surveys.collector import http_server
from discreet.surveys.collector.enrolment import enrol
from discreet.surveys.collector.store_location import open_survey_store
from discreet.surveys.collector.survey_store import all_reports
from surveys.collector.asked import line, lines, survey
from surveys.collector.database import server
from surveys.collector.serving import served
from tiers import fuzzed, size

SCRIPT = Path(__file__).with_name("collector.py")
KILLS = size(2, 10)
TOKENS = 40_000


class Client(threading.Thread):
    """Sends report after report, and each one again until it is acknowledged; then now and then once more."""

    def __init__(self, port, asked, *, size, tokens=None):
        super().__init__()
        self.port, self.asked, self.size, self.tokens = port, asked, size, tokens
        self.acknowledged: set[str] = set()
        self.retries = 0
        self.wrong: list[object] = []
        self.stopping = threading.Event()
        self._connection = None

    def run(self):
        while not self.stopping.is_set() and not self.wrong and (self.tokens is None or len(self.tokens) >= self.size):
            told = [line(self.asked, report=bytes([random.randrange(2)])) for _ in range(self.size)]
            if self.tokens is not None:
                told = [each | {"token": self.tokens.pop()} for each in told]
            body = lines(*told)
            self._until_acknowledged(body)
            self.acknowledged |= {each["id"] for each in told}
            if random.random() < 0.1:
                self._until_acknowledged(body)

    def _until_acknowledged(self, body):
        while not self.wrong:
            try:
                if self._connection is None:
                    self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                self._connection.request("POST", f"/collect/{self.asked.id}", body)
                answer = self._connection.getresponse()
                said = json.loads(answer.read())
                known = answer.status == (200 if said.get("accepted") else 409)
                if not known or said["accepted"] + said["repeated"] != self.size:
                    self.wrong.append((answer.status, said))
                return
            except (OSError, http.client.HTTPException, ValueError):
                self._connection.close()
                self._connection = None
                self.retries += 1
                time.sleep(0.01)

    def end(self):
        self.stopping.set()
        self.join()
        if self._connection is not None:
            self._connection.close()


def clients_of(store, port):
    """Four that send singles and batches to a survey, and two to one that needs tokens."""
    plain, guarded = survey(store), survey(store, token=True)
    tokens = enrol(store, guarded, TOKENS)
    half = TOKENS // 2
    return [
        Client(port, plain, size=1),
        Client(port, plain, size=1),
        Client(port, plain, size=20),
        Client(port, guarded, size=1, tokens=tokens[:half]),
        Client(port, guarded, size=5, tokens=tokens[half:]),
    ]


def storm(place, kills, *mutants):
    """Kill a collector so often, under load; then let the clients finish, and say what is wrong."""
    store = open_survey_store(place, Path("."), make=True)
    with http_server.bind_socket("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    clients = clients_of(store, port)
    for client in clients:
        client.start()
    arguments = [place, str(port), *mutants]
    lives = [
        Life(arguments=arguments, delay_s=0.6 if mutants else random.uniform(0.01, 0.4), from_birth=number % 5 == 4)
        for number in range(kills)
    ]
    try:
        outcome = torture(SCRIPT, lives, environment={}, timeout_s=300 + 2 * kills)
        with served(store, port=port, rate=0):
            for client in clients:
                client.end()
    finally:
        for client in clients:
            client.wrong.append("the test is over")
            client.end()
    found = [f"a life failed: {fault}" for fault in outcome.faults]
    found += [f"a client heard {wrong}" for client in clients for wrong in client.wrong if wrong != "the test is over"]
    found += problems(store, clients)
    store.close()
    acknowledged = sum(len(client.acknowledged) for client in clients)
    retries = sum(client.retries for client in clients)
    print(f"{outcome.killed} kills, {acknowledged:,} reports acknowledged, {retries:,} retries")
    assert outcome.killed == kills
    assert acknowledged > 10 * kills or mutants
    assert retries > 0
    return found


def problems(store, clients):
    """The ids that are stored are the ids that were acknowledged, each once; so are the tokens used."""
    found = []
    for asked in {client.asked.id: client.asked for client in clients}.values():
        told = set().union(*(client.acknowledged for client in clients if client.asked.id == asked.id))
        stored = ids_of(store, asked)
        if len(set(stored)) != len(stored):
            found.append("an id is stored twice")
        if set(stored) != told:
            found.append(f"{len(told - set(stored))} acknowledged are lost, {len(set(stored) - told)} were never said")
        if not len(stored) == store.count(asked.id) == len(all_reports(store, asked)):
            found.append("the count is not the number of reports")
        if asked.token and store.tokens(asked.id)[1] != len(stored):
            found.append("tokens and reports differ")
    return found


def ids_of(store, asked):
    if not hasattr(store, "path"):
        with store._reading() as reader:
            rows = reader.execute(
                "SELECT r.id FROM discreet_reports r JOIN discreet_surveys s ON s.number = r.survey WHERE s.id = %s",
                (asked.id,),
            ).fetchall()
        return [row[0].hex() for row in rows]
    raw = sqlite3.connect(store.path)
    assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    rows = raw.execute(
        "SELECT hex(r.id) FROM reports r JOIN surveys s ON s.number = survey WHERE s.id = ?", (asked.id,)
    )
    found = [row[0].lower() for row in rows]
    raw.close()
    return found


def test_kills_under_load(tmp_path):
    assert storm(str(tmp_path / "surveys.sqlite"), KILLS) == []


def test_telling_before_the_commit_is_caught(tmp_path):
    assert any("lost" in problem for problem in storm(str(tmp_path / "surveys.sqlite"), 3, "tells_before_commit"))


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
def test_two_hundred_kills(tmp_path):
    assert storm(str(tmp_path / "surveys.sqlite"), fuzzed(200)) == []


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
def test_two_hundred_kills_on_postgres():
    with server() as place:
        assert storm(place, fuzzed(200)) == []
