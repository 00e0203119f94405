"""Each shape of an event tells of the same object, and what is no event is no crash."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from headwater.enumerators.files.azure_queue import AzureQueue
from headwater.enumerators.files.event_queue import EventQueue
from headwater.enumerators.files.pubsub_queue import PubsubQueue
from headwater.enumerators.files.sqs_queue import SqsQueue

BUCKET = "spark"


def s3_event(*keys: str, name: str = "ObjectCreated:Put") -> dict[str, Any]:
    about = [{"bucket": {"name": BUCKET}, "object": {"key": key, "size": 1}} for key in keys]
    return {"Records": [{"eventSource": "aws:s3", "eventName": name, "s3": each} for each in about]}


def by_event_bridge(key: str, kind: str = "Object Created") -> dict[str, Any]:
    detail = {"bucket": {"name": BUCKET}, "object": {"key": key, "size": 1, "etag": "x"}}
    return {"version": "0", "source": "aws.s3", "detail-type": kind, "detail": detail}


def by_sns(event: dict[str, Any]) -> dict[str, Any]:
    return {"Type": "Notification", "MessageId": "1", "Message": json.dumps(event)}


TEST_EVENT = {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": BUCKET}


@pytest.mark.parametrize(
    ("message", "keys"),
    [
        (s3_event("in/a.json", "in/b.json"), ["in/a.json", "in/b.json"]),
        (s3_event("in/a+b%2Bc%C3%A9/d%3D1.json"), ["in/a b+cé/d=1.json"]),
        (s3_event("a", name="ObjectCreated:CompleteMultipartUpload"), ["a"]),
        (s3_event("a", name="s3:ObjectCreated:Copy"), ["a"]),
        (s3_event("a", name="ObjectRemoved:Delete"), []),
        (by_sns(s3_event("in/a.json")), ["in/a.json"]),
        (by_event_bridge("in/a+b%20c.json"), ["in/a+b%20c.json"]),
        (by_event_bridge("a", "Object Deleted"), []),
        (by_sns(by_event_bridge("a")), ["a"]),
        (TEST_EVENT, []),
        (by_sns(TEST_EVENT), []),
        ({"Records": []}, []),
    ],
)
def test_keys_are_those_of_objects_that_were_written(message: dict[str, Any], keys: list[str]) -> None:
    assert SqsQueue.arrived_objects(json.dumps(message)) == [(BUCKET, key) for key in keys]


NO_EVENTS = [
    *("", "no json", "[]", "3", "null", "{}", '{"Records": 3}', '{"source": "aws.s3"}'),
    *('{"Type": "Notification"}', '{"Type": "Notification", "Message": "x"}'),
    '{"Records": [{"eventName": "ObjectCreated:Put"}]}',
]


@pytest.mark.parametrize("queue", [SqsQueue, PubsubQueue, AzureQueue])
@pytest.mark.parametrize("body", NO_EVENTS)
def test_what_is_no_event_about_objects_is_an_error(queue: type[EventQueue], body: str) -> None:
    with pytest.raises(ValueError, match="no event about objects"):
        queue.arrived_objects(body)


def gcs_event(key: str, kind: str = "OBJECT_FINALIZE") -> dict[str, str]:
    """The attributes of a notification; its data is the object's description, or nothing."""
    return {"eventType": kind, "payloadFormat": "NONE", "bucketId": BUCKET, "objectId": key}


@pytest.mark.parametrize(
    ("message", "keys"),
    [
        (gcs_event("in/a+b%20cé"), ["in/a+b%20cé"]),
        (gcs_event("a") | {"overwroteGeneration": "1"}, ["a"]),
        *((gcs_event("a", f"OBJECT_{kind}"), []) for kind in ("DELETE", "ARCHIVE", "METADATA_UPDATE")),
    ],
)
def test_keys_of_gcs_are_as_they_are(message: dict[str, str], keys: list[str]) -> None:
    assert PubsubQueue.arrived_objects(json.dumps(message)) == [(BUCKET, key) for key in keys]


def azure_event(path: str, api: str = "PutBlob", kind: str = "BlobCreated") -> dict[str, Any]:
    """In Event Grid's own schema."""
    data = {"api": api, "url": f"https://account.blob.core.windows.net/{BUCKET}/{path}"}
    return {"topic": "x", "eventType": f"Microsoft.Storage.{kind}", "data": data, "dataVersion": ""}


def as_cloud_event(event: dict[str, Any]) -> dict[str, Any]:
    return {"specversion": "1.0", "type": event["eventType"], "data": event["data"]}


def renamed(path: str, kind: str = "BlobRenamed") -> dict[str, Any]:
    event = azure_event("", "RenameFile", kind)
    host = "https://account.dfs.core.windows.net"
    urls = {"sourceUrl": f"{host}/{BUCKET}/_temporary/0", "destinationUrl": f"{host}/{BUCKET}/{path}"}
    return event | {"data": {"api": "RenameFile", **urls}}


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    ("message", "keys"),
    [
        (azure_event("in/a.json"), ["in/a.json"]),
        (azure_event("in/a%20b.json"), ["in/a b.json", "in/a%20b.json"]),
        *((azure_event("a", api), ["a"]) for api in ("PutBlockList", "CopyBlob", "FlushWithClose")),
        *((azure_event("a", api), []) for api in ("CreateFile", "SftpCreate")),
        (azure_event("a", "SftpCommit"), ["a"]),
        (azure_event("a", "DeleteBlob", "BlobDeleted"), []),
        (renamed("in/a"), ["in/a"]),
        (renamed("in", "DirectoryRenamed"), []),
    ],
)
def test_keys_of_azure_are_those_of_files_that_are_complete(
    message: dict[str, Any], keys: list[str], wrapped: bool
) -> None:
    for event in (message, as_cloud_event(message)):
        text = json.dumps(event)
        body = base64.b64encode(text.encode()).decode() if wrapped else text
        assert AzureQueue.arrived_objects(body) == [(BUCKET, key) for key in keys]
