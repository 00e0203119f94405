"""Options about the rows of sources without keys, and queries of sources that decode their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater import testing
from headwater.connector.sources.http.configure import configure_http
from headwater.connector.sources.mqtt.configure import configure_mqtt
from headwater.connector.sources.user_sources import UserSource
from headwater.core.errors import ContractError, OffsetError, OptionError
from headwater.core.source import Boundedness

HTTP = {"url": "http://127.0.0.1:1/", "valueformat": "json", "valueschema": "id long"}
MQTT = {"broker": "mqtt://127.0.0.1:1", "topics": "a"}


@pytest.mark.parametrize("configure", [configure_http, configure_mqtt])
def test_fields_stand_in_the_place_of_the_payload(configure: Callable[..., Any]) -> None:
    given = {
        **(HTTP if configure is configure_http else MQTT),
        "valueformat": "json",
        "valueschema": "id long",
    }
    names = configure(given, Boundedness.BOUNDED).source.schema().names
    assert names in (["resource", "page", "row", "id"], ["topic", "id", "qos", "retained", "received"])


@pytest.mark.parametrize(
    ("configure", "given", "message"),
    [
        (configure_http, {"badrecordspath": "/tmp/x"}, "'badRecordsPath': is for the kafka source only"),
        (configure_mqtt, {"badrecordspath": "/tmp/x"}, "'badRecordsPath': is for the kafka source only"),
        (configure_http, {"valueformat": "avro"}, "must be one of json, not 'avro'"),
        (configure_http, {"valueavroschema": "x"}, "'valueavroschema': is not an option of this source"),
        (configure_http, {"keyformat": "json"}, "is not an option of this source"),
        (configure_mqtt, {"columns": "payload"}, "'columns': counts only with option 'valueFormat'"),
        (configure_mqtt, {"valueformat": "json"}, "'valueSchema': is required for the format 'json'"),
        (configure_mqtt, {"mode": "FAILFAST"}, "counts only where 'valueFormat' says how"),
        (configure_mqtt, {"schema.registry.url": "http://a"}, "counts only with a format that asks a reg"),
    ],
)
def test_what_counts_for_nothing_is_refused_by_name(
    configure: Callable[..., Any], given: dict[str, str], message: str
) -> None:
    base = HTTP if configure is configure_http else MQTT
    with pytest.raises(OptionError, match=message):
        configure({**base, **given}, Boundedness.BOUNDED)


def test_an_argument_and_an_option_of_one_name_are_refused() -> None:
    with pytest.raises(OptionError, match=r"'MODE': is an argument of hw.decode too: give it once"):
        hw.decode("text", column="a", mode="FAILFAST", options={"MODE": "PERMISSIVE"})


class Messages(hw.SimpleSource):
    """Texts that a test gives, in barrier mode."""

    name = "messages"
    schema = pa.schema([pa.field("text", pa.string())])
    OPTIONS = (hw.options.Option("fields", hw.options.text, "id long", "The fields."),)

    texts: tuple[str, ...] = ()

    def decoding(self) -> hw.contracts.Decoding:
        return hw.decode("json", column="text", schema=self.options["fields"])

    def discover(self) -> list[hw.NamedSplit]:
        return [hw.NamedSplit("all")]

    def read(self, split: hw.NamedSplit, position: int) -> Iterator[hw.Page]:
        for number, text in enumerate(type(self).texts[position:], position):
            yield hw.Page([(text,)], number + 1)


class PlannedMessages(Messages, hw.Heads):
    """The same in planned mode."""

    name = "planned-messages"

    def head(self, split: hw.NamedSplit) -> int:
        return len(type(self).texts)


@pytest.mark.parametrize("kind", [Messages, PlannedMessages])
def test_a_query_stops_where_its_checkpoint_has_other_fields_unless_it_may_go_on(
    kind: type[Messages], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"stateLocation": str(tmp_path)} if kind is Messages else {}

    def configured(**more: str) -> Any:
        given: Mapping[str, str] = {name.lower(): value for name, value in {**options, **more}.items()}
        return UserSource(kind)(given, Boundedness.CONTINUOUS_UNBOUNDED)

    chosen: dict[str, str] = {}
    query = testing.MicroBatchEngine(lambda: configured(**chosen))
    monkeypatch.setattr(kind, "texts", ('{"id": 1}', "nope"))
    query.run()
    assert query.rows == [{"id": 1}, {"id": None}]
    chosen["fields"] = "id long, name string"
    with pytest.raises(OffsetError, match=r"with the schema .*struct<id:bigint>.*schemaEvolution"):
        query.run()
    chosen["schemaEvolution"] = "true"
    monkeypatch.setattr(kind, "texts", ('{"id": 1}', "nope", '{"id": 2, "name": "b"}'))
    query.run()
    assert query.rows[2:] == [{"id": 2, "name": "b"}]


def test_a_source_that_decodes_keeps_the_promises_of_sources(tmp_path: Any) -> None:
    class Twice(Messages):
        def infer_schema(self) -> pa.Schema:
            return self.schema

    with pytest.raises(ContractError, match="Twice has decoding and infer_schema"):
        UserSource(Twice)({}, Boundedness.BOUNDED)

    class Wrong(Messages):
        def decoding(self) -> Any:
            return "json"

    with pytest.raises(ContractError, match=r"Wrong.decoding must return what hw.decode returns"):
        UserSource(Wrong)({}, Boundedness.BOUNDED)
    assert "schemaEvolution" in hw.options_of(Messages).markdown()
