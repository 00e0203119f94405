"""An S3 server in this process, which can throttle, and ignore or refuse preconditions."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Self

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

__all__ = ["S3Server"]

BUCKETS = ("listing", "paged", "spark", "state")


class S3Server:
    """moto's server with some empty buckets. A context manager."""

    def __init__(self) -> None:
        self._backend = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._writing = threading.Lock()
        self._to_throttle = 0
        self.throttled = 0
        self._refusals: deque[tuple[int, str]] = deque()
        self.ignores_preconditions = False

    @property
    def storage_options(self) -> dict[str, Any]:
        """What fsspec needs to reach it."""
        return {
            "endpoint_url": f"http://127.0.0.1:{self._server.server_port}",
            "key": "any",
            "secret": "any",
            "client_kwargs": {"region_name": "eu-west-1"},
        }

    def throttle(self, requests: int) -> None:
        """Refuse so many of the next listings with 503 SlowDown."""
        self._to_throttle = requests
        self.throttled = 0

    def refuse(self, *answers: tuple[int, str]) -> None:
        """Answer the next writes with a precondition each with a status and an error code."""
        self._refusals = deque(answers)

    def __enter__(self) -> Self:
        import s3fs

        self._thread.start()
        fs = s3fs.S3FileSystem(**self.storage_options)
        for bucket in BUCKETS:
            fs.makedirs(bucket, exist_ok=True)  # moto keeps its buckets for the life of the process
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, request: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if self._to_throttle and "list-type=2" in request["QUERY_STRING"]:
            self._to_throttle -= 1
            self.throttled += 1
            return _error(503, "SlowDown", start_response)
        if request["REQUEST_METHOD"] != "PUT":
            return self._ask(request, start_response)
        if self.ignores_preconditions:
            request.pop("HTTP_IF_NONE_MATCH", None)
        if self._refusals and "HTTP_IF_NONE_MATCH" in request:
            request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
            return _error(*self._refusals.popleft(), start_response)
        # S3 tests a precondition and writes in one step, moto in two.
        with self._writing:
            return self._ask(request, start_response)

    def _ask(self, request: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        answer: Iterable[bytes] = self._backend(request, start_response)
        return answer


def _error(status: int, code: str, start_response: Callable[..., Any]) -> Iterable[bytes]:
    text = f"<Error><Code>{code}</Code><Message>Said by the test.</Message></Error>"
    body = f'<?xml version="1.0" encoding="UTF-8"?>{text}'.encode()
    headers = [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))]
    start_response(f"{status} {code}", headers)
    return [body]
