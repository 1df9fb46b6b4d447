"""Which filesystem a path is on: SQLite's locks and shared memory cannot be trusted over a network."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

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


@lru_cache(maxsize=64)
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
    """The kind of the network filesystem under `path`; empty where it is none, or the system does not say."""
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return ""
    kind = filesystem_type(path.resolve(), mounts)
    return kind if kind in NETWORK_FILESYSTEMS else ""
