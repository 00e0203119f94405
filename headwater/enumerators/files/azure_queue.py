"""A queue of Azure Queue Storage with Event Grid's events about blobs and files of ADLS."""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final
from urllib.parse import unquote, urlsplit

from headwater.core.errors import AuthenticationError, AuthorizationError, HeadwaterError, OptionError
from headwater.core.imports import importing
from headwater.enumerators.files.event_queue import (
    OPTION,
    EventQueue,
    ObjectPlace,
    QueueMessage,
    QueueSettings,
)

_MOST_MESSAGES: Final = 32
"""The service gives no more at once."""

_HIDDEN_S: Final = 60
"""So long nobody else gets a message: within it its objects are looked at."""

_UNFINISHED = ("CreateFile", "SftpCreate")
"""What writes a file that is empty yet: another event follows with its bytes."""

_SERVICE = ("tenant_id", "client_id", "client_secret")
_SHARED = ("connection_string", "account_name", "account_key", "sas_token", *_SERVICE)
_GONE = ("MessageNotFound", "PopReceiptMismatch")


class AzureQueue(EventQueue):
    """Queue Storage: ``azure-queue://NAME``, or ``azure-queue://HOST/NAME``, the queue's own URL.

    Options are adlfs's: ``connection_string``, or ``account_name`` and ``account_key``, ``sas_token``, or
    ``tenant_id``, ``client_id`` and ``client_secret``; without any the machine's own.
    """

    # The service does not wait for messages.
    pause_s: ClassVar[float] = 2

    def __init__(self, settings: QueueSettings) -> None:
        super().__init__(settings)
        self._client: Any = None

    def receive(self) -> list[QueueMessage]:
        with self._errors("azure"):
            pages = self._opened().receive_messages(
                max_messages=_MOST_MESSAGES,
                messages_per_page=_MOST_MESSAGES,
                visibility_timeout=_HIDDEN_S,
            )
            return [QueueMessage(each.content, (each.id, each.pop_receipt)) for each in pages]

    def delete(self, messages: Sequence[QueueMessage]) -> None:
        with self._errors("azure"):
            for message in messages:
                try:
                    self._opened().delete_message(*message.receipt)
                except Exception as error:
                    # It took too long: somebody else has the message, or it comes again.
                    if getattr(error, "error_code", None) not in _GONE:
                        raise

    @staticmethod
    def arrived_objects(body: str) -> list[ObjectPlace]:
        try:
            event = json.loads(_text(body))
            kind = event.get("eventType") or event["type"]
            about = event["data"]
            if kind == "Microsoft.Storage.BlobRenamed":
                return _place(urlsplit(about["destinationUrl"]).path)
            if kind == "Microsoft.Storage.BlobCreated":
                return [] if about["api"] in _UNFINISHED else _place(urlsplit(about["url"]).path)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no event about objects of Azure: {error!r}") from error
        if not str(kind).startswith("Microsoft."):
            raise ValueError(f"no event about objects of Azure: {kind!r}")
        return []

    @staticmethod
    def shared_options(storage: Mapping[str, Any]) -> dict[str, Any]:
        return {name: storage[name] for name in _SHARED if name in storage}

    def _opened(self) -> Any:
        if self._client is None:
            with importing(f"option {OPTION!r}", extra="adls"):
                from azure.storage.queue import QueueClient
            host, _, name = self._settings.url.removeprefix("azure-queue://").rpartition("/")
            options = self._settings.client_options
            unknown = [name for name in options if name not in _SHARED]
            if unknown:
                raise OptionError(
                    f"{self._settings.url}: there is no {', '.join(unknown)}: it takes {', '.join(_SHARED)}",
                    option="notificationsOptions",
                )
            times: dict[str, Any] = {"connection_timeout": 10, "read_timeout": 30}
            text = options.get("connection_string")
            try:
                if text and not host:
                    self._client = QueueClient.from_connection_string(text, name, **times)
                else:
                    account = f"https://{host or _host(options)}"
                    self._client = QueueClient(account, name, credential=_credential(options), **times)
            except ValueError as error:
                raise OptionError(f"{self._settings.url}: {error}", option="notificationsOptions") from error
        return self._client

    def _known(self, error: Exception, message: str) -> HeadwaterError | None:
        kind = type(error).__name__
        code = str(getattr(error, "error_code", ""))
        status = getattr(error, "status_code", None)
        if code == "QueueNotFound":
            return OptionError(f"there is no such queue: {message}", option=OPTION)
        if kind in ("ClientAuthenticationError", "CredentialUnavailableError") or status == 401:
            return AuthenticationError(f"option {OPTION!r}: {message}", source="files")
        if status == 403:
            return AuthorizationError(
                f"option {OPTION!r} needs the role Storage Queue Data Message Processor: {message}",
                source="files",
            )
        return None


def _host(options: Mapping[str, Any]) -> str:
    """Return where the queues of the storage account are.

    Raises:
        OptionError: no account is named.
    """
    account = options.get("account_name")
    if not account:
        raise OptionError(
            'needs a storage account: give storageOptions {"account_name": ...}, or the queue\'s URL, '
            "azure-queue://ACCOUNT.queue.core.windows.net/NAME",
            option=OPTION,
        )
    return f"{account}.queue.core.windows.net"


def _credential(options: Mapping[str, Any]) -> Any:
    """Return what adlfs's options name; the credentials of this machine if they name none."""
    key = options.get("account_key") or options.get("sas_token")
    if key:
        return key
    with importing(f"option {OPTION!r}", extra="adls"):
        from azure.identity import ClientSecretCredential, DefaultAzureCredential
    if all(options.get(name) for name in _SERVICE):
        return ClientSecretCredential(*(options[name] for name in _SERVICE))
    return DefaultAzureCredential()


def _text(body: str) -> str:
    """Return the text of a message, which Event Grid writes as base64, and others as it is."""
    if body.lstrip().startswith("{"):
        return body
    try:
        return b64decode(body, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return body


def _place(path: str) -> list[ObjectPlace]:
    """Return the name in the path of a URL.

    Nothing says which of an event's URLs are encoded: a key with a percent sign is looked at both ways. The
    one that is not there has no effect.
    """
    places: dict[ObjectPlace, None] = {}
    for spelling in (unquote(path), path):
        container, _, key = spelling.lstrip("/").partition("/")
        if not key:
            raise ValueError(f"no blob: {path}")
        places[container, key] = None
    return list(places)
