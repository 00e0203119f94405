from __future__ import annotations

import contextlib
import mmap
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import kafka
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.admin import DescribeLogDirsResponse
from kafka.protocol.consumer import ListOffsetsResponse, OffsetCommitResponse, OffsetFetchResponse
from kafka.protocol.consumer.fetch import FetchResponse
from kafka.protocol.metadata import ApiVersionsResponse, FindCoordinatorResponse, MetadataResponse

from headwater.core.errors import CorruptRecordError, HeadwaterError, TransientSourceError
from headwater.enumerators.kafka.client import frames
from headwater.enumerators.kafka.client.consumer_group import (
    read_commit_errors,
    read_committed,
    read_coordinator,
)
from headwater.enumerators.kafka.client.frames import ReceiveBuffer, Reply
from headwater.enumerators.kafka.client.requests import read_log_sizes, read_metadata, read_offsets
from headwater.enumerators.kafka.client.transport import Deadline

VERSIONS = range(4, FetchResponse.max_version + 1)


def fetch_response(version: int, *record_sets: bytes | None, leader: int | None = None) -> bytes:
    topic = FetchResponse.FetchableTopicResponse
    moved = (
        {}
        if leader is None
        else {"current_leader": topic.PartitionData.LeaderIdAndEpoch(leader_id=leader, leader_epoch=3)}
    )
    partitions = [
        topic.PartitionData(
            version=version,
            partition_index=index,
            high_watermark=9,
            aborted_transactions=[],
            records=records,
            **moved,
        )
        for index, records in enumerate(record_sets)
    ]
    responses = [topic(version=version, topic="orders", topic_id=uuid.UUID(int=7), partitions=partitions)]
    return bytes(FetchResponse(version=version, responses=responses).encode(version=version))


def reply(
    body: bytes,
    response_class: type = FetchResponse,
    version: int = 12,
    tags: bytes = b"\0",
    timeout_ms: int = 60_000,
) -> Reply:
    has_tags = response_class.flexible_version_q(version)  # type: ignore[attr-defined]
    header = (5).to_bytes(4, "big") + (tags if has_tags else b"")
    return Reply(response_class, version, memoryview(bytearray(header + body)), Deadline(timeout_ms))


@pytest.mark.parametrize("version", VERSIONS)
def test_record_sets_are_views_of_the_frame_in_every_version(version: int) -> None:
    long = bytes(range(256)) * 20
    short = b"short"
    received = reply(fetch_response(version, long, short, None, b""), version=version)
    partitions = received.decode_views().responses[0].partitions
    assert [None if p.records is None else bytes(p.records) for p in partitions] == [long, short, None, b""]
    view = partitions[0].records
    received.body[:] = bytes(len(received.body))
    assert not any(view), "the record set was copied"


class Unknown:
    """Decoders of a kafka-python that is not known here."""

    @staticmethod
    def gone(*_args: Any, **_kwargs: Any) -> Any:
        raise AttributeError("compiled_decode_from")

    @staticmethod
    def without_bytes(response_class: Any, version: int) -> Any:
        class Renamed:
            _struct = SimpleNamespace(compiled_decode_from=lambda *_, **__: lambda body, _: (body, len(body)))
            flexible_version_q = response_class.flexible_version_q

            def __class_getitem__(cls, _: None) -> None:
                return None

        return frames._view_decoder.__wrapped__(Renamed, version)

    @staticmethod
    def other(response_class: Any, version: int) -> Any:
        known = frames._view_decoder.__wrapped__(response_class, version)

        def decode(body: memoryview, position: int) -> tuple[Any, int]:
            response, end = known(body, position)
            response.responses[0].partitions[0].high_watermark += 1
            return response, end

        return decode


@pytest.fixture
def views_forgotten() -> Iterator[None]:
    frames._views_are_right.clear()
    yield
    frames._views_are_right.clear()


