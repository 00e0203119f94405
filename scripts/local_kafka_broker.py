"""One broker process: start, stop, kill, pause. It never outlives the process that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from local_kafka_jars import LocalKafkaError, classpath, java, kafka_archive

__all__ = ["Broker"]

START_TIMEOUT_S = 240
STOP_TIMEOUT_S = 30
STARTED = "Kafka Server started"
LOGGING = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
)


class Broker:
    """A broker's process and its folder. Owned by one `LocalKafka`; not thread-safe.

    Attributes:
        node_id: the broker's id, from 1.
        port: of its PLAINTEXT listener.
        log: what the process printed, over all its starts.
    """

    def __init__(
        self, node_id: int, port: int, folder: Path, properties: Mapping[str, str], jvm_options: Sequence[str]
    ) -> None:
        self.node_id = node_id
        self.port = port
        self.log = folder / "broker.log"
        self._folder = folder
        self._properties = {**properties, "log.dirs": str(folder / "data")}
        self._jvm_options = tuple(jvm_options)
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def pid(self) -> int | None:
        """The id of the running process, None if there is none."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def format(self, cluster_id: str, scram: Sequence[str]) -> None:
        """Write the configuration, and format the data folder if that was not done before."""
        self._folder.mkdir(parents=True, exist_ok=True)
        config = self._folder / "server.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in self._properties.items()))
        if (self._folder / "data" / "meta.properties").exists():
            return
        credentials = [argument for user in scram for argument in ("--add-scram", user)]
        command = self._java(
            "kafka.tools.StorageTool", "format", "-c", str(config), f"--cluster-id={cluster_id}", *credentials
        )
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LocalKafkaError(
                f"formatting the folder of broker {self.node_id} failed:\n{done.stdout}{done.stderr}"
            )

    def launch(self) -> None:
        """Start the process and return at once; `wait_ready` waits for it.

        Does nothing if it runs already.
        """
        if self.pid is not None:
            return
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            command = self._java("kafka.Kafka", str(self._folder / "server.properties"))
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        # The guard reads a pipe to which nothing is written. The read ends when this process ends, however
        # that happens, and then the guard kills the broker.
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", 'read _; kill -9 "$0"', str(self._process.pid)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def wait_ready(self) -> None:
        """Return when the broker takes requests.

        Raises:
            LocalKafkaError: it ended, or did not get ready in time. The message shows the end of its log.
        """
        assert self._process is not None
        deadline = time.monotonic() + START_TIMEOUT_S
        while STARTED not in self.log_since_start():
            if self._process.poll() is not None:
                raise LocalKafkaError(
                    f"broker {self.node_id} ended with {self._process.returncode}, "
                    f"see {self.log}:\n{self.log_tail()}"
                )
            if time.monotonic() > deadline:
                raise LocalKafkaError(
                    f"broker {self.node_id} not ready after {START_TIMEOUT_S} s, "
                    f"see {self.log}:\n{self.log_tail()}"
                )
            time.sleep(0.05)

    def start(self) -> None:
        """Start the process and wait until it takes requests."""
        self.launch()
        self.wait_ready()

    def stop(self) -> None:
        """Ask the process to end in good order (SIGTERM), and wait for it; after a while, kill it."""
        if self.pid is not None and self._process is not None:
            self.resume()
            self._process.terminate()
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._reap()

    def kill(self) -> None:
        """End the process at once (SIGKILL), as a crash or a power cut would."""
        if self.pid is not None and self._process is not None:
            self._process.kill()
        self._reap()

    def restart(self) -> None:
        """Start it again, on the same ports and the same data; stop it first if it runs."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Freeze the process (SIGSTOP): connections stay open and nothing answers, as in a network outage.

        Returns when all of its threads have stopped.
        """
        if self.pid is not None:
            self._signal(signal.SIGSTOP)
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def resume(self) -> None:
        """End a `pause`. Does nothing if there is none."""
        if self.pid is not None:
            self._signal(signal.SIGCONT)

    def log_since_start(self) -> str:
        """Return what the process printed since its last start."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def log_tail(self, lines: int = 40) -> str:
        """Return the last lines that the process printed."""
        return (
            "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self.log.exists() else ""
        )

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _reap(self) -> None:
        if self._process is not None:
            self._process.wait()
        if self._guard is not None:
            # Before its pipe is closed: the guard would kill a process id that may have been given to another
            # process by now.
            self._guard.kill()
            self._guard.communicate()
        self._process = None
        self._guard = None

    def _java(self, main: str, *arguments: str) -> list[str]:
        archive = kafka_archive()
        shared = [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds*=off"] if archive.exists() else []
        return [java(), *shared, *self._jvm_options, *LOGGING, "-cp", classpath(), main, *arguments]
