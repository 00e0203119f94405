"""A real Redis server for tests and examples, on a free port.

python scripts/local_redis.py [--port 6379]     # until Ctrl-C
"""

from __future__ import annotations

import argparse
import shutil
import socket
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from local_kafka_config import free_port
from local_server import TIMEOUT_S, LocalServer

__all__ = ["LocalRedis", "RedisWire"]

MOST_UNANSWERED = 500


class LocalRedis(LocalServer):
    """A server in a folder of its own, which writes each change to disk before it answers.

    After `stop` or `kill`, `start` goes on with what it has stored.

    Args:
        port: 0 for a free one.
        more: further arguments, such as ``--requirepass``.
        password: what clients of `wire` say when they connect.
    """

    def __init__(self, port: int = 0, *, more: Sequence[str] = (), password: str | None = None) -> None:
        super().__init__("redis")
        self.port = port or free_port()
        self._more = more
        self._password = password

    @property
    def url(self) -> str:
        """What the option ``url`` takes."""
        return f"redis://127.0.0.1:{self.port}"

    def kill(self) -> None:
        """End it as a crash does (SIGKILL)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(TIMEOUT_S)
            self._process = None

    def _command(self) -> Sequence[str | Path]:
        program = shutil.which("redis-server") or "/usr/bin/redis-server"
        lasting = ("--appendonly", "yes", "--appendfsync", "always", "--save", "", "--dir", str(self._folder))
        return [program, "--bind", "127.0.0.1", "--port", str(self.port), *lasting, *self._more]

    def _answers(self) -> bool:
        try:
            with self.wire() as wire:
                return bool(wire.ask("PING") == "PONG")
        except (OSError, RuntimeError):
            return False

    def wire(self) -> RedisWire:
        """Connect a client."""
        return RedisWire(self.port, self._password)

    def add(self, entries: Iterable[tuple[str, Mapping[str, bytes]]]) -> list[str]:
        """Add entries to streams, each with its fields; return their ids."""
        with self.wire() as wire:
            return wire.ask_all(
                ["XADD", key, "*", *(text for pair in fields.items() for text in pair)]
                for key, fields in entries
            )

    def stored(self, key: str) -> list[tuple[str, list[bytes]]]:
        """Return ids and fields of all entries of a stream."""
        with self.wire() as wire:
            return [(number.decode(), fields) for number, fields in wire.ask("XRANGE", key, "-", "+")]


class RedisWire:
    """A client that knows no more than commands and their answers: another one than that of the source."""

    def __init__(self, port: int, password: str | None) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
        self._file = self._socket.makefile("rb")
        if password is not None:
            self.ask("AUTH", password)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def ask(self, *command: str | bytes) -> Any:
        """Return the answer to a command."""
        return self.ask_all([command])[0]

    def ask_all(self, commands: Iterable[Sequence[str | bytes]]) -> list[Any]:
        """Return the answers to commands, some hundred of which are under way at once."""
        answers: list[Any] = []
        count = 0
        for command in commands:
            parts = [part if isinstance(part, bytes) else part.encode() for part in command]
            texts = [b"$%d\r\n%s\r\n" % (len(part), part) for part in parts]
            self._socket.sendall(b"*%d\r\n%s" % (len(parts), b"".join(texts)))
            count += 1
            if count - len(answers) >= MOST_UNANSWERED:
                answers.append(self._answer())
        answers += [self._answer() for _ in range(count - len(answers))]
        return answers

    def _answer(self) -> Any:
        line = self._file.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("the server has ended the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"+":
            return rest.decode()
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self._file.read(int(rest) + 2)[:-2]
        return None if rest == b"-1" else [self._answer() for _ in range(int(rest))]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=6379)
    with LocalRedis(parser.parse_args().port) as server:
        print(f"{server.url} - Ctrl-C ends it", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
