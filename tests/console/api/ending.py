"""A console as `discreet serve` runs it, with a sampler that takes its time. A program: FOLDER, a file to touch, a file to wait for.

The first file is there when the first draw has begun, which goes on when the second is there.
"""

import sys
import time
from pathlib import Path

from discreet.console import listener
from discreet.console.app_state import open_state
from discreet.console.jobs import job_runner, query_queue
from discreet.kernel.curator import Curator


def main(folder, begun, go, drain_s, stop_s):
    real = Curator.add_noise

    def slow(self, law, exact_values, moves):
        found = real(self, law, exact_values, moves)
        begun.touch()
        end = time.monotonic() + 60
        while not go.exists() and time.monotonic() < end:
            time.sleep(0.02)
        return found

    Curator.add_noise = slow
    job_runner.STOP_S = stop_s
    query_queue.QueryQueue.drain.__defaults__ = (drain_s,)
    door = listener.open_listener("127.0.0.1", 0, certificate=None, key=None, behind_proxy=False)
    settings = listener.settings_of(door.address, behind_proxy=False, grid_ms=100, at_once=1)
    house, _ = open_state(folder, settings, log=folder.parent / "ending.log")
    print(door.address, flush=True)
    listener.run_server(house, door)
    print("let go", flush=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), *map(float, sys.argv[4:]))
