"""From the user's options to the HTTP source."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.connector.barrier.options import epoch_settings
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
    mode = boundedness or Boundedness.BOUNDED
    epochs = epoch_settings(parsed, boundedness, source="http")
    source = HttpSource(
        urls=first_pages(parsed),
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
