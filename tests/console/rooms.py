"""Turns that somebody holds, in a thread of their own."""

from __future__ import annotations

import threading
from contextlib import contextmanager


@contextmanager
def held(room, person):
    """Somebody has a turn, until the end."""
    inside, over = threading.Event(), threading.Event()

    def hold():
        with room.turn(person):
            inside.set()
            over.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert inside.wait(10), "no turn"
        yield
    finally:
        over.set()
        thread.join(10)
