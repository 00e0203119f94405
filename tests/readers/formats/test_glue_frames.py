"""Values behind frames of AWS Glue, beside the original library's own decoder."""

from __future__ import annotations

import base64
import json
import tracemalloc
import uuid
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from aws_schema_registry import DataAndSchema
from aws_schema_registry.adapter.kafka import KafkaDeserializer, KafkaSerializer
from aws_schema_registry.avro import AvroSchema
from aws_schema_registry.codec import CodecException, encode
from aws_schema_registry.codec import decode as original
from hypothesis import given
from hypothesis import strategies as st

from headwater.connector.options import OptionTable
from headwater.core.errors import DeadlineError, SourceError
from headwater.readers.formats.avro.avro_format import GlueAvroFormat
from headwater.readers.formats.format import FormatOptions, Spans
from headwater.readers.formats.glue_frames import GlueFrames
from headwater.readers.formats.json.json_format import GlueJsonFormat, JsonValueFormat
from headwater.readers.formats.registry.glue_settings import GLUE_OPTIONS, GlueSettings
from headwater.readers.formats.wire_format import Reasons, prefix
from tests.glue_server import GlueServer
from tests.readers.formats.avro.values import decode, record, rows, spans

# The library calls `Logger.warn` where another version of a schema is registered.
pytestmark = pytest.mark.filterwarnings("ignore:The 'warn' method is deprecated:DeprecationWarning")

ID = uuid.UUID(int=7)
TOPIC = "orders"
V1 = record({"name": "id", "type": "int"})
V2 = record({"name": "note", "type": ["null", "string"], "default": None}, {"name": "id", "type": "long"})
FRAMES = st.builds(
    lambda data, version, packed, cut, at, byte: _mutated(encode(data, version, packed), cut, at, byte),
    st.binary(max_size=40),
    st.sampled_from([ID, uuid.UUID(int=1 << 127), uuid.UUID(int=3)]),
    st.booleans(),
    st.sampled_from([None, None, 0, 1, 17, 18, 19, 25]),
    st.integers(-1, 40),
    st.integers(0, 255),
)


def _mutated(frame: bytes, cut: int | None, at: int, byte: int) -> bytes:
    changed = bytearray(frame)
    if 0 <= at < len(changed):
        changed[at] = byte
    return bytes(changed[:cut])


@pytest.fixture(scope="module")
def server() -> Iterator[GlueServer]:
    with GlueServer() as server:
        yield server


@pytest.fixture
def serializer(server: GlueServer) -> KafkaSerializer:
    return KafkaSerializer(server.client)


def avro(server: GlueServer, schema: Any, **more: str) -> GlueAvroFormat:
    options = {"glue.deadlineMs": "300", **server.options, **more}
    settings = OptionTable(GLUE_OPTIONS).parse(options, None).of(GlueSettings)
    return GlueAvroFormat(json.dumps(schema), settings, (), FormatOptions(corrupt_column="bad"))


def of_json() -> GlueJsonFormat:
    schema = pa.schema([("id", pa.int64())]).serialize().to_pybytes()
    return GlueJsonFormat(JsonValueFormat(schema, FormatOptions(corrupt_column="bad")), "bad")


@given(st.lists(st.one_of(st.none(), FRAMES), max_size=30), st.booleans())
def test_every_frame_gives_what_the_original_library_gives_and_is_bad_where_it_raises(
    values: list[bytes | None], named: bool
) -> None:
    ids: dict[str, int] = {}
    reasons = Reasons()
    frames = GlueFrames(reasons, (lambda name: ids.setdefault(name, len(ids) + 1)) if named else None)
    given_ = spans(values)
    before = given_.data.tobytes()
    behind = frames(given_)
    for row, value in enumerate(values):
        found = behind.spans.value(row)
        if value is None:
            assert (found, behind.bad[row]) == (None, 0)
            continue
        try:
            data, version = original(value)
        except (CodecException, ValueError, zlib.error):
            assert found is None
            assert "Glue" in reasons.reason(int(behind.bad[row])) or "zlib" in reasons.reason(
                int(behind.bad[row])
            )
            continue
        assert behind.bad[row] == 0
        assert found == (prefix(ids[str(version)]) + data if named else data)
    assert given_.data.tobytes() == before, "the bytes that were fetched are never written to"


def test_values_may_lie_anywhere_and_more_versions_than_are_matched_at_once_are_told_apart() -> None:
    versions = [uuid.UUID(int=number * 1_000_003) for number in range(20)]
    values = [encode(b"%d" % at, versions[at % 20], at % 3 == 0) for at in range(60)]
    data = np.frombuffer(b"x".join(reversed(values)), np.uint8)
    starts = np.array([data.tobytes().index(value) for value in values], np.int64)
    sizes = np.array([len(value) for value in values], np.int64)
    ids = {str(version): at + 1 for at, version in enumerate(versions)}
    behind = GlueFrames(Reasons(), ids.__getitem__)(Spans(data, starts, sizes))
    assert [behind.spans.value(row) for row in range(60)] == [
        prefix(at % 20 + 1) + b"%d" % at for at in range(60)
    ]


