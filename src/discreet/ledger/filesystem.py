"""Where the anchor lives. Standard library only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def state_root() -> Path:
    """The folder of anchors: $DISCREET_STATE, else $XDG_STATE_HOME/discreet, else ~/.local/state/discreet."""
    if state_folder := os.environ.get("DISCREET_STATE"):
        return Path(state_folder)
    if base := os.environ.get("XDG_STATE_HOME"):
        return Path(base) / "discreet"
    return Path.home() / ".local" / "state" / "discreet"


@contextmanager
def use_state_folder(folder: Path) -> Iterator[None]:
    """Keep anchors in this folder for a while: a project that is thrown away leaves nothing behind. Not for threads."""
    before = os.environ.get("DISCREET_STATE")
    os.environ["DISCREET_STATE"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["DISCREET_STATE"]
        else:
            os.environ["DISCREET_STATE"] = before
