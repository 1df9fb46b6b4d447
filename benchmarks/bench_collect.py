"""The collector: reports a second over HTTP, every acknowledged one on disk. Server, client and this are three processes.

The client speaks plain HTTP/1.1 over a few connections that stay open and makes its bodies beforehand, so that
it costs as little as a client can. Every report has an id of its own; at the end the store is counted.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from results import write_section

from discreet.surveys.collector.store_location import open_survey_store
from discreet.surveys.collector.survey_definition import Survey
from discreet.surveys.collector.survey_store import SurveyStore
from discreet.surveys.device.report_sender import report_text
from discreet.surveys.protocols.local_hash import LocalHashing
from discreet.surveys.protocols.randomized_response import RandomizedResponse
from discreet.surveys.protocols.randomizer import Randomizer

SECONDS = 10.0
SERVE = "from discreet.cli import run; run()"
RUNS = (("batches of 50", 50, 16), ("single posts", 1, 64), ("single posts, few connections", 1, 8))


def bodies(survey: Survey, *, size: int, many: int) -> list[bytes]:
    """Requests that are whole but for nothing: `many` of `size` reports each."""
    choices = survey.randomizer.choices  # type: ignore[attr-defined]
    reports = [report_text(survey.randomizer.randomize(choices[place % len(choices)])) for place in range(100)]
    made = []
    for number in range(many):
        told = [
            {"version": 1, "survey": survey.id, "id": secrets.token_hex(16), "report": reports[(number + place) % 100]}
            for place in range(size)
        ]
        body = "\n".join(json.dumps(each) for each in told).encode()
        head = f"POST /collect/{survey.id} HTTP/1.1\r\nHost: bench\r\nContent-Length: {len(body)}\r\n\r\n"
        made.append(head.encode() + body)
    return made


async def send(port: int, requests: list[bytes], end: float) -> int:
    """Send as fast as answers come, until the time is over or all is sent; how many reports were acknowledged."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    accepted = 0
    while requests and time.monotonic() < end:
        writer.write(requests.pop())
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        told = json.loads(await reader.readexactly(length))
        assert head.startswith(b"HTTP/1.1 200 "), told
        accepted += told["accepted"]
    writer.close()
    return accepted


async def load(port: int, requests: list[bytes], connections: int) -> tuple[int, float]:
    start = time.monotonic()
    found = await asyncio.gather(*(send(port, requests, start + SECONDS) for _ in range(connections)))
    return sum(found), time.monotonic() - start


def client(arguments: list[str]) -> None:
    """This file again, as the client: port, survey document, size, connections."""
    port, document, size, connections = arguments
    survey = Survey.from_data(json.loads(document))
    requests = bodies(
        survey, size=int(size), many=int(20_000 * SECONDS if int(size) > 1 else 4_000 * SECONDS) // int(size) + 64
    )
    accepted, seconds = asyncio.run(load(int(port), requests, int(connections)))
    print(json.dumps([accepted, seconds, time.process_time()]))


def cpu_s(process: int) -> float:
    """What a process and its threads have used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def serve(place: str) -> tuple[subprocess.Popen[str], int]:
    words = ["survey", "serve", "--port", "0", "--json", "--store", place]
    server = subprocess.Popen([sys.executable, "-c", SERVE, *words], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    return server, int(json.loads(server.stdout.readline())["url"].rpartition(":")[2])


def measure(place: str, randomizer: Randomizer) -> list[str]:
    """A row for each way of sending, on one store."""
    store = open_survey_store(place, Path("."), make=True)
    server, port = serve(place)
    try:
        return [row(store, server.pid, port, randomizer, way) for way in RUNS]
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
        store.close()


def row(store: SurveyStore, server: int, port: int, randomizer: Randomizer, way: tuple[str, int, int]) -> str:
    """One way of sending to one server, and the check that what was acknowledged is what is stored."""
    name, size, connections = way
    survey = Survey.new("How fast?", randomizer)
    store.make(survey)
    before = cpu_s(server)
    words = [sys.executable, __file__, "--client", str(port), json.dumps(survey.to_data()), str(size)]
    accepted, seconds, used = json.loads(subprocess.check_output([*words, str(connections)]))
    spent = cpu_s(server) - before
    assert store.count(survey.id) == accepted, "an acknowledged report is not stored, or one too many is"
    print(f"{name}: {accepted / seconds:,.0f}; the client used {used:.1f} CPU s", file=sys.stderr)
    figures = f"{accepted / seconds:,.0f} | {accepted / spent:,.0f} | {spent / seconds:.0%} | {accepted:,}"
    return f"| {name} | {connections} | {figures} |"


def main() -> None:
    coins = RandomizedResponse(["yes", "no"], epsilon="1.1")
    wide = LocalHashing([str(number) for number in range(1000)], epsilon=2)
    with tempfile.TemporaryDirectory() as folder:
        tables = {
            "SQLite, two choices (1 byte)": measure(f"{folder}/coins.sqlite", coins),
            f"SQLite, hashing over 1,000 choices ({wide.width} bytes)": measure(f"{folder}/wide.sqlite", wide),
        }
        if place := os.environ.get("DISCREET_TEST_POSTGRES"):
            tables["PostgreSQL, two choices"] = measure(place, coins)
    text = (
        "Reports over HTTP, each acknowledged after its commit is on disk (`synchronous=FULL`), all of them counted\n"
    )
    text += f"at the end; {SECONDS:.0f} s each, one server process, the client in another on the same machine.\n"
    for name, rows in tables.items():
        text += f"\n{name}:\n\n| | connections | reports a second | a CPU second | of one core | reports |\n"
        text += "|---|---:|---:|---:|---:|---:|\n" + "\n".join(rows) + "\n"
    print(text)
    write_section("collect", text)


if __name__ == "__main__":
    client(sys.argv[2:]) if sys.argv[1:2] == ["--client"] else main()
