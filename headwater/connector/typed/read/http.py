"""``hw.read.http``. Written by ``python -m headwater.connector.typed.writing``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from headwater.connector.typed.loading import load_batch, typed_reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@typed_reader
def http(
    spark: SparkSession,
    *,
    url: str | Sequence[str],
    params: str | Mapping[str, Any] | None = None,
    method: Literal["GET", "POST"] | None = None,
    body: str | Mapping[str, Any] | None = None,
    items_field: str | None = None,
    page_format: Literal["json", "ndjson"] | None = None,
    paging: Literal["link", "page", "offset"] | None = None,
    next_field: str | None = None,
    cursor_param: str | None = None,
    count_param: str | None = None,
    has_more_field: str | None = None,
    error_field: str | None = None,
    children_field: str | None = None,
    children_url: str | None = None,
    incremental_field: str | None = None,
    incremental_param: str | None = None,
    key_field: str | Sequence[str] | None = None,
    incremental_type: Literal["time", "number", "text"] | None = None,
    incremental_overlap: str | None = None,
    starting_value: str | None = None,
    on_status: str | None = None,
    bad_pages: Literal["fail", "skip", "column"] | None = None,
    bearer_token: str | None = None,
    username: str | None = None,
    password: str | None = None,
    api_key: str | None = None,
    api_key_in: str | None = None,
    oauth_token_url: str | None = None,
    oauth_client_id: str | None = None,
    oauth_client_secret: str | None = None,
    oauth_scope: str | None = None,
    oauth_client_in: Literal["body", "header"] | None = None,
    oauth_params: str | Mapping[str, Any] | None = None,
    requests_per_second: float | None = None,
    request_timeout: str | int | timedelta | None = None,
    retry_deadline: str | int | timedelta | None = None,
    connections: int | None = None,
    tls_ca: str | None = None,
    tls_certificate: str | None = None,
    tls_key: str | None = None,
    columns: str | Sequence[str] | None = None,
    value_format: Literal["json"] | None = None,
    value_schema: str | StructType | None = None,
    value_prefix: str | None = None,
    mode: Literal["PERMISSIVE", "DROPMALFORMED", "FAILFAST"] | None = None,
    column_name_of_corrupt_record: str | None = None,
    rescued_data_column: str | None = None,
    time_zone: str | None = None,
    timestamp_format: str | None = None,
    timestamp_ntz_format: str | None = None,
    date_format: str | None = None,
    bad_records_path: str | None = None,
    bad_records_storage_options: str | Mapping[str, Any] | None = None,
    max_buffered_bytes: int | None = None,
    parallelism: int | None = None,
    async_function: str | None = None,
    async_arguments: str | Mapping[str, Any] | None = None,
    async_schema: str | None = None,
    async_order: Literal["unordered", "ordered"] | None = None,
    async_capacity: int | None = None,
    async_timeout: str | int | timedelta | None = None,
    async_attempts: int | None = None,
    async_retry_delay: str | int | timedelta | None = None,
    async_on_failure: Literal["fail", "null", "drop", "error_column"] | None = None,
    async_result_fields: Literal["exact", "lenient", "rescue"] | None = None,
    async_batch_size: int | None = None,
    async_queue_size: int | None = None,
    async_queue_bytes: int | None = None,
    headers: Mapping[str, str] | None = None,
    schema: str | StructType | None = None,
) -> DataFrame:
    """Read a REST API in a batch.

    The same as ``spark.read.format("headwater").option("source", "http")`` with the
    options that the arguments are named after, and ``load()``. See docs/http.md.

    Args:
        spark: the session.
        url: Required: the first page of a list; several with commas between them.
        params: JSON: parameters for the query of `url`, such as `{"limit": 100, "key": "env:KEY"}`. One
            whose value is `env:NAME` or `file:PATH` is a secret: it goes with each request, and stands in
            no URL that is kept.
        method: How pages are asked for: `POST` for search APIs and GraphQL. Default: `GET`.
        body: What each request carries, as JSON.
        items_field: Where a page's JSON has its list of items, names with dots between them; empty: the
            page is the list. Default: `items`. (``itemsField``)
        page_format: How a page is written; `ndjson`: a line for each item. Default: `json`.
            (``pageFormat``)
        paging: How the next page is asked for: by the link or cursor in `nextField`; or by `countParam`,
            which counts pages, or items. Default: `link`.
        next_field: Where a page has the link to the next page, or its cursor: absent, null or empty on
            the last. `header:NAME` is a header. A `Link` header with `rel=next` does too. Default:
            `next`. (``nextField``)
        cursor_param: The query parameter that takes the cursor, if `nextField` holds no URL; `body:NAME`
            is a field of `body`, names with dots between them. Default: a URL. (``cursorParam``)
        count_param: The query parameter that counts. Without it in `url` counting begins with page 1 and
            offset 0. Default: `page`, `offset`. (``countParam``)
        has_more_field: Where a page says whether there is another one, as `true` or `false`;
            `header:NAME` is a header. (``hasMoreField``)
        error_field: Where a page says that it is an error, whatever its status, such as `errors` in
            GraphQL: one that has anything there cannot be read. (``errorField``)
        children_field: Where an item has links to lists of its own, which are read to their end: a URL or
            several. (``childrenField``)
        children_url: The list of each item, with fields of the item in braces:
            `https://api.example.com/orders/{id}/lines`. (``childrenUrl``)
        incremental_field: Where an item has what grows with each change of it, such as `updated_at`. The
            list is then read in rounds, and an item comes again when it changed. See lists that change.
            (``incrementalField``)
        incremental_param: With it required: the query parameter that says from which value on.
            (``incrementalParam``)
        key_field: With it: what names an item; several with commas. Default: `id`. (``keyField``)
        incremental_type: With it: how its values compare: as ISO 8601 moments, as numbers, or as texts by
            code points. Default: `time`. (``incrementalType``)
        incremental_overlap: With it: how far rounds reach back: a duration (`5m`) for times, a number for
            numbers; texts have none. As much as changes become visible late. Default: `1m`, 0.
            (``incrementalOverlap``)
        starting_value: With it: the value from which on the first round reads. Default: all.
            (``startingValue``)
        on_status: What a status means, such as `404=skip,410=finish,5xx=retry`: `read` the page, `fail`,
            `retry`, `skip` the page, `finish` the list. Default: see errors. (``onStatus``)
        bad_pages: What becomes of a page that cannot be read: the query fails, the page is left out, or
            it is a row of its own with the reason in the column `bad_page`. Default: `fail`.
            (``badPages``)
        bearer_token: A token. It may be `env:NAME`, an environment variable, or `file:PATH`, on the
            driver and every executor. (``bearerToken``)
        username: Of basic authentication. It may be `env:NAME`, an environment variable, or `file:PATH`,
            on the driver and every executor.
        password: Of that user. It may be `env:NAME`, an environment variable, or `file:PATH`, on the
            driver and every executor.
        api_key: A key. It may be `env:NAME`, an environment variable, or `file:PATH`, on the driver and
            every executor. (``apiKey``)
        api_key_in: Where the key goes: `header:NAME` or `query:NAME`. Default: `header:X-API-Key`.
            (``apiKeyIn``)
        oauth_token_url: Where tokens are got (OAuth 2, client credentials); a new one when a request is
            refused with 401. (``oauthTokenUrl``)
        oauth_client_id: For `oauthTokenUrl`. It may be `env:NAME`, an environment variable, or
            `file:PATH`, on the driver and every executor. (``oauthClientId``)
        oauth_client_secret: For `oauthTokenUrl`. It may be `env:NAME`, an environment variable, or
            `file:PATH`, on the driver and every executor. (``oauthClientSecret``)
        oauth_scope: For `oauthTokenUrl`: what is asked for, with blanks between. (``oauthScope``)
        oauth_client_in: Where `oauthTokenUrl` wants id and secret: in the `body`, or in a `header` of
            basic authentication. Default: `body`. (``oauthClientIn``)
        oauth_params: JSON: what `oauthTokenUrl` wants beside these, such as `{"audience":
            "https://api.example.com"}`; a list is a parameter that comes several times. A value may be
            `env:NAME` or `file:PATH`. (``oauthParams``)
        requests_per_second: The rate of requests of the query. One task makes all of them, over so many
            connections as `parallelism` tasks would have had, but no more than requests fit into an
            epoch. (``requestsPerSecond``)
        request_timeout: How long a request may take as a whole, with redirects, to the last byte of its
            answer. Default: `30s`. (``requestTimeout``)
        retry_deadline: How long to go on asking a server that is away or failing: then the query ends.
            Running time without progress of a list, over all micro-batches. Default: `2m`.
            (``retryDeadline``)
        connections: How many lists a task reads at once. Default: `1`.
        tls_ca: The certificates to trust: a PEM file on every host that connects, PEM itself, or
            `env:NAME`. Default: the system's. (``tlsCa``)
        tls_certificate: The certificate of this client, in the same way. (``tlsCertificate``)
        tls_key: Its key, in the same way, without a password. Default: in `tlsCertificate`. (``tlsKey``)
        columns: With `valueFormat`: only these columns, in this order; `item.*` are all that it makes.
            Default: all.
        value_format: How `item` is written, if it is to be decoded. See formats.md. (``valueFormat``)
        value_schema: The fields of a value, as Spark's DDL (`id long, at timestamp`) or Spark's JSON. Of
            a change event of Debezium: those of the row. A batch of `json` from Kafka infers them without
            it. (``valueSchema``)
        value_prefix: What comes before the names of the columns that are `item.*`. (``valuePrefix``)
        mode: What becomes of a record whose value cannot be decoded: `PERMISSIVE` makes nulls of what
            cannot be decoded, `DROPMALFORMED` leaves the record out, `FAILFAST` fails the query. Default:
            `PERMISSIVE`.
        column_name_of_corrupt_record: A column of this name has the text of values that cannot be
            decoded. (``columnNameOfCorruptRecord``)
        rescued_data_column: A column of this name has, as JSON, what the schema does not name and what
            did not fit its type, which makes no value bad then. See formats.md. (``rescuedDataColumn``)
        time_zone: The zone of times that are written without one. Default: the session's. (``timeZone``)
        timestamp_format: How times of the type `timestamp` are written, as Spark's datetime pattern
            (`dd/MM/yyyy HH:mm`). See formats.md. Default: ISO 8601. (``timestampFormat``)
        timestamp_ntz_format: The same for the type `timestamp_ntz`. Default: ISO 8601.
            (``timestampNTZFormat``)
        date_format: The same for the type `date`. Default: ISO 8601. (``dateFormat``)
        bad_records_path: With `valueFormat`: a folder, on any file system of fsspec, for rows whose
            `item` cannot be decoded: they are not in the output, whatever `mode` says. See formats.md.
            (``badRecordsPath``)
        bad_records_storage_options: JSON: settings of the fsspec file system behind it.
            (``badRecordsStorageOptions``)
        max_buffered_bytes: What a task may hold between fetching and handing over. Default: `67108864`.
            (``maxBufferedBytes``)
        parallelism: The most tasks of an epoch. Default: the driver's CPUs.
        async_function: A class `package.module:Class`, or an `async def` function, that is asked about
            every row: see `docs/async-io.md`. Its results are columns behind those of the source.
            (``asyncFunction``)
        async_arguments: JSON: what the class of `asyncFunction` is made with, by name.
            (``asyncArguments``)
        async_schema: The result columns, as DDL such as `name string, tier int`. Default: the class's own
            `schema`. (``asyncSchema``)
        async_order: Rows come as their calls end, or in the order in which they were read. Default:
            `unordered`. (``asyncOrder``)
        async_capacity: Calls that a task makes at the same time. Default: `100`. (``asyncCapacity``)
        async_timeout: From the start of a row's first attempt, over all attempts, waits and epochs.
            Default: `5m`. (``asyncTimeout``)
        async_attempts: Calls for a row in all, before it counts as failed. Default: `1`.
            (``asyncAttempts``)
        async_retry_delay: The wait before the second attempt; each further one is twice as long, up to a
            minute. Default: `1s`. (``asyncRetryDelay``)
        async_on_failure: A row whose call failed for good: `fail` the query, `null`, `drop` it, or
            `error_column`: null, and the column `error` with class, message and attempts. Default:
            `fail`. (``asyncOnFailure``)
        async_result_fields: Members that a result, or a struct in it, has and its columns have not:
            `exact`: the row failed, also if one is missing; `lenient`: dropped, what is missing is null;
            `rescue`: kept as JSON in the column `rescued`. Default: `exact`. (``asyncResultFields``)
        async_batch_size: Rows of a call, for an `AsyncBatchFunction` or `AsyncArrowFunction`. Default:
            100, of Arrow 10000. (``asyncBatchSize``)
        async_queue_size: Rows that a task holds at most: waiting, asked, or done behind others. Default:
            8 x `asyncCapacity`, at least 1024. (``asyncQueueSize``)
        async_queue_bytes: Bytes of Arrow of these rows at most; where there is no room, fetching waits.
            Default: `67108864`. (``asyncQueueBytes``)
        headers: Headers of each request, by name. (``header.``)
        schema: the whole frame's, where the source takes one (``.schema(...)``).

    Raises:
        OptionError: an argument is missing, is none of this function, or is of another type.
    """
    return load_batch("http", locals())
