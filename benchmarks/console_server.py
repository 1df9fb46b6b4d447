"""A console in processes of its own: started, asked by browsers and programs, measured from outside, killed and started again.

Run as a program it is the server: FOLDER GRID_MS, then `start` on stdin. Each server is a fork, so that libraries load
once; the socket stays open between them, as a service manager keeps it, so that nobody is refused a connection.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

from console_project import Session

#: So long may a server take until it answers, on a machine that does other work.
START_S = 120
#: A connection that was idle for longer is made again: the server closes it after five seconds.
IDLE_S = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back, and how long it took."""

    status: int
    seconds: float
    content: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.content)


class ConsoleServer:
    """The server over a folder; its port is free, for the system chose it, and it keeps it while servers come and go."""

    def __init__(self, folder: Path, *, grid_ms: int = 250) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, __file__, str(folder), str(grid_ms)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port, self.pid = int(self._line()), 0

    def __enter__(self) -> ConsoleServer:
        try:
            self.start()
            self.wait_until_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """A server process, which need not answer yet."""
        self._tell("start")
        self.pid = int(self._line())

    def wait_until_ready(self) -> None:
        """Until it answers."""
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_S)
            try:
                connection.request("GET", "/healthz")
                if connection.getresponse().status == 200:
                    return
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)
            finally:
                connection.close()
        raise RuntimeError(f"the console does not answer within {START_S} s")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End the server process, and wait until it is gone; the signal that ended it, or 0."""
        os.kill(self.pid, how)
        self.pid = 0
        return int(self._line())

    def close(self) -> None:
        """End all of it."""
        if self.pid:
            self.stop(signal.SIGTERM)
        if self._parent.poll() is None:
            self._tell("end")
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.close()
        self._parent.stdout.close()
        self._parent.wait(START_S)

    def cpu_s(self) -> float:
        """CPU seconds of the server process so far, of all its threads; in the kernel's ticks of 10 ms."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mib(self) -> float:
        """Memory of the server process that is not shared with the process that it was forked from."""
        lines = Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines()
        kib = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:]}
        return (kib["Private_Clean"] + kib["Private_Dirty"]) / 1024

    def _tell(self, word: str) -> None:
        assert self._parent.stdin is not None
        self._parent.stdin.write(f"{word}\n")
        self._parent.stdin.flush()

    def _line(self) -> str:
        assert self._parent.stdout is not None
        line = self._parent.stdout.readline()
        if not line:
            raise RuntimeError("the server's parent is gone")
        return line


class Client:
    """A browser and a program of one person, on one connection that is made again where it was lost."""

    def __init__(self, server: ConsoleServer, session: Session) -> None:
        self._server, self._session = server, session
        self._connection: http.client.HTTPConnection | None = None
        self._used = 0.0

    def get(self, path: str) -> Reply:
        """A page."""
        return self._send("GET", path, None, {"Cookie": f"discreet-{self._server.port}={self._session.cookie}"})

    def post(self, path: str, form: dict[str, str]) -> Reply:
        """A form, as a page's script sends it."""
        headers = {
            "Cookie": f"discreet-{self._server.port}={self._session.cookie}",
            "Origin": self._server.origin,
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self._send("POST", path, urlencode({"csrf": self._session.csrf, **form}), headers)

    def call(self, path: str, body: dict[str, Any], *, key: str) -> Reply:
        """The API."""
        headers = {"Authorization": f"Bearer {self._session.token}", "Idempotency-Key": key}
        return self._send("POST", f"/api/v1/{path}", json.dumps(body), headers)

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Reply:
        """A request and its reply; status 0 where none came."""
        begun = time.monotonic()
        if begun - self._used > IDLE_S:
            self.close()
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=120)
            self._connection.request(method, path, body, headers)
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            return Reply(status=0, seconds=time.monotonic() - begun, content=b"")
        self._used = time.monotonic()
        return Reply(status=answer.status, seconds=self._used - begun, content=content)


def main(folder: Path, grid_ms: int) -> None:
    """The parent of the servers."""
    from discreet.console.routes import route_table

    route_table()  # what a server loads, loads here, once
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    print(listening.getsockname()[1], flush=True)
    for line in sys.stdin:
        if line.strip() != "start":
            return
        child = os.fork()
        if child == 0:
            try:
                _serve(folder, grid_ms, listening)
            except KeyboardInterrupt:
                pass
            finally:
                os._exit(0)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, flush=True)


def _serve(folder: Path, grid_ms: int, listening: socket.socket) -> None:
    import uvicorn

    from discreet.console.app import make_app
    from discreet.console.app_state import open_state
    from discreet.console.settings import Settings

    origin = f"http://127.0.0.1:{listening.getsockname()[1]}"
    state, _ = open_state(folder, Settings(origin=origin, grid_ms=grid_ms), log=folder.parent / "console.log")
    config = uvicorn.Config(make_app(state), log_config=None, log_level="critical", access_log=False, ws="none")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
