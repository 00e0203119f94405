"""A connection of `headwater.plugins.nats`: JetStream's API, and pages of a consumer's messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

import headwater as hw
from headwater.plugins.nats_client import NatsMessage, client_class, is_last

T = TypeVar("T")

_PAGE_BYTES: Final = 4 << 20
_QUIET_S: Final = 2.0
"""A request is over after this time without a message."""
_CONSUMER_LIFE_NS: Final = 60_000_000_000
_CONNECT_S: Final = 10
_ASK_S: Final = 5.0
NO_MESSAGE: Final = 10037
NO_STREAM: Final = 10059
_PASSING: Final = (408, 500, 503)
"""Codes of errors of JetStream's API that may pass: no leader now, too busy."""
_FULL: Final = "409"
_ENDS: Final = ("404", "408", _FULL)
"""Statuses that end a request: no messages, time is over, the next message is too large for it."""


def _servers(raw: str) -> tuple[str, ...]:
    servers: tuple[str, ...] = hw.options.names(raw)
    if any("@" in each for each in servers):
        raise ValueError("must hold no user: give username and password, token, or credentials")
    return servers


class NatsSettings(hw.options.Spec):
    """How servers are reached."""

    servers: tuple[str, ...] = hw.options.option(
        "servers",
        "Servers to begin with, with commas between them: `nats://host:4222`, or `tls://host:4222`.",
        parse=_servers,
        kind="names",
    )
    username: str | None = hw.options.option("username", "Whom to connect as.", default=None)
    password: str | None = hw.options.option(
        "password", "`env:NAME`, `file:PATH`, or the password itself.", default=None, is_secret=True
    )
    token: str | None = hw.options.option(
        "token", "Instead of the two: a token, in the same way.", default=None, is_secret=True
    )
    credentials: str | None = hw.options.option(
        "credentials",
        "Instead: a user's JWT and seed as in a `.creds` file, mostly `file:PATH`.",
        default=None,
        is_secret=True,
    )
    domain: str | None = hw.options.option("domain", "The JetStream domain, if it has one.", default=None)

    def __post_init__(self) -> None:
        if (self.username is None) != (self.password is None):
            field = "username" if self.password is None else "password"
            raise self.refusal(field, "username and password go together: give both")
        if sum(each is not None for each in (self.username, self.token, self.credentials)) > 1:
            raise self.refusal("servers", "give one of username with password, token, and credentials")

    @property
    def api(self) -> str:
        """The prefix of the subjects of JetStream's API."""
        return f"$JS.{self.domain}.API." if self.domain else "$JS.API."


