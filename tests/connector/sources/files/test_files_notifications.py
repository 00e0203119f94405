"""Files that a queue tells of, beside listings: each is read once, whatever the queue does."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from headwater.core.errors import OptionError
from headwater.enumerators.files import arrivals, sqs_queue
from headwater.enumerators.files.azure_queue import AzureQueue
from headwater.enumerators.files.pubsub_queue import PubsubQueue
from local_azurite import LocalAzurite
from local_pubsub import LocalPubsub
from tests.connector.sources.files.files_queries import VALUE, Query, values
from tests.connector.sources.files.notified_folders import (
    BUCKET,
    AdlsQueues,
    GcsQueues,
    Queues,
    S3Queues,
)
from tests.enumerators.files.test_object_events import TEST_EVENT, by_event_bridge, by_sns, s3_event
from tests.gcs_server import GcsServer
from tests.patience import PATIENCE_S
from tests.s3_server import S3Server

# The servers of the others are built and fetched for minutes: test_recorded_answers.py asks none.
LONG = [pytest.param(name, marks=pytest.mark.long) for name in ("gcs", "adls")]


@pytest.fixture(scope="module", params=["s3", *LONG])
def cloud(request: pytest.FixtureRequest) -> Iterator[Callable[[], Queues]]:
    """The servers of a cloud: makes a folder and a queue there."""
    with ExitStack() as running, pytest.MonkeyPatch.context() as patch:
        if request.param == "s3":
            s3 = running.enter_context(S3Server())
            yield lambda: S3Queues(s3)
        elif request.param == "gcs":
            gcs = running.enter_context(GcsServer())
            pubsub = running.enter_context(LocalPubsub())
            patch.setenv("PUBSUB_EMULATOR_HOST", pubsub.address)
            yield lambda: GcsQueues((gcs, pubsub))
        else:
            azurite = running.enter_context(LocalAzurite())
            yield lambda: AdlsQueues(azurite)


@pytest.fixture
def queues(cloud: Callable[[], Queues], monkeypatch: pytest.MonkeyPatch) -> Queues:
    monkeypatch.setattr(sqs_queue, "_WAIT_S", 1)
    monkeypatch.setattr(arrivals, "_PAUSE_S", 0.1)
    for queue in (PubsubQueue, AzureQueue):
        monkeypatch.setattr(queue, "pause_s", 0.05)
    return cloud()


def steps_until(query: Query, count: int, is_done: Callable[[], bool] = lambda: True) -> list[str]:
    """Run batches until so many rows have come, and something is so; then one more look finds nothing."""
    found: list[str] = []
    until = time.monotonic() + PATIENCE_S
    while len(found) < count or not is_done():
        assert time.monotonic() < until, f"{len(found)} of {count} rows"
        rows = query.step()
        found += values(rows) if rows is not None else []
    assert query.step() is None
    return sorted(found)


def test_what_is_told_is_read_though_nothing_is_listed_again(queues: Queues) -> None:
    first = queues.put("a")
    with queues.query() as query:
        assert steps_until(query, 1) == ["a"]
        queues.put("untold")
        keys = [queues.put(name) for name in ("b", "c d", "e", "f")]
        queues.tell_of(first, *keys[:2], f"{queues.folder}/in/gone")
        # As many characters as the folder that is read has.
        beside = f"{queues.folder}/by/x"
        queues.fs.pipe(f"{BUCKET}/{beside}", b"x\n")
        others = [beside, f"{queues.folder}/elsewhere/x", f"{queues.folder}/in/_hidden"]
        if isinstance(queues, S3Queues):
            queues.tell(TEST_EVENT)
            queues.tell(by_sns(s3_event(keys[2], *others)))
            queues.tell(by_event_bridge(keys[3]))
        else:
            queues.tell_of(*keys[2:], *others)
        assert steps_until(query, 4, queues.is_empty) == ["b", "c d", "e", "f"]
        query.restart()
        assert steps_until(query, 1) == ["untold"], "each process begins with a listing"


def test_a_queue_that_loses_repeats_and_reorders_changes_nothing(queues: Queues, rng: random.Random) -> None:
    names = [f"{number:03}" for number in range(60)]
    with queues.query(listingInterval="0s", maxFilesPerTrigger="7") as query:
        found: list[str] = []
        told: list[str] = []
        for at, name in enumerate(names):
            key = queues.put(name)
            told += [key] * rng.choice([0, 1, 1, 3])
            if at % 10 == 9:
                rng.shuffle(told)
                queues.tell_of(*told[: len(told) // 2])
                told = told[len(told) // 2 :]
                queues.tell("a message that is about something else")
                rows = query.step()
                found += values(rows) if rows is not None else []
            if at in (25, 45):
                query.restart()
        queues.tell_of(*told)
        assert sorted(found + steps_until(query, len(names) - len(found))) == names


def test_a_message_about_something_else_stays_in_the_queue_and_is_warned_of(
    queues: Queues, caplog: pytest.LogCaptureFixture
) -> None:
    with queues.query() as query:
        queues.tell("hello")
        queues.tell_of(queues.put("a"))
        assert steps_until(query, 1, lambda: "left there: no event about objects" in caplog.text) == ["a"]
    assert not queues.is_empty()


def test_an_object_that_is_written_again_is_what_on_change_says(queues: Queues) -> None:
    with queues.query(onChange="read") as query:
        key = queues.put("a")
        queues.tell_of(key)
        assert steps_until(query, 1, queues.is_empty) == ["a"]
        queues.fs.pipe(f"{BUCKET}/{key}", b"b\n")
        queues.tell_of(key, key)
        assert steps_until(query, 1, queues.is_empty) == ["b"]


def test_available_now_reads_all_that_is_there_told_or_not(queues: Queues) -> None:
    for name in "abc":
        queues.put(name)
    with queues.query(maxFilesPerTrigger="2") as query:
        query.restart(available_now=True)
        assert [len(values(query.step())) for _ in range(2)] == [2, 1]
        assert query.step() is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"notifications": "queue"}, "'notifications': must be sqs://NAME or .*, pubsub://PROJECT/SUB"),
        (
            {"notifications": "sqs://q", "path": "/data"},
            "'notifications': tells of objects in S3, and /data",
        ),
        ({"notifications": "pubsub://p/s"}, "'notifications': tells of objects in GCS, and s3://b/in"),
        (
            {"notifications": "azure-queue://q", "path": "gs://b/in"},
            "'notifications': tells of objects in ADLS, and gs://b/in",
        ),
        ({"listingInterval": "soon"}, "'listingInterval': must be a duration"),
        ({"notificationsOptions": "[]"}, "'notificationsOptions': must be a JSON object"),
    ],
)
def test_options_are_refused_by_name(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        Query(VALUE, **{"format": "text", "path": "s3://b/in", **options})


def test_a_queue_that_is_not_there_stops_the_query(queues: Queues) -> None:
    queues.put("a")
    queues.name = "nowhere"
    with (
        queues.query() as query,
        pytest.raises(OptionError, match=r"'notifications': there is no such (queue|subscription)"),
    ):
        steps_until(query, 2)
