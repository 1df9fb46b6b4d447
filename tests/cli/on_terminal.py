"""`discreet` on a terminal of its own."""

import codecs
import os
import select
import signal
import sys
import time


class Terminal:
    """`discreet` on a terminal of its own, in a folder. `typed`: the lines that were entered."""

    def __init__(self, folder, *words):
        self.seen, self.folder, self.typed, self.status = "", folder, [], None
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        # Its other side stays open here: what a program writes just before it ends could be lost with the last one.
        self.file, self.side = os.openpty()
        command, surroundings = [sys.executable, "-m", "discreet", *words], os.environ | {"TERM": "dumb"}
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.file)
            os.login_tty(self.side)
            os.chdir(folder)
            for each in (
                signal.SIGINT,
                signal.SIGHUP,
            ):  # tests that run in the background inherit that they are ignored
                signal.signal(each, signal.SIG_DFL)
            os.execve(sys.executable, command, surroundings)

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
            ended = self._has_ended()
            if select.select([self.file], [], [], 0.2)[0]:
                self.seen += self.decoder.decode(os.read(self.file, 65_536))
            elif ended:
                break

    def _has_ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = status if pid else None
        return self.status is not None

    def answer(self, prompt, line):
        self.until(prompt)
        self.type(line)

    def type(self, line):
        self.typed.append(line)
        os.write(self.file, f"{line}\n".encode())

    def interrupt(self):
        """Press Ctrl-C once the program waits for a line; again every ten seconds while it does not end.

        A signal between the moment a prompt is written and the moment the program waits for a line is only looked at
        after that line: Python's `input` cannot do otherwise. So we wait until it sleeps, where the system says so, and
        press the keys again, as a person would, where it does not.
        """
        for _ in range(5):
            self._wait_until_asleep()
            os.kill(self.pid, signal.SIGINT)
            self._read_until(lambda: False, 10.0)
            if self._has_ended():
                return

    def _wait_until_asleep(self, *, seconds=10.0):
        end, asleep = time.monotonic() + seconds, 0
        while asleep < 3 and time.monotonic() < end:
            time.sleep(0.02)
            asleep = asleep + 1 if self._state() in ("S", "") else 0

    def _state(self):
        """S: the program sleeps. Nothing where the system does not say it."""
        try:
            with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as file:
                return file.read().rpartition(")")[2].split()[0]
        except OSError:
            return ""

    def leave(self):
        """Read what is left; the exit code. A program that still waits after a minute is killed."""
        self._read_until(lambda: False, 60.0)
        if not self._has_ended():
            os.kill(self.pid, signal.SIGKILL)  # which nothing can ignore: whoever waits for it below never hangs
            self.status = os.waitpid(self.pid, 0)[1]
        os.close(self.file)
        os.close(self.side)
        return os.waitstatus_to_exitcode(self.status)
