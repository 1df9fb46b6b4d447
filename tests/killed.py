"""A making that is killed between its table and the ledger's row, and what it left, made older."""

import os
import re
import signal
import subprocess
import sys
import time

KILLED = """
import os, signal, sys, discreet
from discreet.ledger.ledger import Ledger
Ledger.add_version = lambda *given, **how: os.kill(os.getpid(), signal.SIGKILL)
discreet.open(sys.argv[1]).refresh("visits", force=True)
"""


def kill_making(folder):
    """Have a process of its own make a version of `visits`, and kill it before the ledger knows."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder)], env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL


def aged(name, *, days):
    """The name of a version as if its making had begun so many days ago."""
    begun = int(time.time()) - int(days * 86_400)
    return re.sub(r"(?<=-)[0-9a-f]{8}(?=[0-9a-f]{16})", f"{begun:08x}", name)
