"""A queue of Amazon SQS with events of S3, in all the formats that notifications have."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote_plus

from headwater.core.errors import AuthenticationError, AuthorizationError, HeadwaterError, OptionError
from headwater.core.imports import importing
from headwater.enumerators.files.event_queue import (
    OPTION,
    EventQueue,
    ObjectPlace,
    QueueMessage,
    QueueSettings,
)

_WAIT_S: Final = 10
"""So long the queue may take to answer that it has nothing."""

_MOST_MESSAGES: Final = 10
_REGION = re.compile(r"^sqs\.([a-z0-9-]+)\.amazonaws\.com")
_UNKNOWN = ("NonExistentQueue", "QueueDoesNotExist")
_CREDENTIALS = ("NoCredentials", "PartialCredentials", "InvalidClientTokenId", "SignatureDoesNotMatch")
_LIBRARIES = ("botocore", "urllib3")


class SqsQueue(EventQueue):
    """SQS: ``sqs://NAME``, or ``sqs://HOST/ACCOUNT/NAME``, the queue's own URL. Options are botocore's."""

    def __init__(self, settings: QueueSettings) -> None:
        super().__init__(settings)
        self._client: Any = None
        self._queue_url = ""

    def receive(self) -> list[QueueMessage]:
        with self._errors(*_LIBRARIES):
            client = self._opened()
            answer = client.receive_message(
                QueueUrl=self._queue_url, MaxNumberOfMessages=_MOST_MESSAGES, WaitTimeSeconds=_WAIT_S
            )
        return [QueueMessage(each["Body"], (each["ReceiptHandle"],)) for each in answer.get("Messages", ())]

    def delete(self, messages: Sequence[QueueMessage]) -> None:
        if not messages:
            return
        entries = [{"Id": str(at), "ReceiptHandle": each.receipt[0]} for at, each in enumerate(messages)]
        with self._errors(*_LIBRARIES):
            self._opened().delete_message_batch(QueueUrl=self._queue_url, Entries=entries)

    @staticmethod
    def arrived_objects(body: str) -> list[ObjectPlace]:
        return arrived_objects(body)

    @staticmethod
    def shared_options(storage: Mapping[str, Any]) -> dict[str, Any]:
        client = storage.get("client_kwargs", {})
        shared = {
            "aws_access_key_id": storage.get("key"),
            "aws_secret_access_key": storage.get("secret"),
            "aws_session_token": storage.get("token"),
            "profile": storage.get("profile"),
            "region_name": client.get("region_name"),
        }
        return {name: value for name, value in shared.items() if value is not None}

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

    def _known(self, error: Exception, message: str) -> HeadwaterError | None:
        code = f"{type(error).__name__} {_code(error)}"
        if any(word in code for word in _UNKNOWN):
            return OptionError(f"there is no such queue: {message}", option=OPTION)
        if "NoRegion" in code:
            return OptionError(
                f'needs a region: {message}; give notificationsOptions {{"region_name": ...}}', option=OPTION
            )
        if any(word in code for word in _CREDENTIALS):
            return AuthenticationError(f"option {OPTION!r}: {message}", source="files")
        if "AccessDenied" in code:
            return AuthorizationError(
                f"option {OPTION!r} needs the permissions sqs:GetQueueUrl, sqs:ReceiveMessage and "
                f"sqs:DeleteMessage: {message}",
                source="files",
            )
        return None


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
