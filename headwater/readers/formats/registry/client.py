"""The client of a schema registry: schemas by their ids, and by subject and version."""

from __future__ import annotations

import base64
import functools
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import quote

import urllib3
from urllib3 import BaseHTTPResponse
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
from headwater.core.redaction import keep_secret, redacted
from headwater.core.retry import Backoff, retrying
from headwater.core.secrets import kept_secret, lasting_tls_failure
from headwater.readers.connections import Exchange, bounded
from headwater.readers.formats.registry.settings import RegistrySettings

_SOURCE: Final = "schema registry"
_MOST_BYTES: Final = 16 << 20
_CHUNK_BYTES: Final = 1 << 16
_SHOWN: Final = 200
_SHOWN_BYTES: Final = 4_096
"""What is shown of an answer is looked through for secrets first: one must not be cut in two."""
_LAST_ID: Final = (1 << 31) - 1
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
        name: what it is called in errors, where a value names it.
    """

    id: int
    kind: str
    text: str
    references: tuple[tuple[str, str], ...]
    name: str = ""


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
        self._guids: dict[str, int] = {}
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
                until_ms = self._until_ms()
                path, what = self._place(schema_id)
                answer = self._ask_until_known(f"{path}{_query(serialized)}", what, until_ms)
                schema = self._schema({"id": schema_id} | answer, serialized, until_ms)
                self._schemas[key] = replace(schema, name=what)
            return self._schemas[key]

    def id_of(self, guid: str) -> int:
        """Return an id by which `by_id` knows a schema that is named by its GUID. Asks nothing.

        It counts in this process alone, and is none that the registry gives: those begin at 1.
        """
        with self._lock:
            return self._guids.setdefault(guid, _LAST_ID - len(self._guids))

    def _place(self, schema_id: int) -> tuple[str, str]:
        """Return where a schema is asked for, and what it is called in errors."""
        for guid, local_id in self._guids.items():
            if local_id == schema_id:
                return f"schemas/guids/{guid}", f"the schema of GUID {guid}"
        return f"schemas/ids/{schema_id}", f"the schema of id {schema_id}"

    def by_version(self, subject: str, version: str, *, serialized: bool = False) -> RegisteredSchema:
        """Return a schema of a subject: of a version by its number, or ``latest``. Called on the driver.

        Raises:
            UnknownSplitError: the registry has no such subject or version.
            DeadlineError: it is away.
        """
        until_ms = self._until_ms()
        what = f"version {version} of the subject {subject!r}"
        answer = self._ask_again(_path(subject, version, serialized), what, until_ms)
        return self._schema(answer, serialized, until_ms)

    def _until_ms(self) -> int:
        """Return when a question that is asked now must be answered, with all that the answer refers to."""
        return self._clock.monotonic_ms() + self._settings.deadline_ms

    def _schema(self, answer: dict[str, Any], serialized: bool, until_ms: int) -> RegisteredSchema:
        try:
            references = self._references(answer, serialized, until_ms)
            kind = str(answer.get("schemaType") or "AVRO")
            return RegisteredSchema(int(answer["id"]), kind, str(answer["schema"]), tuple(references.items()))
        except (KeyError, TypeError, ValueError) as error:
            raise SourceError(f"an answer has no schema: {error!r}", source=_SOURCE) from error

    def _references(self, answer: dict[str, Any], serialized: bool, until_ms: int) -> dict[str, str]:
        """Return the texts of the schemas that a schema refers to, by name, each after its own references.

        Without recursion: a chain of references may be longer than Python's stack.

        Args:
            answer: the schema.
            serialized: as of `by_id`.
            until_ms: when all of them must be there.
        """
        texts: dict[str, str] = {}
        # The schemas from the first one down to the current one, each with the references still to be read.
        open_schemas: list[tuple[str, dict[str, Any], Iterator[Any]]] = [
            ("", answer, _reference_list(answer))
        ]
        while open_schemas:
            name, schema, rest = open_schemas[-1]
            reference = next(rest, None)
            if reference is None:
                open_schemas.pop()
                if open_schemas:
                    texts[name] = str(schema.get("schema"))
                continue
            name = reference["name"]
            above = [each for each, _, _ in open_schemas[1:]]
            if name in above:
                raise SourceError(
                    f"the schema {name!r} refers to itself: {' -> '.join(above)}", source=_SOURCE
                )
            if name in texts:
                continue
            if len(texts) + len(above) >= _MOST_REFERENCES:
                raise SourceError(f"a schema has more than {_MOST_REFERENCES} references", source=_SOURCE)
            # A version that is deleted, and not for good, is one still to what refers to it.
            path = _path(reference["subject"], str(reference["version"]), serialized, deleted=True)
            other = self._ask_again(path, f"the reference {name!r}", until_ms)
            open_schemas.append((name, other, _reference_list(other)))
        return texts

    def _ask_until_known(self, path: str, what: str, until_ms: int) -> dict[str, Any]:
        """Ask again also for schemas that the registry does not know: this server may not know them yet."""

        def ask() -> dict[str, Any]:
            try:
                return self._ask(path, what)
            except UnknownSplitError as error:
                raise TransientSourceError(error.message, source=_SOURCE) from error

        return self._retrying(ask, what, until_ms)

    def _ask_again(self, path: str, what: str, until_ms: int) -> dict[str, Any]:
        return self._retrying(lambda: self._ask(path, what), what, until_ms)

    def _retrying(self, ask: Callable[[], dict[str, Any]], what: str, until_ms: int) -> dict[str, Any]:
        left_ms = max(0, until_ms - self._clock.monotonic_ms())
        backoff = Backoff(deadline_ms=left_ms, most_ms=10_000)
        return retrying(ask, backoff=backoff, clock=self._clock, cancelled=self._never, what=what)

    def _ask(self, path: str, what: str) -> dict[str, Any]:
        """Ask one registry after the other, until one answers."""
        *others, last = self._settings.addresses
        for url in others:
            try:
                return self._get(f"{url.rstrip('/')}/{path}", what)
            except TransientSourceError:
                continue
        return self._get(f"{last.rstrip('/')}/{path}", what)

    def _get(self, url: str, what: str) -> dict[str, Any]:
        pool = self._pool
        exchange = Exchange()
        try:
            with exchange.within(self._settings.timeout_ms / 1000):
                # Redirects are not followed: they may lead to where the credentials do not belong.
                answer = pool.request("GET", url, preload_content=False, redirect=False, retries=False)
                body = self._read(answer)
        except (HTTPError, HTTPException, OSError) as error:
            failure = lasting_tls_failure(error)
            if failure is not None:
                kind, reason = failure
                raise kind(
                    f"no connection to {url}: {reason}; see the options schema.registry.ssl.*", source=_SOURCE
                ) from error
            late = f"the answer was not whole after {self._settings.timeout_ms} ms"
            reason = late if exchange.is_broken_off else str(error)
            raise TransientSourceError(f"no answer from {url}: {reason}", source=_SOURCE) from error
        if answer.status == 200 and len(body) <= _MOST_BYTES:
            return _parsed(body, url)
        raise _refusal(answer.status, self._hidden(body), url, what)

    def _read(self, answer: BaseHTTPResponse) -> bytes:
        """Return the body of an answer, as far as it counts.

        Raises:
            HTTPError: it breaks off.
        """
        body = bytearray()
        try:
            while len(body) <= _MOST_BYTES and (chunk := answer.read1(_CHUNK_BYTES)):
                body += chunk
        except BaseException:
            answer.close()
            raise
        answer.release_conn()
        return bytes(body)

    def _hidden(self, body: bytes) -> str:
        """Return the beginning of an answer without the credentials, which some servers send back."""
        text = body[:_SHOWN_BYTES].decode(errors="replace")
        return redacted(text)[:_SHOWN]

    @functools.cached_property
    def _pool(self) -> urllib3.PoolManager:
        settings = self._settings
        seconds = settings.timeout_ms / 1000
        headers = make_headers(keep_alive=True, accept_encoding="gzip", user_agent="headwater")
        headers["Accept"] = "application/vnd.schemaregistry.v1+json, application/json"
        if settings.credentials is not None:
            info = kept_secret(settings.credentials, "user and password of the schema registry")
            keep_secret(info.partition(":")[2])
            # In UTF-8, as Confluent's clients write it.
            headers["Authorization"] = f"Basic {base64.b64encode(info.encode()).decode()}"
        if settings.token is not None:
            token = kept_secret(settings.token, "the token of the schema registry")
            headers["Authorization"] = f"Bearer {token}"
        keep_secret(headers.get("Authorization", "").partition(" ")[2])
        secure = any(url.startswith("https:") for url in settings.addresses)
        timeout = Timeout(connect=seconds, read=seconds)
        context = settings.tls.context() if secure else None
        return bounded(urllib3.PoolManager(headers=headers, timeout=timeout, ssl_context=context))


@functools.cache
def registry(settings: RegistrySettings) -> SchemaRegistry:
    """Return the client of this process for a registry: its schemas serve all tasks."""
    return SchemaRegistry(settings)


def _path(subject: str, version: str, serialized: bool, *, deleted: bool = False) -> str:
    query = _query(serialized, deleted=deleted)
    return f"subjects/{quote(subject, safe='')}/versions/{quote(version, safe='')}{query}"


def _reference_list(schema: dict[str, Any]) -> Iterator[Any]:
    return iter(schema.get("references") or ())


def _query(serialized: bool, *, deleted: bool = False) -> str:
    asked = [*(["format=serialized"] if serialized else []), *(["deleted=true"] if deleted else [])]
    return f"?{'&'.join(asked)}" if asked else ""


def _parsed(body: bytes, url: str) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise TransientSourceError(f"{url} answered something that is not JSON", source=_SOURCE) from error
    if not isinstance(answer, dict):
        raise TransientSourceError(f"{url} answered no JSON object", source=_SOURCE)
    return answer


def _refusal(status: int, text: str, url: str, what: str) -> SourceError:
    answer = f"{url} answered {status}: {text}"
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