@pytest.mark.parametrize("unknown", [Unknown.gone, Unknown.without_bytes, Unknown.other])
def test_a_kafka_python_that_decodes_otherwise_is_named_once_and_record_sets_are_copied(
    unknown: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, views_forgotten: None
) -> None:
    monkeypatch.setattr(frames, "_view_decoder", unknown)
    for _ in range(2):
        partitions = reply(fetch_response(12, b"x" * 5000)).decode_views().responses[0].partitions
        assert partitions[0].records == b"x" * 5000
        assert isinstance(partitions[0].records, bytes)
    assert (
        caplog.text.count(f"kafka-python {kafka.__version__} decodes FetchResponse in a way that is not") == 1
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_decoding_with_and_without_copies_is_the_same(version: int) -> None:
    received = reply(
        fetch_response(version, b"x" * 5000, b"y", leader=4 if version >= 12 else None), version=version
    )
    assert received.decode_views().to_dict(json=False) == received.decode().to_dict(json=False)


def test_a_decoded_response_shares_no_memory_with_the_frame() -> None:
    received = reply(fetch_response(12, b"x" * 5000))
    response = received.decode()
    received.body[:] = bytes(len(received.body))
    assert response.responses[0].partitions[0].records == b"x" * 5000


def test_unknown_tagged_fields_of_the_header_are_skipped() -> None:
    tags = b"\x02" + b"\x01\x03abc" + b"\x81\x01\x80\x01" + bytes(128)
    assert reply(fetch_response(12, b"x"), tags=tags).decode().responses[0].topic == "orders"


def handshake(body: bytes, timeout_ms: int = 60_000) -> Reply:
    """Return an answer to ApiVersions, whose header never has tagged fields."""
    frame = memoryview(bytearray((5).to_bytes(4, "big") + body))
    return Reply(ApiVersionsResponse, ApiVersionsResponse.max_version, frame, Deadline(timeout_ms))


def test_a_broker_that_does_not_know_our_version_of_api_versions_answers_in_the_first() -> None:
    keys = [ApiVersionsResponse.ApiVersion(version=0, api_key=18, min_version=0, max_version=2)]
    body = ApiVersionsResponse(version=0, error_code=35, api_keys=keys).encode(version=0)
    response = handshake(bytes(body)).decode()
    assert response.error_code == 35
    assert [(each.api_key, each.max_version) for each in response.api_keys] == [(18, 2)]


@pytest.mark.parametrize(
    "body",
    [b"\0\0" + b"\x81\x80\x80\x01" + bytes(15 << 20), b"\0\x23" + b"\0\x20\0\0" + bytes(12 << 20)],
    ids=["of our version", "of the first"],
)
def test_versions_without_end_are_decoded_by_the_deadline_or_not_at_all(body: bytes) -> None:
    with pytest.raises(TransientSourceError, match="ApiVersionsResponse of too many elements"):
        handshake(body, timeout_ms=50).decode()


@given(data=st.data())
def test_a_frame_that_is_cut_anywhere_is_corrupt(data: st.DataObject) -> None:
    version = data.draw(st.sampled_from(VERSIONS))
    whole = fetch_response(version, b"x" * 5000, b"y" * 70)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(CorruptRecordError, match="are no FetchResponse"):
        reply(cut, version=version).decode_views()


@given(garbage=st.binary(max_size=300), version=st.sampled_from(VERSIONS))
def test_garbage_is_decoded_or_corrupt_and_nothing_else(garbage: bytes, version: int) -> None:
    for response_class, used in ((FetchResponse, version), (MetadataResponse, 12)):
        received = reply(garbage, response_class, used)
        for decode in (received.decode, received.decode_views):
            with contextlib.suppress(CorruptRecordError):
                decode()


@given(
    version=st.sampled_from(VERSIONS),
    flips=st.lists(st.tuples(st.integers(0), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_a_frame_with_flipped_bytes_is_decoded_or_corrupt_and_nothing_else(
    version: int, flips: list[tuple[int, int]]
) -> None:
    body = bytearray(fetch_response(version, b"x" * 50, b"y", leader=4 if version >= 12 else None))
    for where, byte in flips:
        body[where % len(body)] = byte
    for decode in (
        reply(bytes(body), version=version).decode,
        reply(bytes(body), version=version).decode_views,
    ):
        with contextlib.suppress(CorruptRecordError):
            decode()


READS: dict[Any, Any] = {
    ApiVersionsResponse: lambda response: response.api_keys,
    MetadataResponse: read_metadata,
    ListOffsetsResponse: read_offsets,
    DescribeLogDirsResponse: read_log_sizes,
    FindCoordinatorResponse: lambda response: read_coordinator(response, "group", "Read"),
    OffsetFetchResponse: lambda response: read_committed(response, "group"),
    OffsetCommitResponse: read_commit_errors,
}


@given(data=st.data())
def test_an_answer_of_any_bytes_is_read_or_is_an_error_of_the_tree(data: st.DataObject) -> None:
    response_class = data.draw(st.sampled_from(list(READS)))
    version = data.draw(st.integers(response_class.min_version, response_class.max_version))
    small = st.sampled_from([b"\0", b"\1", b"\2", b"\3", b"\xff" * 4, b"\0\0\0\1", b"\0\1a", b"\2a"])
    body = b"".join(data.draw(st.lists(small | st.binary(max_size=4), max_size=40)))
    with contextlib.suppress(HeadwaterError):
        READS[response_class](reply(body, response_class, version).decode())


def test_a_null_where_the_protocol_has_none_is_corrupt() -> None:
    topic = MetadataResponse.MetadataResponseTopic(version=12, name="orders", topic_id=uuid.UUID(int=7))
    topic.partitions = None
    body = MetadataResponse(version=12, brokers=[], topics=[topic]).encode(version=12)
    with pytest.raises(CorruptRecordError, match="its protocol does not allow"):
        read_metadata(reply(bytes(body), MetadataResponse).decode())
    broker = MetadataResponse.MetadataResponseBroker(version=12, node_id=1, host="a", port=70_000)
    body = MetadataResponse(version=12, brokers=[broker], topics=[]).encode(version=12)
    with pytest.raises(CorruptRecordError, match="a broker at 'a', port 70000"):
        read_metadata(reply(bytes(body), MetadataResponse).decode())


def hostile_bodies() -> dict[str, bytes]:
    count = 1 << 21
    aborted = FetchResponse(version=12, responses=[]).encode(version=12)
    assert aborted.endswith(b"\1\0")
    return {
        "many elements": bytes(4) + b"\1" + b"\0" + bytes(4) + b"\x81\x80\x80\x01" + bytes(30 * count // 2),
        "many tags": bytes(4) + b"\1" + b"\0" + bytes(4) + b"\1" + b"\x81\x80\x80\x01" + b"\5\0" * count,
    }


@pytest.mark.parametrize("body", hostile_bodies().values(), ids=hostile_bodies())
def test_an_answer_of_many_small_elements_is_decoded_by_the_deadline_or_not_at_all(body: bytes) -> None:
    for decode in ("decode", "decode_views"):
        received = reply(body, MetadataResponse, timeout_ms=50)
        with pytest.raises(TransientSourceError, match="to be decoded in time: 50 ms have passed"):
            getattr(received, decode)()


def test_a_buffer_is_used_again_and_grows_by_powers_of_two() -> None:
    buffer = ReceiveBuffer()
    first = buffer.take(10)
    assert (len(first), memoryview(first.obj).nbytes) == (10, 1 << 16)
    assert buffer.take(1 << 16).obj is first.obj
    larger = buffer.take((1 << 16) + 1)
    assert (len(larger), memoryview(larger.obj).nbytes) == ((1 << 16) + 1, 1 << 17)
    assert buffer.take(3).obj is larger.obj
    assert len(buffer.take(0)) == 0


@pytest.mark.parametrize("has_huge_pages", [True, False])
def test_a_large_frame_has_memory_on_every_system(
    monkeypatch: pytest.MonkeyPatch, has_huge_pages: bool
) -> None:
    if not has_huge_pages:
        monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    buffer = ReceiveBuffer()
    frame = buffer.take((4 << 20) + 100)
    assert memoryview(frame.obj).nbytes == 8 << 20
    frame[-3:] = b"end"
    assert bytes(buffer.take(len(frame))[-3:]) == b"end"
    kept = frame[:1]
    kept[:] = b"a"
    buffer.take(9 << 20)[:1] = b"b"
    assert bytes(kept) == b"a"


def test_views_survive_the_growth_of_their_buffer() -> None:
    buffer = ReceiveBuffer()
    kept = buffer.take(3)
    kept[:] = b"abc"
    buffer.take(1 << 20)[:3] = b"xyz"
    assert bytes(kept) == b"abc"
