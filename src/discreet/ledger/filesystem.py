"""Places: where the anchor lives, and where a ledger must not. Standard library only."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import LedgerFault

#: Filesystems over a network: SQLite's locks and shared memory cannot be trusted there.
NETWORK_FILESYSTEMS = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "ceph",
        "fuse.sshfs",
        "fuse.glusterfs",
    }
)

_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(r"\\([0-7]{3})")


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


def filesystem_type(path: Path, mounts: str) -> str:
    """The type of the filesystem under `path` by a mountinfo text; empty where it does not say.

    >>> filesystem_type(Path("/data/x"), "1 0 0:1 / / rw - ext4 d rw\\n2 1 0:2 / /data rw shared:1 - nfs4 h:/ rw")
    'nfs4'
    """
    best, best_type = -1, ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or not kind:
            continue
        point = Path(_ESCAPE.sub(lambda match: chr(int(match[1], 8)), fields[4]))
        if (path == point or point in path.parents) and len(point.parts) >= best:
            best, best_type = len(point.parts), kind[0]
    return best_type


def network_filesystem(path: Path, mounts: str | None = None) -> str:
    """The kind of the network filesystem under `path`; empty where it is none, or the system does not tell."""
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return ""
    kind = filesystem_type(path.resolve(), mounts)
    return kind if kind in NETWORK_FILESYSTEMS else ""


def refuse_network(path: Path, mounts: str | None = None) -> None:
    """Refuse a ledger on a network filesystem."""
    if kind := network_filesystem(path, mounts):
        raise LedgerFault(
            f"the ledger is on a network filesystem ({kind}), where file locks are not reliable",
            hint="keep the project on a local disk",
        )
