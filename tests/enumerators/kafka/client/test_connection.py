from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest
from kafka.protocol.consumer.fetch import FetchRequest
from kafka.protocol.metadata import MetadataRequest

from headwater.core.errors import (
    CorruptRecordError,
    HeadwaterError,
    NoConnectionError,
    SourceError,
    TransientSourceError,
)
from headwater.enumerators.kafka.client.connection import BrokerConnection
from headwater.enumerators.kafka.client.frames import ReceiveBuffer
from headwater.enumerators.kafka.client.metadata import BrokerAddress
from local_kafka import LocalKafka
from local_kafka_admin import until
from local_kafka_config import free_port
from tests.enumerators.kafka.client.listeners import (
    API_VERSIONS,
    Listen,
    api_versions,
    client,
    drain,
    metadata,
    read_request,
    respond,
    sending,
    speaking,
)

PROMPTLY_S = 15
"""Far more than any time-out below, and far less than the default ones: a busy machine is not prompt."""
LONG_POLL_MS = 2_000


def connection_to(bootstrap: str | BrokerAddress, **properties: str) -> BrokerConnection:
    settings = client(bootstrap, **properties)
    return BrokerConnection(settings.bootstrap_servers[0], settings)


@pytest.fixture
def connection(kafka: LocalKafka) -> Iterator[BrokerConnection]:
    opened = connection_to(kafka.bootstrap_servers)
    yield opened
    opened.close()


def any_metadata() -> MetadataRequest:
    return MetadataRequest(topics=[], allow_auto_topic_creation=False, min_version=1)


def fetch(topic: str, offset: int = 0, *, max_bytes: int = 1 << 20, max_wait_ms: int = 100) -> FetchRequest:
    kind = FetchRequest.FetchTopic
    where = kind.FetchPartition(
        partition=0,
        current_leader_epoch=-1,
        fetch_offset=offset,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=max_bytes,
    )
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        rack_id="",
        topics=[kind(topic=topic, partitions=[where])],
        forgotten_topics_data=[],
        max_version=12,
    )


class TestOnABroker:
    def test_it_opens_with_the_first_question(self, connection: BrokerConnection) -> None:
        assert not connection.is_open
        assert connection.fileno() == -1
        assert connection.call(any_metadata()).brokers
        assert connection.is_open
        assert connection.fileno() >= 0

    def test_the_newest_version_that_both_know_is_used_within_the_requests_own_bounds(
        self, connection: BrokerConnection
    ) -> None:
        request = any_metadata()
        connection.call(request)
        assert MetadataRequest.max_version == request.API_VERSION
        connection.send(fetch("any"))
        assert connection.receive().version == 12

    def test_answers_come_in_the_order_of_the_questions(self, connection: BrokerConnection) -> None:
        for request in (any_metadata(), fetch("any"), any_metadata()):
            connection.send(request)
        assert connection.in_flight == 3
        replies = [connection.receive() for _ in range(3)]
        names = ["MetadataResponse", "FetchResponse", "MetadataResponse"]
        assert [reply.response_class.name for reply in replies] == names
        assert connection.in_flight == 0

    def test_a_fetch_is_in_flight_while_the_last_one_is_read(
        self, kafka: LocalKafka, topic: str, connection: BrokerConnection
    ) -> None:
        kafka.create_topic(topic)
        kafka.produce(topic, [b"x" * 10_000, b"y" * 10_000])
        buffers = ReceiveBuffer(), ReceiveBuffer()
        connection.send(fetch(topic))
        first = connection.receive(buffers[0])
        connection.send(fetch(topic, 1))
        records = first.decode_views().responses[0].partitions[0].records
        connection.receive(buffers[1])
        assert isinstance(records, memoryview)
        assert b"x" * 10_000 in bytes(records)

    def test_a_long_poll_can_be_waited_for_in_slices(
        self, kafka: LocalKafka, topic: str, connection: BrokerConnection
    ) -> None:
        kafka.create_topic(topic)
        # A leader that does not know its topic yet answers at once.
        until(
            lambda: connection.call(fetch(topic, max_wait_ms=0)).responses[0].partitions[0].error_code == 0,
            "the leader knows the topic",
        )
        assert not connection.is_readable()
        connection.send(fetch(topic, max_wait_ms=LONG_POLL_MS))
        assert not connection.is_readable(1)
        assert connection.is_readable(PROMPTLY_S * 1000)
        assert connection.receive().decode().responses[0].partitions[0].error_code == 0

    def test_it_can_be_closed_any_number_of_times_and_opens_again(self, connection: BrokerConnection) -> None:
        connection.close()
        connection.call(any_metadata())
        connection.send(any_metadata())
        connection.close()
        connection.close()
        assert (connection.is_open, connection.in_flight, connection.is_readable()) == (False, 0, False)
        with pytest.raises(TransientSourceError, match="nothing is in flight"):
            connection.receive()
        assert connection.call(any_metadata()).brokers

    def test_a_broker_that_freezes_is_given_up_in_time_and_one_that_restarts_is_connected_to_anew(
        self,
    ) -> None:
        with LocalKafka() as broker:
            connection = connection_to(broker.bootstrap_servers)
            connection.call(any_metadata())
            broker.pause()
            with pytest.raises(TransientSourceError, match=r"no answer in time \(200 ms have passed\)"):
                connection.call(any_metadata(), timeout_ms=200)
            assert not connection.is_open
            broker.resume()
            assert connection.call(any_metadata()).brokers
            broker.restart()
            assert connection.call(any_metadata()).brokers
            connection.close()

    def test_buffers_and_client_id_are_the_users(self, kafka: LocalKafka) -> None:
        connection = connection_to(
            kafka.bootstrap_servers, receive_buffer_bytes="40000", send_buffer_bytes="30000", client_id="me"
        )
        request = any_metadata()
        connection.call(request)
        with socket.socket(fileno=socket.dup(connection.fileno())) as same:
            sizes = [
                same.getsockopt(socket.SOL_SOCKET, option) for option in (socket.SO_RCVBUF, socket.SO_SNDBUF)
            ]
            assert same.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert same.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert sizes == [80_000, 60_000]  # Linux doubles them
        assert request.header.client_id == "me"
        connection.close()


