"""The client of a registry, and registries that do not behave."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headwater.core.errors import DeadlineError, SourceError
from headwater.readers.formats.registry.client import SchemaRegistry
from headwater.readers.formats.registry.settings import RegistrySettings
from tests.readers.formats.scripted_registry import ScriptedRegistry

PATH = "/schemas/ids/7"


@pytest.fixture
def server() -> Iterator[ScriptedRegistry]:
    registry = ScriptedRegistry()
    registry.has(7, {"type": "int"})
    yield registry
    registry.close()


def client(server: ScriptedRegistry, deadline_ms: int = 60_000) -> SchemaRegistry:
    return SchemaRegistry(RegistrySettings(urls=(server.url,), deadline_ms=deadline_ms))


@pytest.mark.parametrize("how", [500, 502, 503, 504, 429, 408, 404, "cut", "half", "html"])
def test_what_may_pass_is_asked_again(server: ScriptedRegistry, how: int | str) -> None:
    server.fails_first(PATH, how, how)
    assert client(server).by_id(7).text == '{"type": "int"}'
    assert server.asked[PATH] == 3


@pytest.mark.parametrize("how", [500, 429, 404, "cut", "half", "html"])
def test_what_does_not_pass_is_an_error_after_the_deadline_that_says_what_it_was(
    server: ScriptedRegistry, how: int | str
) -> None:
    server.fails_first(PATH, *[how] * 1_000)
    with pytest.raises(DeadlineError, match="the schema of id 7: no answer after"):
        client(server, deadline_ms=150).by_id(7)
    assert server.asked[PATH] > 1


@pytest.mark.parametrize("status", [302, 400, 405, 422])
def test_what_does_not_pass_by_itself_is_an_error_at_once(server: ScriptedRegistry, status: int) -> None:
    server.fails_first(PATH, *[status] * 10)
    with pytest.raises(SourceError, match=f"answered {status}"):
        client(server).by_id(7)
    assert server.asked[PATH] == 1


def test_a_schema_is_asked_for_once_and_a_failure_is_not_remembered(server: ScriptedRegistry) -> None:
    server.fails_first(PATH, *[500] * 50)
    asks = client(server, deadline_ms=60)
    with pytest.raises(DeadlineError):
        asks.by_id(7)
    server.before.clear()
    before = server.asked[PATH]
    assert asks.by_id(7) is asks.by_id(7)
    assert server.asked[PATH] == before + 1


def test_a_descriptor_is_asked_for_with_all_that_it_refers_to(server: ScriptedRegistry) -> None:
    query = "?format=serialized"
    references = [{"name": "other.proto", "subject": "other", "version": 3}]
    server.answers[f"{PATH}{query}"] = (
        200,
        {"schema": "QUJD", "schemaType": "PROTOBUF", "references": references},
    )
    server.answers[f"/subjects/other/versions/3{query}"] = (200, {"id": 2, "schema": "REVG"})
    asks = client(server)
    found = asks.by_id(7, serialized=True)
    assert (found.kind, found.text, found.references) == ("PROTOBUF", "QUJD", (("other.proto", "REVG"),))
    assert asks.by_id(7).text == '{"type": "int"}', "the other form is another answer"


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"schema": '"int"', "id": None},
        {"schema": '"int"', "id": "seven"},
        {"schema": '"int"', "references": 5},
        {"schema": '"int"', "references": ["Point"]},
        {"schema": '"int"', "references": [{"name": "Point"}]},
    ],
)
def test_json_that_is_no_schema_is_an_error_at_once(server: ScriptedRegistry, answer: object) -> None:
    server.answers[PATH] = (200, answer)
    with pytest.raises(SourceError, match="an answer has no schema"):
        client(server).by_id(7)
    assert server.asked[PATH] == 1


def test_an_answer_without_end_is_an_error_that_names_no_more_than_its_begin(
    server: ScriptedRegistry,
) -> None:
    server.answers[PATH] = (200, {"schema": "x" * (17 << 20)})
    with pytest.raises(SourceError, match="answered 200") as refused:
        client(server).by_id(7)
    assert len(str(refused.value)) < 1_000
