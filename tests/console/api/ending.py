"""A console as `discreet serve` runs it, with a sampler that takes its time. A program: FOLDER, seconds, a file to touch.

The file is there when the first draw has begun.
"""

import sys
import time
from pathlib import Path

from discreet.console import serving
from discreet.console.asking import running
from discreet.console.starting import house_of
from discreet.curator import Curator


def main(folder, slow_s, begun, drain_s, stop_s):
    real = Curator.add

    def slow(self, law, exact_values, moves):
        found = real(self, law, exact_values, moves)
        begun.touch()
        time.sleep(slow_s)
        return found

    Curator.add = slow
    running.STOP_S = stop_s
    running.Running.drain.__defaults__ = (drain_s,)
    door = serving.open_door("127.0.0.1", 0, certificate=None, key=None, behind_proxy=False)
    settings = serving.settings_of(door.address, behind_proxy=False, grid_ms=100, at_once=1)
    house, _ = house_of(folder, settings, log=folder.parent / "ending.log")
    print(door.address, flush=True)
    serving.run(house, door)
    print("let go", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]))
