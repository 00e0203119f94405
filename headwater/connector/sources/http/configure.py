"""From the user's options to the HTTP source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headwater.connector.barrier.options import EpochSettings, epoch_settings
from headwater.connector.formats.row_decoding import row_decoding
from headwater.connector.sources.configured import ConfiguredBarrierSource
from headwater.connector.sources.http.incremental_options import incremental_settings
from headwater.connector.sources.http.incremental_source import IncrementalHttpSource
from headwater.connector.sources.http.options import (
    CONNECTIONS,
    HTTP_OPTIONS,
    ITEM,
    REQUESTS_PER_SECOND,
    RETRY_DEADLINE,
    http_settings,
)
from headwater.connector.sources.http.paging_options import first_pages
from headwater.connector.sources.http.source import HttpSource
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness


def configure_http(options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredBarrierSource:
    """Make the HTTP source from the user's options. Opens nothing.

    Raises:
        OptionError: an option is unknown, malformed, missing or of the other mode.
        StateLocationError: ``stateLocation`` has no atomic put-if-absent.
    """
    parsed = HTTP_OPTIONS.parse(options, boundedness)
    urls = first_pages(parsed)
    mode = boundedness or Boundedness.BOUNDED
    epochs, connections = _paced(
        epoch_settings(parsed, boundedness, source="http"), parsed[CONNECTIONS], parsed[REQUESTS_PER_SECOND]
    )
    source = HttpSource(
        urls=urls,
        settings=http_settings(parsed, options, mode),
        connections=connections,
        requests_per_s=parsed[REQUESTS_PER_SECOND],
        mode=mode,
        decoding=row_decoding(parsed, ITEM),
    )
    incremental = incremental_settings(parsed)
    if incremental is not None:
        source = IncrementalHttpSource(**vars(source), incremental=incremental, store=epochs.store)
    return ConfiguredBarrierSource(
        source=source, epochs=epochs, backoff=Backoff(deadline_ms=parsed[RETRY_DEADLINE])
    )


def _paced(
    epochs: EpochSettings, connections: int, requests_per_s: float | None
) -> tuple[EpochSettings, int]:
    """Let one task make all requests of a query with a rate, over as many connections as all would have had.

    Tasks cannot lend each other what they do not use of a rate, connections of one can: so the rate is that
    of the query, whichever of its lists have something to read. There are no more connections than requests
    in an epoch, because none ends before each of them has fetched once.
    """
    if requests_per_s is None:
        return epochs, connections
    connections *= epochs.parallelism
    if epochs.barrier.duration_ms is not None:
        connections = min(connections, max(1, int(requests_per_s * epochs.barrier.duration_ms / 1000)))
    return replace(epochs, parallelism=1), connections
