"""A real RabbitMQ server with streams for tests and examples, on free ports.

python scripts/local_rabbitmq.py [--port 5552]     # until Ctrl-C
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import pika
from pika.adapters.blocking_connection import BlockingChannel
from rstream import ServerError

import newer_rabbitmq
from local_kafka_config import free_port
from local_kafka_tls import TlsFiles
from local_rabbitmq_client import StreamClient, connected
from local_server import TIMEOUT_S, LocalServer

__all__ = ["LocalRabbitMq"]

T = TypeVar("T")

PROGRAMS = Path("/usr/lib/rabbitmq/bin")
"""Debian's commands in the path change to a user and a folder of their own."""
CONFIG = """
listeners.tcp.1 = 127.0.0.1:{amqp}
stream.listeners.tcp.1 = 127.0.0.1:{port}
stream.advertised_host = 127.0.0.1
stream.advertised_port = {port}
default_user = {username}
default_pass = {password}
disk_free_limit.absolute = 50MB
log.console = true
log.console.level = error
log.file = false
{more}
"""
TLS = """
stream.listeners.ssl.1 = 127.0.0.1:{port}
stream.advertised_tls_host = localhost
stream.advertised_tls_port = {port}
ssl_options.cacertfile = {files.ca}
ssl_options.certfile = {files.server}
ssl_options.keyfile = {files.server}
"""
JOINED = """
cluster_formation.peer_discovery_backend = classic_config
cluster_formation.classic_config.nodes.1 = {node}
"""
ERLANG = "+S 1:1 -kernel inet_dist_use_interface {127,0,0,1}"
"""One scheduler: it starts sooner."""


