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
    epochs = _paced(epoch_settings(parsed, boundedness, source="http"), parsed[REQUESTS_PER_SECOND])
    source = HttpSource(
        urls=urls,
        settings=http_settings(parsed, options, mode),
        connections=parsed[CONNECTIONS],
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


def _paced(epochs: EpochSettings, requests_per_s: float | None) -> EpochSettings:
    """Return settings with so few tasks that the turn of each comes before its epoch is to end.

    Each task has its share of the rate, and no epoch ends before each task has fetched once.
    """
    duration_ms = epochs.barrier.duration_ms
    if requests_per_s is None or duration_ms is None:
        return epochs
    most = max(1, int(requests_per_s * duration_ms / 1000))
    return replace(epochs, parallelism=min(epochs.parallelism, most))
