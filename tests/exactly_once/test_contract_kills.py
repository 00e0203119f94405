"""Every path of `docs/contracts.md` in Spark, killed, with what it calls: each row is written once.

``HEADWATER_RECORD_CONTRACTS=1 scripts/test --long tests/exactly_once/test_contract_kills.py`` records anew
what the page says was run; then ``scripts/generate``.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from examples.http_server import serving
from local_mqtt import LocalMqtt
from tests.connector.async_io.service import SlowService
from tests.connector.sources.test_mqtt_spark import begin_session
from tests.exactly_once.barrier_job import BarrierJob
from tests.exactly_once.contract_page import witnesses_of
from tests.exactly_once.contract_paths import PATHS, functions, write_runs
from tests.exactly_once.moody_api import MoodyApi
from tests.exactly_once.test_http_incremental_kills import Query as RoundsQuery
from tests.exactly_once.test_mqtt_kills import Publisher
from tests.exactly_once.waiting import repeating
from tests.patience import PATIENCE_S
from tests.readers.http.changing_list import ChangingList
from tests.readers.http.scripted import scripted_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS = bool(os.environ.get("HEADWATER_RECORD_CONTRACTS"))
WITH_TESTS_OF_THEIR_OWN = (
    "http twice at once",
    "http checkpointTimeout",
    "http maxEventTimeSkew",
    "http incrementalField",
)
ALONE = [
    name
    for name, path in PATHS.items()
    if name.startswith("http") and path.then is None and name not in WITH_TESTS_OF_THEIR_OWN
]
"""The paths that one query goes from its begin to its end."""

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(2 * PATIENCE_S)]


@pytest.fixture
def api() -> Iterator[MoodyApi]:
    made = MoodyApi()
    serving(made)
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Where the functions are named that a run calls."""
    return tmp_path / "called"


@pytest.fixture
def job(api: MoodyApi, spark: SparkSession, spark_conf: dict[str, Any], trace: Path) -> BarrierJob:
    """Reads the API."""
    options = {"source": "http", "url": api.url, "barrierRows": "150", "pollInterval": "100ms"}
    return BarrierJob(spark, spark_conf, trace.parent, options, ["item"], trace=trace)


@pytest.mark.parametrize("path", ALONE)
def test_http_on_each_path(path: str, api: MoodyApi, job: BarrierJob, trace: Path) -> None:
    way = PATHS[path]
    job = replace(job, options={**job.options, **way.options}, united=way.united)
    api.long_wait_at = 10 if path == "http" else 0
    api.broken_every = 12 if path == "http with bad pages" else 0
    cleaned = repeating(lambda: clean(job.temporary), 0.05)
    with cleaned if path == "http in a cleaned folder" else nullcontext():
        job.kill_rounds(1, random.Random(path))
    end(api)
    job.finish()
    check_items(job, api, 1 + way.united)
    check_or_record(path, trace)


def test_http_with_another_barrier_mode_from_start_to_start(
    api: MoodyApi, job: BarrierJob, trace: Path
) -> None:
    """And where the state location is not there, the query ends, and goes on once it is restored."""
    path = "http aligned, then unaligned"
    way = PATHS[path]
    assert way.then is not None
    before = replace(job, options={**job.options, **way.options})
    after = replace(job, options={**job.options, **way.then})
    for turn in (before, after, before):
        turn.kill_rounds(1, random.Random(path))
    state = job.folder / "state"
    state.rename(job.folder / "away")
    assert "which the checkpoint names" in after.fails()
    shutil.rmtree(state)
    (job.folder / "away").rename(state)
    end(api)
    after.finish()
    check_items(job, api, 1)
    check_or_record(path, trace)


