"""`python -m discreet`."""

import subprocess
import sys

import discreet


def test_it_is_the_command_line():
    # In a process of its own: it tells the collector to leave alone whatever is loaded.
    done = subprocess.run([sys.executable, "-m", "discreet", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, discreet.__version__, "")
