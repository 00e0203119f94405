"""https: whom a client trusts, through which proxy it goes, and where its credentials stay."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from headwater.core.errors import AuthenticationError, SourceError, TransientSourceError
from headwater.readers.http.client import HttpClient
from headwater.readers.http.settings import HttpSettings
from local_kafka_tls import TlsFiles, make_certificates
from tests.readers.http.scripted import Scripted, read, scripted_server, serve_as

Trust = Callable[[Path], None]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def server(files: TlsFiles, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    """A server at https://localhost."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files.server)
    with scripted_server() as made:
        # Shaken hands in the thread of each connection: that of the server goes on.
        made.socket = context.wrap_socket(made.socket, server_side=True, do_handshake_on_connect=False)
        yield made


@pytest.fixture
def trust(monkeypatch: pytest.MonkeyPatch) -> Trust:
    """Let this system trust an authority."""
    return lambda ca: monkeypatch.setenv("SSL_CERT_FILE", str(ca))


def localhost(server: Scripted) -> str:
    return f"https://localhost:{server.server_address[1]}"


def test_a_server_is_trusted_as_the_system_does_and_no_other_one_is(
    server: Scripted, files: TlsFiles, trust: Trust
) -> None:
    server.say("/a", {"items": [1]})
    trust(files.ca)
    assert read(f"{localhost(server)}/a") == [1]
    trust(files.other_ca)
    client = HttpClient(HttpSettings())
    # At once: no later request finds another certificate.
    with pytest.raises(AuthenticationError, match=r"certificate is not trusted: .*tlsCa"):
        client.ask(f"{localhost(server)}/a")
    client.close()
    assert server.paths == ["/a"]


def test_a_certificate_for_another_host_is_no_passing_failure(
    server: Scripted, files: TlsFiles, trust: Trust, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust(files.ca)
    serve_as(monkeypatch, "other.example", server)
    client = HttpClient(HttpSettings())
    with pytest.raises(AuthenticationError, match=r"certificate is not trusted: .*other\.example"):
        client.ask(f"https://other.example:{server.server_address[1]}/a")
    client.close()


def answer_with_an_alert(listening: socket.socket) -> None:
    """Answer a request as a server does that expected TLS."""
    connection, _ = listening.accept()
    with connection:
        connection.recv(1 << 16)
        connection.sendall(b"\x15\x03\x01\x00\x02\x02\x28\r\n")


def test_a_protocol_that_does_not_fit_the_port_is_no_passing_failure() -> None:
    client = HttpClient(HttpSettings())
    with scripted_server() as plain:
        with pytest.raises(SourceError, match="does not speak TLS there") as error:
            client.ask(plain.origin.replace("http:", "https:"))
        assert not isinstance(error.value, TransientSourceError)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        answering = threading.Thread(target=answer_with_an_alert, args=(listening,), daemon=True)
        answering.start()
        with pytest.raises(SourceError, match="speaks TLS at this port: write https://") as error:
            client.ask(f"http://127.0.0.1:{listening.getsockname()[1]}")
        answering.join()
    assert not isinstance(error.value, TransientSourceError)
    client.close()


def test_credentials_do_not_go_to_http_of_the_same_host(
    server: Scripted, files: TlsFiles, trust: Trust
) -> None:
    trust(files.ca)
    with scripted_server() as plain:
        there = plain.origin.replace("127.0.0.1", "localhost")
        server.say("/a", {"items": [1], "next": f"{there}/b"})
        plain.say("/b", {"items": [2]})
        assert read(f"{localhost(server)}/a", bearerToken="t0ken") == [1, 2]
        assert server.asked[0][1]["authorization"] == "Bearer t0ken"
        assert "authorization" not in plain.asked[0][1]


class Tunnel(BaseHTTPRequestHandler):
    """A proxy that connects, and passes bytes on."""

    asked: list[str]

    def do_CONNECT(self) -> None:
        self.asked.append(self.path)
        host, _, port = self.path.partition(":")
        with socket.create_connection((host, int(port))) as there:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=pass_on, args=(there, self.connection), daemon=True)
            back.start()
            pass_on(self.connection, there)
            back.join()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


def pass_on(one: socket.socket, other: socket.socket) -> None:
    # Either side may go away while the other one still speaks.
    with suppress(OSError):
        while data := one.recv(1 << 16):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("spelt", [str.upper, str.lower], ids=["upper case", "lower case"])
def test_https_goes_through_the_proxy_of_the_environment_but_for_hosts_that_need_none(
    server: Scripted,
    files: TlsFiles,
    trust: Trust,
    monkeypatch: pytest.MonkeyPatch,
    spelt: Callable[[str], str],
) -> None:
    server.say("/a", {"items": [1]})
    trust(files.ca)
    asked: list[str] = []
    handler = type("Handler", (Tunnel,), {"asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as proxy:
        proxy.daemon_threads = True
        threading.Thread(target=proxy.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv(spelt("https_proxy"), f"http://127.0.0.1:{proxy.server_address[1]}")
        url = f"{localhost(server)}/a"
        assert read(url) == [1]
        assert asked == [f"localhost:{server.server_address[1]}"]
        monkeypatch.setenv(spelt("no_proxy"), "localhost")
        assert read(url) == [1]
        assert len(asked) == 1
        proxy.shutdown()
