"""The client of a registry, and registries that do not behave."""

from __future__ import annotations

import base64
import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from headwater.connector.options import OptionTable
from headwater.core.clock import ManualClock
from headwater.core.errors import DeadlineError, OptionError, SourceError, TransientSourceError
from headwater.readers.formats.registry.client import SchemaRegistry, _parsed
from headwater.readers.formats.registry.settings import REGISTRY_OPTIONS, RegistrySettings
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
    server: ScriptedRegistry, how: int | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.fails_first(PATH, *[how] * 1_000)
    asks = client(server)
    monkeypatch.setattr(asks, "_clock", ManualClock())
    with pytest.raises(DeadlineError, match="the schema of id 7: no answer after"):
        asks.by_id(7)
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
    server.answers[f"/subjects/other/versions/3{query}&deleted=true"] = (200, {"id": 2, "schema": "REVG"})
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


def test_a_reference_to_a_version_that_is_deleted_and_kept_is_found(server: ScriptedRegistry) -> None:
    server.has(7, {"type": "int"}, references=[{"name": "a", "subject": "s", "version": 1}])
    server.answers["/subjects/s/versions/1?deleted=true"] = (200, {"id": 2, "schema": "{}"})
    assert client(server).by_id(7).references == (("a", "{}"),)


def test_references_in_a_circle_are_an_error_that_names_them(server: ScriptedRegistry) -> None:
    server.has(7, {"type": "int"}, references=[{"name": "a", "subject": "a", "version": 1}])
    for name, other in (("a", "b"), ("b", "a")):
        references = [{"name": other, "subject": other, "version": 1}]
        server.answers[f"/subjects/{name}/versions/1?deleted=true"] = (
            200,
            {"id": 2, "schema": "{}", "references": references},
        )
    with pytest.raises(SourceError, match="'a' refers to itself: a -> b"):
        client(server).by_id(7)


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"a":' * 200_000, b"{"])
def test_an_answer_that_is_nested_without_end_is_no_json(body: bytes) -> None:
    with pytest.raises(TransientSourceError, match="not JSON"):
        _parsed(body, "http://x")


def test_a_chain_of_references_may_be_longer_than_the_stack_and_ends_with_the_deadline_of_its_schema(
    server: ScriptedRegistry,
) -> None:
    def refers_to(number: int) -> list[dict[str, object]]:
        return [{"name": f"s{number}", "subject": f"s{number}", "version": 1}]

    server.has(7, {"type": "int"}, references=refers_to(0))
    for number in range(250):
        answer = {"id": 9, "schema": str(number), "references": refers_to(number + 1) if number < 249 else []}
        server.answers[f"/subjects/s{number}/versions/1?deleted=true"] = (200, answer)
    texts = client(server).by_id(7).references
    assert [text for _, text in texts] == [str(number) for number in reversed(range(250))]
    server.fails_first("/subjects/s150/versions/1?deleted=true", *[500] * 1_000)
    with pytest.raises(DeadlineError, match="the reference 's150'"):
        client(server, deadline_ms=1_500).by_id(7)


@pytest.mark.parametrize(
    "beginning",
    [b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 2"],
)
def test_an_answer_that_comes_byte_by_byte_ends_with_the_time_out(beginning: bytes) -> None:
    stopped = threading.Event()

    def drip(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(beginning)
        with contextlib.suppress(OSError):
            while not stopped.wait(0.02):
                connection.sendall(b" ")
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=drip, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        asks = SchemaRegistry(RegistrySettings(urls=(url,), timeout_ms=200, deadline_ms=10))
        try:
            with pytest.raises(DeadlineError, match="not whole after 200 ms"):
                asks.by_id(7)
        finally:
            stopped.set()


USER_IN_URL = "http://ann:s3cr%C3%A9t%2F@"


def test_a_user_in_the_url_is_sent_and_shown_nowhere(
    server: ScriptedRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    settings = RegistrySettings(urls=(server.url.replace("http://", USER_IN_URL),), deadline_ms=50)
    asks = SchemaRegistry(settings)
    assert asks.by_id(7).text == '{"type": "int"}'
    [sent] = server.authorization
    assert base64.b64decode(str(sent).removeprefix("Basic ")).decode() == "ann:s3cr\u00e9t/"
    caplog.set_level("DEBUG")
    server.answers["/schemas/ids/8"] = (400, {"you sent": sent, "plain": "ann:s3cr\u00e9t/"})
    with pytest.raises(SourceError, match="answered 400") as refused:
        asks.by_id(8)
    server.fails_first(PATH, *[500] * 50)
    with pytest.raises(DeadlineError) as late:
        SchemaRegistry(settings).by_id(7)
    shown = f"{refused.value} {late.value} {settings!r} {caplog.text}"
    for secret in ("s3cr", str(sent).removeprefix("Basic ")):
        assert secret not in shown


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"schema.registry.url": "http://ann:pw@a:1,http://b:1"}, "the same user and password in each URL"),
        ({"schema.registry.url": "ftp://ann:pw@a:1"}, "must be URLs such as .* not 'ftp://a:1'"),
        (
            {"schema.registry.url": "http://ann:pw@a:1", "schema.registry.bearer.auth.token": "t"},
            "goes not together with option 'schema.registry.bearer.auth.token'",
        ),
        (
            {"schema.registry.url": "http://ann:pw@a:1", "schema.registry.basic.auth.user.info": "x:y"},
            "goes not together with option 'schema.registry.basic.auth.user.info'",
        ),
    ],
)
def test_users_in_urls_that_contradict_are_refused_without_being_shown(
    options: dict[str, str], words: str
) -> None:
    with pytest.raises(OptionError, match=words) as raised:
        OptionTable(REGISTRY_OPTIONS).parse(options, None).of(RegistrySettings)
    assert "pw" not in str(raised.value)
