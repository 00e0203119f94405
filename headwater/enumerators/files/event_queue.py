"""A queue of Amazon SQS with events about objects, in all the formats that notifications have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote_plus

from headwater.core.errors import AuthenticationError, AuthorizationError, OptionError, TransientSourceError
from headwater.core.imports import importing

OPTION: Final = "notifications"
_WAIT_S: Final = 10
"""So long the queue may take to answer that it has nothing."""

_MOST_MESSAGES: Final = 10
_REGION = re.compile(r"^sqs\.([a-z0-9-]+)\.amazonaws\.com")
_UNKNOWN = ("NonExistentQueue", "QueueDoesNotExist")
_CREDENTIALS = ("NoCredentials", "PartialCredentials", "InvalidClientTokenId", "SignatureDoesNotMatch")


@dataclass(frozen=True, kw_only=True)
class QueueSettings:
    """Which queue.

    Attributes:
        url: ``sqs://NAME``, or ``sqs://HOST/ACCOUNT/NAME``, the queue's own URL.
        client_options: for botocore's client: ``region_name``, ``endpoint_url``, keys. May hold secrets.
        listing_interval_ms: everything is listed again when so much time has passed.
    """

    url: str
    client_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    listing_interval_ms: int


@dataclass(frozen=True)
class QueueMessage:
    """A message.

    Attributes:
        body: its text.
        receipt: with which it is deleted.
    """

    body: str
    receipt: str


class EventQueue:
    """Asks one queue. Opens nothing before the first call; used by one thread.

    Args:
        settings: which.
    """

    def __init__(self, settings: QueueSettings) -> None:
        self._settings = settings
        self._client: Any = None
        self._queue_url = ""

    def receive(self) -> list[QueueMessage]:
        """Return some messages; none after ten seconds without any. Blocks.

        Raises:
            OptionError: there is no such queue.
            AuthorizationError: it may not be read.
            AuthenticationError: credentials are wrong or missing.
            TransientSourceError: it is away, or throttles.
        """
        with self._errors():
            client = self._opened()
            answer = client.receive_message(
                QueueUrl=self._queue_url, MaxNumberOfMessages=_MOST_MESSAGES, WaitTimeSeconds=_WAIT_S
            )
        return [QueueMessage(each["Body"], each["ReceiptHandle"]) for each in answer.get("Messages", ())]

    def delete(self, messages: Sequence[QueueMessage]) -> None:
        """Delete messages that `receive` returned. Those that stay all the same come again.

        Raises:
            SourceError, OptionError: as by `receive`.
        """
        if not messages:
            return
        entries = [{"Id": str(at), "ReceiptHandle": each.receipt} for at, each in enumerate(messages)]
        with self._errors():
            self._opened().delete_message_batch(QueueUrl=self._queue_url, Entries=entries)

    def _opened(self) -> Any:
        if self._client is None:
            with importing(f"option {OPTION!r}", extra="s3"):
                from botocore.config import Config
                from botocore.session import Session
            host, _, path = self._settings.url.removeprefix("sqs://").rpartition("/")
            options = dict(self._settings.client_options)
            region = _REGION.match(host)
            if region:
                options.setdefault("region_name", region.group(1))
            session = Session(profile=options.pop("profile", None))
            config = Config(connect_timeout=10, read_timeout=_WAIT_S + 20, retries={"mode": "standard"})
            client = session.create_client("sqs", config=config, **options)
            # The name, or the whole URL with another protocol.
            url = client.get_queue_url(QueueName=path)["QueueUrl"] if not host else f"https://{host}/{path}"
            self._queue_url = url
            self._client = client
        return self._client

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn botocore's errors into those of headwater."""
        try:
            yield
        except Exception as error:
            if not type(error).__module__.startswith(("botocore", "urllib3")):
                raise
            message = f"{self._settings.url}: {error}"
            code = f"{type(error).__name__} {_code(error)}"
            if any(word in code for word in _UNKNOWN):
                raise OptionError(f"there is no such queue: {message}", option=OPTION) from error
            if "NoRegion" in code:
                raise OptionError(
                    f'needs a region: {message}; give notificationsOptions {{"region_name": ...}}',
                    option=OPTION,
                ) from error
            if any(word in code for word in _CREDENTIALS):
                raise AuthenticationError(f"option {OPTION!r}: {message}", source="files") from error
            if "AccessDenied" in code:
                raise AuthorizationError(
                    f"option {OPTION!r} needs the permissions sqs:GetQueueUrl, sqs:ReceiveMessage and "
                    f"sqs:DeleteMessage: {message}",
                    source="files",
                ) from error
            raise TransientSourceError(f"option {OPTION!r}: {message}", source="files") from error


def _code(error: Exception) -> str:
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


_TEST_EVENT = "s3:TestEvent"
"""The message of S3 when a bucket is told where to send events."""


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
