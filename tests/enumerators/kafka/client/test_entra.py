"""Entra: what options come to, and the token that Azure's own library brings.

The identity endpoint is that of an App Service, as Azure documents it, played by a server of these tests.
No Event Hubs is asked.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from headwater.core.errors import AuthenticationError, MissingDependencyError, OptionError
from headwater.enumerators.kafka.client import sasl
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.entra import EntraId, default_credential

NAMESPACE = "orders.servicebus.windows.net"
OPTIONS = {
    "kafka.bootstrap.servers": f"{NAMESPACE}:9093",
    "kafka.security.protocol": "SASL_SSL",
    "kafka.sasl.mechanism": "AZURE_ENTRA",
}
OTHERS = ("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE")


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in OTHERS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")  # where Azure's command lines are
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
    default_credential.cache_clear()
    yield
    if default_credential.cache_info().currsize:
        default_credential().close()
    default_credential.cache_clear()


@contextmanager
def identity_endpoint(monkeypatch: pytest.MonkeyPatch, status: int) -> Iterator[list[dict[str, list[str]]]]:
    """Play the endpoint; yield what it is asked."""
    asked: list[dict[str, list[str]]] = []

    class Endpoint(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(parse_qs(urlsplit(self.path).query))
            answer = {"access_token": "the.token", "expires_on": "4102444800", "token_type": "Bearer"}
            body = json.dumps(answer if status == 200 else {"error": "s3cret"}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"http://127.0.0.1:{server.server_port}/msi/token")
        monkeypatch.setenv("IDENTITY_HEADER", "header")
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield asked
        finally:
            server.shutdown()
            thread.join()


def test_the_broker_gets_the_token_of_its_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []

    def broker(request: Any) -> Any:
        if request.name == "SaslHandshakeRequest":
            assert request.mechanism == "OAUTHBEARER"
            return SimpleNamespace(error_code=0, mechanisms=["OAUTHBEARER", "PLAIN"])
        sent.append(request.auth_bytes)
        return SimpleNamespace(error_code=0, auth_bytes=b"", session_lifetime_ms=3_600_000)

    config = ClientConfig.from_options(OPTIONS)
    assert config.sasl is not None
    with identity_endpoint(monkeypatch, 200) as asked:
        assert sasl.authenticate(broker, config.sasl, config.bootstrap_servers[0]) == 3_600_000
        assert EntraId(NAMESPACE).token() == "the.token"
    assert sent == [b"n,,\x01auth=Bearer the.token\x01\x01"]
    assert [each["resource"] for each in asked] == [[f"https://{NAMESPACE}"]]


def test_a_refusal_is_told_without_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        identity_endpoint(monkeypatch, 400),
        pytest.raises(AuthenticationError, match=f"AZURE_ENTRA: no token of Entra for {NAMESPACE}") as caught,
    ):
        EntraId(NAMESPACE).token()
    assert "s3cret" not in str(caught.value)


def test_a_missing_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    with pytest.raises(MissingDependencyError, match=r"headwater\[eventhubs\]"):
        EntraId(NAMESPACE).token()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"bootstrap.servers": "broker.internal:9093"}, "must be one namespace of Event Hubs"),
        (
            {"bootstrap.servers": f"{NAMESPACE}:9093,other.servicebus.windows.net:9093"},
            "must be one namespace",
        ),
        ({"bootstrap.servers": f"{NAMESPACE}.evil.example:9093"}, "must be one namespace of Event Hubs"),
        ({"security.protocol": "SASL_PLAINTEXT"}, "tokens with SASL_SSL only"),
        ({"security.protocol": "PLAINTEXT"}, "tokens with SASL_SSL only"),
        ({"sasl.oauthbearer.token.provider": "a:b"}, "clashes with AZURE_ENTRA"),
        (
            {"sasl.jaas.config": 'x.OAuthBearerLoginModule required clientId="a";'},
            "clashes with AZURE_ENTRA",
        ),
    ],
)
def test_what_would_have_no_effect_is_refused(changed: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        ClientConfig.from_options(OPTIONS | {f"kafka.{name}": value for name, value in changed.items()})
    assert message in str(caught.value)