class LocalRabbitMq(LocalServer):
    """A broker in a folder of its own. After `stop` or `kill`, `start` goes on with what it has stored.

    Args:
        port: of the stream protocol; 0 for a free one.
        username: whom clients log in as.
        password: theirs.
        tls: certificates of a further port, which clients reach as localhost.
        more: lines that come behind those of the configuration.
        is_newer: whether it is the newer release (`newer_rabbitmq`), which must have been fetched.
        joins: a broker that runs, whose cluster it becomes a part of.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        username: str = "guest",
        password: str = "guest",
        tls: TlsFiles | None = None,
        more: str = "",
        is_newer: bool = False,
        joins: LocalRabbitMq | None = None,
    ) -> None:
        super().__init__("rabbitmq")
        self._programs = newer_rabbitmq.programs() if is_newer else PROGRAMS
        self._own = newer_rabbitmq.environment() if is_newer else {}
        self.port = port or free_port()
        self.amqp_port = free_port()
        self.tls_port = free_port()
        self.username = username
        self.password = password
        if tls is not None:
            more += TLS.format(port=self.tls_port, files=tls)
        self._node_port = free_port()
        self.node = f"rabbit{self._node_port}@localhost"
        if joins is not None:
            more += JOINED.format(node=joins.node)
        self._more = more
        self.names_port: int = free_port() if joins is None else joins.names_port
        self._has_epmd = joins is None
        self._epmd: subprocess.Popen[bytes] | None = None
        self._is_lasting = False
        self._partitions: dict[str, list[str]] = {}

    @property
    def url(self) -> str:
        """What the option ``servers`` takes."""
        return f"rabbitmq-stream://127.0.0.1:{self.port}"

    @property
    def options(self) -> dict[str, str]:
        """What the source needs to connect."""
        return {"servers": self.url, "username": self.username, "password": self.password}

    def stop(self) -> None:
        super().stop()
        self._end_epmd()

    def kill(self) -> None:
        """End it as a crash does (SIGKILL)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(TIMEOUT_S)
            self._process = None
        self._end_epmd()

    def _end_epmd(self) -> None:
        if self._epmd is not None:
            self._epmd.kill()
            self._epmd.wait(TIMEOUT_S)
            self._epmd = None

    def _command(self) -> Sequence[str | Path]:
        config = CONFIG.format(
            amqp=self.amqp_port,
            port=self.port,
            username=self.username,
            password=self.password,
            more=self._more,
        )
        (self._folder / "rabbitmq.conf").write_text(config)
        (self._folder / "plugins").write_text("[rabbitmq_stream].")
        cookie = self._folder / ".erlang.cookie"
        if not cookie.exists():
            cookie.write_text("of-all-nodes")
            cookie.chmod(0o400)
        if self._has_epmd:
            self._start_epmd()
        return ["env", *self._environment(), self._program("rabbitmq-server")]

    def _program(self, name: str) -> Path:
        if self._programs is None:
            raise RuntimeError("the newer release is not there: run scripts/newer_rabbitmq.py")
        return self._programs / name

    def _environment(self) -> list[str]:
        folder = self._folder
        variables = {
            **self._own,
            "HOME": folder,  # of the cookie
            "ERL_AFLAGS": "-start_epmd false",
            "ERL_EPMD_PORT": self.names_port,
            "RABBITMQ_NODENAME": self.node,
            "RABBITMQ_DIST_PORT": self._node_port,
            "RABBITMQ_CONFIG_FILE": folder / "rabbitmq.conf",
            "RABBITMQ_CONF_ENV_FILE": folder / "none",
            "RABBITMQ_ENABLED_PLUGINS_FILE": folder / "plugins",
            "RABBITMQ_LOG_BASE": folder / "logs",
            "RABBITMQ_MNESIA_BASE": folder / "data",
            "RABBITMQ_PID_FILE": folder / "pid",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": ERLANG,
            "RUNNING_UNDER_SYSTEMD": "true",  # otherwise a shell stays between this process and the broker
        }
        return [f"{name}={value}" for name, value in variables.items()]

    def _start_epmd(self) -> None:
        """Start what tells Erlang's nodes their ports: the broker would start one that never ends."""
        if self._epmd is None:
            command = ["epmd", "-port", str(self.names_port), "-address", "127.0.0.1"]
            self._epmd = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        give_up_at = time.monotonic() + TIMEOUT_S
        while time.monotonic() < give_up_at:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.names_port), TIMEOUT_S):
                return
            threading.Event().wait(0.01)

    def _answers(self) -> bool:
        async def ask(client: StreamClient) -> bool:
            return client.is_started

        try:
            socket.create_connection(("127.0.0.1", self.amqp_port), TIMEOUT_S).close()
            return self._ask(ask)
        except (OSError, ServerError):
            return False

    def control(self, *arguments: str) -> str:
        """Run rabbitmqctl, for users, virtual hosts, connections; return what it says."""
        command = ["env", *self._environment(), str(self._program("rabbitmqctl")), "--quiet", *arguments]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"rabbitmqctl {arguments[0]} failed: {done.stdout}{done.stderr}")
        return done.stdout

    @contextmanager
    def amqp(self) -> Iterator[BlockingChannel]:
        """Connect a client of AMQP 0-9-1, which the broker turns into messages of AMQP 1.0."""
        login = pika.PlainCredentials(self.username, self.password)
        where = pika.ConnectionParameters("127.0.0.1", self.amqp_port, credentials=login, heartbeat=0)
        try:
            with closing(pika.BlockingConnection(where)) as connection:
                yield connection.channel()
        except pika.exceptions.AMQPConnectionError as error:
            raise ConnectionError(repr(error)) from error

    def create_stream(self, stream: str, **arguments: str | int) -> None:
        """Create a stream.

        Args:
            stream: its name.
            arguments: of its queue, without ``x-``: ``max_age``, ``max_length_bytes``,
                ``stream_max_segment_size_bytes``.
        """
        with self.amqp() as channel:
            self._declare(channel, stream, arguments)

    def _declare(self, channel: BlockingChannel, stream: str, arguments: Mapping[str, str | int]) -> None:
        given = {f"x-{name.replace('_', '-')}": value for name, value in arguments.items()}
        channel.queue_declare(stream, durable=True, arguments={"x-queue-type": "stream", **given})
        if not self._is_lasting:
            # With its first stream a broker notes where it notes all streams. That is in memory for 3 s, and
            # a broker that is killed meanwhile has none of its streams any more.
            self.control("eval", "[ok = dets:sync(Table) || Table <- dets:all()].")
            self._is_lasting = True

    def delete_stream(self, stream: str) -> None:
        """Delete a stream, also one of a super stream."""
        with self.amqp() as channel:
            channel.queue_delete(stream)

    def create_super_stream(self, name: str, partitions: int = 3, **arguments: str | int) -> None:
        """Create a super stream, whose partitions are ``<name>-0`` and so on, with these routing keys."""
        with self.amqp() as channel:
            channel.exchange_declare(name, "direct", durable=True, arguments={"x-super-stream": True})
        self._partitions[name] = []
        for _ in range(partitions):
            self.add_partition(name, **arguments)

    def add_partition(self, super_stream: str, **arguments: str | int) -> str:
        """Add a partition behind the others; return the name of its stream."""
        number = len(self._partitions[super_stream])
        stream = f"{super_stream}-{number}"
        with self.amqp() as channel:
            self._declare(channel, stream, arguments)
            channel.queue_bind(
                stream, super_stream, str(number), arguments={"x-stream-partition-order": number}
            )
        self._partitions[super_stream].append(stream)
        return stream

    def delete_super_stream(self, name: str) -> None:
        """Delete a super stream with its partitions."""
        with self.amqp() as channel:
            channel.exchange_delete(name)
            for partition in self._partitions.pop(name):
                channel.queue_delete(partition)

    def partitions(self, super_stream: str) -> list[str]:
        """Return the streams of a super stream that this object has made, in their order."""
        return self._partitions[super_stream]

    def publish(self, messages: Iterable[tuple[str, bytes]]) -> int:
        """Publish messages, each to a stream, and wait until all are stored; return how many.

        They are stored as they are: ``bytes(rstream.AMQPMessage(...))`` makes one of AMQP 1.0.
        """
        groups: dict[str, list[bytes]] = defaultdict(list)
        for stream, message in messages:
            groups[stream].append(message)

        async def publish(client: StreamClient) -> None:
            for stream, group in groups.items():
                await client.publish_all(stream, group)

        self._ask(publish)
        return sum(map(len, groups.values()))

    def publish_batches(self, stream: str, batches: Sequence[Sequence[bytes]], codec: str = "Gzip") -> None:
        """Publish each batch as one entry, packed with a codec of rstream: ``No`` or ``Gzip``."""
        self._ask(lambda client: client.publish_batches(stream, batches, codec))

    def stored(self, stream: str) -> list[tuple[int, int, bytes]]:
        """Return offset, time in milliseconds, and bytes of all messages of a stream."""
        return self._ask(lambda client: client.stored(stream))

    def _ask(self, what: Callable[[StreamClient], Coroutine[Any, Any, T]]) -> T:
        """Return what comes of a connection of the stream protocol."""

        async def ask() -> T:
            async with connected(self.port, self.username, self.password) as client:
                return await what(client)

        return asyncio.run(ask())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=5552)
    with LocalRabbitMq(parser.parse_args().port) as server:
        print(f"{server.url} - Ctrl-C ends it", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
