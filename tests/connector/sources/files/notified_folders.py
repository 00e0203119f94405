"""The clouds that tell of new files, each by an emulator: a folder, and a queue of its own."""

from __future__ import annotations

import itertools
import json
from abc import ABC, abstractmethod
from base64 import b64encode
from typing import Any

from azure.storage.queue import QueueClient
from botocore.session import Session
from google.cloud.pubsub_v1 import PublisherClient, SubscriberClient

from headwater.enumerators.files.filesystem import open_file_system
from local_azurite import LocalAzurite
from local_pubsub import LocalPubsub
from tests.connector.sources.files.files_queries import VALUE, Query
from tests.enumerators.files.test_object_events import azure_event, gcs_event, s3_event
from tests.gcs_server import GcsServer
from tests.s3_server import S3Server

BUCKET = "spark"
numbers = itertools.count()


class Queues(ABC):
    """A queue, and a folder of the store that it tells of."""

    protocol: str
    queue_options: dict[str, Any]

    def __init__(self, storage: dict[str, Any]) -> None:
        self.storage = storage
        self.folder = f"queue-{next(numbers):04}"
        self.name = self.folder
        self.fs, _ = open_file_system(f"{self.protocol}://{BUCKET}", storage)

    def put(self, name: str) -> str:
        """Write an object; nobody is told."""
        key = f"{self.folder}/in/{name}"
        self.fs.pipe(f"{BUCKET}/{key}", f"{name}\n".encode())
        return key

    @property
    @abstractmethod
    def notifications(self) -> str:
        """The option."""

    @abstractmethod
    def tell_of(self, *keys: str) -> None:
        """Send the events of these objects."""

    @abstractmethod
    def tell(self, message: Any) -> None:
        """Send a message."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether each message has been deleted."""

    def query(self, **options: Any) -> Query:
        return Query(
            VALUE,
            format="text",
            path=f"{self.protocol}://{BUCKET}/{self.folder}/in",
            storageOptions=json.dumps(self.storage),
            notifications=self.notifications,
            notificationsOptions=json.dumps(self.queue_options),
            **options,
        )


class S3Queues(Queues):
    """SQS on the server of a test, and a folder in its S3."""

    protocol = "s3"

    def __init__(self, server: S3Server) -> None:
        super().__init__(server.storage_options)
        self.queue_options = {"endpoint_url": self.storage["endpoint_url"]}
        options = {
            "region_name": "eu-west-1",
            "endpoint_url": self.storage["endpoint_url"],
            "aws_access_key_id": "any",
            "aws_secret_access_key": "any",
        }
        self.client: Any = Session().create_client("sqs", **options)
        self.url = self.client.create_queue(
            QueueName=self.name, Attributes={"VisibilityTimeout": "1", "ReceiveMessageWaitTimeSeconds": "0"}
        )["QueueUrl"]

    @property
    def notifications(self) -> str:
        return f"sqs://{self.name}"

    def tell_of(self, *keys: str) -> None:
        self.tell(s3_event(*(key.replace(" ", "+") for key in keys)))

    def tell(self, message: Any) -> None:
        body = message if isinstance(message, str) else json.dumps(message)
        self.client.send_message(QueueUrl=self.url, MessageBody=body)

    def is_empty(self) -> bool:
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]
        return all(value == "0" for value in found.values())


class GcsQueues(Queues):
    """Pub/Sub, and a folder in GCS. ``PUBSUB_EMULATOR_HOST`` must be set."""

    protocol = "gs"

    def __init__(self, servers: tuple[GcsServer, LocalPubsub]) -> None:
        super().__init__(servers[0].storage_options)
        self.queue_options = {}
        self.server = servers[1]
        self.topic = f"projects/test/topics/{self.name}"
        self.publisher = PublisherClient()
        self.publisher.create_topic(name=self.topic)
        with SubscriberClient() as subscriber:
            subscriber.create_subscription(
                name=f"projects/test/subscriptions/{self.name}", topic=self.topic, ack_deadline_seconds=10
            )

    @property
    def notifications(self) -> str:
        return f"pubsub://test/{self.name}"

    def tell_of(self, *keys: str) -> None:
        for key in keys:
            self.tell(gcs_event(key))

    def tell(self, message: Any) -> None:
        data = message.encode() if isinstance(message, str) else b""
        attributes = {} if isinstance(message, str) else message
        self.publisher.publish(self.topic, data, **attributes).result()

    def is_empty(self) -> bool:
        return self.server.unacknowledged(self.topic) == 0


class AdlsQueues(Queues):
    """Queue Storage, and a folder in a container of blobs."""

    protocol = "abfs"

    def __init__(self, server: LocalAzurite) -> None:
        super().__init__({"connection_string": server.connection_string})
        self.queue_options = {}
        if not self.fs.exists(BUCKET):
            self.fs.mkdir(BUCKET)
        self.client = QueueClient.from_connection_string(server.connection_string, self.name)
        self.client.create_queue()

    @property
    def notifications(self) -> str:
        return f"azure-queue://{self.name}"

    def tell_of(self, *keys: str) -> None:
        for key in keys:
            self.tell(azure_event(key.replace(" ", "%20")))

    def tell(self, message: Any) -> None:
        # As Event Grid writes it.
        text = message if isinstance(message, str) else b64encode(json.dumps(message).encode()).decode()
        self.client.send_message(text)

    def is_empty(self) -> bool:
        return self.client.get_queue_properties().approximate_message_count == 0
