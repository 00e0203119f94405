"""AWS Glue's schema registry in this process, by moto, which can refuse; and values in its wire format."""

from __future__ import annotations

import io
import json
import threading
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, Self

import boto3
from aws_schema_registry import SchemaRegistryClient
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

__all__ = ["GlueServer"]


class GlueServer:
    """moto's server with a registry of its own. A context manager.

    Attributes:
        registry: the name of the registry.
        asked: how often each question about a version was asked.
        refusals: a status and a code for each of the next questions about versions.
    """

    def __init__(self) -> None:
        self._backend = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.registry = f"registry-{uuid.uuid4()}"
        self.asked: Counter[str] = Counter()
        self.refusals: deque[tuple[int, str]] = deque()

    @property
    def options(self) -> dict[str, str]:
        """What reaches it."""
        return {
            "glue.region": "eu-west-1",
            "glue.endpointUrl": f"http://127.0.0.1:{self._server.server_port}",
            "glue.accessKeyId": "AKIAANYONE",
            "glue.secretAccessKey": "hush-hush",
            "glue.registryName": self.registry,
        }

    @property
    def client(self) -> SchemaRegistryClient:
        """The client of the original library."""
        return SchemaRegistryClient(self._boto3(), registry_name=self.registry)

    def __enter__(self) -> Self:
        self._thread.start()
        self._boto3().create_registry(RegistryName=self.registry)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _boto3(self) -> Any:
        return boto3.client(
            "glue",
            region_name="eu-west-1",
            endpoint_url=self.options["glue.endpointUrl"],
            aws_access_key_id="AKIAANYONE",
            aws_secret_access_key="hush-hush",
        )

    def _answer(self, request: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if request.get("HTTP_X_AMZ_TARGET") == "AWSGlue.GetSchemaVersion":
            body = request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
            self.asked[json.loads(body).get("SchemaVersionId", "by version")] += 1
            if self.refusals:
                return _error(*self.refusals.popleft(), start_response)
            request["wsgi.input"] = io.BytesIO(body)
        answer: Iterable[bytes] = self._backend(request, start_response)
        return answer


def _error(status: int, code: str, start_response: Callable[..., Any]) -> Iterable[bytes]:
    body = json.dumps({"__type": code, "message": "Said by the test, which saw hush-hush."}).encode()
    headers = [("Content-Type", "application/x-amz-json-1.1"), ("Content-Length", str(len(body)))]
    start_response(f"{status} {code}", headers)
    return [body]
