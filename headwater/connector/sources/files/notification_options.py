"""The options on finding files by notifications."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headwater.connector.options import ParsedOptions
from headwater.core.options import Spec, duration_ms, json_object, option
from headwater.core.source import Boundedness
from headwater.enumerators.files.event_queue import QueueSettings
from headwater.enumerators.files.selection import SelectedPath, store_of

_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED


def _queue_url(raw: str) -> str:
    """The name of a queue, or its URL, after ``sqs://``."""
    if not re.fullmatch(r"sqs://([\w.:-]+/\w+/)?[\w.-]+", raw.strip()):
        raise ValueError(f"must be sqs://NAME or sqs://HOST/ACCOUNT/NAME, not {raw!r}")
    return raw.strip().rstrip("/")


class NotificationOptions(Spec):
    """A queue that tells of new files, as the user says."""

    url: str | None = option(
        "notifications",
        "A queue of Amazon SQS with S3's events about the objects that are read: `sqs://NAME`, or its URL "
        "with `sqs://` for `https://`. New files are then found by events, and everything is listed at the "
        "beginning and once in `listingInterval`. See [Notifications](#notifications).",
        default=None,
        parse=_queue_url,
        only=_STREAM,
    )
    client_options: Mapping[str, Any] = option(
        "notificationsOptions",
        'Settings of botocore\'s client for that queue: `{"region_name":"eu-west-1"}`.',
        default={},
        parse=json_object,
        only=_STREAM,
        shown_default="keys and region of `storageOptions`",
    )
    listing_interval_ms: int = option(
        "listingInterval",
        "With `notifications`: how much time passes between the beginnings of two listings, which find what "
        "events did not tell.",
        default=3_600_000,
        parse=duration_ms,
        only=_STREAM,
        shown_default="`1h`",
    )


NOTIFICATION_OPTIONS: Final = NotificationOptions.options()
"""In the order in which the docs list them."""


def queue_settings(
    options: ParsedOptions, paths: Sequence[SelectedPath], storage: dict[str, Any]
) -> QueueSettings | None:
    """Return where notifications come from; None if files are found by listing alone.

    Args:
        options: of a table with `NOTIFICATION_OPTIONS`.
        paths: that are read.
        storage: for the file system, whose keys are the queue's too.

    Raises:
        OptionError: a path is not in S3.
    """
    given = options.of(NotificationOptions)
    if given.url is None:
        return None
    others = [path.url for path in paths if store_of(path.url) != "s3"]
    if others:
        raise given.refusal(
            "url", f"tells of objects in S3, and {', '.join(others)} is not there: remove one of the two"
        )
    client = storage.get("client_kwargs", {})
    shared = {
        "aws_access_key_id": storage.get("key"),
        "aws_secret_access_key": storage.get("secret"),
        "aws_session_token": storage.get("token"),
        "profile": storage.get("profile"),
        "region_name": client.get("region_name"),
    }
    of_storage = {name: value for name, value in shared.items() if value is not None}
    return QueueSettings(
        url=given.url,
        client_options={**of_storage, **given.client_options},
        listing_interval_ms=given.listing_interval_ms,
    )
