"""Files that a queue tells of, beside listings: each is read once, whatever the queue does."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.session import Session

from headwater.core.errors import OptionError
from headwater.enumerators.files import arrivals, event_queue
from headwater.enumerators.files.filesystem import open_file_system
from tests.connector.sources.files.files_queries import VALUE, Query, values
from tests.enumerators.files.test_object_events import TEST_EVENT, by_event_bridge, by_sns, s3_event
from tests.patience import PATIENCE_S
from tests.s3_server import S3Server

BUCKET = "spark"
numbers = itertools.count()


class Queues:
    """SQS on the server of a test, and a folder in its S3."""

    def __init__(self, server: S3Server) -> None:
        self.storage = server.storage_options
        self.folder = f"queue-{next(numbers)}"
        self.name = self.folder
        options = {
            "region_name": "eu-west-1",
            "endpoint_url": self.storage["endpoint_url"],
            "aws_access_key_id": "any",
            "aws_secret_access_key": "any",
        }
        self.client: Any = Session().create_client("sqs", **options)
        self.url = self.client.create_queue(
            QueueName=self.name, Attributes={"VisibilityTimeout": "1", "ReceiveMessageWaitTimeSeconds": "0"}
        )["QueueUrl"]
        self.fs, _ = open_file_system(f"s3://{BUCKET}", self.storage)

    def put(self, name: str) -> str:
        """Write an object; nobody is told."""
        key = f"{self.folder}/in/{name}"
        self.fs.pipe(f"{BUCKET}/{key}", f"{name}\n".encode())
        return key

    def tell(self, message: Any) -> None:
        body = message if isinstance(message, str) else json.dumps(message)
        self.client.send_message(QueueUrl=self.url, MessageBody=body)

    def is_empty(self) -> bool:
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]
        return all(value == "0" for value in found.values())

    def query(self, **options: Any) -> Query:
        return Query(
            VALUE,
            format="text",
            path=f"s3://{BUCKET}/{self.folder}/in",
            storageOptions=json.dumps(self.storage),
            notifications=f"sqs://{self.name}",
            notificationsOptions=json.dumps({"endpoint_url": self.storage["endpoint_url"]}),
            **options,
        )


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running


@pytest.fixture
def queues(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Queues:
    monkeypatch.setattr(event_queue, "_WAIT_S", 1)
    monkeypatch.setattr(arrivals, "_PAUSE_S", 0.1)
    return Queues(server)


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
        queues.tell(TEST_EVENT)
        assert steps_until(query, 1) == ["a"]
        queues.put("untold")
        keys = [queues.put(name) for name in ("b", "c d", "e", "f")]
        assert f"{queues.folder}/in/c d" in keys
        queues.tell(s3_event(first, keys[0], f"{queues.folder}/in/c+d", f"{queues.folder}/in/gone"))
        queues.tell(by_sns(s3_event(keys[2], f"{queues.folder}/elsewhere/x", f"{queues.folder}/in/_hidden")))
        queues.tell(by_event_bridge(keys[3]))
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
                queues.tell(s3_event(*told[: len(told) // 2]))
                told = told[len(told) // 2 :]
                queues.tell("a message that is about something else")
                rows = query.step()
                found += values(rows) if rows is not None else []
            if at in (25, 45):
                query.restart()
        queues.tell(s3_event(*told))
        assert sorted(found + steps_until(query, len(names) - len(found))) == names


def test_a_message_about_something_else_stays_in_the_queue_and_is_warned_of(
    queues: Queues, caplog: pytest.LogCaptureFixture
) -> None:
    with queues.query() as query:
        queues.tell("hello")
        queues.tell(s3_event(queues.put("a")))
        assert steps_until(query, 1, lambda: "left there: no event about objects" in caplog.text) == ["a"]
    assert not queues.is_empty()


def test_an_object_that_is_written_again_is_what_on_change_says(queues: Queues) -> None:
    with queues.query(onChange="read") as query:
        key = queues.put("a")
        queues.tell(s3_event(key))
        assert steps_until(query, 1, queues.is_empty) == ["a"]
        queues.fs.pipe(f"{BUCKET}/{key}", b"b\n")
        queues.tell(s3_event(key, key))
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
        ({"notifications": "queue"}, "'notifications': must be sqs://NAME"),
        (
            {"notifications": "sqs://q", "path": "/data"},
            "'notifications': tells of objects in S3, and /data",
        ),
        ({"listingInterval": "soon"}, "'listingInterval': must be a duration"),
        ({"notificationsOptions": "[]"}, "'notificationsOptions': must be a JSON object"),
    ],
)
def test_options_are_refused_by_name(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        Query(VALUE, **{"format": "text", "path": "s3://b/in", **options})


def test_a_queue_that_is_not_there_stops_the_query(queues: Queues) -> None:
    queues.name = "nowhere"
    with (
        queues.query() as query,
        pytest.raises(OptionError, match=r"'notifications': there is no such queue"),
    ):
        steps_until(query, 1)