def test_http_in_two_queries_at_once_on_one_state_location(
    api: MoodyApi, job: BarrierJob, trace: Path
) -> None:
    path = "http twice at once"
    job = replace(job, options={**job.options, **PATHS[path].options, "stateRetainedEpochs": "2"})
    other = replace(job, folder=job.folder / "other", state=job.folder / "state")
    other.folder.mkdir()
    threads = [
        threading.Thread(target=each.kill_rounds, args=(1, random.Random(seed)), name=seed)
        for seed, each in (("one", job), ("two", other))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    end(api)
    for each in (job, other):
        each.finish()
        check_items(each, api, 1)
    check_or_record(path, trace)


def test_http_where_a_task_is_still_at_work_long_after_its_batch_was_committed(
    api: MoodyApi, job: BarrierJob, trace: Path
) -> None:
    """The first batch is left after its first page, and its task waits for a server that does not answer."""
    path = "http checkpointTimeout"
    job = replace(job, options={**job.options, **PATHS[path].options}, peeks=True)
    # Python hands 64 KB at a time to the JVM, and a page has 3 KB. So the JVM has seen the first pages when
    # this one is asked for, and the next write, at which Python sees that nobody reads, is behind it.
    api.silent_at = 34

    def goes_on_without_it() -> bool:
        if list(job.folder.glob("state/*/epoch-0000000001-*/00000.manifest")):
            # Now the task reads on, and publishes what it came to.
            api.may_speak.set()
        return (job.folder / "checkpoint/commits/3").exists()

    job.kill_when(goes_on_without_it, "a batch after the one that was left")
    job.kill_rounds(1, random.Random(path))
    end(api)
    job.finish()
    # Nothing of the first batch was written, so all of it came again.
    check_items(job, api, 1)
    check_or_record(path, trace)


def test_http_aligned_by_event_time(api: MoodyApi, job: BarrierJob, trace: Path) -> None:
    path = "http maxEventTimeSkew"
    options = {**job.options, **PATHS[path].options, "url": f"{api.url}, {api.older_url}"}
    job = replace(job, options=options, columns=["to_json(named_struct('id', id)) AS item"])
    job.kill_rounds(1, random.Random(path))
    end(api)
    job.finish()
    check_items(job, api, 2)
    check_or_record(path, trace)


def test_http_in_rounds(spark: SparkSession, spark_conf: dict[str, Any], trace: Path) -> None:
    path = "http incrementalField"
    made = ChangingList(page=40, now=datetime.now(UTC))
    with scripted_server() as server:
        server.answer = made.answer
        query = RoundsQuery(spark, spark_conf, trace.parent, made, f"{server.origin}/a")
        query.kill(1, random.Random(path), trace=trace)
    check_or_record(path, trace)


def test_http_with_a_service_that_is_asked_about_each_row(
    api: MoodyApi, job: BarrierJob, trace: Path
) -> None:
    path = "http asyncFunction"
    way = PATHS[path]
    with SlowService() as service:
        asking = {"asyncArguments": json.dumps({"url": service.url})}
        for options in (way.options, way.then or {}):
            job = replace(job, options={**job.options, **asking, **options})
            job.kill_rounds(1, random.Random(path))
        end(api)
        job.finish()
    check_items(job, api, 1)
    check_or_record(path, trace)


@pytest.mark.parametrize("path", [name for name in PATHS if name.startswith("mqtt")])
def test_mqtt_on_each_path(path: str, spark: SparkSession, spark_conf: dict[str, Any], trace: Path) -> None:
    way = PATHS[path]
    # Messages come before the first task has started a receiver: more than a broker keeps by default.
    with LocalMqtt(more="max_queued_messages 0\n") as broker, SlowService() as service:
        asking = (
            {"asyncArguments": json.dumps({"url": service.url})} if "asyncFunction" in way.options else {}
        )
        options = {
            "source": "mqtt",
            "broker": broker.url,
            "topics": "numbers",
            "clientId": "contracts",
            "barrierRows": "200",
            "idleTimeout": "200ms",
            "pollInterval": "50ms",
            **way.options,
            **asking,
        }
        begin_session(options)
        columns = ["cast(payload as string) as text"]
        job = BarrierJob(spark, spark_conf, trace.parent, options, columns, united=way.united, trace=trace)
        with Publisher(broker) as publisher:
            job.kill_rounds(1, random.Random(path))
        job.finish()
        written = Counter(json.loads(row[0])["number"] for row in job.rows("text"))
    assert written == dict.fromkeys(range(publisher.sent), 1 + way.united)
    check_or_record(path, trace)


def end(api: MoodyApi) -> None:
    """Let the list have an end, and every page be one."""
    # In this order, so that the items that have grown so far stay.
    api.items = api.count()
    api.grow_per_s = 0
    api.broken_every = 0


def check_items(job: BarrierJob, api: MoodyApi, times: int) -> None:
    written = Counter(json.loads(row[0]).get("id") for row in job.rows("item"))
    del written[None]
    assert written == dict.fromkeys(range(api.items), times)


def check_or_record(path: str, trace: Path) -> None:
    """Each function by which the page says that a contract is run was called now."""
    called = functions(trace)
    if RECORDS:
        write_runs(path, called)
    names = {name.partition(":")[2] for name in called}
    assert witnesses_of(path) <= names


def clean(folder: Path) -> None:
    """Delete what is in a folder, as a service does that cleans temporary folders."""
    for entry in folder.glob("headwater-*/*"):
        shutil.rmtree(entry, ignore_errors=True)
