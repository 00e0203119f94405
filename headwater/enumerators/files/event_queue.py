"""A queue with events about objects: the part that is the same in all clouds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeAlias

from headwater.core.errors import HeadwaterError, TransientSourceError

OPTION: Final = "notifications"

ObjectPlace: TypeAlias = tuple[str, str]
"""Where an object is: its bucket or container, and its key."""


@dataclass(frozen=True, kw_only=True)
class QueueSettings:
    """Which queue.

    Attributes:
        url: as the user wrote it; its protocol says which service it is.
        client_options: for the service's client: region, endpoint, keys. May hold secrets.
        listing_interval_ms: everything is listed again when so much time has passed.
    """

    url: str
    client_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    listing_interval_ms: int


@dataclass(frozen=True)
class QueueMessage:
    """A message.

    Attributes:
        body: its text, in which the event is; of Pub/Sub its attributes as JSON.
        receipt: with which it is deleted.
    """

    body: str
    receipt: tuple[str, ...]


class EventQueue(ABC):
    """Asks one queue. Opens nothing before the first call; used by one thread.

    Args:
        settings: which.
    """

    pause_s: ClassVar[float] = 0
    """How long to leave the queue alone after it had nothing, where its service does not wait itself."""

    def __init__(self, settings: QueueSettings) -> None:
        self._settings = settings

    @abstractmethod
    def receive(self) -> list[QueueMessage]:
        """Return some messages; none after ten seconds without any. Blocks.

        Raises:
            OptionError: there is no such queue.
            AuthorizationError: it may not be read.
            AuthenticationError: credentials are wrong or missing.
            TransientSourceError: it is away, or throttles.
        """

    @abstractmethod
    def delete(self, messages: Sequence[QueueMessage]) -> None:
        """Delete messages that `receive` returned. Those that stay all the same come again.

        Raises:
            SourceError, OptionError: as by `receive`.
        """

    @staticmethod
    @abstractmethod
    def arrived_objects(body: str) -> list[ObjectPlace]:
        """Return each object that a message says was written; asks nothing.

        Events of another kind, such as deletions, tell of no object.

        Raises:
            ValueError: this is no message about objects.
        """

    @staticmethod
    @abstractmethod
    def shared_options(storage: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the options of the store's file system say for the queue's client too: keys, account.

        Called by the driver when it reads options; opens nothing.
        """

    @abstractmethod
    def _known(self, error: Exception, message: str) -> HeadwaterError | None:
        """Return the meaning of an error of the client's library, None if it may pass.

        Args:
            error: that was raised.
            message: the queue and the error's text.
        """

    @contextmanager
    def _errors(self, *libraries: str) -> Iterator[None]:
        """Turn the errors of these libraries into those of headwater."""
        try:
            yield
        except Exception as error:
            if not type(error).__module__.startswith(libraries):
                raise
            message = f"{self._settings.url}: {error}"
            special = self._known(error, message)
            raise special or TransientSourceError(f"option {OPTION!r}: {message}", source="files") from error