class NatsServer:
    """A connection, and the event loop that nats-py needs. The loop runs only while a call waits."""

    def __init__(self, settings: NatsSettings, tls: hw.options.TlsSettings) -> None:
        self.loop = asyncio.Runner()
        self.refusal = ""
        self._settings = settings
        self._tls = tls
        self._client: Any = None
        self._inbox = ""
        self._wanted = 0

    def connect(self) -> None:
        self._client = client_class()()
        settings = self._settings
        secrets = {
            name: hw.options.kept_secret(written, f"option {name!r}")
            for name in ("password", "token", "credentials")
            if (written := getattr(settings, name)) is not None
        }
        login: dict[str, Any] = {"user": settings.username} if settings.username else {}
        if "credentials" in secrets:
            from nats.aio.client import RawCredentials

            login["user_credentials"] = RawCredentials(secrets.pop("credentials"))
        if any(each.startswith("tls://") for each in settings.servers):
            login["tls"] = self._tls.context()
        self._run(
            self._client.connect(
                list(settings.servers),
                name="headwater",
                allow_reconnect=False,  # a new connection has to begin at the last position
                connect_timeout=_CONNECT_S,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                error_cb=self._note,
                **login,
                **secrets,
            )
        )

    def close(self) -> None:
        with suppress(Exception):  # it is gone already
            self._run(self._client.close())

    async def _note(self, error: Exception) -> None:
        self.refusal = str(error)
        self._client.arrived.set()

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        return self.loop.run(call)

    def ask(self, call: str, request: Mapping[str, Any] | None = None, allow: int = 0) -> Any:
        """Return an answer of JetStream's API; None for the error that is allowed."""
        payload = b"" if request is None else json.dumps(request).encode()
        answer = json.loads(self._run(self._client.request(self._settings.api + call, payload, _ASK_S)).data)
        error = answer.get("error")
        if error is None:
            return answer
        if error.get("err_code") == allow:
            return None
        kind = hw.TransientSourceError if error["code"] in _PASSING else hw.errors.SourceError
        raise kind(f"{call}: {error['description']} ({error.get('err_code', error['code'])})", source="nats")

    def streams(self, subjects: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        """Yield all streams that have one of these subjects, or all there are, with their states."""
        seen = set[str]()
        for subject in subjects or ("",):
            offset = 0
            while True:
                request = {"offset": offset, **({"subject": subject} if subject else {})}
                page = self.ask("STREAM.LIST", request)
                for each in page["streams"] or ():
                    if each["config"]["name"] not in seen:
                        seen.add(each["config"]["name"])
                        yield each
                offset += len(page["streams"] or ())
                if not page["streams"] or offset >= page["total"]:
                    break

    def state(self, stream: str, info: Any) -> dict[str, Any] | None:
        """Return the state of a stream; None if it is gone, or another one has its name now."""
        answer = self.ask(f"STREAM.INFO.{stream}", allow=NO_STREAM)
        if answer is None or answer["created"] != info["created"]:
            return None
        state: dict[str, Any] = answer["state"]
        return state

    @contextmanager
    def consumer(self, stream: str, config: Mapping[str, Any]) -> Iterator[dict[str, Any] | None]:
        """Make a consumer for a while, and yield its description. None: there is no such stream."""
        more = {"ack_policy": "none", "mem_storage": True, "num_replicas": 1}
        whole = {**config, **more, "inactive_threshold": _CONSUMER_LIFE_NS}
        made = self.ask(f"CONSUMER.CREATE.{stream}", {"stream_name": stream, "config": whole}, NO_STREAM)
        if made is None:
            yield None
            return
        self._inbox = self._client.new_inbox()
        self._run(self._client.subscribe(self._inbox, cb=self._client.take_status))
        try:
            yield made
        finally:
            with suppress(Exception):  # it ends by itself when it is not asked any more
                self.ask(f"CONSUMER.DELETE.{stream}.{made['name']}")

    def request(self, made: Mapping[str, Any], *, rows: int) -> None:
        """Ask a consumer for the messages of a page, and do not wait for them."""
        client = self._client
        self._wanted = rows
        client.begin(rows)
        most_bytes = max(_PAGE_BYTES, 2 * client.max_payload)
        request = json.dumps({"batch": rows, "no_wait": True, "max_bytes": most_bytes}).encode()
        subject = f"{self._settings.api}CONSUMER.MSG.NEXT.{made['stream_name']}.{made['name']}"
        self._run(client.publish(subject, request, reply=self._inbox))
        self._run(client.flush(_ASK_S))

    def page(self) -> tuple[list[NatsMessage], bool]:
        """Return the messages that were asked for, and whether the consumer has more."""
        return self._run(self._page())

    async def _page(self) -> tuple[list[NatsMessage], bool]:
        client = self._client
        count = -1
        while not client.is_over and len(client.taken) > count:
            count = len(client.taken)
            with suppress(TimeoutError):
                await asyncio.wait_for(client.arrived.wait(), _QUIET_S)
            client.arrived.clear()
            if client.is_closed or self.refusal:
                raise ConnectionError(self.refusal or "the connection ended")
        status = client.status
        if status is not None and status[0] not in _ENDS:
            raise ConnectionError(f"the consumer ended: {' '.join(status)}")
        messages = client.taken
        has_more = len(messages) >= self._wanted or (status is not None and status[0] == _FULL)
        return messages, has_more and not (messages and is_last(messages[-1][1]))


@contextmanager
def as_ours(server: NatsServer) -> Iterator[None]:
    """Turn errors of nats-py into those of headwater. Others are passed on: `hw.SimpleSource` says how."""
    try:
        yield
    except hw.HeadwaterError:
        raise
    except Exception as error:
        text = f"{server.refusal or error}"
        lower = text.lower()
        if "permissions violation" in lower:
            raise hw.errors.AuthorizationError(
                f"this user may not do that: {text}; docs/nats.md names the subjects", source="nats"
            ) from error
        if "authorization violation" in lower or "authentication" in lower:
            raise hw.errors.AuthenticationError(
                f"the servers refuse the credentials: {text}", source="nats"
            ) from error
        if type(error).__module__.startswith("nats.") and "tls" not in lower and "certificate" not in lower:
            absent = type(error).__name__ == "NoServersError"
            kind = hw.errors.NoConnectionError if absent else hw.TransientSourceError
            raise kind(f"{type(error).__name__}: {text}", source="nats") from error
        raise
