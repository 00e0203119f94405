"""The HTTP source: lists of a REST API, those included that are found while reading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import urlsplit

from headwater.connector.barrier.options import BARRIER_OPTIONS, epoch_settings
from headwater.connector.formats.row_decoding import row_decoding, row_format_options
from headwater.connector.options import (
    Option,
    OptionTable,
    ParsedOptions,
    duration_ms,
    integer,
    names,
    text,
)
from headwater.connector.sources.configured import ConfiguredBarrierSource
from headwater.connector.tls_options import TLS_OPTIONS, tls_settings
from headwater.core.barrier_reader import BarrierSplitReader, EpochRecord, EpochRecordEmitter
from headwater.core.barrier_source import BarrierSource
from headwater.core.clock import SystemClock
from headwater.core.decoding import Decoding
from headwater.core.emitter import RecordEmitter
from headwater.core.enumerator import BarrierSplitEnumerator, BarrierSplitEnumeratorContext, Checkpoint
from headwater.core.jsons import JsonValue
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.core.split import SplitPath
from headwater.enumerators.http.enumerator import HttpSplitEnumerator
from headwater.enumerators.http.split import HttpSplit, PagePosition, current_path
from headwater.readers.http.settings import HttpSettings

if TYPE_CHECKING:
    import pyarrow as pa

_HEADER: Final = "header."
_ITEM: Final = "item"
"""The column that a format decodes."""


def _urls(raw: str) -> tuple[str, ...]:
    found = names(raw)
    for url in found:
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).netloc:
            raise ValueError(f"must be http:// or https:// URLs with commas between them, not {url!r}")
    return found


def _rate(raw: str) -> float:
    try:
        rate = float(raw)
    except ValueError:
        rate = 0
    if not 0 < rate < 1e6:
        raise ValueError(f"must be a number above 0, not {raw!r}")
    return rate


_URL: Final = Option(
    "url", _urls, None, "Required: the first page of a list; several with commas between them."
)
_ITEMS_FIELD: Final = Option(
    "itemsField",
    str.strip,
    "items",
    "Where a page's JSON has its list of items, names with dots between them; empty: the page is the list.",
)
_NEXT_FIELD: Final = Option(
    "nextField",
    text,
    "next",
    "Where it has the link to the next page, or its cursor: absent, null or empty on the last. A `Link` "
    "header with `rel=next` does too.",
)
_CURSOR_PARAM: Final = Option(
    "cursorParam",
    text,
    None,
    "The query parameter that takes the cursor, if `nextField` holds no URL.",
    shown_default="a URL",
)
_CHILDREN_FIELD: Final = Option(
    "childrenField",
    text,
    None,
    "Where an item has links to lists of its own, which are read to their end: a URL or several.",
)
_REQUESTS_PER_SECOND: Final = Option(
    "requestsPerSecond", _rate, None, "The most requests per second, of all tasks together."
)
_REQUEST_TIMEOUT: Final = Option(
    "requestTimeout", duration_ms, 30_000, "How long to wait for an answer.", shown_default="`30s`"
)
_RETRY_DEADLINE: Final = Option(
    "retryDeadline",
    duration_ms,
    120_000,
    "How long to go on asking a server that is away or failing.",
    shown_default="`2m`",
)
_CONNECTIONS: Final = Option("connections", integer(1), 1, "How many lists a task reads at once.")

HTTP_OPTIONS: Final = OptionTable(
    [
        _URL,
        _ITEMS_FIELD,
        _NEXT_FIELD,
        _CURSOR_PARAM,
        _CHILDREN_FIELD,
        _REQUESTS_PER_SECOND,
        _REQUEST_TIMEOUT,
        _RETRY_DEADLINE,
        _CONNECTIONS,
        *TLS_OPTIONS,
        *row_format_options(_ITEM, "json"),
        *BARRIER_OPTIONS,
    ],
    prefixes=(_HEADER,),
)
"""The table that parses, and that `docs/http.md` shows."""


@dataclass(frozen=True, kw_only=True)
class HttpSource(BarrierSource[HttpSplit, JsonValue]):
    """Lists as splits, pages as records, items as rows.

    Attributes:
        urls: of the lists that the user named.
        settings: how to read lists.
        connections: how many of them a task reads at once.
        mode: a batch or a stream.
        decoding: of the items; None: they are text.
    """

    name: ClassVar[str] = "http"
    path_depth: ClassVar[int] = 2

    urls: tuple[str, ...]
    settings: HttpSettings
    connections: int
    mode: Boundedness
    decoding: Decoding | None

    @property
    def boundedness(self) -> Boundedness:
        return self.mode

    @property
    def fetcher_threads(self) -> int:
        return self.connections

    def schema(self) -> pa.Schema:
        from headwater.readers.http.pages import HTTP_SCHEMA

        return HTTP_SCHEMA if self.decoding is None else self.decoding.schema(HTTP_SCHEMA)

    @property
    def logged_schema(self) -> JsonValue:
        return None if self.decoding is None else self.decoding.logged_schema

    @property
    def takes_other_schemas(self) -> bool:
        return self.decoding is not None and self.decoding.takes_other_schemas

    def create_enumerator(
        self, context: BarrierSplitEnumeratorContext[HttpSplit, JsonValue]
    ) -> BarrierSplitEnumerator[HttpSplit, JsonValue]:
        return HttpSplitEnumerator(context, self.urls)

    def restore_enumerator(
        self,
        context: BarrierSplitEnumeratorContext[HttpSplit, JsonValue],
        checkpoint: Checkpoint[HttpSplit, JsonValue],
    ) -> BarrierSplitEnumerator[HttpSplit, JsonValue]:
        """Everything that counts is in the positions."""
        return self.create_enumerator(context)

    def create_reader(self) -> BarrierSplitReader[HttpSplit, JsonValue]:
        from headwater.readers.http.split_reader import HttpSplitReader

        return HttpSplitReader(self.settings, SystemClock())

    def create_emitter(self) -> RecordEmitter[EpochRecord, HttpSplit, JsonValue]:
        if self.decoding is None:
            return EpochRecordEmitter()
        from headwater.readers.http.pages import HTTP_SCHEMA

        return self.decoding.create_emitter(HTTP_SCHEMA, source=self.name)

    def serialize_splits(self, splits: Iterable[HttpSplit]) -> JsonValue:
        """Nothing: a split's path says all."""
        return None

    def path_of(self, logged: SplitPath) -> SplitPath:
        return current_path(logged)

    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, HttpSplit]:
        return {path: HttpSplit(url=path[1], found_in=path[0]) for path in paths}

    def is_before(self, position: JsonValue, other: JsonValue) -> bool:
        this = PagePosition.from_json(position)
        that = PagePosition.from_json(other)
        return (this.page, this.row) < (that.page, that.row)


