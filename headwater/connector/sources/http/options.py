"""The options of the HTTP source, and the source that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from headwater.connector.barrier.options import BARRIER_OPTIONS, EpochSettings, epoch_settings
from headwater.connector.formats.row_decoding import row_decoding, row_format_options
from headwater.connector.options import OptionTable, ParsedOptions
from headwater.connector.sources.configured import ConfiguredBarrierSource
from headwater.connector.sources.http.incremental_options import INCREMENTAL_OPTIONS, incremental_settings
from headwater.connector.sources.http.source import HttpSource, IncrementalHttpSource
from headwater.core.errors import OptionError
from headwater.core.options import WHERE_SECRETS_ARE, Option, integer, json_object, text
from headwater.core.retry import Backoff
from headwater.core.secrets import TlsSettings, is_elsewhere
from headwater.core.source import Boundedness
from headwater.enumerators.http.origins import as_written, origin, urls, with_parameters
from headwater.readers.http.credential_settings import CredentialSettings, OAuthSettings
from headwater.readers.http.settings import HttpSettings, PagingSettings

_ITEM: Final = "item"
"""The column that a format decodes."""
_HEADER: Final = "header."
_LEAST_RATE: Final = 0.001


def _rate(raw: str) -> float:
    try:
        rate = float(raw)
    except ValueError:
        rate = 0
    if not _LEAST_RATE <= rate < 1e6:
        raise ValueError(f"must be a number of at least {_LEAST_RATE}, not {raw!r}")
    return rate


def _params(raw: str) -> Mapping[str, str | tuple[str, ...]]:
    parameters: dict[str, str | tuple[str, ...]] = {}
    for name, value in json_object(raw).items():
        if isinstance(value, list):
            several = tuple(as_written(each) for each in value)
            if any(isinstance(each, list | dict) for each in value) or any(map(is_elsewhere, several)):
                raise ValueError(f"value of {name!r} must be a list of texts and numbers, without secrets")
            parameters[name] = several
        else:
            parameters[name] = as_written(value)
    return parameters


def _key_place(raw: str) -> tuple[str, str]:
    kind, colon, name = raw.strip().partition(":")
    if kind not in {"header", "query"} or not colon or not name:
        raise ValueError(f"must be header:NAME or query:NAME, not {raw!r}")
    return kind, name


_URL: Final = Option(
    "url",
    urls,
    None,
    "Required: the first page of a list; several with commas between them.",
    kind="names",
    needed_in=tuple(Boundedness),
)
_NO_PARAMS: Final[Mapping[str, str | tuple[str, ...]]] = {}
_PARAMS: Final = Option(
    "params",
    _params,
    _NO_PARAMS,
    'JSON: parameters for the query of `url`, such as `{"limit": 100, "key": "env:KEY"}`. One whose value '
    "is `env:NAME` or `file:PATH` is a secret: it goes with each request, and stands in no URL that is kept. "
    "A list is one parameter for each of its values.",
    shown_default="",
    kind="json",
)
_API_KEY: Final = Option("apiKey", text, None, f"A key. {WHERE_SECRETS_ARE}")
_API_KEY_IN: Final = Option(
    "apiKeyIn",
    _key_place,
    ("header", "X-API-Key"),
    "Where the key goes: `header:NAME` or `query:NAME`.",
    shown_default="`header:X-API-Key`",
)
_REQUESTS_PER_SECOND: Final = Option(
    "requestsPerSecond",
    _rate,
    None,
    "The rate of requests of the query. One task makes all of them, over so many connections as "
    "`parallelism` tasks would have had, but no more than requests fit into an epoch.",
    kind="number",
)
_CONNECTIONS: Final = Option("connections", integer(1), 1, "How many lists a task reads at once.")

HTTP_OPTIONS: Final = OptionTable(
    [
        _URL,
        _PARAMS,
        *PagingSettings.options(),
        *INCREMENTAL_OPTIONS,
        *HttpSettings.options(),
        *CredentialSettings.options(),
        _API_KEY,
        _API_KEY_IN,
        *OAuthSettings.options(),
        _REQUESTS_PER_SECOND,
        _CONNECTIONS,
        *TlsSettings.options(),
        *row_format_options(_ITEM, "json"),
        *BARRIER_OPTIONS,
    ],
    prefixes=(_HEADER,),
    other_words={
        **dict.fromkeys(("address", "endpoint", "host", "server", "uri"), "url"),
        **dict.fromkeys(("header", "headers"), "header.NAME"),
        **dict.fromkeys(("auth", "authorization", "bearer", "token"), "bearerToken"),
        **dict.fromkeys(("data", "json"), "body"),
        "key": "apiKey",
        "pagination": "paging",
        "query": "params",
        "ratelimit": "requestsPerSecond",
        "timeout": "requestTimeout",
        "user": "username",
        **dict.fromkeys(("maxretries", "retries"), "retryDeadline"),
    },
)
"""The table that parses, and that `docs/http.md` shows."""


def configure_http(options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredBarrierSource:
    """Make the HTTP source from the user's options. Opens nothing.

    Raises:
        OptionError: an option is unknown, malformed, missing or of the other mode.
        StateLocationError: ``stateLocation`` has no atomic put-if-absent.
    """
    parsed = HTTP_OPTIONS.parse(options, boundedness)
    plain = {
        name: value
        for name, value in parsed[_PARAMS].items()
        if isinstance(value, tuple) or not is_elsewhere(value)
    }
    first_pages = parsed.require(_URL, ": the first page of a list")
    mode = boundedness or Boundedness.BOUNDED
    epochs, connections = _paced(
        epoch_settings(parsed, boundedness, source="http"),
        parsed[_CONNECTIONS],
        parsed[_REQUESTS_PER_SECOND],
    )
    settings = _settings(parsed, options, first_pages, mode)
    source = HttpSource(
        urls=tuple(with_parameters(url, plain) for url in first_pages),
        settings=settings,
        connections=connections,
        requests_per_s=parsed[_REQUESTS_PER_SECOND],
        mode=mode,
        decoding=row_decoding(parsed, _ITEM),
    )
    incremental = incremental_settings(parsed, settings.paging)
    if incremental is not None:
        source = IncrementalHttpSource(**vars(source), incremental=incremental, store=epochs.store)
    backoff = Backoff(deadline_ms=settings.deadline_ms)
    return ConfiguredBarrierSource(source=source, epochs=epochs, backoff=backoff)


def _settings(
    parsed: ParsedOptions, options: Mapping[str, str], first_pages: tuple[str, ...], mode: Boundedness
) -> HttpSettings:
    """Return how pages are asked for.

    Raises:
        OptionError: options do not go together.
    """
    paging = parsed.of(PagingSettings)
    credentials = _credentials(parsed, options)
    everywhere = [*first_pages, *([] if credentials.oauth is None else [credentials.oauth.url])]
    tls = parsed.of(TlsSettings)
    tls.check_counts(
        encrypted=any(url.startswith("https:") for url in everywhere), hint="https:// in option 'url'"
    )
    return parsed.of(
        HttpSettings,
        credentials=credentials,
        tls=tls,
        origins=tuple(sorted({origin(url) for url in first_pages})),
        paging=paging,
        follows_growth=mode is Boundedness.CONTINUOUS_UNBOUNDED,
    )


def _credentials(parsed: ParsedOptions, options: Mapping[str, str]) -> CredentialSettings:
    """Return the credentials that requests carry to the hosts that the user named.

    Raises:
        OptionError: options do not go together.
    """
    headers = {
        key[len(_HEADER) :]: value for key, value in options.items() if key.lower().startswith(_HEADER)
    }
    parameters = {
        name: value
        for name, value in parsed[_PARAMS].items()
        if isinstance(value, str) and is_elsewhere(value)
    }
    api_key = parsed[_API_KEY]
    key_name = None
    if api_key is not None:
        place, key_name = parsed[_API_KEY_IN]
        (headers if place == "header" else parameters)[key_name] = api_key
    elif parsed[_API_KEY_IN] != _API_KEY_IN.default:
        raise OptionError(f"requires option {_API_KEY.name!r}", option=_API_KEY_IN.name)
    oauth = parsed.of(OAuthSettings)
    return parsed.of(
        CredentialSettings,
        headers=headers,
        parameters=parameters,
        key_name=key_name,
        oauth=oauth if oauth.url else None,
    )


def _paced(
    epochs: EpochSettings, connections: int, requests_per_s: float | None
) -> tuple[EpochSettings, int]:
    """Let one task make all requests of a query with a rate, over as many connections as all would have had.

    Tasks cannot lend each other an unused share of a rate, connections of one can: so the rate is that
    of the query, whichever of its lists have something to read. There are no more connections than requests
    in an epoch, because none ends before each of them has fetched once.
    """
    if requests_per_s is None:
        return epochs, connections
    connections *= epochs.parallelism
    if epochs.barrier.duration_ms is not None:
        connections = min(connections, max(1, int(requests_per_s * epochs.barrier.duration_ms / 1000)))
    return replace(epochs, parallelism=1), connections
