"""Whom the board answers, and with what."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from headwater.core.errors import OptionError
from headwater.core.jsons import JsonObject
from headwater.tools.monitoring.board_server import BoardServer
from headwater.tools.monitoring.board_view import ViewRequest

TOKEN = "a-secret-of-this-test"


def view(request: ViewRequest) -> JsonObject:
    return {"asked": request.find}


@pytest.fixture
def local() -> Iterator[BoardServer]:
    server = BoardServer(view, host="127.0.0.1", port=0, token=None)
    yield server
    server.close()


@pytest.fixture
def guarded() -> Iterator[BoardServer]:
    server = BoardServer(view, host="127.0.0.1", port=0, token=TOKEN)
    yield server
    server.close()


def asked(
    server: BoardServer, path: str, method: str = "GET", **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(server.url).port or 0, timeout=30)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


@pytest.mark.parametrize("path", ["/", "/board.css", "/board.js", "/icon.svg"])
def test_the_page_and_its_parts_come_from_the_board_and_may_load_nothing_from_elsewhere(
    local: BoardServer, path: str
) -> None:
    answer, body = asked(local, path)
    assert answer.status == 200
    assert body
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    outside = {b"http://www.w3.org/2000/svg"}
    assert {word for word in body.replace(b'"', b" ").split() if word.startswith(b"http")} <= outside


def test_the_view_is_what_the_page_asks_for(local: BoardServer) -> None:
    _, body = asked(local, "/view?find=orders-1&first=nonsense")
    assert json.loads(body) == {"asked": "orders-1"}


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_it_can_be_read_only(local: BoardServer, method: str) -> None:
    answer, _ = asked(local, "/", method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_a_page_of_the_web_whose_name_leads_to_this_host_is_not_answered(local: BoardServer) -> None:
    assert asked(local, "/view", Host="attacker.example")[0].status == 403
    assert asked(local, "/view", Host="localhost:4140")[0].status == 200
    assert asked(local, "/view", Host="[::1]:4140")[0].status == 200


def test_with_a_token_nothing_is_shown_without_it(guarded: BoardServer) -> None:
    for path in ("/", "/view", "/board.js", "/?token=wrong", "/view?token="):
        assert asked(guarded, path)[0].status == 403
    assert asked(guarded, "/view", Cookie="headwater-board-1=wrong; broken[=")[0].status == 403


def test_a_token_in_the_address_becomes_a_cookie_and_leaves_the_address(guarded: BoardServer) -> None:
    assert guarded.url.endswith(f"/?token={TOKEN}")
    answer, _ = asked(guarded, f"/?token={TOKEN}")
    cookie = answer.headers["Set-Cookie"]
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    assert "HttpOnly; SameSite=Strict" in cookie
    opened, _ = asked(guarded, "/view", Cookie=cookie.partition(";")[0], Host="board.example")
    assert opened.status == 200


def test_an_address_that_others_reach_has_a_token_in_any_case() -> None:
    server = BoardServer(view, host="0.0.0.0", port=0, token=None)
    try:
        assert "/?token=" in server.url
        assert asked(server, "/")[0].status == 403
    finally:
        server.close()


def test_a_port_that_is_taken_is_an_error_that_says_what_to_do(local: BoardServer) -> None:
    port = urlsplit(local.url).port or 0
    with pytest.raises(OptionError, match=rf"port {port}: Address already in use\. Give another port"):
        BoardServer(view, host="127.0.0.1", port=port, token=None)


def test_closing_it_frees_the_port_and_may_be_done_twice(local: BoardServer) -> None:
    asked(local, "/")
    local.close()
    local.close()
    BoardServer(view, host="127.0.0.1", port=urlsplit(local.url).port or 0, token=None).close()


@pytest.mark.parametrize("count", [300, 600])
def test_half_requests_do_not_keep_the_board_from_others(local: BoardServer, count: int) -> None:
    address = ("127.0.0.1", urlsplit(local.url).port or 0)
    with ExitStack() as half_requests:
        for _ in range(count):
            half = half_requests.enter_context(socket.create_connection(address, timeout=30))
            half.sendall(b"GET /view HTTP/1.1\r\n")
        # Those beyond the limit wait until silent ones are closed.
        assert asked(local, "/view")[0].status == 200


def test_a_port_that_no_host_has_is_refused_with_the_range() -> None:
    with pytest.raises(OptionError, match="option 'port': must be a whole number from 0 to 65535, not 80000"):
        BoardServer(view, host="127.0.0.1", port=80_000, token=None)
