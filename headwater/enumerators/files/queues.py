"""The services that queues of notifications may be of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headwater.enumerators.files.azure_queue import AzureQueue
from headwater.enumerators.files.event_queue import EventQueue, QueueSettings
from headwater.enumerators.files.pubsub_queue import PubsubQueue
from headwater.enumerators.files.sqs_queue import SqsQueue


@dataclass(frozen=True, kw_only=True)
class QueueService:
    """A service.

    Attributes:
        queue: asks a queue of it.
        form: of its URLs, behind the protocol: a regular expression.
        forms: the same for people.
        stores: of whose objects it tells, by the protocol of a path.
        store: their name.
    """

    queue: type[EventQueue]
    form: str
    forms: str
    stores: frozenset[str]
    store: str


QUEUE_SERVICES: Final[Mapping[str, QueueService]] = {
    "sqs": QueueService(
        queue=SqsQueue,
        form=r"([\w.:-]+/\w+/)?[\w.-]+",
        forms="sqs://NAME or sqs://HOST/ACCOUNT/NAME",
        stores=frozenset({"s3"}),
        store="S3",
    ),
    "pubsub": QueueService(
        queue=PubsubQueue,
        form=r"[\w.:-]+/[\w.~+%-]+",
        forms="pubsub://PROJECT/SUBSCRIPTION",
        stores=frozenset({"gs"}),
        store="GCS",
    ),
    "azure-queue": QueueService(
        queue=AzureQueue,
        form=r"([\w.:-]+/)?[a-z0-9-]+",
        forms="azure-queue://NAME or azure-queue://HOST/NAME",
        stores=frozenset({"abfs", "az"}),
        store="ADLS",
    ),
}
"""By the protocol of the option."""


def service_of(url: str) -> QueueService:
    """Return the service of a queue.

    Raises:
        KeyError: the URL has another protocol.
    """
    return QUEUE_SERVICES[url.partition("://")[0]]


def queue_of(settings: QueueSettings) -> EventQueue:
    """Return the queue of these settings; opens nothing."""
    return service_of(settings.url).queue(settings)
