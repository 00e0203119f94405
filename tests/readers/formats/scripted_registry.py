"""A schema registry that answers as tests say: from a table of paths, kindly or not."""

from __future__ import annotations

import http.server
import json
import threading
from collections import Counter
from typing import Any


class ScriptedRegistry:
    """Answers on a port of this machine.

    Attributes:
        answers: a status and an answer by path.
        before: what comes before the answer, request by request: a status, or one of ``cut`` (the connection
            ends without an answer), ``half`` (in the middle of the answer) and ``html`` (no JSON).
        asked: how often, by path.
        authorization: the header of requests.
    """

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, Any]] = {}
        self.before: dict[str, list[int | str]] = {}
        self.asked: Counter[str] = Counter()
        self.authorization: set[str | None] = set()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # one piece: else the body waits for the head to be acknowledged, 40 ms

            def do_GET(self) -> None:
                outer.asked[self.path] += 1
                outer.authorization.add(self.headers["Authorization"])
                # What is not deleted is found with the question for deleted ones, too.
                plain = self.path.replace("&deleted=true", "").removesuffix("?deleted=true")
                missing = (404, {"error_code": 40403})
                status, answer = outer.answers.get(self.path) or outer.answers.get(plain, missing)
                before = outer.before.get(self.path)
                what = before.pop(0) if before else status
                body = json.dumps(answer if what in {status, "half"} else {}).encode()
                if what == "html":
                    body = b"<html>we are back soon"
                if what == "cut":
                    self.close_connection = True
                    return
                self.send_response(what if isinstance(what, int) else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if what == "half" else body)
                self.close_connection = what == "half"

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def has(self, schema_id: int, schema: Any, **more: Any) -> None:
        """Know a schema by its id: Avro's or JSON's as objects, others as text."""
        self.answers[f"/schemas/ids/{schema_id}"] = (200, {"schema": _text(schema), **more})

    def has_version(self, subject: str, version: str, schema: Any, **more: Any) -> None:
        """Know a schema by the version of a subject."""
        answer = {"id": 1, "schema": _text(schema), "subject": subject, **more}
        self.answers[f"/subjects/{subject}/versions/{version}"] = (200, answer)

    def fails_first(self, path: str, *how: int | str) -> None:
        """Answer so to the next requests."""
        self.before[path] = list(how)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _text(schema: Any) -> str:
    return schema if isinstance(schema, str) else json.dumps(schema)
