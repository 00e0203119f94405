"""A subscription of Google Cloud Pub/Sub with the notifications of a bucket of GCS."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

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
"""So long the service may take to answer that it has nothing."""

_MOST_MESSAGES: Final = 32
"""Few enough to look at all objects before the shortest acknowledgement deadline has passed."""

_LIBRARIES = ("google", "grpc")
_NOBODY: Final = "anon"
_OF_MACHINE = (None, "google_default", "cloud", "cache", "browser")
_SCOPE: Final = "https://www.googleapis.com/auth/pubsub"
_REFUSED = ("Unauthenticated", "Unauthorized", "DefaultCredentialsError", "RefreshError", "MalformedError")


class PubsubQueue(EventQueue):
    """Pub/Sub: ``pubsub://PROJECT/SUBSCRIPTION``.

    Options are those of ``SubscriberClient``'s ``client_options``, such as ``api_endpoint``, and gcsfs's
    ``token``. The environment variable ``PUBSUB_EMULATOR_HOST`` names an emulator, as to Google's library.
    """

    # The service may answer at once that it has nothing.
    pause_s: ClassVar[float] = 1

    def __init__(self, settings: QueueSettings) -> None:
        super().__init__(settings)
        project, _, name = settings.url.removeprefix("pubsub://").partition("/")
        self._subscription = f"projects/{project}/subscriptions/{name}"
        self._client: Any = None

    def receive(self) -> list[QueueMessage]:
        with self._errors(*_LIBRARIES):
            client = self._opened()
            try:
                # Tried once: the thread that asks does so again, and says so.
                answer = client.pull(
                    subscription=self._subscription,
                    max_messages=_MOST_MESSAGES,
                    timeout=_WAIT_S,
                    retry=None,
                )
            except Exception as error:
                if type(error).__name__ != "DeadlineExceeded":
                    raise
                return []
        return [
            QueueMessage(json.dumps(dict(each.message.attributes)), (each.ack_id,))
            for each in answer.received_messages
        ]

    def delete(self, messages: Sequence[QueueMessage]) -> None:
        if not messages:
            return
        receipts = [each.receipt[0] for each in messages]
        with self._errors(*_LIBRARIES):
            self._opened().acknowledge(subscription=self._subscription, ack_ids=receipts)

    @staticmethod
    def arrived_objects(body: str) -> list[ObjectPlace]:
        try:
            attributes = json.loads(body)
            kind = attributes["eventType"]
            place = (str(attributes["bucketId"]), str(attributes["objectId"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"no event about objects of GCS: {error!r}") from error
        return [place] if kind == "OBJECT_FINALIZE" else []

    @staticmethod
    def shared_options(storage: Mapping[str, Any]) -> dict[str, Any]:
        return {"token": storage["token"]} if "token" in storage else {}

    def _opened(self) -> Any:
        if self._client is None:
            with importing(f"option {OPTION!r}", extra="gcs"):
                from google.cloud.pubsub_v1 import SubscriberClient
            options = dict(self._settings.client_options)
            credentials = _credentials(options.pop("token", None))
            self._client = SubscriberClient(credentials=credentials, client_options=options)
        return self._client

    def _known(self, error: Exception, message: str) -> HeadwaterError | None:
        kind = type(error).__name__
        if kind == "NotFound":
            return OptionError(f"there is no such subscription: {message}", option=OPTION)
        if kind in _REFUSED:
            return AuthenticationError(f"option {OPTION!r}: {message}", source="files")
        if kind in ("PermissionDenied", "Forbidden"):
            return AuthorizationError(
                f"option {OPTION!r} needs the permission pubsub.subscriptions.consume: {message}",
                source="files",
            )
        return None


def _credentials(token: Any) -> Any:
    """Return what gcsfs's ``token`` names; None for the credentials of this machine.

    Args:
        token: the content of a file of credentials, the name of such a file, ``anon``, or a word for the
            machine's own.
    """
    from google import auth
    from google.auth.credentials import AnonymousCredentials

    untyped: Any = auth  # google-auth types few of its functions
    if token in _OF_MACHINE:
        return None
    if token == _NOBODY:
        return AnonymousCredentials()  # type: ignore[no-untyped-call] # the same
    if isinstance(token, Mapping):
        return untyped.load_credentials_from_dict(token, scopes=[_SCOPE])[0]
    return untyped.load_credentials_from_file(token, scopes=[_SCOPE])[0]
