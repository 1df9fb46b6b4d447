from __future__ import annotations

from pathlib import Path

import pytest

from discreet.storage.sqlite_file import filesystem_type, network_filesystem

MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 27 0:30 / /home rw,relatime - nfs4 server:/home rw
31 30 0:31 / /home/ann/disk rw,relatime - ext4 /dev/vdb rw
32 27 0:32 / /mnt/two\\040words rw master:3 - fuse.sshfs me@there: rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/x", "ext4"),
        ("/home", "nfs4"),
        ("/home/ann/clinic", "nfs4"),
        ("/home/ann/disk/clinic", "ext4"),
        ("/homes/x", "ext4"),
        ("/mnt/two words/x", "fuse.sshfs"),
    ],
)
def test_the_innermost_mount_decides(path: str, kind: str):
    assert filesystem_type(Path(path), MOUNTS) == kind


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs"])
def test_network_filesystems_are_seen(kind: str):
    assert network_filesystem(Path("/x"), f"27 1 254:0 / / rw - {kind} dev rw") == kind


@pytest.mark.parametrize("mounts", ["27 1 254:0 / / rw - ext4 dev rw", "", "nonsense"])
def test_local_and_unknown_ones_are_allowed(mounts: str):
    assert network_filesystem(Path("/x"), mounts) == ""
