"""Formats by name: what each of them needs, takes and refuses, and where its schema comes from."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from google.protobuf import any_pb2, descriptor_pb2, source_context_pb2, type_pb2

from headwater.connector.formats import debezium_formats
from headwater.connector.formats.session_settings import with_session_zone
from headwater.connector.sources.kafka.source import KafkaSource
from headwater.core.errors import DeadlineError, MissingDependencyError, OptionError, UnknownSplitError
from headwater.core.source import Boundedness
from headwater.readers.formats.avro.avro_format import AvroValueFormat
from headwater.testing.making import configured
from tests.connector.sources.kafka.kafka_queries import configure
from tests.readers.formats.scripted_registry import ScriptedRegistry

REQUIRED = {"kafka.bootstrap.servers": "nowhere:9092", "subscribe": "a"}
ID = {"name": "id", "type": "int"}
LONG_ID = {"name": "id", "type": "long"}
SERIALIZED = "?format=serialized"


def record(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": list(fields)}


@pytest.fixture
def server() -> Iterator[ScriptedRegistry]:
    registry = ScriptedRegistry()
    registry.has_version("a-value", "latest", record(LONG_ID))
    registry.has_version("a-value", "1", record(ID))
    registry.has_version("a-key", "latest", '"string"')
    registry.has_version("com.acme.Order", "latest", record({"name": "order", "type": "long"}))
    yield registry
    registry.close()


@pytest.fixture
def descriptors(tmp_path: Path) -> str:
    files = descriptor_pb2.FileDescriptorSet()
    for module in (source_context_pb2, any_pb2, type_pb2):
        module.DESCRIPTOR.CopyToProto(files.file.add())
    path = tmp_path / "type.desc"
    path.write_bytes(files.SerializeToString())
    return str(path)


def columns(**given: str) -> str:
    """Return the schema of the values, which batch readers and the driver have alike."""
    said = REQUIRED | {"columns": "value.*"} | {_dotted(name): value for name, value in given.items()}
    options = {name: value for name, value in said.items() if value}
    made = configure(options, Boundedness.BOUNDED)
    assert made.spark_schema is not None
    assert made.spark_schema.names == made.source.schema().names
    return made.spark_schema.simpleString().removeprefix("struct<").removesuffix(">")


def refusal(**given: str) -> str:
    with pytest.raises(OptionError) as caught:
        columns(**given)
    return str(caught.value)


def _dotted(name: str) -> str:
    return name.replace("_", ".")


class TestFiles:
    def test_an_avro_schema_is_text_or_a_file(self, tmp_path: Path) -> None:
        text = json.dumps(record(ID))
        path = tmp_path / "order.avsc"
        path.write_text(text)
        for given in (text, str(path), f"file://{path}"):
            assert columns(valueFormat="avro", valueAvroSchema=given) == "id:int"

    @pytest.mark.parametrize("name", ["interface.avsc", "long", "string/x.avsc", "null.json", "bytes2"])
    def test_a_path_that_begins_as_a_type_does_is_a_path(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(json.dumps(record(ID)))
        # A word that is a whole type stays one.
        wanted = "value:bigint" if name == "long" else "id:int"
        assert columns(valueFormat="avro", valueAvroSchema=name) == wanted

    def test_an_avro_schema_that_is_no_record_is_one_column(self) -> None:
        assert columns(valueFormat="avro", valueAvroSchema='"long"') == "value:bigint"
        assert columns(valueFormat="avro", valueAvroSchema="long", columns="value,offset") == (
            "value:bigint,offset:bigint"
        )

    def test_a_message_of_a_descriptor_set(self, descriptors: str) -> None:
        given = {"valueFormat": "protobuf", "valueDescriptor": descriptors, "valueMessage": "SourceContext"}
        assert columns(**given) == "file_name:string"
        of_enum = given | {"valueMessage": "google.protobuf.Type", "columns": "value"}
        assert "syntax:string" in columns(**of_enum)
        assert "syntax:int" in columns(**of_enum, valueEnumsAsInts="true")

    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            ({"valueFormat": "avro"}, "'valueAvroSchema': is required"),
            ({"valueFormat": "avro", "valueAvroSchema": "/not/there"}, "'/not/there' cannot be read"),
            ({"valueFormat": "avro", "valueAvroSchema": "{"}, "'valueAvroSchema': the Avro schema is not"),
            ({"valueFormat": "avro", "valueAvroSchema": '["null"]'}, "'valueAvroSchema': value has the type"),
            (
                {"valueFormat": "avro", "valueSchema": "id int"},
                "'valueSchema': has no meaning for",
            ),
            ({"valueFormat": "protobuf", "valueMessage": "x"}, "'valueDescriptor': is required"),
            ({"valueFormat": "protobuf", "valueDescriptor": "/x"}, "'valueMessage': is required"),
            ({"valueFormat": "json", "valueSchema": "a int", "timeZone": "Mars"}, "no time zone 'Mars'"),
            (
                {"valueFormat": "json", "valueSchema": "a int", "schema_registry_url": "http://x"},
                "'schema.registry.url': requires a format that asks a registry",
            ),
            (
                {"valueFormat": "avro", "valueAvroSchema": "int", "columnNameOfCorruptRecord": "Value"},
                "'Value' is a field of the value too",
            ),
        ],
    )
    def test_what_is_missing_or_wrong_is_refused_by_name(self, given: dict[str, str], reason: str) -> None:
        assert reason in refusal(**given)

    def test_a_message_that_is_not_there_is_refused_with_the_nearest_name(self, descriptors: str) -> None:
        said = refusal(valueFormat="protobuf", valueDescriptor=descriptors, valueMessage="SourceContent")
        assert "'valueMessage': the descriptor set has no message 'SourceContent'" in said


class TestRegistry:
    def columns(self, server: ScriptedRegistry, **given: str) -> str:
        return columns(**{"valueFormat": "confluent-avro", "schema_registry_url": server.url} | given)

    def test_the_latest_schema_of_the_topic_another_version_another_subject(
        self, server: ScriptedRegistry
    ) -> None:
        assert self.columns(server) == "id:bigint"
        assert self.columns(server, schemaVersion="1") == "id:int"
        assert self.columns(server, valueSubject="com.acme.Order") == "order:bigint"
        assert self.columns(server, keyFormat="confluent-avro", columns="key") == "key:string"

    def test_producers_name_subjects_by_topics_and_records(self, server: ScriptedRegistry) -> None:
        server.has_version("a-com.acme.Order", "latest", record({"name": "of_a", "type": "long"}))
        server.has_version("com.acme.Order", "2", record(ID))
        named = {"valueMessage": "com.acme.Order"}
        assert self.columns(server, valueSubjectStrategy="topic") == "id:bigint"
        assert self.columns(server, valueSubjectStrategy="record", **named) == "order:bigint"
        assert self.columns(server, valueSubjectStrategy="record", schemaVersion="2", **named) == "id:int"
        assert self.columns(server, valueSubjectStrategy="topic-record", **named) == "of_a:bigint"
        by_pattern = {"subscribe": "", "subscribePattern": ".*"}
        assert self.columns(server, valueSubjectStrategy="record", **by_pattern, **named) == "order:bigint"

    def test_several_topics_whose_schemas_agree_need_no_subject(self, server: ScriptedRegistry) -> None:
        server.has_version("b-value", "latest", record(LONG_ID))
        assert self.columns(server, subscribe="b,a") == "id:bigint"
        server.has_version("b-value", "latest", record(ID))
        with pytest.raises(OptionError) as caught:
            self.columns(server, subscribe="b,a")
        for shown in ("'valueSubject': is required", "'a-value' and 'b-value' differ", '"long"', '"int"'):
            assert shown in str(caught.value)

    def test_a_given_schema_is_not_asked_for(self, server: ScriptedRegistry) -> None:
        assert self.columns(server, valueAvroSchema=json.dumps(record(ID))) == "id:int"
        assert not server.asked

    def test_a_registry_with_messages(self, server: ScriptedRegistry, descriptors: str) -> None:
        file = descriptor_pb2.FileDescriptorProto()
        source_context_pb2.DESCRIPTOR.CopyToProto(file)
        text = base64.b64encode(file.SerializeToString()).decode()
        server.has_version("a-value", f"latest{SERIALIZED}", text, schemaType="PROTOBUF")
        assert self.columns(server, valueFormat="confluent-protobuf") == "file_name:string"
        server.asked.clear()
        given = {"valueDescriptor": descriptors, "valueMessage": "SourceContext"}
        assert self.columns(server, valueFormat="confluent-protobuf", **given) == "file_name:string"
        assert not server.asked

    def test_a_registry_with_json_schemas(self, server: ScriptedRegistry) -> None:
        order = {"type": "object", "properties": {"id": {"type": "integer"}}}
        server.has_version("a-value", "latest", order, schemaType="JSON")
        assert self.columns(server, valueFormat="confluent-json") == "id:bigint"
        server.has_version("a-value", "latest", {"type": "object"}, schemaType="JSON")
        with pytest.raises(OptionError, match=r"'valueSchema': the JSON schema: .* Name the fields here"):
            self.columns(server, valueFormat="confluent-json")

    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            ({"schema_registry_url": "host:8081"}, "'schema.registry.url': must be URLs such as http://"),
            ({"schemaVersion": "newest"}, "'schemaVersion': must be latest or the number of a version"),
            (
                {"subscribe": "", "subscribePattern": ".*"},
                "'valueSubject': is required where a pattern finds the topics",
            ),
            ({"valueSubjectStrategy": "record"}, "'valueMessage': is required with 'valueSubjectStrategy'"),
            ({"valueMessage": "x"}, "'valueMessage': requires 'valueSubjectStrategy' record"),
            (
                {"valueSubject": "x", "valueSubjectStrategy": "topic"},
                "'valueSubjectStrategy': goes not together with 'valueSubject'",
            ),
            (
                {"valueAvroSchema": '"int"', "valueSubjectStrategy": "topic"},
                "'valueSubjectStrategy': excludes option 'valueAvroSchema'",
            ),
            (
                {"valueAvroSchema": '"int"', "schemaVersion": "1"},
                "'schemaVersion': excludes option 'valueAvroSchema'",
            ),
            (
                {
                    "schema_registry_basic_auth_user_info": "u:p",
                    "schema_registry_bearer_auth_token": "t",
                },
                "'schema.registry.bearer.auth.token': goes not together with",
            ),
            (
                {"valueFormat": "confluent-protobuf"},
                "'valueFormat': the schema in the registry is of",
            ),
            (
                {"valueFormat": "confluent-protobuf", "valueDescriptor": "/x"},
                "'valueMessage': is required with option 'valueDescriptor'",
            ),
            (
                {"valueFormat": "confluent-json", "valueSchema": "id int"},
                "'schema.registry.url': requires a format that asks",
            ),
        ],
    )
    def test_what_is_missing_or_wrong_is_refused_by_name(
        self, server: ScriptedRegistry, given: dict[str, str], reason: str
    ) -> None:
        server.has_version("a-value", f"latest{SERIALIZED}", record(ID))
        with pytest.raises(OptionError) as caught:
            self.columns(server, **given)
        assert reason in str(caught.value)

    def test_without_an_address_it_is_refused(self) -> None:
        assert "'schema.registry.url': is required for the format 'confluent-avro'" in refusal(
            valueFormat="confluent-avro"
        )

    def test_a_subject_that_is_not_there_is_an_error_that_names_the_options(
        self, server: ScriptedRegistry
    ) -> None:
        with pytest.raises(UnknownSplitError, match=r"subject 'b-value'.*'valueSubject'.*'schemaVersion'"):
            self.columns(server, subscribe="b")

    def test_a_registry_that_is_away_is_an_error_after_the_deadline(self, server: ScriptedRegistry) -> None:
        server.fails_first("/subjects/a-value/versions/latest", *[503] * 100)
        with pytest.raises(DeadlineError, match="version latest of the subject 'a-value'"):
            self.columns(server, schema_registry_deadlineMs="100")

    def test_credentials_are_sent_and_not_shown(
        self, server: ScriptedRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("REGISTRY_USER", "me:hush")
        options = {
            "valueFormat": "confluent-avro",
            "columns": "value.*",
            "schema.registry.url": server.url,
            "schema.registry.basic.auth.user.info": "env:REGISTRY_USER",
        }
        made = configure(REQUIRED | options, Boundedness.BOUNDED)
        assert server.authorization == {"Basic bWU6aHVzaA=="}
        assert "hush" not in repr(made)


class TestPatterns:
    def test_patterns_of_times_are_for_json_alone(self) -> None:
        given = {"valueSchema": "a timestamp, b date", "timestampFormat": "d/M/y H:mm", "dateFormat": "d.M.y"}
        assert columns(valueFormat="json", timeZone="UTC", **given) == "a:timestamp,b:date"
        schema = json.dumps(record(ID))
        message = refusal(valueFormat="avro", valueAvroSchema=schema, dateFormat="y")
        assert "dateFormat" in message
        assert "no meaning for the format 'avro'" in message

    def test_a_pattern_that_spark_refuses_too_is_refused_with_its_letters(self) -> None:
        message = refusal(keyFormat="json", keySchema="a date", keyDateFormat="YYYY-MM-dd")
        assert "keyDateFormat" in message
        assert "'YYYY': weeks" in message


class TestRescuedData:
    def test_the_column_stands_behind_the_others_or_where_the_schema_names_it(self) -> None:
        given = {"valueFormat": "json", "rescuedDataColumn": "r", "columnNameOfCorruptRecord": "c"}
        assert columns(valueSchema="id int", **given) == "id:int,c:string,r:string"
        assert columns(valueSchema="r string, id int", **given) == "r:string,id:int,c:string"

    def test_a_column_of_another_meaning_is_refused(self) -> None:
        given = {"valueFormat": "json", "rescuedDataColumn": "r"}
        assert "a field of the value" in refusal(valueSchema="r int", **given)
        assert "columnNameOfCorruptRecord" in refusal(
            valueSchema="a int", columnNameOfCorruptRecord="R", **given
        )

    def test_formats_without_unknown_fields_refuse_it(self) -> None:
        schema = json.dumps(record(ID))
        assert "rescuedDataColumn" in refusal(
            valueFormat="avro", valueAvroSchema=schema, rescuedDataColumn="r"
        )


class TestZones:
    def part(self, **given: str) -> Any:
        made = configure(REQUIRED | {"valueFormat": "json"} | given, Boundedness.BOUNDED).source
        assert isinstance(made, KafkaSource)
        return made.parts["value"]

    def test_a_zone_is_needed_only_where_a_time_may_be_without_one(self) -> None:
        for schema in ("id long", "at date", "at timestamp_ntz", "a array<struct<d: date>>"):
            part = self.part(valueSchema=schema)
            assert with_session_zone(part) is part
        part = self.part(valueSchema="at timestamp", timeZone="Europe/Paris")
        assert with_session_zone(part) is part

    @pytest.mark.parametrize("schema", ["at timestamp", "a map<string, array<struct<t: timestamp>>>"])
    def test_outside_of_a_session_that_has_one_it_is_refused(self, schema: str) -> None:
        with pytest.raises(OptionError, match=r"'timeZone': is required.*spark\.sql\.session\.timeZone"):
            with_session_zone(self.part(valueSchema=schema))


@pytest.mark.parametrize("optional", [True, False], ids=["a union with null", "no union"])
def test_an_envelope_of_a_connector_that_knows_no_earlier_row_has_a_null_before(optional: bool) -> None:
    row = record(ID) | {"name": "Value"}
    after = {"name": "after", "type": ["null", row] if optional else row}
    others = [{"name": name, "type": "string"} for name in ("op", "source")]
    envelope = record(after, *others, {"name": "ts_ms", "type": "long"}) | {
        "name": "Envelope",
        "namespace": "cdc",
    }
    adapted = debezium_formats.envelope_of(json.dumps(envelope), cast("Any", None))
    made_by = AvroValueFormat(adapted, json.dumps(envelope))
    assert made_by.schema().names == ["before", "after", "op", "ts_ms", "source"]
    assert made_by.schema().field("before").type == made_by.schema().field("after").type
    assert json.loads(adapted)["fields"][0]["default"] is None


ITEMS = {"url": "http://nowhere/items", "valueSchema": "id int", "columns": "item.*"}


@pytest.mark.parametrize(
    ("source", "options", "what", "extra"),
    [
        ("http", {**ITEMS, "valueFormat": "json"}, "the format json", "formats"),
        ("files", {"path": "/in", "format": "csv"}, "the files format csv", "formats"),
        ("files", {"path": "/in", "format": "json"}, "the files format json", "formats"),
        ("files", {"path": "/in", "format": "avro"}, "the files format avro", "avro"),
    ],
)
def test_a_library_that_tasks_will_need_is_missed_while_options_are_read(
    monkeypatch: pytest.MonkeyPatch, source: str, options: dict[str, str], what: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    with pytest.raises(MissingDependencyError, match=rf"{what} needs llvmlite, .*headwater\[{extra}\]"):
        configured(source, options, Boundedness.BOUNDED)
