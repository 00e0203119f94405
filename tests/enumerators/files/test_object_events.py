"""Each shape of an event tells of the same object, and what is no event is no crash."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.enumerators.files.event_queue import arrived_objects

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
    assert arrived_objects(json.dumps(message)) == [(BUCKET, key) for key in keys]


NO_EVENTS = [
    *("", "no json", "[]", "3", "null", "{}", '{"Records": 3}', '{"source": "aws.s3"}'),
    *('{"Type": "Notification"}', '{"Type": "Notification", "Message": "x"}'),
    '{"Records": [{"eventName": "ObjectCreated:Put"}]}',
]


@pytest.mark.parametrize("body", NO_EVENTS)
def test_what_is_no_event_about_objects_is_an_error(body: str) -> None:
    with pytest.raises(ValueError, match="no event about objects"):
        arrived_objects(body)
