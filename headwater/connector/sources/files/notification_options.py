"""The options on finding files by notifications."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headwater.connector.options import ParsedOptions
from headwater.core.options import Spec, duration_ms, json_object, option
from headwater.core.source import Boundedness
from headwater.enumerators.files.event_queue import QueueSettings
from headwater.enumerators.files.queues import QUEUE_SERVICES, service_of
from headwater.enumerators.files.selection import SelectedPath, store_of

_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED


def _queue_url(raw: str) -> str:
    """A queue of one of the services."""
    url = raw.strip()
    if not any(re.fullmatch(f"{name}://{each.form}", url) for name, each in QUEUE_SERVICES.items()):
        forms = [each.forms for each in QUEUE_SERVICES.values()]
        raise ValueError(f"must be {', '.join(forms)}, not {raw!r}")
    return url


class NotificationOptions(Spec):
    """A queue that tells of new files, as the user says."""

    url: str | None = option(
        "notifications",
        "A queue with events about the objects that are read. For S3 a queue of Amazon SQS, `sqs://NAME`; "
        "for GCS a subscription of Pub/Sub, `pubsub://PROJECT/SUBSCRIPTION`; for ADLS a queue of Azure Queue "
        "Storage, `azure-queue://NAME`. For a name of SQS or Azure also the queue's URL, with that protocol "
        "for `https://`. New files are then found by events, and everything is listed at the beginning and "
        "once in `listingInterval`. See [Notifications](#notifications).",
        default=None,
        parse=_queue_url,
        only=_STREAM,
    )
    client_options: Mapping[str, Any] = option(
        "notificationsOptions",
        "Settings for the client of that queue. Of SQS what botocore's client takes, such as "
        '`{"region_name":"eu-west-1"}`; of Pub/Sub `token`, as gcsfs has it, and what `client_options` take; '
        "of Azure what adlfs takes, such as `connection_string`.",
        default={},
        parse=json_object,
        only=_STREAM,
        shown_default="account, keys and region of `storageOptions`",
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
        OptionError: a path is in another store than those of whose objects the queue tells.
    """
    notifications = options.of(NotificationOptions)
    if notifications.url is None:
        return None
    service = service_of(notifications.url)
    others = [path.url for path in paths if store_of(path.url) not in service.stores]
    if others:
        raise notifications.refusal(
            "url",
            f"tells of objects in {service.store}, and {', '.join(others)} is not there: remove one of the "
            "two",
        )
    return QueueSettings(
        url=notifications.url,
        client_options={**service.queue.shared_options(storage), **notifications.client_options},
        listing_interval_ms=notifications.listing_interval_ms,
    )
