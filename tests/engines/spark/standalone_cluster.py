"""A standalone cluster of Spark on this machine: a master and three workers, each a process of its own.

An executor is a process that a worker starts. All of them are killed by their own ids when the tests are over, also
when one fails: a worker that is killed takes its executors with it, and what it leaves is killed after it.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyspark

HOME = Path(pyspark.__file__).parent
LEAN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

#: What an owner writes into `spark-defaults.conf` of a small cluster. No executor has a Python: none may be needed.
DEFAULTS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": LEAN,
    "spark.pyspark.python": "/nowhere/python",
    "spark.sql.shuffle.partitions": "4",
}


@dataclass(kw_only=True)
class Cluster:
    """The processes, and what they have written."""

    folder: Path
    port: int
    master: subprocess.Popen | None = None
    workers: list[subprocess.Popen] = field(default_factory=list)
    hosts: int = 0

    @property
    def address(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    def start(self, *, workers: int) -> None:
        at = ("--host", "127.0.0.1", "--port", str(self.port), "--webui-port", "0")
        self.master = self._run("master", "org.apache.spark.deploy.master.Master", *at)
        wait(self._is_up)
        for _ in range(workers):
            self.add_worker()

    def add_worker(self) -> subprocess.Popen:
        name = f"worker-{len(self.workers)}"
        room = ("--cores", "1", "--memory", "768M", "--work-dir", str(self.folder / name))
        # Spark runs a task a second time on another host only: each worker has an address of its own.
        self.hosts += 1
        host = f"127.0.0.{1 + self.hosts}"
        at = ("--host", host, "--port", "0", "--webui-port", "0")
        worker = self._run(name, "org.apache.spark.deploy.worker.Worker", *room, *at, self.address, host=host)
        self.workers.append(worker)
        return worker

    def executors(self, worker: subprocess.Popen) -> list[int]:
        """The ids of the processes that a worker has started."""
        with suppress(OSError):
            children = Path(f"/proc/{worker.pid}/task").glob("*/children")
            return [pid for listed in children for pid in map(int, listed.read_text().split()) if is_running_java(pid)]
        return []

    def running_executors(self) -> list[int]:
        return [pid for worker in self.workers for pid in self.executors(worker)]

    def kill(self, worker: subprocess.Popen) -> None:
        """A worker and its executors at once, as when a machine loses its power."""
        executors = self.executors(worker)
        for pid in (worker.pid, *executors):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        worker.wait()
        self.workers.remove(worker)

    def written(self) -> str:
        """Everything that master, workers and executors have written to their standard outputs."""
        logs = (*self.folder.glob("*.log"), *self.folder.glob("worker-*/**/std*"))
        return "".join(path.read_text(errors="replace") for path in logs)

    def stop(self) -> None:
        for worker in list(self.workers):
            self.kill(worker)
        if self.master is not None:
            self.master.kill()
            self.master.wait()

    def _run(self, name: str, *words: str, host: str = "127.0.0.1") -> subprocess.Popen:
        own = {"SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": host, "SPARK_DAEMON_MEMORY": "160m"}
        own |= {"SPARK_DAEMON_JAVA_OPTS": LEAN, "SPARK_LOCAL_DIRS": str(self.folder / "spilled")}
        with (self.folder / f"{name}.log").open("ab") as log:
            command = [str(HOME / "bin" / "spark-class"), *words]
            return subprocess.Popen(
                command, env=os.environ | own, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _is_up(self) -> bool:
        assert self.master.poll() is None, self.written()
        return self._listens()

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False


def is_running_java(pid: int) -> bool:
    """Whether a process is a Java that lives: one that is dead stays listed until its parent looks."""
    try:
        name, _, state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")
    except OSError:
        return False
    return name.endswith("(java") and state[0] not in "ZX"


@contextmanager
def running_cluster(folder: Path, *, workers: int = 3) -> Iterator[Cluster]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cluster = Cluster(folder=folder, port=port)
    try:
        cluster.start(workers=workers)
        yield cluster
    finally:
        cluster.stop()


def slow(frame: Any, milliseconds: int = 100) -> Any:
    """The same rows, each after a while."""
    return frame.where(f"coalesce(java_method('java.lang.Thread', 'sleep', {milliseconds}L), '') <> 'never'")


def wait(is_so: Callable[[], Any], *, limit_s: float = 600.0) -> None:
    """Until something is so; the limit is for what hangs."""
    until = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < until, "it never was so"
        time.sleep(0.1)


def defaults_folder(folder: Path, **more: str) -> Path:
    """A folder of settings that `SPARK_CONF_DIR` names, as the owner of a cluster has one."""
    folder.mkdir(exist_ok=True)
    lines = [f"{name} {setting}" for name, setting in (DEFAULTS | more).items()]
    (folder / "spark-defaults.conf").write_text("\n".join(lines) + "\n")
    return folder