class TestOnAListenerThatIsNoBroker:
    def test_nothing_listens(self) -> None:
        assert_fails(
            BrokerAddress("127.0.0.1", free_port()),
            NoConnectionError,
            "nothing listens there; see kafka.bootstrap.servers",
        )

    @pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b", "x" * 70])
    def test_a_name_that_cannot_be_resolved(self, host: str) -> None:
        assert_fails(
            BrokerAddress(host, 9092), NoConnectionError, f"{host}:9092: its name cannot be resolved"
        )

    def test_it_never_answers(self, listen: Listen) -> None:
        assert_fails(
            listen(drain), TransientSourceError, "no answer in time (100 ms have passed)", timeout_ms=100
        )

    def test_it_answers_byte_by_byte_and_never_finishes(self, listen: Listen) -> None:
        def trickle(connection: socket.socket) -> None:
            connection.sendall(struct.pack(">i", 1000))
            while connection.send(b"\0"):
                threading.Event().wait(0.01)

        assert_fails(
            listen(trickle), TransientSourceError, "no answer in time (300 ms have passed)", timeout_ms=300
        )

    def test_it_hangs_up(self, listen: Listen) -> None:
        assert_fails(
            listen(lambda connection: connection.recv(1)), TransientSourceError, "it closed the connection"
        )

    def test_it_speaks_http(self, listen: Listen) -> None:
        def web(connection: socket.socket) -> None:
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            drain(connection)

        assert_fails(listen(web), SourceError, "is no Kafka broker: it answers b'HTTP'")

    def test_it_names_a_negative_size(self, listen: Listen) -> None:
        assert_fails(listen(sending(b"\xff\xff\xff\xff")), SourceError, "is no Kafka broker")

    def test_it_speaks_tls(self, listen: Listen) -> None:
        assert_fails(
            listen(sending(bytes.fromhex("15030300020250"))),
            SourceError,
            "set kafka.security.protocol to SSL or SASL_SSL",
        )

    def test_tls_is_not_answered(self, listen: Listen) -> None:
        address = listen(drain)
        assert_fails(
            address, TransientSourceError, "no answer in time", timeout_ms=100, security_protocol="SSL"
        )

    def test_tls_meets_a_broker_without_tls(self, kafka: LocalKafka) -> None:
        settings = client(kafka.bootstrap_servers, security_protocol="SSL")
        assert_fails(
            settings.bootstrap_servers[0],
            TransientSourceError,
            "the listener does not speak TLS",
            security_protocol="SSL",
        )


