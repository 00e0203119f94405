"""Options about the rows of sources without keys, and queries of sources that decode their rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater import testing
from headwater.connector.sources.http.options import configure_http
from headwater.connector.sources.mqtt.options import configure_mqtt
from headwater.connector.sources.user_sources import UserSource
from headwater.core.errors import ContractError, OffsetError, OptionError
from headwater.core.source import Boundedness
from headwater.testing.engine import MicroBatchEngine, Step
from tests.readers.http.scripted import Answer, scripted_server

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
        (configure_http, {"badrecordspath": "x"}, "'badRecordsPath': must be an absolute path or a URL"),
        (configure_mqtt, {"badrecordspath": "/tmp/x"}, "'badRecordsPath': requires option 'valueFor"),
        (configure_http, {"valueformat": "avro"}, "must be one of json, not 'avro'"),
        (configure_http, {"valueavroschema": "x"}, "'valueavroschema': is not an option of this source"),
        (configure_http, {"keyformat": "json"}, "is not an option of this source"),
        (configure_mqtt, {"columns": "payload"}, "'columns': requires option 'valueFormat'"),
        (configure_mqtt, {"valueformat": "json"}, "'valueSchema': is required for the format 'json'"),
        (configure_mqtt, {"mode": "FAILFAST"}, "requires option 'valueFormat', which says how"),
        (configure_mqtt, {"schema.registry.url": "http://a"}, "requires a format that asks a reg"),
    ],
)
def test_what_counts_for_nothing_is_refused_by_name(
    configure: Callable[..., Any], given: dict[str, str], message: str
) -> None:
    base = HTTP if configure is configure_http else MQTT
    with pytest.raises(OptionError, match=message):
        configure({**base, **given}, Boundedness.BOUNDED)


@pytest.mark.parametrize("step", [Step.READ_PARTLY, Step.READ, Step.COMMITTED])
def test_bad_items_are_in_one_file_each_once_though_the_driver_dies(step: Step, tmp_path: Path) -> None:
    def answer(path: str) -> Answer:
        page = int(path.partition("?page=")[2] or 0)
        items = [{"id": 10 * page + number if number % 4 else "x"} for number in range(10)]
        following = f"/items?page={page + 1}" if page < 5 else None
        return 200, [], json.dumps({"items": items, "next": following}).encode()

    with scripted_server() as server:
        server.answer = answer
        options = {
            "url": f"{server.origin}/items",
            "stateLocation": f"{tmp_path}/state",
            "barrierRows": "20",
            "valueFormat": "json",
            "valueSchema": "id long",
            "badRecordsPath": f"{tmp_path}/bad",
        }
        engine = MicroBatchEngine.of("http", options)
        crashes = [engine.run(crash_after=step, in_batch=batch) for batch in range(3)]
        while engine.run():
            pass
    assert any(crashes)
    good = [10 * page + number for page in range(6) for number in range(10) if number % 4]
    assert sorted(row["id"] for row in engine.rows) == good
    files = [file.read_text().splitlines() for file in Path(tmp_path, "bad", "http").iterdir()]
    assert [[json.loads(line)["row"] for line in lines] for lines in files] == [[0, 4, 8]] * 6


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
