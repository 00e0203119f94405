"""The client of a schema registry: schemas by their ids, and by subject and version."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Iterator
from dataclasses import replace
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import quote

import urllib3
from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError, NewConnectionError
from urllib3.util import Timeout, make_headers

from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    NoConnectionError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)
from headwater.core.redaction import keep_secret, redacted
from headwater.core.secrets import kept_secret, lasting_tls_failure
from headwater.readers.connections import Exchange, bounded
from headwater.readers.formats.registry.glue_settings import GlueSettings
from headwater.readers.formats.registry.registry import SOURCE, RegisteredSchema, Registry, named
from headwater.readers.formats.registry.settings import RegistrySettings

_MOST_BYTES: Final = 16 << 20
_CHUNK_BYTES: Final = 1 << 16
_SHOWN: Final = 200
_SHOWN_BYTES: Final = 4_096
"""What is shown of an answer is looked through for secrets first: one must not be cut in two."""
_MOST_REFERENCES: Final = 1_000
_TRANSIENT: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


class SchemaRegistry(Registry):
    """Asks a registry that speaks Confluent's REST API.

    Args:
        settings: where it is.
    """

    def __init__(self, settings: RegistrySettings) -> None:
        super().__init__(settings.deadline_ms)
        self._settings = settings

    def asked_for(
        self, schema_id: int, guid: str | None, until_ms: int, serialized: bool
    ) -> RegisteredSchema:
        path = f"schemas/ids/{schema_id}" if guid is None else f"schemas/guids/{guid}"
        what = named(schema_id, guid)
        answer = self._ask_until_known(f"{path}{_query(serialized)}", what, until_ms)
        schema = self._schema({"id": schema_id} | answer, serialized, until_ms)
        return replace(schema, name=what)

    def by_version(self, subject: str, version: str, *, serialized: bool = False) -> RegisteredSchema:
        until_ms = self.until_ms()
        what = f"version {version} of the subject {subject!r}"
        answer = self._ask_again(_path(subject, version, serialized), what, until_ms)
        return self._schema(answer, serialized, until_ms)

    def _schema(self, answer: dict[str, Any], serialized: bool, until_ms: int) -> RegisteredSchema:
        try:
            references = self._references(answer, serialized, until_ms)
            kind = str(answer.get("schemaType") or "AVRO")
            return RegisteredSchema(int(answer["id"]), kind, str(answer["schema"]), tuple(references.items()))
        except (KeyError, TypeError, ValueError) as error:
            raise SourceError(f"an answer has no schema: {error!r}", source=SOURCE) from error

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
                    f"the schema {name!r} refers to itself: {' -> '.join(above)}", source=SOURCE
                )
            if name in texts:
                continue
            if len(texts) + len(above) >= _MOST_REFERENCES:
                raise SourceError(f"a schema has more than {_MOST_REFERENCES} references", source=SOURCE)
            # A version that is deleted, and not for good, is one still to what refers to it.
            path = _path(reference["subject"], str(reference["version"]), serialized, deleted=True)
            other = self._ask_again(path, f"the reference {name!r}", until_ms)
            open_schemas.append((name, other, _reference_list(other)))
        return texts

    def _ask_until_known(self, path: str, what: str, until_ms: int) -> dict[str, Any]:
        return self.until_known(lambda: self._ask(path, what), what, until_ms)

    def _ask_again(self, path: str, what: str, until_ms: int) -> dict[str, Any]:
        return self.again(lambda: self._ask(path, what), what, until_ms)

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
                    f"no connection to {url}: {reason}; see the options schema.registry.ssl.*", source=SOURCE
                ) from error
            late = f"the answer was not whole after {self._settings.timeout_ms} ms"
            reason = late if exchange.is_broken_off else str(error)
            kind = NoConnectionError if isinstance(error, NewConnectionError) else TransientSourceError
            raise kind(f"no answer from {url}: {reason}", source=SOURCE) from error
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
def registry(settings: RegistrySettings | GlueSettings) -> Registry:
    """Return the client of this process for a registry: its schemas serve all tasks."""
    if isinstance(settings, RegistrySettings):
        return SchemaRegistry(settings)
    from headwater.readers.formats.registry.glue_client import GlueRegistry

    return GlueRegistry(settings)


def _path(subject: str, version: str, serialized: bool, *, deleted: bool = False) -> str:
    query = _query(serialized, deleted=deleted)
    return f"subjects/{quote(subject, safe='')}/versions/{quote(version, safe='')}{query}"


def _reference_list(schema: dict[str, Any]) -> Iterator[Any]:
    return iter(schema.get("references") or ())


def _query(serialized: bool, *, deleted: bool = False) -> str:
    parameters = [*(["format=serialized"] if serialized else []), *(["deleted=true"] if deleted else [])]
    return f"?{'&'.join(parameters)}" if parameters else ""


def _parsed(body: bytes, url: str) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise TransientSourceError(f"{url} answered something that is not JSON", source=SOURCE) from error
    if not isinstance(answer, dict):
        raise TransientSourceError(f"{url} answered no JSON object", source=SOURCE)
    return answer


def _refusal(status: int, text: str, url: str, what: str) -> SourceError:
    answer = f"{url} answered {status}: {text}"
    if status == 401:
        return AuthenticationError(
            f"the schema registry does not accept the credentials; {answer}", source=SOURCE
        )
    if status == 403:
        return AuthorizationError(f"the schema registry refuses to show {what}; {answer}", source=SOURCE)
    if status == 404:
        return UnknownSplitError(f"the schema registry does not have {what}; {answer}", source=SOURCE)
    if status in _TRANSIENT:
        return TransientSourceError(f"the schema registry has no answer; {answer}", source=SOURCE)
    return SourceError(f"the schema registry does not show {what}; {answer}", source=SOURCE)
