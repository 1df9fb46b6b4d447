"""A console that is started, killed and started again on one port. Run as a program: FOLDER, then `start` on stdin.

Each server is a fork, so that libraries load once; the socket stays open between them, as a service manager keeps it.
"""

import os
import socket
import sys
from pathlib import Path

import uvicorn

from discreet.console.app import make_app
from discreet.console.app_state import open_state
from discreet.console.routes import route_table
from discreet.console.settings import Settings


def main(folder):
    route_table()  # what a server loads, loads here, once
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    print(url, flush=True)
    for line in sys.stdin:
        if line.strip() != "start":
            return
        child = os.fork()
        if child == 0:
            try:
                serve(folder, url, listening)
            finally:
                os._exit(1)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("ended", flush=True)


def serve(folder, url, listening):
    house, _ = open_state(folder, Settings(origin=url, grid_ms=1, each=20), log=folder.parent / "crashing.log")
    config = uvicorn.Config(make_app(house), log_config=None, log_level="critical", access_log=False, ws="none")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
