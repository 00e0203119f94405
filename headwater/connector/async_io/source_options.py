"""The options of asynchronous calls that every source in barrier mode has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headwater.connector.formats.ddl import schema
from headwater.core.options import Spec, duration_ms, integer, json_object, one_of, option

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class SourceCallOptions(Spec):
    """The calls that a query asks for, and how they are made: none without a ``function``."""

    function: str | None = option(
        "asyncFunction",
        "A class `package.module:Class`, or an `async def` function, that is asked about every row: see "
        "`docs/async-io.md`. Its results are columns behind those of the source.",
        default=None,
    )
    arguments: Mapping[str, Any] | None = option(
        "asyncArguments",
        "JSON: what the class of `asyncFunction` is made with, by name.",
        default=None,
        parse=json_object,
    )
    schema: StructType | None = option(
        "asyncSchema",
        "The result columns, as DDL such as `name string, tier int`.",
        default=None,
        parse=schema,
        shown_default="the class's own `schema`",
    )
    order: str = option(
        "asyncOrder",
        "Rows come as their calls end, or in the order in which they were read.",
        default="unordered",
        parse=one_of("unordered", "ordered"),
    )
    capacity: int = option(
        "asyncCapacity", "Calls that a task makes at the same time.", default=100, parse=integer(1)
    )
    timeout_ms: int = option(
        "asyncTimeout",
        "From the start of a row's first attempt, over all attempts and waits; begins anew where a later "
        "epoch asks again.",
        default=300_000,
        parse=duration_ms,
        shown_default="`5m`",
    )
    attempts: int = option(
        "asyncAttempts",
        "Calls for a row in all, before it counts as failed.",
        default=1,
        parse=integer(1),
    )
    retry_delay_ms: int = option(
        "asyncRetryDelay",
        "The wait before the second attempt; each further one is twice as long, up to a minute.",
        default=1_000,
        parse=duration_ms,
        shown_default="`1s`",
    )
    on_failure: str = option(
        "asyncOnFailure",
        "A row whose call failed for good: `fail` the query, `null`, `drop` it, or `error_column`: null, and "
        "the column `error` with class, message and attempts.",
        default="fail",
        parse=one_of("fail", "null", "drop", "error_column"),
    )
    result_fields: str = option(
        "asyncResultFields",
        "Members that a result, or a struct in it, has and its columns have not: `exact`: the row failed, "
        "also if one is missing; `lenient`: dropped, what is missing is null; `rescue`: kept as JSON in the "
        "column `rescued`.",
        default="exact",
        parse=one_of("exact", "lenient", "rescue"),
    )
    batch_size: int | None = option(
        "asyncBatchSize",
        "Rows of a call, for an `AsyncBatchFunction` or `AsyncArrowFunction`.",
        default=None,
        parse=integer(1),
        shown_default="100, of Arrow 10000",
    )
    queue_size: int | None = option(
        "asyncQueueSize",
        "Rows that a task holds at most: waiting, asked, or done behind others.",
        default=None,
        parse=integer(1),
        shown_default="8 x `asyncCapacity`, at least 1024",
    )
    queue_bytes: int = option(
        "asyncQueueBytes",
        "Bytes of Arrow of these rows at most; where there is no room, fetching waits.",
        default=64 << 20,
        parse=integer(1),
    )

    def __post_init__(self) -> None:
        if self.function is None:
            for name, row in self.OPTIONS.items():
                if getattr(self, name) != row.default:
                    raise self.refusal(name, "means nothing without asyncFunction")
        if self.attempts == 1 and self.retry_delay_ms != self.OPTIONS["retry_delay_ms"].default:
            raise self.refusal("retry_delay_ms", "means nothing without asyncAttempts")
