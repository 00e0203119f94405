"""Stream orders through Kafka and Spark into Parquet, kill the driver half-way, start it again, and count."""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow.parquet as pq
from kafka import KafkaProducer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from local_kafka import LocalKafka
from local_kafka_config import free_port

ROOT = Path(__file__).resolve().parent.parent
PARTITIONS = 4
CHUNK = 2_000
PATIENCE_S = 600
"""A machine whose processors are busy with something else takes minutes to start Spark."""


class Producer(threading.Thread):
    """Writes numbered orders to Kafka while the query reads them."""

    def __init__(self, kafka: LocalKafka, orders: int, per_second: int) -> None:
        super().__init__(daemon=True)
        self._kafka = kafka
        self._orders = orders
        self._per_second = per_second
        self._first_is_through = threading.Event()
        # Written by this thread only, read by the main thread.
        self.produced = 0
        self.failure: Exception | None = None

    def go_on(self) -> None:
        """Write all orders: the first one of each partition has come through."""
        self._first_is_through.set()

    def run(self) -> None:
        try:
            self._produce()
        except Exception as error:  # noqa: BLE001 - shown by the main thread
            self.failure = error

    def _produce(self) -> None:
        rng = random.Random(1)
        with self._kafka.producer() as producer:
            self._produce_until(PARTITIONS, producer, rng)
            # Spark's first batch loads a lot: all orders would be there before its first row.
            self._first_is_through.wait()
            began = time.monotonic()
            while self.produced < self._orders:
                self._produce_until(min(self.produced + CHUNK, self._orders), producer, rng)
                due = began + self.produced / self._per_second
                time.sleep(max(0.0, due - time.monotonic()))

    def _produce_until(self, stop: int, producer: KafkaProducer, rng: random.Random) -> None:
        for order_id in range(self.produced, stop):
            order = {
                "order_id": order_id,
                "customer": f"customer-{rng.randrange(5_000)}",
                "amount": round(rng.uniform(1, 500), 2),
            }
            producer.send("orders", json.dumps(order).encode(), partition=order_id % PARTITIONS)
        producer.flush()
        self.produced = stop


@dataclass
class Output:
    """What the sink has committed so far, read from its own log."""

    folder: Path
    _rows: dict[str, int] = field(default_factory=dict)

    def files(self) -> list[str]:
        """Return the files that count: those that the sink's log names."""
        found = set()
        for entry in (self.folder / "_spark_metadata").glob("*"):
            if entry.name.startswith("."):
                continue
            for line in entry.read_text().splitlines()[1:]:
                found.add(unquote(urlparse(json.loads(line)["path"]).path))
        return sorted(found)

    def rows(self) -> int:
        """Return how many rows they hold."""
        for path in self.files():
            if path not in self._rows:
                self._rows[path] = pq.read_metadata(path).num_rows
        return sum(self._rows.values())

    def order_ids(self) -> list[object]:
        """Return every order id in them, as often as it is there."""
        return [
            order_id
            for path in self.files()
            for order_id in pq.read_table(path, columns=["order_id"])["order_id"].to_pylist()
        ]


