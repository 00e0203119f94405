"""Who asks: to whom secrets go, and where they never stand."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from headwater.core.clock import ManualClock
from headwater.core.epoch import Barrier
from headwater.core.epoch_json import state_to_json
from headwater.core.errors import AuthenticationError, OptionError, SourceError
from headwater.core.redaction import redacted
from headwater.enumerators.http.origins import OriginWaits
from headwater.enumerators.http.split import ROOT
from headwater.readers.http.client import RequestRate
from headwater.readers.http.split_reader import HttpSplitReader
from tests.readers.http.scripted import Scripted, read, run, source, start


@pytest.mark.parametrize(
    ("options", "header", "value"),
    [
        ({"bearerToken": "env:API_SECRET"}, "authorization", "Bearer s3cret"),
        (
            {"username": "me", "password": "env:API_SECRET"},
            "authorization",
            f"Basic {base64.b64encode(b'me:s3cret').decode()}",
        ),
        ({"apiKey": "env:API_SECRET"}, "x-api-key", "s3cret"),
        ({"apiKey": "env:API_SECRET", "apiKeyIn": "header:X-Other"}, "x-other", "s3cret"),
    ],
)
def test_credentials_are_headers(
    server: Scripted, monkeypatch: pytest.MonkeyPatch, options: dict[str, str], header: str, value: str
) -> None:
    monkeypatch.setenv("API_SECRET", "s3cret")
    server.say("/a", {"items": [1]})
    assert read(f"{server.origin}/a", **options) == [1]
    assert server.asked[0][1][header] == value


def test_a_key_in_the_query_may_rotate_and_stands_nowhere(server: Scripted, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("first")

    def answer(path: str) -> tuple[int, list[tuple[str, str]], bytes]:
        now = key.read_text()
        assert path.endswith(f"key={now}")
        key.write_text("second")
        # As many APIs do: what was asked with stands in the link.
        link = f"/b?size=2&key={now}" if path.startswith("/a") else None
        return 200, [], json.dumps({"items": [path[1]], "next": link}).encode()

    server.answer = answer
    params = json.dumps({"size": 2, "key": f"file:{key}"})
    made = source(f"{server.origin}/a", params=params)
    rows, state = run(made, Barrier(), start(made.urls[0]))
    assert [row[3] for row in rows] == ['"a"', '"b"']
    assert server.paths == ["/a?size=2&key=first", "/b?size=2&key=second"]
    kept = f"{rows} {state_to_json(state, made)} {made!r}"
    assert "first" not in kept
    assert "second" not in kept
    earlier = f"{server.origin}/a?size=2&key=first"
    assert made.path_of((ROOT, earlier)) == (ROOT, made.urls[0])
    assert made.path_of((f"0.1 of {earlier}", "http://x/c")) == (f"0.1 of {made.urls[0]}", "http://x/c")


def test_credentials_are_for_scheme_host_and_port(server: Scripted) -> None:
    made = source("https://api.example/a")
    assert made.settings.origins == ("https://api.example:443",)
    other = f"http://localhost:{server.server_address[1]}"
    server.say("/a?key=k", {"items": [1], "next": f"{other}/b"})
    server.say("/b", {"items": [2]})
    assert read(f"{server.origin}/a", apiKey="k", apiKeyIn="query:key", bearerToken="t") == [1, 2]
    assert ["authorization" in headers for _, headers in server.asked] == [True, False]


def test_a_new_token_is_got_when_one_is_refused(server: Scripted) -> None:
    server.say("/token", {"access_token": "one"})
    server.say("/token", {"access_token": "two"})
    server.say("/a", {"items": [1], "next": "/b"})
    server.say("/b", {}, status=401)
    server.say("/b", {"items": [2]})
    oauth = {
        "oauthTokenUrl": f"{server.origin}/token",
        "oauthClientId": "me",
        "oauthClientSecret": "s3cret",
        "oauthScope": "read",
    }
    assert read(f"{server.origin}/a", **oauth) == [1, 2]
    tokens = [headers.get("authorization") for path, headers in server.asked if path != "/token"]
    assert tokens == ["Bearer one", "Bearer one", "Bearer two"]
    assert server.bodies[0] == (b"grant_type=client_credentials&client_id=me&client_secret=s3cret&scope=read")
    server.answers["/token"] = [(403, [], b"{}")]
    with pytest.raises(AuthenticationError, match="gives out no token: HTTP 403"):
        read(f"{server.origin}/a", **{**oauth, "oauthClientSecret": "wrong"})


CLIENT = "client_id=me&client_secret=s%2F3+cret"


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        (
            {"oauthParams": {"audience": "https://api.example/"}},
            (f"grant_type=client_credentials&{CLIENT}&audience=https%3A%2F%2Fapi.example%2F", None),
        ),
        (
            {"oauthParams": {"resource": ["env:RESOURCE", "b"], "n": 1}, "oauthClientIn": "header"},
            (
                "grant_type=client_credentials&resource=a&resource=b&n=1",
                f"Basic {base64.b64encode(b'me:s%2F3+cret').decode()}",
            ),
        ),
        (
            {"oauthParams": {"grant_type": "refresh_token", "refresh_token": "file:SECRETS/refresh"}},
            (f"{CLIENT}&grant_type=refresh_token&refresh_token=r3fresh", None),
        ),
    ],
)
def test_a_token_is_asked_for_in_the_way_that_its_server_wants(
    server: Scripted,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    options: dict[str, Any],
    asked: tuple[str, str | None],
) -> None:
    monkeypatch.setenv("RESOURCE", "a")
    monkeypatch.setenv("CLIENT_SECRET", "s/3 cret")
    (tmp_path / "refresh").write_text("r3fresh\n")
    server.say("/token", {"access_token": "one"})
    server.say("/a", {"items": [1]})
    oauth = {
        "oauthTokenUrl": f"{server.origin}/token",
        "oauthClientId": "me",
        "oauthClientSecret": "env:CLIENT_SECRET",
        **options,
        "oauthParams": json.dumps(options["oauthParams"]).replace("SECRETS", str(tmp_path)),
    }
    assert read(f"{server.origin}/a", **oauth) == [1]
    assert (server.bodies[0].decode(), server.asked[0][1].get("authorization")) == asked
    assert server.asked[1][1]["authorization"] == "Bearer one"
    # A token for another audience is another one.
    assert read(f"{server.origin}/a", **{**oauth, "oauthParams": "{}"}) == [1]
    assert server.paths.count("/token") == 2


def test_a_refusal_of_a_token_says_why_and_no_secret(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSERTION", "4ss3rtion")
    said = {"error": "invalid_target", "error_description": "no https://api.example for s3cret, 4ss3rtion"}
    server.say("/token", said, status=400)
    oauth = {
        "oauthTokenUrl": f"{server.origin}/token",
        "oauthClientId": "me",
        "oauthClientSecret": "s3cret",
        "oauthParams": '{"audience": "https://api.example", "assertion": "env:ASSERTION"}',
    }
    with pytest.raises(
        AuthenticationError,
        match=r"HTTP 400: invalid_target: no https://api\.example for \*\*\*, \*\*\*; check .*oauthParams",
    ):
        read(f"{server.origin}/a", **oauth)
    monkeypatch.delenv("ASSERTION")
    with pytest.raises(SourceError, match=r"parameter 'assertion' of option 'oauthParams'.*ASSERTION is not"):
        read(f"{server.origin}/a", **oauth)


def test_a_token_is_kept_from_one_micro_batch_to_the_next_and_is_no_other_clients(server: Scripted) -> None:
    server.say("/token", {"access_token": "one"})
    server.say("/token", {"access_token": "two"})
    server.say("/a", {"items": [1]})
    oauth = {"oauthTokenUrl": f"{server.origin}/token", "oauthClientId": "me", "oauthClientSecret": "s3cret"}
    for _ in range(3):
        assert read(f"{server.origin}/a", connections="2", **oauth) == [1]
    assert read(f"{server.origin}/a", **{**oauth, "oauthClientSecret": "another"}) == [1]
    assert server.paths.count("/token") == 2


def test_a_token_server_that_is_busy_is_asked_again(server: Scripted) -> None:
    server.say("/token", {}, status=503)
    server.say("/token", {"access_token": "one"})
    server.say("/a", {"items": [1]})
    oauth = {"oauthTokenUrl": f"{server.origin}/token", "oauthClientId": "me", "oauthClientSecret": "s3cret"}
    assert read(f"{server.origin}/a", **oauth) == [1]


def test_a_token_server_that_asks_to_be_left_alone_is_asked_once_by_all_lists_of_a_task(
    server: Scripted,
) -> None:
    server.say("/token", {}, status=429, Retry_After="60")
    server.say("/token", {"access_token": "one"})
    for name in "ab":
        server.say(f"/{name}", {"items": [1]})
    api, tokens = server.origin, server.origin.replace("127.0.0.1", "localhost")
    oauth = {"oauthTokenUrl": f"{tokens}/token", "oauthClientId": "me", "oauthClientSecret": "s3cret"}
    # What a status of a page means is nothing to a token.
    made = source(f"{api}/a, {api}/b", onStatus="429=skip", **oauth)
    clock = ManualClock()
    reader = HttpSplitReader(made.settings, clock, RequestRate(None))
    begin = [start(url) for url in made.urls]
    reader.handle_splits_changes(begin)
    told = [reader.fetch(), reader.fetch()]
    assert [list(each.caught_up.values()) for each in told] == [[60_000], [60_000]]
    assert [each.events for each in told] == [(OriginWaits.event(tokens, 60_000),), ()]
    assert server.paths == ["/token"]
    clock.advance(60_000)
    reader.handle_splits_changes(begin)
    assert reader.fetch().records
    assert server.paths == ["/token", "/token", "/a"]
    reader.close()


def test_a_secret_that_changes_while_it_is_on_its_way_is_read_again(server: Scripted, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("first")

    def answer(path: str) -> tuple[int, list[tuple[str, str]], bytes]:
        if server.asked[-1][1]["authorization"] == "Bearer second":
            return 200, [], b'{"items": [1]}'
        key.write_text("second")
        return 401, [], b"{}"

    server.answer = answer
    assert read(f"{server.origin}/a", bearerToken=f"file:{key}") == [1]
    server.answer = lambda _: (401, [], b"{}")
    with pytest.raises(AuthenticationError):
        read(f"{server.origin}/a", bearerToken=f"file:{key}")
    assert len(server.asked) == 3, "the same secret is not tried again"


_ECHOES = [
    {"bearerToken": "s3cret/+"},
    {"username": "me", "password": "s3cret/+"},
    {"apiKey": "s3cret/+"},
    {"apiKey": "s3cret/+", "apiKeyIn": "query:key"},
    {"header.X-Other": "s3cret/+"},
]


@pytest.mark.parametrize("options", _ECHOES)
def test_a_secret_that_an_answer_repeats_is_in_no_error_row_event_or_log(
    server: Scripted, options: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    def answer(path: str) -> tuple[int, list[tuple[str, str]], bytes]:
        headers = server.asked[-1][1]
        sent = f"{headers.get('authorization')} {headers.get('x-api-key')} {headers.get('x-other')}"
        return 400, [], f"no: {sent}, asked for {path}, with s3cret/+".encode()

    server.answer = answer
    with pytest.raises(SourceError, match="no: ") as refused:
        read(f"{server.origin}/a", **options)
    made = source(f"{server.origin}/a", onStatus="400=skip", badPages="column", **options)
    rows, state = run(made, Barrier(), start(made.urls[0]))
    shown = f"{refused.value} {rows} {state_to_json(state, made)} {caplog.text}"
    assert "left out a page" in shown
    for secret in ("s3cret", base64.b64encode(b"me:s3cret/+").decode()):
        assert secret not in shown


@pytest.mark.parametrize(
    ("options", "is_secret"),
    [
        ({"header.X-Api-Version": "2024"}, False),
        ({"header.X-Api-Version": "env:API_YEAR"}, True),
        ({"header.X-Auth": "2024"}, True),
        ({"header.Ocp-Apim-Subscription-KEY": "2024"}, True),
        ({"header.cookie": "2024"}, True),
        ({"apiKey": "2024", "apiKeyIn": "header:X-Other"}, True),
        ({"apiKey": "2024", "apiKeyIn": "query:other"}, True),
        ({"params": '{"year": "env:API_YEAR"}'}, True),
        ({"params": '{"year": "2024"}'}, False),
        ({"bearerToken": "2024"}, True),
    ],
)
def test_a_header_hides_its_value_in_the_whole_process_if_its_name_or_place_makes_it_a_secret(
    server: Scripted, monkeypatch: pytest.MonkeyPatch, options: dict[str, str], *, is_secret: bool
) -> None:
    monkeypatch.setenv("API_YEAR", "2024")
    server.say("/a", {"items": [1]})
    server.say("/a?year=2024", {"items": [1]})
    server.say("/a?other=2024", {"items": [1]})
    assert read(f"{server.origin}/a", **options) == [1]
    assert redacted("of 2024-05-01") == ("of ***-05-01" if is_secret else "of 2024-05-01")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "http://me:pw@x/"}, "give the options username and password"),
        ({"bearerToken": "t", "username": "me"}, "'bearerToken': does not go with option 'username'"),
        ({"oauthTokenUrl": "http://x/token"}, "'oauthClientId': is required with option 'oauthTokenUrl'"),
        ({"oauthClientId": "me"}, "'oauthClientId': requires option 'oauthTokenUrl'"),
        ({"oauthParams": '{"a": 1}'}, "'oauthParams': requires option 'oauthTokenUrl'"),
        ({"oauthParams": '{"scope": "a"}'}, "'oauthParams': must not have 'scope': give option 'oauthScope'"),
        (
            {"oauthParams": '{"a": {"b": 1}}'},
            "'oauthParams': value of 'a' must be a string, a number",
        ),
        ({"oauthClientIn": "query"}, "'oauthClientIn': must be"),
        ({"password": "p"}, "'password': requires option 'username'"),
        ({"apiKeyIn": "query:key"}, "'apiKeyIn': requires option 'apiKey'"),
        ({"apiKeyIn": "cookie:a"}, "must be header:NAME or query:NAME"),
        ({"onStatus": "404=ignore"}, "must be such as 404=skip,5xx=retry"),
        ({"body": "{}"}, "'body': requires option method=POST"),
        ({"method": "POST", "body": "[]"}, "'body': must be a JSON object"),
        ({"cursorParam": "body:after"}, "'body': is required for a cursor in it"),
        ({"countParam": "n"}, "'countParam': requires option paging=page or offset"),
        ({"params": "[]"}, "'params': must be a JSON object"),
        ({"paging": "page", "cursorParam": "c"}, "'cursorParam': requires option paging=link"),
        ({"paging": "offset", "nextField": "n"}, "'nextField': requires option paging=link"),
        ({"pageFormat": "ndjson", "hasMoreField": "more"}, "'hasMoreField': names a field, and such a page"),
        ({"itemsField": "", "nextField": "n"}, "'nextField': names a field, and such a page has none"),
        ({"childrenUrl": "http://x/orders"}, "'childrenUrl': must have a field of the item in braces"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        source(**{"url": "http://x/", **options})