def configure_http(options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredBarrierSource:
    """Make the HTTP source from the user's options. Opens nothing.

    Raises:
        OptionError: an option is unknown, malformed, missing or of the other mode.
        StateLocationError: ``stateLocation`` has no atomic put-if-absent.
    """
    parsed = HTTP_OPTIONS.parse(options, boundedness)
    urls = parsed.require(_URL, ": the first page of a list")
    mode = boundedness or Boundedness.BOUNDED
    epochs = epoch_settings(parsed, boundedness, source="http")
    settings = HttpSettings(
        headers={
            key[len(_HEADER) :]: value for key, value in options.items() if key.lower().startswith(_HEADER)
        },
        tls=tls_settings(
            parsed, encrypted=any(url.startswith("https:") for url in urls), hint="https:// in option 'url'"
        ),
        hosts=tuple(sorted({urlsplit(url).netloc for url in urls})),
        items_field=parsed[_ITEMS_FIELD],
        next_field=parsed[_NEXT_FIELD],
        cursor_param=parsed[_CURSOR_PARAM],
        children_field=parsed[_CHILDREN_FIELD],
        requests_per_s=_share_of_rate(parsed, epochs.parallelism, len(urls)),
        timeout_ms=parsed[_REQUEST_TIMEOUT],
        deadline_ms=parsed[_RETRY_DEADLINE],
        follows_growth=mode is Boundedness.CONTINUOUS_UNBOUNDED,
    )
    source = HttpSource(
        urls=urls,
        settings=settings,
        connections=parsed[_CONNECTIONS],
        mode=mode,
        decoding=row_decoding(parsed, _ITEM),
    )
    return ConfiguredBarrierSource(
        source=source, epochs=epochs, backoff=Backoff(deadline_ms=parsed[_RETRY_DEADLINE])
    )


def _share_of_rate(parsed: ParsedOptions, tasks: int, lists: int) -> float | None:
    """Return one reader's share of the requests per second: tasks do not talk to each other."""
    rate = parsed[_REQUESTS_PER_SECOND]
    if rate is None:
        return None
    readers = tasks * parsed[_CONNECTIONS]
    if parsed[_CHILDREN_FIELD] is None:
        # Without links there is never more to read at once than the user named.
        readers = min(readers, lists)
    return rate / readers
