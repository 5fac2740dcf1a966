"""A real standalone cluster of Spark: a master and two workers on this machine, and one session that talks to it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

_SMALL = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"  # of many virtual machines on two cores, none lives for long
_OPENED = ("java.lang", "java.lang.invoke", "java.net", "java.nio", "java.util", "java.util.concurrent", "sun.nio.ch")
PATIENCE = 300.0  # seconds for what must come; a slow machine may take its time


class StandaloneCluster:
    """Everything it writes is in `folder`: logs, the folders of workers, shuffled rows."""

    def __init__(self) -> None:
        import pyspark

        self.folder = Path(tempfile.mkdtemp(prefix="dither-spark-"))
        self._home = Path(pyspark.__file__).parent
        self._port, self._driver = _free_port(), _free_port()
        self._daemons = [self._start("master", "--port", str(self._port))]
        try:
            self.workers = [self.start_worker(), self.start_worker()]
            self.session = self._session()
        except BaseException:
            self._end()
            raise

    @property
    def address(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    def start_worker(self) -> subprocess.Popen[bytes]:
        work = tempfile.mkdtemp(prefix="work-", dir=self.folder)
        made = self._start("worker", "--cores", "1", "--memory", "1g", "--work-dir", work, self.address)
        self._daemons.append(made)
        return made

    def executors(self) -> list[int]:
        """The processes that run tasks."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                command = path.read_bytes()
                if f"@127.0.0.1:{self._driver}".encode() in command and b"ExecutorBackend" in command:
                    found.append(int(path.parent.name))
        return found

    def close(self) -> None:
        self.session.stop()
        self._end()

    def _end(self) -> None:
        for process in self._daemons:
            process.kill()
            process.wait()
        for executor in self.executors():
            kill(executor)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, what: str, *arguments: str) -> subprocess.Popen[bytes]:
        opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
        command = ["java", "-Xmx192m", *_SMALL.split(), *opened, "-cp", f"{self._home}/jars/*"]
        command += [f"org.apache.spark.deploy.{what}.{what.title()}", "--host", "127.0.0.1", "--webui-port", "0"]
        environment = {**os.environ, "SPARK_HOME": str(self._home), "SPARK_LOCAL_IP": "127.0.0.1"}
        environment |= {"SPARK_SCALA_VERSION": "2.13", "SPARK_LOCAL_DIRS": str(self.folder / "local")}
        with open(self.folder / f"{what}-{time.monotonic_ns()}.log", "wb") as log:
            return subprocess.Popen(
                [*command, *arguments],
                env=environment,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
            )

    def _session(self) -> Any:
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.port": str(self._driver),
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": _SMALL,
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": _SMALL,
            "spark.executor.syncLogLevel.enabled": "true",
            "spark.eventLog.enabled": "false",
            "spark.io.encryption.enabled": "true",
            "spark.local.dir": str(self.folder / "local"),
            "spark.log.level": "ERROR",
            "spark.python.worker.reuse": "true",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{PATIENCE:.0f}s",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        builder = SparkSession.builder.master(self.address).appName("dither-tests")
        for name, value in settings.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()


def until(true: Any) -> None:
    """Wait for what must come."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def stop(process: int) -> None:
    """Let a process do nothing more, without its noticing."""
    os.kill(process, signal.SIGSTOP)


def kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


_running: list[StandaloneCluster] = []


def running() -> StandaloneCluster:
    """The one cluster of this run, started when it is first asked for: a process has one application."""
    if not _running:
        _running.append(StandaloneCluster())
    return _running[0]


def close_running() -> None:
    while _running:
        _running.pop().close()