class TestOnABrokerThatMisbehaves:
    def test_an_old_broker_is_asked_in_a_version_that_it_knows(self, listen: Listen) -> None:
        """KIP-511.

        The answer to an unknown version of ApiVersions comes in version 0, and says which versions are known.
        """
        asked: list[int] = []

        def old(connection: socket.socket) -> None:
            while True:
                key, version, correlation = read_request(connection)
                asked.append(version)
                known = {18: (0, 2), 3: (0, 5)}
                if key == 18 and version > 2:
                    respond(connection, correlation, api_versions(0, known, error=35))
                else:
                    respond(
                        connection,
                        correlation,
                        api_versions(version, known) if key == 18 else metadata(version),
                    )

        connection = connection_to(listen(old))
        assert connection.call(any_metadata()).cluster_id == "c"
        assert asked == [4, 2, 5]
        connection.close()

    def test_a_very_old_broker_names_no_versions_in_its_error(self, listen: Listen) -> None:
        def very_old(connection: socket.socket) -> None:
            while True:
                key, version, correlation = read_request(connection)
                if key == 3:
                    body = metadata(version)
                elif version == 0:
                    body = api_versions(0, {18: (0, 0), 3: (0, 1)})
                else:
                    body = api_versions(0, {}, error=35)
                respond(connection, correlation, body)

        connection = connection_to(listen(very_old))
        request = any_metadata()
        connection.call(request)
        assert request.API_VERSION == 1
        with pytest.raises(SourceError, match="does not support the 'FetchRequest'"):
            connection.call(fetch("any"))
        connection.close()

    def test_a_broker_that_shares_no_version_with_us_is_named(self, listen: Listen) -> None:
        connection = connection_to(listen(speaking({3: (90, 99)}, lambda *_: None)))
        with pytest.raises(SourceError, match="No version of the 'MetadataRequest' Kafka protocol") as caught:
            connection.call(any_metadata())
        assert str(connection.address) in str(caught.value)
        connection.close()

    def test_an_answer_to_another_question_closes_the_connection(self, listen: Listen) -> None:
        def confused(connection: socket.socket, key: int, version: int, correlation: int) -> None:
            respond(connection, correlation + 1, b"\0" + metadata(version))

        assert_fails(
            listen(speaking(API_VERSIONS, confused)),
            CorruptRecordError,
            "answers question 3, but the next one due is 2",
        )

    def test_a_frame_that_is_too_large_names_the_option(self, listen: Listen) -> None:
        def huge(connection: socket.socket, key: int, version: int, correlation: int) -> None:
            connection.sendall(struct.pack(">i", 200 << 20))
            drain(connection)

        assert_fails(listen(speaking(API_VERSIONS, huge)), SourceError, "raise kafka.fetch.max.bytes")

    @pytest.mark.parametrize("body", [b"", b"\0", b"\1", b"\0\0\0\0\0\xff\xff\xff\xff\x0f"])
    def test_an_answer_that_cannot_be_decoded_closes_the_connection(
        self, listen: Listen, body: bytes
    ) -> None:
        def garbled(connection: socket.socket, key: int, version: int, correlation: int) -> None:
            respond(connection, correlation, body)

        assert_fails(listen(speaking(API_VERSIONS, garbled)), CorruptRecordError, "")

    def test_every_error_names_the_broker_and_leaves_it_closed(self, listen: Listen) -> None:
        connection = connection_to(listen(speaking(API_VERSIONS, lambda *_: None)))
        for _ in range(2):
            connection.send(any_metadata())
            with pytest.raises(TransientSourceError, match=f"{connection.address}: no answer in time"):
                connection.receive(timeout_ms=50)
            assert not connection.is_open


def assert_fails(
    address: BrokerAddress,
    kind: type[HeadwaterError],
    message: str,
    *,
    timeout_ms: int | None = None,
    **properties: str,
) -> None:
    """A call fails soon, with this error, and leaves nothing open."""
    connection = BrokerConnection(address, client("unused:1", **properties))
    began = time.monotonic()
    with pytest.raises(kind) as caught:
        connection.call(any_metadata(), timeout_ms)
    assert type(caught.value) is kind
    assert message in str(caught.value)
    assert time.monotonic() - began < PROMPTLY_S
    assert not connection.is_open


def test_the_repr_shows_where_and_in_which_state_but_no_secret() -> None:
    login = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "alice",
        "sasl_password": "hunter2",
    }
    assert repr(connection_to("a:1", **login)) == "<BrokerConnection a:1 SASL_PLAINTEXT (closed)>"
