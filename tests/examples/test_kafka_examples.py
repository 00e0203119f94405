"""The Kafka examples run as their headings say."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from local_kafka import LocalKafka

Run = Callable[..., str]
ROOT = Path(__file__).parent.parent.parent


def test_kafka_batch_counts_every_partition(run: Run, kafka: LocalKafka, topic: str) -> None:
    kafka.create_topic(topic, partitions=2)
    kafka.produce(topic, [b"x"] * 30)
    shown = run("examples/kafka_batch.py", kafka.bootstrap_servers, topic)
    assert re.findall(r"\|\s*(\d)\|\s*15\|", shown) == ["0", "1"]


@pytest.mark.slow
def test_kafka_stream_goes_on_where_it_stopped_and_ctrl_c_ends_it_quietly(
    run: Run, kafka: LocalKafka, topic: str, tmp_path: Path
) -> None:
    kafka.create_topic(topic, partitions=2)
    program = ("examples/kafka_stream.py", kafka.bootstrap_servers, topic, str(tmp_path))
    kafka.produce(topic, [b"first"] * 30)
    assert "ended after batch 0" in run(*program, "--available-now")
    kafka.produce(topic, [b"second"] * 20)
    printed = run_until("batch 1,", *program)
    # When the JVM ends, PySpark's workers find their connections closed, and its daemon prints a traceback of
    # that: as much of it is seen as comes before the JVM is gone.
    frames = re.findall(r'^  File "(.*)", line ', printed, re.MULTILINE)
    assert [frame for frame in frames if not frame.endswith("pyspark/daemon.py")] == []
    assert "KeyboardInterrupt" not in printed
    rows = pq.read_table(str(tmp_path / "rows"))["value"].to_pylist()
    assert (rows.count("first"), rows.count("second")) == (30, 20)


def run_until(line: str, *arguments: str) -> str:
    """Run an example until it prints such a line, press Ctrl-C, and return all that it printed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    watchdog = threading.Timer(PATIENCE_S, os.killpg, (process.pid, signal.SIGKILL))
    watchdog.start()
    with process:
        assert process.stdout is not None
        printed = []
        for one in process.stdout:
            printed.append(one)
            if line in one:
                # A terminal sends it to all processes of the program, Spark's too.
                os.killpg(process.pid, signal.SIGINT)
                break
        printed.append(process.stdout.read())
    watchdog.cancel()
    assert process.returncode == 0, "".join(printed)
    return "".join(printed)


def test_hybrid_stream_goes_from_the_files_to_the_topic_without_a_gap(
    run: Run, kafka: LocalKafka, topic: str, tmp_path: Path
) -> None:
    kafka.create_topic(topic, partitions=2)
    now = datetime.now(UTC)

    def produce(numbers: range, at: datetime) -> None:
        orders = ({"order_id": number, "ordered_at": at.isoformat(), "amount": 2.5} for number in numbers)
        kafka.produce(topic, [json.dumps(order).encode() for order in orders])

    produce(range(30), now - timedelta(hours=2))
    produce(range(30, 40), now + timedelta(hours=1))
    program = ("examples/hybrid_stream.py", kafka.bootstrap_servers, topic, str(tmp_path))
    assert json.loads(run(*program)) == {"orders": 40, "twice": 0}
    produce(range(40, 50), now + timedelta(hours=1))
    assert json.loads(run(*program)) == {"orders": 50, "twice": 0}


def test_kafka_typed_rows_sums_what_is_json_and_keeps_the_rest(
    run: Run, kafka: LocalKafka, topic: str, tmp_path: Path
) -> None:
    kafka.create_topic(topic, partitions=2)
    order = json.dumps({"order_id": 1, "ordered_at": "2026-01-02T03:04:05Z", "product": "tea", "amount": 2.5})
    for number in (1, 2):
        kafka.produce(topic, [order.encode()] * 4 + [b"oops"])
        printed = run("examples/kafka_typed_rows.py", kafka.bootstrap_servers, topic, str(tmp_path))
        assert printed.splitlines() == ["None None", f"tea {10.0 * number}", f"{number} corrupt"]
