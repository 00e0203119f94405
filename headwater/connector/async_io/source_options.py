"""The options of asynchronous calls that every source in barrier mode has."""

from __future__ import annotations

from typing import Any, Final

from headwater.connector.formats.ddl import schema
from headwater.connector.options import ParsedOptions
from headwater.core.errors import OptionError
from headwater.core.options import Option, duration_ms, integer, json_object, one_of, text

ASYNC_FUNCTION: Final = Option(
    "asyncFunction",
    text,
    None,
    "A class `package.module:Class`, or an `async def` function, that is asked about every row: see "
    "`docs/async-io.md`. Its results are columns behind those of the source.",
)
ASYNC_ARGUMENTS: Final = Option(
    "asyncArguments", json_object, None, "JSON: what the class of `asyncFunction` is made with, by name."
)
ASYNC_SCHEMA: Final = Option(
    "asyncSchema",
    schema,
    None,
    "The result columns, as DDL such as `name string, tier int`.",
    shown_default="the class's own `schema`",
)
ASYNC_ORDER: Final = Option(
    "asyncOrder",
    one_of("unordered", "ordered"),
    "unordered",
    "Rows come as their calls end, or in the order in which they were read.",
)
ASYNC_CAPACITY: Final = Option("asyncCapacity", integer(1), 100, "Calls that a task makes at the same time.")
ASYNC_TIMEOUT: Final = Option(
    "asyncTimeout",
    duration_ms,
    300_000,
    "From the start of a row's first attempt, over all attempts, waits and epochs.",
    shown_default="`5m`",
)
ASYNC_ATTEMPTS: Final = Option(
    "asyncAttempts", integer(1), 1, "Calls for a row in all, before it counts as failed."
)
ASYNC_RETRY_DELAY: Final = Option(
    "asyncRetryDelay",
    duration_ms,
    1_000,
    "The wait before the second attempt; each further one is twice as long, up to a minute.",
    shown_default="`1s`",
)
ASYNC_ON_FAILURE: Final = Option(
    "asyncOnFailure",
    one_of("fail", "null", "drop", "error_column"),
    "fail",
    "A row whose call failed for good: `fail` the query, `null`, `drop` it, or `error_column`: null, and "
    "the column `error` with class, message and attempts.",
)
ASYNC_RESULT_FIELDS: Final = Option(
    "asyncResultFields",
    one_of("exact", "lenient", "rescue"),
    "exact",
    "Members that a result, or a struct in it, has and its columns have not: `exact`: the row failed, also "
    "if one is missing; `lenient`: dropped, what is missing is null; `rescue`: kept as JSON in the column "
    "`rescued`.",
)
ASYNC_BATCH_SIZE: Final = Option(
    "asyncBatchSize",
    integer(1),
    None,
    "Rows of a call, for an `AsyncBatchFunction` or `AsyncArrowFunction`.",
    shown_default="100, of Arrow 10000",
)
ASYNC_QUEUE_SIZE: Final = Option(
    "asyncQueueSize",
    integer(1),
    None,
    "Rows that a task holds at most: waiting, asked, or done behind others.",
    shown_default="8 x `asyncCapacity`, at least 1024",
)
ASYNC_QUEUE_BYTES: Final = Option(
    "asyncQueueBytes",
    integer(1),
    64 << 20,
    "Bytes of Arrow of these rows at most; where there is no room, fetching waits.",
)

ASYNC_OPTIONS: Final[tuple[Option[Any], ...]] = (
    ASYNC_FUNCTION,
    ASYNC_ARGUMENTS,
    ASYNC_SCHEMA,
    ASYNC_ORDER,
    ASYNC_CAPACITY,
    ASYNC_TIMEOUT,
    ASYNC_ATTEMPTS,
    ASYNC_RETRY_DELAY,
    ASYNC_ON_FAILURE,
    ASYNC_RESULT_FIELDS,
    ASYNC_BATCH_SIZE,
    ASYNC_QUEUE_SIZE,
    ASYNC_QUEUE_BYTES,
)
"""In the order in which the docs list them."""


def check_async_options(options: ParsedOptions) -> None:
    """Refuse options about calls where there are none.

    Raises:
        OptionError: names the option.
    """
    if options[ASYNC_FUNCTION] is not None:
        return
    for option in ASYNC_OPTIONS:
        if options[option] != option.default:
            raise OptionError("means nothing without asyncFunction", option=option.name)
