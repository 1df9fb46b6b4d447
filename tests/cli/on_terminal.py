"""`discreet` on a terminal of its own."""

import codecs
import os
import pty
import select
import signal
import sys
import time


class Terminal:
    """`discreet` on a terminal of its own, in a folder. `typed`: the lines that were entered."""

    def __init__(self, folder, *words):
        self.seen, self.folder, self.typed = "", folder, []
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ["TERM"] = "dumb"
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # tests that run in the background inherit that it is ignored
            os.execv(sys.executable, [sys.executable, "-m", "discreet", *words])

    def until(self, words, *, seconds=60.0):
        """Read until these words come; what was read."""
        start = len(self.seen)
        self._read_until(lambda: words in self.seen[start:], seconds)
        assert words in self.seen[start:], self.seen[start:]
        return self.seen[start:]

    def prompt(self, *, seconds=60.0):
        """Read until something is asked; the line with the question, or nothing where the program has ended."""
        start = len(self.seen)
        self._read_until(lambda: self.seen[start:].endswith(("]: ", "> ")), seconds)
        return self.seen[start:].rpartition("\n")[2] if self.seen[start:].endswith(("]: ", "> ")) else ""

    def _read_until(self, done, seconds):
        end = time.monotonic() + seconds
        while not done() and time.monotonic() < end:
            if not select.select([self.file], [], [], 0.5)[0]:
                continue
            try:
                chunk = os.read(self.file, 65_536)
            except OSError:
                break
            if not chunk:
                break
            self.seen += self.decoder.decode(chunk)

    def answer(self, prompt, line):
        self.until(prompt)
        self.type(line)

    def type(self, line):
        self.typed.append(line)
        os.write(self.file, f"{line}\n".encode())

    def leave(self):
        """Read what is left; the exit code. A program that still waits after a minute is hung up on."""
        self._read_until(lambda: False, 60.0)
        os.close(self.file)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
