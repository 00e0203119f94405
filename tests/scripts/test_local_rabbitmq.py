"""The RabbitMQ server of the tests: what it tells of a stream, and what is left of it."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from rstream import AMQPMessage

from local_kafka_tls import make_certificates
from local_rabbitmq import LocalRabbitMq


@pytest.fixture(scope="module")
def server() -> Iterator[LocalRabbitMq]:
    with LocalRabbitMq() as running:
        yield running


def values(server: LocalRabbitMq, stream: str) -> list[tuple[int, bytes]]:
    return [(offset, value) for offset, _, value in server.stored(stream)]


def test_messages_of_a_batch_have_offsets_of_their_own(server: LocalRabbitMq) -> None:
    server.create_stream("batches")
    assert server.publish([("batches", b"alone")]) == 1
    server.publish_batches("batches", [[b"1", b"2"], [b"3"]])
    server.publish_batches("batches", [[b"4", b"5"]], "No")
    found = values(server, "batches")
    assert found == [*enumerate([b"alone", b"1", b"2", b"3", b"4", b"5"])]


def test_more_messages_than_a_frame_holds_are_all_stored(server: LocalRabbitMq) -> None:
    server.create_stream("many")
    large = [b"%d" % number * 20_000 for number in range(100)]
    server.publish(("many", value) for value in large)
    assert values(server, "many") == [*enumerate(large)]


def test_a_super_stream_grows_and_routes_by_key(server: LocalRabbitMq) -> None:
    server.create_super_stream("wide", 2)
    assert server.add_partition("wide") == "wide-2"
    assert server.partitions("wide") == ["wide-0", "wide-1", "wide-2"]
    with server.amqp() as channel:
        channel.confirm_delivery()
        channel.basic_publish("wide", "2", b"routed")
    (message,) = server.stored("wide-2")
    assert message[2].endswith(bytes(AMQPMessage(body=b"routed")))
    assert [server.stored(each) for each in ("wide-0", "wide-1")] == [[], []]
    server.delete_super_stream("wide")
    server.create_super_stream("wide", 1)


def test_retention_takes_the_oldest_messages(server: LocalRabbitMq) -> None:
    server.create_stream("short", max_length_bytes=100_000, stream_max_segment_size_bytes=50_000)
    for _ in range(6):
        server.publish([("short", b"x" * 1_000)] * 50)
    offsets = [offset for offset, _ in values(server, "short")]
    assert offsets[0] > 0
    assert offsets[-1] == 299


@pytest.mark.crash
def test_a_killed_server_refuses_and_then_goes_on_with_what_it_has_stored() -> None:
    with LocalRabbitMq(username="a user", password="of spaces:/@%") as server:
        server.create_super_stream("kept", 1)
        server.publish([("kept-0", b"before")])
        server.kill()
        with pytest.raises(OSError, match="Connect call failed"):
            server.publish([("kept-0", b"lost")])
        with pytest.raises(OSError, match="refused"):
            server.create_stream("never")
        server.start()
        server.publish([("kept-0", b"after")])
        assert values(server, "kept-0") == [(0, b"before"), (1, b"after")]


def test_servers_stand_side_by_side_and_leave_no_process_behind(
    server: LocalRabbitMq, tmp_path: Path
) -> None:
    certificates = make_certificates(tmp_path)
    context = ssl.create_default_context(cafile=certificates.ca)
    with LocalRabbitMq(tls=certificates) as other:
        with (
            socket.create_connection(("127.0.0.1", other.tls_port)) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as wrapped,
        ):
            assert wrapped.version()
        other.create_stream("here")
        assert values(other, "here") == []
        folder = other._folder
        assert processes_of(folder)
    assert processes_of(folder) == []
    assert processes_of(server._folder)


def processes_of(folder: Path) -> list[int]:
    """Return the processes whose environment or command line names a folder, or which run in it."""
    return [
        int(pid)
        for each in Path("/proc").iterdir()
        if (pid := each.name).isdigit() and names(int(pid), folder)
    ]


def names(pid: int, folder: Path) -> bool:
    try:
        said = b"".join(Path(f"/proc/{pid}/{each}").read_bytes() for each in ("environ", "cmdline"))
    except OSError:
        return False  # gone meanwhile
    return bytes(folder) in said
