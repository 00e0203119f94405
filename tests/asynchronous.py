"""Asynchronous calls of readings of epochs, without options."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headwater.connector.async_io.epoch_calls import EpochCalls
from headwater.connector.async_io.results import ResultFormat
from headwater.connector.async_io.task import AsyncWait
from headwater.readers.async_io.settings import AsyncSettings
from headwater.readers.runtime.epoch.calls import CreateCalls
from tests.doubles import NUMBER_SCHEMA


def calls_of(
    function: Any, schema: pa.Schema = NUMBER_SCHEMA, *, kept: Sequence[str] = (), **settings: Any
) -> CreateCalls:
    """The output is ``kept`` and what the function returns."""
    wait = AsyncWait(
        function=function,
        settings=AsyncSettings(**settings),
        share_id=str(uuid.uuid4()),
        columns=NUMBER_SCHEMA.names,
        key_columns=(),
        kept_columns=kept,
        results=ResultFormat(schema=schema),
    )
    return lambda source: EpochCalls(wait, source)
