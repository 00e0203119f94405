"""Confluent's wire format: each value is of the schema that it names, fetched once a process."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from headwater.core.errors import AuthenticationError, DeadlineError, SourceError, UnknownSplitError
from headwater.readers.formats.avro.avro_format import ConfluentAvroFormat
from headwater.readers.formats.registry.client import registry
from headwater.readers.formats.registry.settings import RegistrySettings
from tests.readers.formats.avro.values import encode, record, rows, spans
from tests.readers.formats.scripted_registry import ScriptedRegistry

V1 = record({"name": "id", "type": "int"})
V2 = record({"name": "note", "type": ["null", "string"], "default": None}, {"name": "id", "type": "long"})
POINT = record({"name": "p", "type": "other.Point"})
OTHER = {"type": "record", "name": "other.Point", "fields": [{"name": "y", "type": "int"}]}


@pytest.fixture
def server() -> Iterator[ScriptedRegistry]:
    registry = ScriptedRegistry()
    yield registry
    registry.close()


def made(server: ScriptedRegistry, schema: Any, **more: Any) -> ConfluentAvroFormat:
    settings = RegistrySettings(urls=(server.url,), **{"deadline_ms": 200, **more})
    return ConfluentAvroFormat(json.dumps(schema), settings)


def value(schema_id: int, schema: Any, what: Any) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + encode(schema, what)


def test_each_value_is_resolved_from_the_schema_that_it_names_and_each_is_fetched_once(
    server: ScriptedRegistry,
) -> None:
    server.has(1, V1)
    server.has(300, V2)
    format_ = made(server, V2)
    batch = [
        value(1 + 299 * (i % 2), (V1, V2)[i % 2], {"id": i, **({"note": "n"} if i % 2 else {})})
        for i in range(99)
    ]
    for _ in range(2):
        decoder = format_.decoder()
        assert decoder.append(spans([*batch, None])) is None
        wanted = [{"note": "n" if i % 2 else None, "id": i} for i in range(99)]
        assert rows(format_, decoder) == [*wanted, {"note": None, "id": None}]
    assert server.asked == {"/schemas/ids/1": 1, "/schemas/ids/300": 1}


def test_a_schema_may_refer_to_others(server: ScriptedRegistry) -> None:
    server.has(5, POINT, references=[{"name": "other.Point", "subject": "points", "version": 3}])
    server.answers["/subjects/points/versions/3"] = (200, {"id": 4, "schema": json.dumps(OTHER)})
    reader = record({"name": "p", "type": OTHER})
    format_ = made(server, reader)
    decoder = format_.decoder()
    decoder.append(spans([value(5, reader, {"p": {"y": 6}})]))
    assert rows(format_, decoder) == [{"p": {"y": 6}}]


@pytest.mark.parametrize(
    ("bytes_", "reason"),
    [
        (b"", "zero byte"),
        (b"\0\0\0\0", "zero byte"),
        (b"\0\xff\xff\xff\xff", "zero byte"),
        (b"\3\0" + bytes(16), "AWS Glue"),
        (b"\3\5" + bytes(30), "AWS Glue"),
        (b"\1" + bytes(16), "GUID"),
    ],
)
def test_other_wire_formats_are_bad_values_that_say_what_they_are(
    server: ScriptedRegistry, bytes_: bytes, reason: str
) -> None:
    decoder = made(server, V1).decoder()
    bad = decoder.append(spans([bytes_]))
    assert bad is not None
    assert reason in decoder.reason(int(bad.reasons[0]))
    assert not server.asked


def test_an_unknown_id_is_asked_for_until_the_deadline_and_then_an_error_of_that_value(
    server: ScriptedRegistry,
) -> None:
    server.has(1, V1)
    decoder = made(server, V1).decoder()
    with pytest.raises(DeadlineError, match="the schema of id 7") as caught:
        decoder.append(spans([value(1, V1, {"id": 1}), value(7, V1, {"id": 1})]))
    assert caught.value.position == 1
    assert server.asked["/schemas/ids/7"] > 1


def test_a_registry_that_comes_back_before_the_deadline_is_waited_for(server: ScriptedRegistry) -> None:
    server.has(1, V1)
    good = server.answers["/schemas/ids/1"]
    server.answers["/schemas/ids/1"] = (503, {})
    format_ = made(server, V1, deadline_ms=60_000)
    decoder = format_.decoder()
    back = threading.Timer(0.2, lambda: server.answers.update({"/schemas/ids/1": good}))
    back.start()
    assert decoder.append(spans([value(1, V1, {"id": 1})])) is None
    back.join()
    assert server.asked["/schemas/ids/1"] > 1


def test_wrong_credentials_are_an_error_at_once_and_a_message_has_none(server: ScriptedRegistry) -> None:
    server.answers["/schemas/ids/1"] = (401, {})
    decoder = made(server, V1, user_info="me:hush").decoder()
    with pytest.raises(AuthenticationError) as caught:
        decoder.append(spans([value(1, V1, {"id": 1})]))
    assert "hush" not in str(caught.value)
    assert server.asked["/schemas/ids/1"] == 1
    assert server.authorization == {"Basic bWU6aHVzaA=="}


def test_the_next_url_is_asked_when_one_is_away(server: ScriptedRegistry) -> None:
    server.has(1, V1)
    settings = RegistrySettings(urls=("http://127.0.0.1:9", server.url), token="t")
    format_ = ConfluentAvroFormat(json.dumps(V1), settings)
    decoder = format_.decoder()
    assert decoder.append(spans([value(1, V1, {"id": 1})])) is None
    assert server.authorization == {"Bearer t"}


def test_a_schema_of_another_kind_is_an_error(server: ScriptedRegistry) -> None:
    server.has(1, {}, schemaType="JSON")
    with pytest.raises(SourceError, match="of the kind JSON"):
        made(server, V1).decoder().append(spans([value(1, V1, {"id": 1})]))


def test_a_schema_of_a_subject_is_found_by_version(server: ScriptedRegistry) -> None:
    answer = {"id": 9, "schema": json.dumps(V1), "version": 2}
    server.answers["/subjects/a%2Fb-value/versions/latest"] = (200, answer)
    found = registry(RegistrySettings(urls=(server.url + "/",))).by_version("a/b-value", "latest")
    assert (found.id, found.kind, json.loads(found.text), found.references) == (9, "AVRO", V1, ())
    with pytest.raises(UnknownSplitError, match="version 3 of the subject 'other'"):
        registry(RegistrySettings(urls=(server.url,))).by_version("other", "3")


@pytest.mark.parametrize(
    ("reader", "content", "shown"),
    [
        ("bytes", b"\x08abcdef", b"\x08abcdef"),
        (["null", "bytes"], b"hello", b"hello"),
        ("string", b"hello\xff", "hello\ufffd"),
        ("bytes", b"", b""),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            b"\x01\x00",
            Decimal("2.56"),
        ),
    ],
)
def test_values_of_the_schema_bytes_have_no_length_as_confluents_serializer_writes_them(
    reader: Any, content: bytes, shown: Any, server: ScriptedRegistry
) -> None:
    server.has(6, reader if isinstance(reader, dict) else "bytes")
    format_ = made(server, reader)
    decoder = format_.decoder()
    assert decoder.append(spans([b"\0\0\0\0\6" + content])) is None
    assert rows(format_, decoder) == [{"value": shown}]


def test_bytes_inside_of_other_types_have_their_length(server: ScriptedRegistry) -> None:
    server.has(6, ["null", "bytes"])
    format_ = made(server, ["null", "bytes"])
    decoder = format_.decoder()
    assert decoder.append(spans([b"\0\0\0\0\6\2\4ab"])) is None
    assert rows(format_, decoder) == [{"value": b"ab"}]
