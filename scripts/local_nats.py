"""A real NATS server with JetStream for tests and examples, on a free port.

python scripts/local_nats.py [--port 4222]     # until Ctrl-C
"""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import socket
import ssl
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from local_kafka_config import free_port
from local_server import TIMEOUT_S, LocalServer

__all__ = ["LocalNats", "NatsWire"]

CONFIG = """
listen: "127.0.0.1:{port}"
pid_file: "{folder}/pid"
jetstream {{ store_dir: "{folder}/jetstream" }}
{more}
"""
MOST_UNANSWERED = 500


class LocalNats(LocalServer):
    """A server in a folder of its own. After `stop` or `kill`, `start` goes on with what it has stored.

    Args:
        port: 0 for a free one.
        more: lines that come behind those of the configuration, such as users, or TLS.
        login: what clients of `wire` say when they connect.
        tls: their side of TLS.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        more: str = "",
        login: Mapping[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__("nats")
        self.port = port or free_port()
        self._more = more
        self._login = login or {}
        self._tls = tls

    @property
    def url(self) -> str:
        """What the option ``servers`` takes."""
        return f"nats://127.0.0.1:{self.port}" if self._tls is None else f"tls://localhost:{self.port}"

    def kill(self) -> None:
        """End it as a crash does (SIGKILL)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(TIMEOUT_S)
            self._process = None

    def _command(self) -> Sequence[str | Path]:
        config = CONFIG.format(port=self.port, folder=self._folder, more=self._more)
        (self._folder / "nats.conf").write_text(config)
        return [shutil.which("nats-server") or "/usr/sbin/nats-server", "-c", self._folder / "nats.conf"]

    def _answers(self) -> bool:
        try:
            with self.wire() as wire:
                return "error" not in wire.api("INFO")
        except (OSError, RuntimeError):
            return False

    def wire(self) -> NatsWire:
        """Connect a client."""
        return NatsWire(self.port, self._login, self._tls)

    def create_stream(self, name: str, *subjects: str, **config: Any) -> None:
        """Create a stream; without subjects it has ``<name>.>``."""
        with self.wire() as wire:
            more = {"subjects": list(subjects or (f"{name}.>",)), "retention": "limits", "storage": "file"}
            wire.demand(f"STREAM.CREATE.{name}", {"name": name, **more, "num_replicas": 1, **config})

    def publish(self, messages: Iterable[tuple[str, bytes]], headers: str = "") -> int:
        """Publish messages, and wait until all are stored; return how many.

        Args:
            messages: subjects and payloads.
            headers: of all of them, a line for each.
        """
        with self.wire() as wire:
            answers = wire.ask_all(messages, headers)
        for answer in answers:
            if "error" in answer:
                raise RuntimeError(f"the server did not take a message: {answer['error']}")
        return len(answers)

    def stored(self, stream: str) -> list[tuple[int, str, bytes]]:
        """Return number, subject and payload of all messages of a stream, asked for one by one."""
        with self.wire() as wire:
            state = wire.demand(f"STREAM.INFO.{stream}")["state"]
            numbers = range(state["first_seq"], state["last_seq"] + 1)
            requests = (
                (f"$JS.API.STREAM.MSG.GET.{stream}", json.dumps({"seq": number}).encode())
                for number in numbers
            )
            answers = wire.ask_all(requests)
        found = [answer["message"] for answer in answers if "message" in answer]
        return [(each["seq"], each["subject"], base64.b64decode(each.get("data", ""))) for each in found]


class NatsWire:
    """A client that knows no more than requests and their answers: another one than that of the source."""

    def __init__(self, port: int, login: Mapping[str, str], tls: ssl.SSLContext | None) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
        self._file = self._socket.makefile("rb")
        try:
            self._greet(login, tls)
        except BaseException:
            # A server that is killed just now ends the connection.
            self.close()
            raise

    def _greet(self, login: Mapping[str, str], tls: ssl.SSLContext | None) -> None:
        line = self._file.readline()
        if not line.startswith(b"INFO "):
            raise OSError(f"no server of NATS: {line!r}")
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname="localhost")
            self._file = self._socket.makefile("rb")
        hello = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, **login}
        self._send(b"CONNECT " + json.dumps(hello).encode() + b"\r\nSUB _INBOX.wire.* 1\r\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def api(self, what: str, request: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return an answer of JetStream's API."""
        payload = b"" if request is None else json.dumps(request).encode()
        return self.ask_all([(f"$JS.API.{what}", payload)])[0]

    def demand(self, what: str, request: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return an answer that is no error."""
        answer = self.api(what, request)
        if "error" in answer:
            raise RuntimeError(f"{what}: {answer['error']}")
        return answer

    def ask_all(self, requests: Iterable[tuple[str, bytes]], headers: str = "") -> list[dict[str, Any]]:
        """Return the answers to requests, some hundred of which are under way at once."""
        answers: dict[int, dict[str, Any]] = {}
        count = 0
        waiting = bytearray()
        for subject, payload in requests:
            reply = f"_INBOX.wire.{count}"
            if headers:
                head = f"NATS/1.0\r\n{headers}\r\n\r\n".encode()
                first = f"HPUB {subject} {reply} {len(head)} {len(head) + len(payload)}\r\n"
                waiting += first.encode() + head + payload + b"\r\n"
            else:
                waiting += f"PUB {subject} {reply} {len(payload)}\r\n".encode() + payload + b"\r\n"
            count += 1
            if count - len(answers) >= MOST_UNANSWERED:
                self._send(waiting)
                waiting.clear()
                self._take(answers, count - MOST_UNANSWERED // 2)
        self._send(waiting)
        self._take(answers, count)
        return [answers[number] for number in range(count)]

    def _send(self, data: bytes | bytearray) -> None:
        self._socket.sendall(data)

    def _take(self, answers: dict[int, dict[str, Any]], least: int) -> None:
        """Read until so many answers are there."""
        while len(answers) < least:
            line = self._file.readline()
            if not line:
                raise OSError("the server has ended the connection")
            kind, *words = line.split()
            if kind == b"PING":
                self._send(b"PONG\r\n")
            elif kind == b"-ERR":
                raise RuntimeError(line.decode())
            elif kind in (b"MSG", b"HMSG"):
                size = int(words[-1])
                payload = self._file.read(size + 2)[:size]
                number = int(words[0].rpartition(b".")[2])
                # With headers: nobody takes requests of this subject.
                answers[number] = json.loads(payload) if kind == b"MSG" else {"error": payload.decode()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=4222)
    with LocalNats(parser.parse_args().port) as server:
        print(f"{server.url} - Ctrl-C ends it", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
