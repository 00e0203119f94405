"""Every path of `docs/contracts.md` in Spark, killed, with what it calls: each row is written once.

``HEADWATER_RECORD_CONTRACTS=1 scripts/test --long tests/exactly_once/test_contract_kills.py`` records anew
what the page says was run; then ``python -m tests.exactly_once.contract_page``.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from examples.http_server import Api, serving
from local_mqtt import LocalMqtt
from tests.connector.sources.test_mqtt_spark import begin_session
from tests.exactly_once.barrier_job import BarrierJob
from tests.exactly_once.contract_page import witnesses_of
from tests.exactly_once.contract_paths import PATHS, functions, write_runs
from tests.exactly_once.test_mqtt_kills import Publisher
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS = bool(os.environ.get("HEADWATER_RECORD_CONTRACTS"))

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(2 * PATIENCE_S)]


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api(0, items=1_000, page=20, grow_per_s=50, busy_every=50)
    serving(made)
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Where the functions are named that a run calls."""
    return tmp_path / "called"


@pytest.mark.parametrize("path", [name for name in PATHS if name.startswith("http")])
def test_http_on_each_path(
    path: str, api: Api, spark: SparkSession, spark_conf: dict[str, Any], trace: Path
) -> None:
    way = PATHS[path]
    options = {"source": "http", "url": api.url, "barrierRows": "150", "pollInterval": "100ms", **way.options}
    job = BarrierJob(spark, spark_conf, trace.parent, options, ["item"], united=way.united, trace=trace)
    job.kill_rounds(1, random.Random(path))
    # In this order, so that the items that have grown so far stay.
    api.items = api.count()
    api.grow_per_s = 0
    job.finish()
    written = Counter(json.loads(row[0]).get("id") for row in job.rows("item"))
    del written[None]
    assert written == dict.fromkeys(range(api.items), 1 + way.united)
    check_or_record(path, trace)


def test_mqtt(spark: SparkSession, spark_conf: dict[str, Any], trace: Path) -> None:
    with LocalMqtt() as broker:
        options = {
            "source": "mqtt",
            "broker": broker.url,
            "topics": "numbers",
            "clientId": "contracts",
            "barrierRows": "200",
            "idleTimeout": "200ms",
            "pollInterval": "50ms",
            **PATHS["mqtt"].options,
        }
        begin_session(options)
        columns = ["cast(payload as string) as text"]
        job = BarrierJob(spark, spark_conf, trace.parent, options, columns, trace=trace)
        with Publisher(broker) as publisher:
            job.kill_rounds(1, random.Random("mqtt"))
        job.finish()
        written = Counter(json.loads(row[0])["number"] for row in job.rows("text"))
    assert written == dict.fromkeys(range(publisher.sent), 1)
    check_or_record("mqtt", trace)


def check_or_record(path: str, trace: Path) -> None:
    """Each function by which the page says that a contract is run was called now."""
    called = functions(trace)
    if RECORDS:
        write_runs(path, called)
    names = {name.partition(":")[2] for name in called}
    assert witnesses_of(path) <= names
