"""A Spark Connect server of a test's own: started as docs/engines/spark.md says, and killed in the end."""

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

ROOT = Path(__file__).parents[3]
CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
DEEP = "-Xss16m"


@dataclass(kw_only=True)
class Server:
    """A server that can be killed and started again, and what it has written."""

    folder: Path
    port: int
    master: str = "local[2]"
    more: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen | None = None

    @property
    def address(self) -> str:
        return f"sc://127.0.0.1:{self.port}"

    @property
    def voice(self) -> Path:
        return self.folder / "voice.log"

    def start(self) -> None:
        home = Path(pyspark.__file__).parent
        logs = self.folder / "log4j2.properties"
        logs.write_text(silent())
        settings = {
            "spark.connect.grpc.binding.port": str(self.port),
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {DEEP}",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.eventLog.enabled": "false",
            "spark.local.dir": str(self.folder),
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
            "spark.sql.shuffle.partitions": "4",
            **self.more,
        }
        words = [word for name, setting in settings.items() for word in ("--conf", f"{name}={setting}")]
        with self.voice.open("ab") as voice:
            self.process = subprocess.Popen(
                [str(home / "bin" / "spark-submit"), "--class", CLASS, "--master", self.master, *words],
                env=os.environ | {"SPARK_HOME": str(home), "LOG4J_CONFIGURATION_FILE": logs.as_uri()},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=voice,
                stderr=voice,
            )
        until = time.monotonic() + 120
        while not self._listens():
            assert self.process.poll() is None and time.monotonic() < until, self.voice.read_text()
            time.sleep(0.2)

    def kill(self) -> None:
        """At once, as a machine that fails does. (`spark-submit` has become its Java.)"""
        self.process.kill()
        self.process.wait()

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False


def silent() -> str:
    """The loggers' settings that the owner of a server is told to take."""
    page = (ROOT / "docs" / "engines" / "spark.md").read_text()
    [found] = re.findall(r"```\w*\n(status = off\n.*?)```", page, re.DOTALL)
    return found


@contextmanager
def serving(folder: Path, **how) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Server(folder=folder, port=port, **how)
    try:
        server.start()
        yield server
    finally:
        if server.process is not None:
            server.kill()
