"""Queues of Google and Azure through their own clients, on answers that their emulators gave once.

The emulators themselves are asked by `tests/connector/sources/files/test_files_notifications.py`, with
``--long``. What they never say, such as a refusal, is answered here as the services document it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import grpc
import pytest
from google.pubsub_v1.types import AcknowledgeRequest, PullRequest

from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    HeadwaterError,
    OptionError,
    TransientSourceError,
)
from headwater.enumerators.files.azure_queue import AzureQueue
from headwater.enumerators.files.event_queue import QueueSettings
from headwater.enumerators.files.pubsub_queue import PubsubQueue
from tests.enumerators.files.test_object_events import azure_event, gcs_event

PULLED = (
    b"\nv\n\x04m0:1\x12n\x12\x12\n\x08objectId\x12\x06in/a b\x12\x15\n\rpayloadFormat\x12\x04NONE"
    b"\x12\x11\n\x08bucketId\x12\x05spark\x12\x1c\n\teventType\x12\x0fOBJECT_FINALIZE\x1a\x02m0"
    b'"\x0c\x08\xfe\xd5\xa6\xd8\x06\x10\x97\xff\xee\xdd\x02'
    b'\n!\n\x04m1:1\x12\x19\n\x05hello\x1a\x02m1"\x0c\x08\xfe\xd5\xa6\xd8\x06\x10\x92\xa7\xb8\xe4\x02'
)
"""By pstest: the event of an object, and a message about something else."""

RECEIVED = b"""\
<?xml version="1.0" encoding="UTF-8" standalone="yes"?><QueueMessagesList><QueueMessage>\
<MessageId>1755a7c8-4cc9-4362-aa82-e519d8e6abc3</MessageId>\
<InsertionTime>Fri, 27 Nov 2026 16:08:34 GMT</InsertionTime>\
<ExpirationTime>Fri, 04 Dec 2026 16:08:34 GMT</ExpirationTime>\
<PopReceipt>MjdOb3YyMDI2MTY6MDg6MzQ3N2Rl</PopReceipt>\
<TimeNextVisible>Fri, 27 Nov 2026 16:09:04 GMT</TimeNextVisible><DequeueCount>1</DequeueCount>\
<MessageText>eyJ0b3BpYyI6ICJ4IiwgImV2ZW50VHlwZSI6ICJNaWNyb3NvZnQuU3RvcmFnZS5CbG9iQ3JlYXRlZCIsICJkYXRhIjogey\
JhcGkiOiAiUHV0QmxvYiIsICJ1cmwiOiAiaHR0cHM6Ly9hY2NvdW50LmJsb2IuY29yZS53aW5kb3dzLm5ldC9zcGFyay9pbi9hJTIwYiJ9LC\
AiZGF0YVZlcnNpb24iOiAiIn0=</MessageText></QueueMessage></QueueMessagesList>"""
"""By azurite: the event of a blob."""

NONE_LEFT = b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?><QueueMessagesList/>'

RECEIPT = ("1755a7c8-4cc9-4362-aa82-e519d8e6abc3", "MjdOb3YyMDI2MTY6MDg6MzQ3N2Rl")


class Pubsub(grpc.GenericRpcHandler):  # type: ignore[misc] # grpc ships no types
    """Answers each pull alike, and keeps what was asked."""

    def __init__(self) -> None:
        self.refusal: grpc.StatusCode | None = None
        self.asked: list[bytes] = []
        self.answers = {"Pull": PULLED, "Acknowledge": b""}

    def service(self, handler_call_details: Any) -> Any:
        answer = self.answers[handler_call_details.method.rpartition("/")[2]]
        return grpc.unary_unary_rpc_method_handler(lambda body, context: self._answer(body, context, answer))

    def _answer(self, body: bytes, context: Any, answer: bytes) -> bytes:
        self.asked.append(body)
        if self.refusal is not None:
            context.abort(self.refusal, "so it is")
        return answer


@pytest.fixture
def pubsub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pubsub]:
    service = Pubsub()
    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool, handlers=[service])
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}")
        server.start()
        yield service
        server.stop(None).wait()


class Azure(ThreadingHTTPServer):
    """Gives one message, and keeps what was asked."""

    def __init__(self) -> None:
        self.refusal: tuple[int, str] | None = None
        self.asked: list[str] = []
        self.answers = [RECEIVED, NONE_LEFT]
        super().__init__(("127.0.0.1", 0), AzureRequest)


class AzureRequest(BaseHTTPRequestHandler):
    server: Azure

    def do_GET(self) -> None:
        self._answer(200, lambda: self.server.answers.pop(0))

    def do_DELETE(self) -> None:
        self._answer(204, lambda: b"")

    def log_message(self, *_: object) -> None: ...  # pytest shows enough

    def _answer(self, status: int, body: Any) -> None:
        self.server.asked.append(self.path)
        refusal = self.server.refusal
        content = b"" if refusal is not None else body()
        self.send_response(status if refusal is None else refusal[0])
        if refusal is not None:
            self.send_header("x-ms-error-code", refusal[1])
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Type", "application/xml")
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def azure() -> Iterator[Azure]:
    with Azure() as server:
        thread = Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def pubsub_queue() -> PubsubQueue:
    return PubsubQueue(QueueSettings(url="pubsub://project/name", listing_interval_ms=1))


def azure_queue(server: Azure) -> AzureQueue:
    account = f"AccountName=a;AccountKey=a2V5;QueueEndpoint=http://127.0.0.1:{server.server_port}/a"
    options = {"connection_string": account}
    return AzureQueue(
        QueueSettings(url="azure-queue://queue-1", client_options=options, listing_interval_ms=1)
    )


def test_a_pulled_message_is_its_attributes_and_is_acknowledged_by_its_receipt(pubsub: Pubsub) -> None:
    queue = pubsub_queue()
    about, other = queue.receive()
    assert json.loads(about.body) == gcs_event("in/a b")
    assert queue.arrived_objects(about.body) == [("spark", "in/a b")]
    with pytest.raises(ValueError, match="no event about objects"):
        queue.arrived_objects(other.body)
    queue.delete([about])
    queue.delete([])
    pull, acknowledgement = pubsub.asked
    assert PullRequest.deserialize(pull).subscription == "projects/project/subscriptions/name"
    assert AcknowledgeRequest.deserialize(acknowledgement).ack_ids == ["m0:1"]


def test_a_message_of_azure_is_read_and_is_deleted_by_its_receipt(azure: Azure) -> None:
    queue = azure_queue(azure)
    (message,) = queue.receive()
    assert message.receipt == RECEIPT
    key = "in/a%20b"
    assert azure_event(key)["data"]["url"].endswith(key)
    assert queue.arrived_objects(message.body) == [("spark", "in/a b"), ("spark", key)]
    queue.delete([message])
    assert azure.asked[-1] == f"/a/queue-1/messages/{RECEIPT[0]}?popreceipt={RECEIPT[1]}"


@pytest.mark.parametrize("code", ["MessageNotFound", "PopReceiptMismatch"])
def test_a_message_that_another_process_of_azure_has_meanwhile_is_left_to_it(azure: Azure, code: str) -> None:
    queue = azure_queue(azure)
    messages = queue.receive()
    azure.refusal = (404, code)
    queue.delete(messages)
    azure.refusal = (404, "QueueNotFound")
    with pytest.raises(OptionError, match="'notifications': there is no such queue: azure-queue://queue-1"):
        queue.delete(messages)


@pytest.mark.parametrize(
    ("code", "meaning", "said"),
    [
        ("NOT_FOUND", OptionError, "there is no such subscription: pubsub://project/name"),
        ("UNAUTHENTICATED", AuthenticationError, "pubsub://project/name"),
        ("PERMISSION_DENIED", AuthorizationError, "needs the permission pubsub.subscriptions.consume"),
        ("UNAVAILABLE", TransientSourceError, "pubsub://project/name"),
        ("RESOURCE_EXHAUSTED", TransientSourceError, "pubsub://project/name"),
    ],
)
def test_refusals_of_pubsub_are_errors_of_headwater(
    pubsub: Pubsub, code: str, meaning: type[HeadwaterError], said: str
) -> None:
    pubsub.refusal = grpc.StatusCode[code]
    with pytest.raises(meaning, match=said):
        pubsub_queue().receive()


@pytest.mark.parametrize(
    ("refusal", "meaning", "said"),
    [
        ((404, "QueueNotFound"), OptionError, "there is no such queue: azure-queue://queue-1"),
        ((401, "InvalidAuthenticationInfo"), AuthenticationError, "azure-queue://queue-1"),
        ((403, "AuthenticationFailed"), AuthenticationError, "azure-queue://queue-1"),
        ((403, "AuthorizationPermissionMismatch"), AuthorizationError, "needs the role Storage Queue Data"),
        ((409, "QueueBeingDeleted"), TransientSourceError, "azure-queue://queue-1"),
    ],
)
def test_refusals_of_azure_are_errors_of_headwater(
    azure: Azure, refusal: tuple[int, str], meaning: type[HeadwaterError], said: str
) -> None:
    azure.refusal = refusal
    with pytest.raises(meaning, match=said):
        azure_queue(azure).receive()