class Driver:
    """The Spark driver in a process group of its own: a kill takes the JVM and all Python workers too.

    Args:
        kafka: what it reads.
        folder: where it writes, and its log lies.
        board_port: where its board listens.
    """

    def __init__(self, kafka: LocalKafka, folder: Path, board_port: int) -> None:
        self._log_path = folder / "driver.log"
        self._log = self._log_path.open("ab")
        self._started = folder / "started"
        self._started.unlink(missing_ok=True)
        command = [
            sys.executable,
            str(ROOT / "scripts" / "demo_driver.py"),
            kafka.bootstrap_servers,
            str(folder),
            str(board_port),
        ]
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1"}
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdout=self._log,
            stderr=self._log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def has_started(self) -> bool:
        """Return whether the query runs."""
        return self._started.exists()

    def last_line(self) -> str:
        """Return the last line of its log."""
        lines = self._log_path.read_text(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else ""

    def check(self) -> None:
        """End the demo if the driver has ended."""
        if self._process.poll() is not None:
            raise SystemExit(f"the driver ended by itself:\n{self._log_path.read_text()[-4_000:]}")

    def kill(self) -> None:
        """SIGKILL to everything that belongs to it: no goodbye, no clean-up."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--orders", type=int, default=200_000, help="how many orders to stream (default 200,000)"
    )
    parser.add_argument(
        "--per-second", type=int, default=10_000, help="how fast to produce them (default 10,000)"
    )
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="headwater-demo-"))
    try:
        demonstrate(args.orders, args.per_second, folder)
    except BaseException as error:
        # Whoever interrupts it has seen enough; else the log says what went wrong.
        if isinstance(error, KeyboardInterrupt):
            shutil.rmtree(folder, ignore_errors=True)
            raise SystemExit(130) from None
        sys.stderr.write(f"Spark's log and all files of this run are kept in {folder}\n")
        raise
    shutil.rmtree(folder, ignore_errors=True)


def demonstrate(orders: int, per_second: int, folder: Path) -> None:
    console = Console()
    console.print("Starting a real Kafka broker ...")
    board_port = free_port()
    with LocalKafka() as kafka:
        kafka.create_topic("orders", partitions=PARTITIONS)
        producer = Producer(kafka, orders, per_second)
        output = Output(folder / "orders")
        console.print("Starting Spark, and then the producer: some ten seconds ...")
        driver = Driver(kafka, folder, board_port)
        try:
            wait_for_start(driver)
            console.print(f"The query runs. Watch it in a browser: [bold]http://127.0.0.1:{board_port}/")
            console.print("Waiting until the first orders have come through Spark ...")
            columns = (
                TextColumn("{task.description:<34}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
            )
            with Progress(*columns, console=console) as progress:
                bars = (
                    progress.add_task("orders produced", total=orders),
                    progress.add_task("orders written by Spark", total=orders),
                )
                producer.start()
                watch(driver, producer, output, progress, bars, until=PARTITIONS)
                console.print(f"They have. Now {per_second:,} orders a second ...")
                began = time.monotonic()
                producer.go_on()
                watch(driver, producer, output, progress, bars, until=orders // 2)
                driver.kill()
                console.print(
                    f"[bold red]kill -9[/]: Spark is dead, with {output.rows():,} orders written. "
                    "The producer goes on. Starting Spark again ..."
                )
                driver = Driver(kafka, folder, board_port)
                wait_for_start(driver)
                watch(driver, producer, output, progress, bars, until=orders)
                seconds = time.monotonic() - began
        finally:
            driver.kill()
    report(console, producer.produced, output.order_ids(), seconds)


def wait_for_start(driver: Driver) -> None:
    """Wait until the query runs."""
    began = time.monotonic()
    while not driver.has_started():
        driver.check()
        if time.monotonic() - began > PATIENCE_S:
            raise SystemExit(f"Spark did not start within {PATIENCE_S} s. {last_seen(driver)}")
        time.sleep(0.2)


def last_seen(driver: Driver) -> str:
    """Return what is known of a driver that seems to do nothing, and what to do."""
    load, processors = os.getloadavg()[0], len(os.sched_getaffinity(0))
    busy = (
        f"This machine is busy (load {load:.0f} on {processors} processors): run the demo again later."
        if load > 2 * processors
        else "The machine is not busy: look into the log below."
    )
    state = "The query runs" if driver.has_started() else "Spark is still starting"
    return f"{state}; the last line of its log: {driver.last_line()!r}. {busy}"


def watch(
    driver: Driver,
    producer: Producer,
    output: Output,
    progress: Progress,
    bars: tuple[TaskID, TaskID],
    *,
    until: int,
) -> None:
    """Move the bars until the sink has committed ``until`` orders."""
    written = -1
    moved = time.monotonic()
    while written < until:
        driver.check()
        if producer.failure:
            raise SystemExit(f"the producer failed: {producer.failure}")
        now_written = output.rows()
        if now_written != written:
            written = now_written
            moved = time.monotonic()
        elif time.monotonic() - moved > PATIENCE_S:
            raise SystemExit(
                f"nothing was written for {PATIENCE_S} s, after {written:,} orders. {last_seen(driver)}"
            )
        progress.update(bars[0], completed=producer.produced)
        told = "orders written by Spark" if driver.has_started() else "dead: waiting for Spark to start"
        progress.update(bars[1], completed=written, description=told)
        time.sleep(0.2)


def report(console: Console, produced: int, order_ids: list[object], seconds: float) -> None:
    distinct = set(order_ids)
    table = Table(title="Exactly once, across a killed driver", caption="rows/s: kill and restart included")
    for name in ("produced", "written", "lost", "duplicated", "rows/s"):
        table.add_column(name, justify="right")
    written = len(order_ids)
    lost = len(set(range(produced)) - distinct)
    duplicated = written - len(distinct)
    numbers = (produced, written, lost, duplicated, round(written / seconds))
    table.add_row(*(f"{number:,}" for number in numbers))
    console.print(table)
    if lost or duplicated or written != produced:
        raise SystemExit("the numbers do not add up: this must not happen")


if __name__ == "__main__":
    main()