def test_avro_of_the_original_serializer_is_resolved_and_each_version_is_asked_for_once(
    server: GlueServer, serializer: KafkaSerializer
) -> None:
    first, second = AvroSchema(V1), AvroSchema(V2)
    values: list[bytes | None] = []
    for number in range(50):
        values.append(serializer.serialize(TOPIC, DataAndSchema({"id": number}, first)))
        plain = serializer.serialize(TOPIC, DataAndSchema({"id": number, "note": "n"}, second))
        data, version = original(plain)
        values.append(encode(data, version, compression=True))
    server.asked.clear()
    made = avro(server, V2)
    for _ in range(2):
        found, bad = decode(made, [*values, None])
        assert bad is None
        deserializer = KafkaDeserializer(server.client)
        theirs = [deserializer.deserialize(TOPIC, value).data for value in values]
        assert found == [*({"note": None, "bad": None} | row for row in theirs), dict.fromkeys(found[0])]
    ours = [count // 2 for name, count in server.asked.items() if name != "by version"]
    assert len(ours) == 2
    assert all(count <= 3 for count in server.asked.values()), "ours once, a new deserializer each time"


def test_bytes_are_avro_too_and_not_as_confluent_writes_them(
    server: GlueServer, serializer: KafkaSerializer
) -> None:
    values = [serializer.serialize("raw", DataAndSchema(b"abc", AvroSchema('"bytes"')))]
    found, bad = decode(avro(server, "bytes"), values)
    assert bad is None
    assert [row["value"] for row in found] == [b"abc"]


def test_bad_values_are_kept_as_they_were_written_with_their_reasons(
    server: GlueServer, serializer: KafkaSerializer
) -> None:
    good = serializer.serialize(TOPIC, DataAndSchema({"id": 1}, AvroSchema(V1)))
    broken = encode(b"", original(good)[1], compression=False)
    damaged = encode(original(good)[0], original(good)[1], compression=True)[:-3]
    other = b"\0\0\0\0\1" + bytes(20)
    made = avro(server, V1)
    decoder = made.decoder()
    bad = decoder.append(spans([good, broken, None, damaged, other, b"", good]))
    assert bad is not None
    assert bad.rows.tolist() == [1, 3, 4, 5]
    texts = [decoder.reason(code) for code in bad.reasons.tolist()]
    assert "zlib" in texts[1]
    assert texts[2] == texts[3]
    assert "AWS Glue" in texts[2]
    assert [row["bad"] for row in rows(made, decoder)] == [
        base64.b64encode(value).decode() if value is not None else None
        for value in [None, broken, None, damaged, other, b"", None]
    ]


def test_json_in_frames_shows_its_text_where_it_is_bad_and_asks_nothing(server: GlueServer) -> None:
    server.asked.clear()
    values = [
        encode(b'{"id": 1}', ID, compression=False),
        encode(b'{"id": 2}', ID, compression=True),
        encode(b'{"id": "x"}', ID, compression=True),
        b'{"id": 3}',
        encode(b"  ", ID, compression=True),
    ]
    made = of_json()
    decoder = made.decoder()
    given_ = spans(values)
    assert decoder.nulls(given_).tolist() == [False, False, False, False, True]
    bad = decoder.append(given_)
    assert bad is not None
    assert bad.rows.tolist() == [2, 3]
    assert rows(made, decoder) == [
        {"id": 1, "bad": None},
        {"id": 2, "bad": None},
        {"id": None, "bad": '{"id": "x"}'},
        {"id": None, "bad": '{"id": 3}'},
        {"id": None, "bad": None},
    ]
    assert not server.asked


def test_a_version_that_glue_does_not_know_is_asked_for_until_the_deadline(server: GlueServer) -> None:
    unknown = uuid.uuid4()
    decoder = avro(server, V1).decoder()
    with pytest.raises(DeadlineError, match=f"the schema of GUID {unknown}") as caught:
        decoder.append(spans([None, encode(b"\2", unknown, compression=False)]))
    assert caught.value.position == 1
    assert server.asked[str(unknown)] > 1


def test_a_value_that_becomes_more_than_it_may_is_bad_and_costs_no_more_memory() -> None:
    most = 1 << 20
    bomb = encode(bytes(100 * most), ID, compression=True)
    reasons = Reasons()
    given_ = spans([encode(b"1", ID, compression=True), bomb])
    tracemalloc.start()
    behind = GlueFrames(reasons, None, most)(given_)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert behind.spans.value(0) == b"1"
    assert f"becomes more than {most} bytes" in reasons.reason(int(behind.bad[1]))
    assert peak < 4 * most


def test_values_that_become_more_together_than_they_may_are_an_error_of_the_one_that_does() -> None:
    values = [encode(bytes(600), ID, compression=True)] * 3
    with pytest.raises(SourceError, match="more than 1000 bytes") as caught:
        GlueFrames(Reasons(), None, 1_000)(spans(values))
    assert caught.value.position == 1
