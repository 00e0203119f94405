"""Events about objects in buckets, in all the shapes in which they come to a queue."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote_plus

_TEST_EVENT = "s3:TestEvent"
"""What S3 sends once when a bucket is told where to send events."""


def arrived_objects(body: str) -> list[tuple[str, str]]:
    """Return bucket and key of each object that a message says was written.

    Of S3's own events, as they are or wrapped by SNS, and of EventBridge's. Events of another kind, such as
    deletions and S3's test event, tell of no object.

    Raises:
        ValueError: this is no message about objects.
    """
    try:
        message = json.loads(body)
        if message.get("Type") == "Notification":
            message = json.loads(message["Message"])
        if message.get("Event") == _TEST_EVENT:
            return []
        if message.get("source") == "aws.s3":
            return _of_event_bridge(message)
        return [_place(record["s3"]) for record in message["Records"] if _is_created(record)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no event about objects of S3: {error!r}") from error


def _is_created(record: Any) -> bool:
    return str(record["eventName"]).removeprefix("s3:").startswith("ObjectCreated")


def _place(about: Any) -> tuple[str, str]:
    # As in the body of a form: a blank is a plus.
    return str(about["bucket"]["name"]), unquote_plus(about["object"]["key"])


def _of_event_bridge(message: Any) -> list[tuple[str, str]]:
    if message["detail-type"] != "Object Created":
        return []
    detail = message["detail"]
    return [(str(detail["bucket"]["name"]), str(detail["object"]["key"]))]
