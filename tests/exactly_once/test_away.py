"""A REST API that is away: the query ends after its deadline, over all epochs and kills together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException

from tests.exactly_once.barrier_driver import start
from tests.exactly_once.barrier_job import ENVIRONMENT, BarrierJob
from tests.exactly_once.processes import Program
from tests.exactly_once.waiting import until
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Failing(BaseHTTPRequestHandler):
    """Answers every request with 500."""

    def do_GET(self) -> None:
        self.send_response(500)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


@pytest.fixture
def failing_url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Failing)
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/items"
    server.shutdown()
    server.server_close()


def job(spark: SparkSession, conf: dict[str, Any], folder: Path, url: str, deadline: str) -> BarrierJob:
    options = {"source": "http", "url": url, "barrierInterval": "500ms", "retryDeadline": deadline}
    return BarrierJob(spark, conf, folder, options, ["item"])


def failing_in_offsets(folder: Path) -> list[list[int]]:
    """Return of each logged offset how often and how long its list has failed."""
    offsets = sorted(
        (path for path in (folder / "checkpoint/offsets").glob("[0-9]*")), key=lambda path: int(path.name)
    )
    decoded = [json.loads(path.read_text().splitlines()[-1]) for path in offsets]
    return [next(iter(offset["failing"]["root"].values())) for offset in decoded if "failing" in offset]


def has_failed(folder: Path, epochs: int) -> bool:
    return len(failing_in_offsets(folder)) >= epochs


@pytest.mark.slow
def test_a_run_with_available_now_ends_where_the_host_does_not_resolve(
    spark: SparkSession, spark_conf: dict[str, Any], tmp_path: Path
) -> None:
    made = job(spark, spark_conf, tmp_path, "http://no-such-host.invalid/items", "3s")
    query = start(spark, made.job(availableNow=True))
    with pytest.raises(StreamingQueryException, match=r"option retryDeadline"):
        query.awaitTermination(PATIENCE_S)
    counted = failing_in_offsets(tmp_path)
    assert len(counted) > 1
    assert counted == sorted(counted)


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.long
def test_a_stream_on_errors_ends_after_its_deadline_though_it_is_killed_in_between(
    failing_url: str, spark: SparkSession, spark_conf: dict[str, Any], tmp_path: Path
) -> None:
    made = job(spark, spark_conf, tmp_path, failing_url, "8s")
    before = 0
    for _ in range(2):
        with Program("barrier_driver.py", made.job(), tmp_path / "driver.log", ENVIRONMENT) as driver:
            wanted = before + 2
            until(partial(has_failed, tmp_path, wanted), "two epochs more")
            driver.kill()
        counted = failing_in_offsets(tmp_path)
        assert counted == sorted(counted)
        before = len(counted)
    with Program("barrier_driver.py", made.job(), tmp_path / "driver.log", ENVIRONMENT) as driver:
        assert driver.ends_within(PATIENCE_S)
        log = driver.log_tail()
    assert "option retryDeadline" in log
    counted = failing_in_offsets(tmp_path)
    assert len(counted) > before
    assert counted == sorted(counted)
    # Each round is logged once, by the driver.
    assert (tmp_path / "driver.log").read_text(errors="replace").count("1 splits failed and made no") >= 5
