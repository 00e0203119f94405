"""The client of AWS Glue's registry: what passes, what does not, and what no error shows."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from headwater.connector.options import OptionTable
from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    DeadlineError,
    OptionError,
    SourceError,
    UnknownSplitError,
)
from headwater.readers.formats.registry.client import registry
from headwater.readers.formats.registry.glue_client import GlueRegistry
from headwater.readers.formats.registry.glue_settings import GLUE_OPTIONS, GlueSettings
from tests.glue_server import GlueServer

INT = '{"type": "int"}'
LONG = '{"type": "long"}'


@pytest.fixture(scope="module")
def server() -> Iterator[GlueServer]:
    with GlueServer() as server:
        server.client.create_schema("numbers", "AVRO", INT, "NONE")
        server.client.register_schema_version(LONG, "numbers")
        yield server


def settings(server: GlueServer | None, **more: str) -> GlueSettings:
    options = {"glue.deadlineMs": "300", **(server.options if server else {}), **more}
    return OptionTable(GLUE_OPTIONS).parse(options, None).of(GlueSettings)


def test_versions_by_number_and_the_latest_one_and_one_client_serves_a_process(server: GlueServer) -> None:
    asks = registry(settings(server))
    assert registry(settings(server)) is asks
    found = [asks.by_version("numbers", version) for version in ("1", "2", "latest")]
    assert [each.text for each in found] == [INT, LONG, LONG]
    assert {each.kind for each in found} == {"AVRO"}
    assert asks.by_id(found[0].id).text == INT


@pytest.mark.parametrize("place", [("nothing", "latest"), ("numbers", "7")])
def test_what_glue_does_not_have_is_said_at_once(server: GlueServer, place: tuple[str, str]) -> None:
    server.asked.clear()
    with pytest.raises(UnknownSplitError, match=f"AWS Glue does not have version {place[1]} of .*{place[0]}"):
        GlueRegistry(settings(server)).by_version(*place)
    assert server.asked["by version"] == 1


@pytest.mark.parametrize(
    ("status", "code", "kind", "words"),
    [
        (400, "UnrecognizedClientException", AuthenticationError, "does not accept the credentials"),
        (400, "AccessDeniedException", AuthorizationError, "needs the action glue:GetSchemaVersion"),
        (400, "InvalidInputException", SourceError, "does not show version latest"),
    ],
)
def test_what_no_waiting_mends_is_an_error_at_once_without_secrets(
    server: GlueServer, status: int, code: str, kind: type[SourceError], words: str
) -> None:
    server.asked.clear()
    server.refusals.append((status, code))
    with pytest.raises(kind, match=words) as caught:
        GlueRegistry(settings(server)).by_version("numbers", "latest")
    assert server.asked["by version"] == 1
    assert "hush-hush" not in f"{caught.value}{settings(server)!r}"


def test_throttling_and_errors_of_the_server_pass(server: GlueServer) -> None:
    server.refusals.extend([(400, "ThrottlingException"), (500, "InternalServiceException")])
    asks = GlueRegistry(settings(server, **{"glue.deadlineMs": "60s"}))
    assert asks.by_version("numbers", "1").text == INT
    assert not server.refusals


def test_an_endpoint_that_refuses_is_asked_until_the_deadline(server: GlueServer) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{unused.getsockname()[1]}"
        asks = GlueRegistry(settings(server, **{"glue.endpointUrl": endpoint}))
        with pytest.raises(DeadlineError, match=f"no answer from AWS Glue.*{endpoint}"):
            asks.by_version("numbers", "latest")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"glue.accessKeyId": "a"}, "'glue.accessKeyId': requires option 'glue.secretAccessKey'"),
        ({"glue.secretAccessKey": "s"}, "'glue.secretAccessKey': requires option 'glue.accessKeyId'"),
        ({"glue.sessionToken": "t"}, "'glue.sessionToken': requires option 'glue.accessKeyId'"),
    ],
)
def test_credentials_that_are_not_whole_are_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        settings(None, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"glue.endpointUrl": "no url", "glue.region": "eu-west-1"}, "'glue.endpointUrl'"),
        ({}, "'glue.region': is required"),
    ],
)
def test_a_place_that_can_be_none_is_an_error_of_its_option(
    options: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(OptionError, match=words):
        GlueRegistry(settings(None, **options)).by_version("numbers", "latest")
