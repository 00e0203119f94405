"""The client of a schema registry: schemas by their ids, and by subject and version."""

from __future__ import annotations

import functools
import json
import threading
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import urllib3
from urllib3.exceptions import HTTPError
from urllib3.util import Timeout, make_headers

from headwater.core.clock import Clock, SystemClock
from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)
from headwater.core.retry import Backoff, retrying
from headwater.core.secrets import resolved_secret
from headwater.readers.formats.registry.settings import RegistrySettings

_SOURCE: Final = "schema registry"
_MOST_BYTES: Final = 16 << 20
_MOST_REFERENCES: Final = 1_000
_TRANSIENT: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema as a registry has it.

    Attributes:
        id: which values name.
        kind: ``AVRO``, ``JSON`` or ``PROTOBUF``.
        text: the schema.
        references: the names and texts of the schemas that it refers to, each after those that it needs.
    """

    id: int
    kind: str
    text: str
    references: tuple[tuple[str, str], ...]


class SchemaRegistry:
    """Asks a registry. Any thread may call; each schema is fetched once, and kept: registries change none.

    Args:
        settings: where it is.
        clock: time.
    """

    def __init__(self, settings: RegistrySettings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._schemas: dict[tuple[int, bool], RegisteredSchema] = {}
        self._lock = threading.Lock()
        self._never = threading.Event()

    def by_id(self, schema_id: int, *, serialized: bool = False) -> RegisteredSchema:
        """Return the schema that values name. Blocks, for as long as the deadline in the settings says.

        Args:
            schema_id: its id.
            serialized: ask for a schema of Protobuf as its descriptor in Base64. A registry that does not
                know the question answers with the schema as it was registered.

        Raises:
            DeadlineError: the registry is away, or does not know the id, for that long.
            AuthenticationError: it does not accept the credentials.
            AuthorizationError: it refuses the request.
        """
        with self._lock:  # so that the tasks of a process ask once
            key = schema_id, serialized
            if key not in self._schemas:
                path = f"schemas/ids/{schema_id}{_query(serialized)}"
                answer = self._ask_until_known(path, f"the schema of id {schema_id}")
                self._schemas[key] = self._schema({"id": schema_id} | answer, serialized)
            return self._schemas[key]

    def by_version(self, subject: str, version: str, *, serialized: bool = False) -> RegisteredSchema:
        """Return a schema of a subject: of a version by its number, or ``latest``. Called on the driver.

        Raises:
            UnknownSplitError: the registry has no such subject or version.
            DeadlineError: it is away.
        """
        what = f"version {version} of the subject {subject!r}"
        return self._schema(self._ask_again(_path(subject, version, serialized), what), serialized)

    def _schema(self, answer: dict[str, Any], serialized: bool) -> RegisteredSchema:
        references: dict[str, str] = {}
        try:
            self._collect(answer, references, serialized)
            kind = str(answer.get("schemaType") or "AVRO")
            return RegisteredSchema(int(answer["id"]), kind, str(answer["schema"]), tuple(references.items()))
        except (KeyError, TypeError, ValueError) as error:
            raise SourceError(f"an answer has no schema: {error!r}", source=_SOURCE) from error

    def _collect(self, answer: dict[str, Any], schema: dict[str, str], serialized: bool) -> None:
        """Fetch the references of a schema, and theirs, each after its own references."""
        for reference in answer.get("references") or ():
            if reference["name"] in schema:
                continue
            if len(schema) >= _MOST_REFERENCES:
                raise SourceError(f"a schema has more than {_MOST_REFERENCES} references", source=_SOURCE)
            path = _path(reference["subject"], str(reference["version"]), serialized)
            other = self._ask_again(path, f"the reference {reference['name']!r}")
            self._collect(other, schema, serialized)
            schema[reference["name"]] = str(other.get("schema"))

    def _ask_until_known(self, path: str, what: str) -> dict[str, Any]:
        """Ask again also for schemas that the registry does not know: this server may not know them yet."""

        def ask() -> dict[str, Any]:
            try:
                return self._ask(path, what)
            except UnknownSplitError as error:
                raise TransientSourceError(error.message, source=_SOURCE) from error

        return retrying(ask, backoff=self._backoff, clock=self._clock, cancelled=self._never, what=what)

    def _ask_again(self, path: str, what: str) -> dict[str, Any]:
        return retrying(
            lambda: self._ask(path, what),
            backoff=self._backoff,
            clock=self._clock,
            cancelled=self._never,
            what=what,
        )

    @property
    def _backoff(self) -> Backoff:
        return Backoff(deadline_ms=self._settings.deadline_ms, most_ms=10_000)

    def _ask(self, path: str, what: str) -> dict[str, Any]:
        """Ask one registry after the other, until one answers."""
        for url in self._settings.urls[:-1]:
            try:
                return self._get(f"{url.rstrip('/')}/{path}", what)
            except TransientSourceError:
                continue
        return self._get(f"{self._settings.urls[-1].rstrip('/')}/{path}", what)

    def _get(self, url: str, what: str) -> dict[str, Any]:
        try:
            # Redirects are not followed: they may lead to where the credentials do not belong.
            answer = self._pool.request("GET", url, preload_content=False, redirect=False, retries=False)
            body = answer.read(_MOST_BYTES + 1)
            answer.release_conn()
        except HTTPError as error:
            raise TransientSourceError(f"no answer from {url}: {error}", source=_SOURCE) from error
        if answer.status == 200 and len(body) <= _MOST_BYTES:
            return _parsed(body, url)
        raise _refusal(answer.status, body, url, what)

    @functools.cached_property
    def _pool(self) -> urllib3.PoolManager:
        settings = self._settings
        seconds = settings.timeout_ms / 1000
        headers = make_headers(keep_alive=True, accept_encoding="gzip", user_agent="headwater")
        headers["Accept"] = "application/vnd.schemaregistry.v1+json, application/json"
        if settings.user_info is not None:
            info = resolved_secret(settings.user_info, "user and password of the schema registry")
            headers |= make_headers(basic_auth=info)
        if settings.token is not None:
            token = resolved_secret(settings.token, "the token of the schema registry")
            headers["Authorization"] = f"Bearer {token}"
        secure = any(url.startswith("https:") for url in settings.urls)
        return urllib3.PoolManager(
            headers=headers,
            timeout=Timeout(connect=seconds, read=seconds),
            ssl_context=settings.tls.context() if secure else None,
        )


@functools.cache
def registry(settings: RegistrySettings) -> SchemaRegistry:
    """Return the client of this process for a registry: its schemas serve all tasks."""
    return SchemaRegistry(settings)


def _path(subject: str, version: str, serialized: bool) -> str:
    return f"subjects/{quote(subject, safe='')}/versions/{quote(version, safe='')}{_query(serialized)}"


def _query(serialized: bool) -> str:
    return "?format=serialized" if serialized else ""


def _parsed(body: bytes, url: str) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except ValueError as error:
        raise TransientSourceError(f"{url} answered something that is not JSON", source=_SOURCE) from error
    if not isinstance(answer, dict):
        raise TransientSourceError(f"{url} answered no JSON object", source=_SOURCE)
    return answer


def _refusal(status: int, body: bytes, url: str, what: str) -> SourceError:
    answer = f"{url} answered {status}: {body[:200].decode(errors='replace')}"
    if status == 401:
        return AuthenticationError(
            f"the schema registry does not accept the credentials; {answer}", source=_SOURCE
        )
    if status == 403:
        return AuthorizationError(f"the schema registry refuses to show {what}; {answer}", source=_SOURCE)
    if status == 404:
        return UnknownSplitError(f"the schema registry does not have {what}; {answer}", source=_SOURCE)
    if status in _TRANSIENT:
        return TransientSourceError(f"the schema registry has no answer; {answer}", source=_SOURCE)
    return SourceError(f"the schema registry does not show {what}; {answer}", source=_SOURCE)
