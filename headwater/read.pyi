# Written by scripts/generate from the tables of options.
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

__all__ = [
    "demo",
    "files",
    "http",
    "hybrid",
    "kafka",
    "kinesis",
    "mqtt",
    "nats",
    "postgres",
    "rabbitmq",
    "redis",
]

def demo(
    spark: SparkSession,
    *,
    rows_per_second: int | None = None,
    rows: int | None = None,
    splits: int | None = None,
    disorder: str | int | timedelta | None = None,
    seed: int | None = None,
    starting_timestamp: str | datetime | None = None,
    read_timeout: str | int | timedelta | None = None,
    retry_deadline: str | int | timedelta | None = None,
    min_partitions: int | None = None,
    max_rows_per_partition: int | None = None,
    parallelism: int | None = None,
    schema: str | StructType | None = None,
) -> DataFrame:
    """Read orders that are made up in a batch.

    The same as ``spark.read.format("headwater").option("source", "demo")`` with the
    options that the arguments are named after, and ``load()``: ``hw.options_of("demo")``.

    Args:
        spark: the session.
        rows_per_second: How many orders become visible in a second, in all splits together. Default:
            `1000`. (``rowsPerSecond``)
        rows: How many orders are there at the beginning: a batch read has just these, a new stream begins
            with them. Default: `1000`.
        splits: How many splits the orders are dealt out to, in turn. Default: `4`.
        disorder: How long it takes at the most from `ordered_at` until an order is visible: a watermark
            with this delay drops none. Default: `0s`.
        seed: Another seed, other orders. Default: `0`.
        starting_timestamp: Where a new query begins: a time such as `2024-05-01T12:00:00Z`, in UTC if it
            has no zone, or ms since 1970. (``startingTimestamp``)
        read_timeout: How long the source may take for a page before it counts as hung. Default: `5m`.
            (``readTimeout``)
        retry_deadline: How long to go on asking an outside that is away or overloaded; for 8 s only, if
            nothing has ever answered at its address. Default: `2m`. (``retryDeadline``)
        min_partitions: Cut large splits until a batch has about so many tasks. (``minPartitions``)
        max_rows_per_partition: No task is planned for more rows than this. (``maxRowsPerPartition``)
        parallelism: How many tasks the cluster runs at once: a batch has no more, unless its bytes or
            `minPartitions` ask for more. Where it is not known there may be one for each split. Default:
            `HEADWATER_PARALLELISM`.
        schema: the whole frame's, where the source takes one (``.schema(...)``).

    Raises:
        OptionError: an argument is missing or unknown, or is of another type.
    """

def files(
    spark: SparkSession,
    *,
    format: str,
    path: str | Sequence[str],
    base_path: str | None = None,
    path_glob_filter: str | None = None,
    recursive_file_lookup: bool | None = None,
    modified_after: str | datetime | None = None,
    modified_before: str | datetime | None = None,
    min_file_age: str | int | timedelta | None = None,
    state_location: str | None = None,
    schema_evolution_mode: str | None = None,
    schema_name: str | None = None,
    ignore_missing_files: bool | None = None,
    ignore_corrupt_files: bool | None = None,
    mode: Literal["permissive", "dropmalformed", "failfast"] | None = None,
    column_name_of_corrupt_record: str | None = None,
    rescued_data_column: str | None = None,
    bad_records_path: str | None = None,
    bad_records_storage_options: str | Mapping[str, Any] | None = None,
    multi_line: bool | None = None,
    time_zone: str | None = None,
    date_format: str | None = None,
    timestamp_format: str | None = None,
    timestamp_ntz_format: str | None = None,
    locale: str | None = None,
    sampling_ratio: float | None = None,
    columns: str | Sequence[str] | None = None,
    include_metadata: bool | None = None,
    merge_schema: bool | None = None,
    avro_schema: str | Mapping[str, Any] | None = None,
    max_inflated_block_bytes: int | None = None,
    ignore_extension: str | None = None,
    positional_field_matching: str | None = None,
    enable_stable_identifiers_for_union_type: str | None = None,
    recursive_field_max_depth: str | None = None,
    datetime_rebase_mode: Literal["CORRECTED", "EXCEPTION", "LEGACY"] | None = None,
    int96_rebase_mode: Literal["CORRECTED", "EXCEPTION", "LEGACY"] | None = None,
    line_sep: str | None = None,
    encoding: Literal["UTF-8", "US-ASCII", "ISO-8859-1", "UTF-16BE", "UTF-16LE", "UTF-16", "UTF-32"]
    | None = None,
    wholetext: bool | None = None,
    header: bool | None = None,
    enforce_schema: bool | None = None,
    sep: str | None = None,
    quote: str | None = None,
    escape: str | None = None,
    char_to_escape_quote_escaping: str | None = None,
    comment: str | None = None,
    null_value: str | None = None,
    empty_value: str | None = None,
    nan_value: str | None = None,
    positive_inf: str | None = None,
    negative_inf: str | None = None,
    ignore_leading_white_space: bool | None = None,
    ignore_trailing_white_space: bool | None = None,
    unescaped_quote_handling: Literal[
        "STOP_AT_DELIMITER", "STOP_AT_CLOSING_QUOTE", "BACK_TO_DELIMITER", "SKIP_VALUE", "RAISE_ERROR"
    ]
    | None = None,
    max_columns: int | None = None,
    max_chars_per_column: int | None = None,
    enable_date_time_parsing_fallback: bool | None = None,
    infer_schema: bool | None = None,
    prefer_date: bool | None = None,
    allow_comments: bool | None = None,
    allow_unquoted_field_names: bool | None = None,
    allow_single_quotes: bool | None = None,
    allow_numeric_leading_zeros: bool | None = None,
    allow_non_numeric_numbers: bool | None = None,
    allow_backslash_escaping_any_character: bool | None = None,
    allow_unquoted_control_chars: bool | None = None,
    primitives_as_string: bool | None = None,
    prefers_decimal: bool | None = None,
    drop_field_if_all_null: bool | None = None,
    infer_timestamp: bool | None = None,
    push_filters: bool | None = None,
    parallelism: int | None = None,
    min_partitions: int | None = None,
    storage_options: str | Mapping[str, Any] | None = None,
    schema: str | StructType | None = None,
) -> DataFrame:
    r"""Read files in a batch.

    The same as ``spark.read.format("headwater").option("source", "files")`` with the
    options that the arguments are named after, and ``load()``: ``hw.options_of("files")``.

    Args:
        spark: the session.
        format: What the files are: `arrow`, `avro`, `binaryFile`, `csv`, `feather`, `json`, `orc`,
            `parquet`, `text`. Required.
        path: A file, a folder, or a pattern of them (`*`, `?`, `[a-z]`, `{a,b}`), on any file system of
            fsspec (`/data`, `s3://bucket/in`); or a JSON list of such paths. What `load(path)` sets.
            Required.
        base_path: The folder below which `key=value` folders are columns. Default: the paths; of a
            pattern what it matches. (``basePath``)
        path_glob_filter: Only files whose name matches this pattern. (``pathGlobFilter``)
        recursive_file_lookup: Whether files in all folders below are read; then no column comes from a
            folder. Otherwise only those that lie in a folder called `key=value`, at any depth, and those
            of the path itself. Default: `false`. (``recursiveFileLookup``)
        modified_after: Only files changed after this time (`2024-06-01T13:00:00Z`). Without a zone in it
            `timeZone` counts, else the session's. (``modifiedAfter``)
        modified_before: Only files changed before this time. (``modifiedBefore``)
        min_file_age: Only files that have not been changed for so long: for writers that do not move
            whole files into place. By the driver's clock. Default: `0`. (``minFileAge``)
        state_location: A folder that all drivers of this query reach, for names of read files that do not
            fit into the offset. Needed if more than 2,000 files come within `maxFileAge`: the query then
            stops and says so. And for the schema, with `schemaName`. (``stateLocation``)
        schema_evolution_mode: What becomes of columns that files have and the schema has not: the query
            stops and has them after a restart (needs `schemaName`), they are in the column for rescued
            data, the query stops for good, or they are not read. See Drift. Default: `addNewColumns` with
            `schemaName`, else `none`. (``schemaEvolutionMode``)
        schema_name: Under this name an inferred schema is kept at `stateLocation`, and is the same after
            a restart; queries that give the same name share it. (``schemaName``)
        ignore_missing_files: Whether a planned file that vanished, or was overwritten, before it was read
            is skipped with a warning, or fails the query. Default: that of the session, else `false`.
            (``ignoreMissingFiles``)
        ignore_corrupt_files: Whether a file that is damaged, or not of the format, is skipped with a
            warning from the damaged place on, or fails the query. Where a schema is inferred only the
            option counts. Default: that of the session, else `false`. (``ignoreCorruptFiles``)
        mode: What to do with a record of CSV or JSON that cannot be read: null where a value is bad,
            leave it out, or fail. Default: `PERMISSIVE`.
        column_name_of_corrupt_record: The string column that takes the whole text of such a record, if
            the schema has it. Default: `_corrupt_record`. (``columnNameOfCorruptRecord``)
        rescued_data_column: A string column that takes, as JSON, what the schema does not name; of CSV
            and JSON also what did not fit its type, which makes no record bad then. An inferred schema
            gets it; a given one must have it. (``rescuedDataColumn``)
        bad_records_path: CSV, JSON: a folder, on any file system of fsspec, for records that cannot be
            read: they are not in the output, whatever `mode` says. See Records that cannot be read.
            (``badRecordsPath``)
        bad_records_storage_options: JSON: settings of the fsspec file system behind it.
            (``badRecordsStorageOptions``)
        multi_line: CSV: whether quoted values may hold line ends. JSON: whether a file is one document,
            which may have several lines. Such files are not split. Default: `false`. (``multiLine``)
        time_zone: CSV, JSON, names of folders, `modifiedAfter`, `modifiedBefore`: the zone of times that
            are written without one (`Europe/Paris`, `+01:00`). Default: the session's. (``timeZone``)
        date_format: CSV, JSON: how dates are written, as Spark's datetime pattern (`dd/MM/yyyy`). See
            formats.md. Default: ISO 8601. (``dateFormat``)
        timestamp_format: The same for the type `timestamp`. Default: ISO 8601. (``timestampFormat``)
        timestamp_ntz_format: The same for the type `timestamp_ntz`. Default: ISO 8601.
            (``timestampNTZFormat``)
        locale: CSV, JSON: the language of dates and numbers. Only `en-US` is there. Default: `en-US`.
        sampling_ratio: CSV, JSON: how large a part of the records a schema is inferred from. Default:
            `1.0`. (``samplingRatio``)
        columns: Only these columns of the inferred schema, in this order: what is not asked for is not
            read. Default: all.
        include_metadata: Whether there is a column `_metadata` with path, name, size, modification time
            and block of the file, as Spark's own. The field `row_index` of Parquet is not there, and
            `input_file_name()` is empty: use `_metadata.file_path`. Default: `false`.
            (``includeMetadata``)
        merge_schema: Parquet, ORC, Avro, Arrow: whether the inferred schema has the columns of all files,
            and not of one. Default: `false`. (``mergeSchema``)
        avro_schema: Avro: a schema in JSON to read files with, by Avro's rules of resolution: fields that
            they lack get its defaults. Default: each file's own. (``avroSchema``)
        max_inflated_block_bytes: Avro, ORC: a compressed block that is larger than this when it is
            decompressed is an error, and a stripe that takes three times as much, and 64 times its bytes
            in the file. A Python worker needs about three times as much memory as its largest block.
            Default: `268435456`. (``maxInflatedBlockBytes``)
        ignore_extension: Only `true`: pathGlobFilter=*.avro leaves out files of other names. Default:
            `true`. (``ignoreExtension``)
        positional_field_matching: Only `false`: fields are found by their names; rename columns after
            load(). Default: `false`. (``positionalFieldMatching``)
        enable_stable_identifiers_for_union_type: Only `false`: the values of a union are called member0,
            member1 and so on; rename them after load(). Default: `false`.
            (``enableStableIdentifiersForUnionType``)
        recursive_field_max_depth: Only `-1`: a schema that contains itself has no columns; give a part of
            it with .schema(...) and avroSchema. Default: `-1`. (``recursiveFieldMaxDepth``)
        datetime_rebase_mode: Parquet, Avro: how dates before 1582 and times before 1900 are read, where a
            file does not say that Spark wrote it: as they are, not at all, or by the calendar of then.
            Default: `CORRECTED`. (``datetimeRebaseMode``)
        int96_rebase_mode: Parquet: the same for timestamps of 96 bits. Default: `CORRECTED`.
            (``int96RebaseMode``)
        line_sep: Text, CSV, JSON: what ends a line. Default: line feed, carriage return, or both.
            (``lineSep``)
        encoding: CSV, JSON: how text is encoded: UTF-8, US-ASCII, ISO-8859-1, UTF-16BE, UTF-16LE, UTF-16,
            UTF-32. Text is not decoded, as in Spark: there it counts for `lineSep` only. Default:
            `UTF-8`.
        wholetext: Text: whether a file is one row. Default: `false`.
        header: CSV: whether the first line of each file is no record, but names the columns. Default:
            `false`.
        enforce_schema: CSV: whether the names in headers do not matter: columns go by their position.
            `false` fails where they are not those of the schema. Default: `true`. (``enforceSchema``)
        sep: CSV: between values, one character or several. Default: `,`.
        quote: CSV: around values that hold a separator; empty for no quoting. Default: `"`.
        escape: CSV: before a quote inside of quotes. `"` for files after RFC 4180, in which two quotes
            stand for one. Default: `\`.
        char_to_escape_quote_escaping: CSV: before an escape that stands for itself. Default: the escape,
            unless that is the quote. (``charToEscapeQuoteEscaping``)
        comment: CSV: begins lines that are none. Default: none.
        null_value: CSV: what stands for null. Default: empty. (``nullValue``)
        empty_value: CSV: what `""` means. Default: empty, which is null. (``emptyValue``)
        nan_value: CSV: what stands for NaN. Default: `NaN`. (``nanValue``)
        positive_inf: CSV: what stands for infinity. Default: `Inf`. (``positiveInf``)
        negative_inf: CSV: what stands for infinity below 0. Default: `-Inf`. (``negativeInf``)
        ignore_leading_white_space: CSV: whether white space before values is left out. Default: `false`.
            (``ignoreLeadingWhiteSpace``)
        ignore_trailing_white_space: CSV: whether white space behind values is left out. Default: `false`.
            (``ignoreTrailingWhiteSpace``)
        unescaped_quote_handling: CSV: what is done with a quote that is not escaped: `STOP_AT_DELIMITER`,
            `STOP_AT_CLOSING_QUOTE`, `BACK_TO_DELIMITER`, `SKIP_VALUE`, `RAISE_ERROR`. Default:
            `STOP_AT_DELIMITER`. (``unescapedQuoteHandling``)
        max_columns: CSV: how many values a record may have. More fail the query. Default: `20480`.
            (``maxColumns``)
        max_chars_per_column: CSV: how many characters a value may have; -1 for any number. More fail the
            query. Default: `-1`. (``maxCharsPerColumn``)
        enable_date_time_parsing_fallback: CSV, JSON: whether dates and times that do not fit their
            pattern are read as Spark casts text. Default: where no pattern is given.
            (``enableDateTimeParsingFallback``)
        infer_schema: CSV: whether inferred columns have types; otherwise they are strings. Default:
            `false`. (``inferSchema``)
        prefer_date: CSV: whether columns of dates are inferred as such, and not as times. Default:
            `true`. (``preferDate``)
        allow_comments: JSON: whether `/* */` and `//` are passed over. Default: `false`.
            (``allowComments``)
        allow_unquoted_field_names: JSON: whether names may stand without quotation marks. Default:
            `false`. (``allowUnquotedFieldNames``)
        allow_single_quotes: JSON: whether `'` may stand in the place of `"`. Default: `true`.
            (``allowSingleQuotes``)
        allow_numeric_leading_zeros: JSON: whether numbers may begin with zeros, as `007`. Default:
            `false`. (``allowNumericLeadingZeros``)
        allow_non_numeric_numbers: JSON: whether `NaN`, `Infinity`, `-INF` and the like are numbers.
            Default: `true`. (``allowNonNumericNumbers``)
        allow_backslash_escaping_any_character: JSON: whether any character may stand behind a backslash.
            Default: `false`. (``allowBackslashEscapingAnyCharacter``)
        allow_unquoted_control_chars: JSON: whether strings may hold control characters. Default: `false`.
            (``allowUnquotedControlChars``)
        primitives_as_string: JSON: whether numbers and booleans are inferred as strings. Default:
            `false`. (``primitivesAsString``)
        prefers_decimal: JSON: whether numbers are inferred as decimals where they fit. Default: `false`.
            (``prefersDecimal``)
        drop_field_if_all_null: JSON: whether inferred schemas leave out what is only ever null. Default:
            `false`. (``dropFieldIfAllNull``)
        infer_timestamp: JSON: whether strings that are times are inferred as `timestamp`. Default:
            `false`. (``inferTimestamp``)
        push_filters: Parquet, batch: use Spark's filters (needs
            `spark.sql.python.filterPushdown.enabled=true`). Default: `false`. (``pushFilters``)
        parallelism: How many tasks the cluster runs at once: a batch has no more, unless its bytes or
            `minPartitions` ask for more. Default: `HEADWATER_PARALLELISM`, else CPUs of the driver.
        min_partitions: Cut large files until a batch has about so many tasks. (``minPartitions``)
        storage_options: Settings of the fsspec file system: `{"anon":true}`. Default: none.
            (``storageOptions``)
        schema: the whole frame's, where the source takes one (``.schema(...)``).

    Raises:
        OptionError: an argument is missing or unknown, or is of another type.
    """

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
    allowed_hosts: str | Sequence[str] | None = None,
    max_page_bytes: int | None = None,
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
    options that the arguments are named after, and ``load()``: ``hw.options_of("http")``.

    Args:
        spark: the session.
        url: Required: the first page of a list.
        params: JSON: parameters for the query of `url`, such as `{"limit": 100, "key": "env:KEY"}`. One
            whose value is `env:NAME` or `file:PATH` is a secret: it goes with each request, and stands in
            no URL that is kept. A list is one parameter for each of its values.
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
            `header:NAME` is a header. `!NAME` says the opposite, such as `!end_of_stream`: that it is the
            last one. (``hasMoreField``)
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
        key_field: With it: what names an item. Default: `id`. (``keyField``)
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
        allowed_hosts: The hosts to which links and redirects may lead, beside those of `url`: names or
            addresses, `*.example.com` for all below one. Credentials go to the hosts of `url` alone.
            Default: any. (``allowedHosts``)
        max_page_bytes: A page that is larger, as it is sent or when it is decompressed, cannot be read
            (`badPages`). Nor can one of 2,000,000 items. A task needs about four times as much for each
            of its connections. Default: `268435456`. (``maxPageBytes``)
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
        async_timeout: From the start of a row's first attempt, over all attempts and waits; begins anew
            where a later epoch asks again. Default: `5m`. (``asyncTimeout``)
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
        OptionError: an argument is missing or unknown, or is of another type.
    """

def hybrid(
    spark: SparkSession,
    *,
    parts: Mapping[str, str],
    sources: str | Sequence[str],
    seam_column: str | None = None,
    seam_time: str | datetime | None = None,
    seam_disorder: str | int | timedelta | None = None,
    seam_offsets: str | Mapping[str, Any] | None = None,
    min_partitions: int | None = None,
    max_rows_per_partition: int | None = None,
    parallelism: int | None = None,
    schema: str | StructType | None = None,
) -> DataFrame:
    """Read a chain of sources in a batch.

    The same as ``spark.read.format("headwater").option("source", "hybrid")`` with the
    options that the arguments are named after, and ``load()``: ``hw.options_of("hybrid")``.

    Args:
        spark: the session.
        parts: Options of the parts, by their whole names: `{'history.source': 'files', 'live.subscribe':
            'orders'}`.
        sources: The names of the parts, in the order in which they are read, such as `history,live`. Each
            has the options of its source with the name before them: `history.source=files`,
            `history.path`, `live.subscribe`.
        seam_column: The column of the type timestamp that decides, row by row, which part a row belongs
            to. (``seamColumn``)
        seam_time: Rows before this time come from the parts before the last one, all others from the last
            one: a time such as `2024-05-01T12:00:00Z`; without a zone it is in UTC. (``seamTime``)
        seam_disorder: With `seamTime`: Kafka is read from so much before it on. No row at or after it may
            be in a record whose own timestamp is earlier by more. Default: `1h`. (``seamDisorder``)
        seam_offsets: Instead of a time: where Kafka begins, as JSON such as `{"orders": {"0": 1200}}`; or
            `end`: where the parts before end, by the footers of their Parquet files. (``seamOffsets``)
        min_partitions: Cut large splits until a batch has about so many tasks. (``minPartitions``)
        max_rows_per_partition: No task is planned for more rows than this. (``maxRowsPerPartition``)
        parallelism: How many tasks the cluster runs at once: a batch has no more, unless its bytes or
            `minPartitions` ask for more. Where it is not known there may be one for each split. Default:
            `HEADWATER_PARALLELISM`.
        schema: the whole frame's, where the source takes one (``.schema(...)``).

    Raises:
        OptionError: an argument is missing or unknown, or is of another type.
    """

def kafka(
    spark: SparkSession,
    *,
    servers: str | Sequence[str],
    topics: str | Sequence[str] | None = None,
    topic_pattern: str | None = None,
    partitions: str | Mapping[str, Any] | None = None,
    starting_offsets: str | Mapping[str, Any] | None = None,
    starting_offsets_fallback: Literal["error", "latest", "earliest"] | None = None,
    starting_timestamp: int | datetime | None = None,
    starting_offsets_by_timestamp: str | Mapping[str, Any] | None = None,
    starting_offsets_by_timestamp_strategy: Literal["error", "latest", "earliest"] | None = None,
    ending_offsets: str | Mapping[str, Any] | None = None,
    ending_timestamp: int | datetime | None = None,
    ending_offsets_by_timestamp: str | Mapping[str, Any] | None = None,
    columns: str | Sequence[str] | None = None,
    include_headers: bool | None = None,
    value_format: Literal[
        "avro",
        "confluent-avro",
        "confluent-json",
        "confluent-protobuf",
        "csv",
        "debezium-avro",
        "debezium-json",
        "glue-avro",
        "glue-json",
        "json",
        "protobuf",
        "text",
    ]
    | None = None,
    value_schema: str | StructType | None = None,
    value_avro_schema: str | None = None,
    value_avro_writer_schema: str | None = None,
    value_descriptor: str | None = None,
    value_message: str | None = None,
    value_emit_defaults: bool | None = None,
    value_enums_as_ints: bool | None = None,
    value_upcast_unsigned: bool | None = None,
    value_subject: str | None = None,
    value_subject_strategy: Literal["topic", "record", "topic-record"] | None = None,
    schema_version: str | int | None = None,
    value_prefix: str | None = None,
    mode: Literal["PERMISSIVE", "DROPMALFORMED", "FAILFAST"] | None = None,
    column_name_of_corrupt_record: str | None = None,
    rescued_data_column: str | None = None,
    time_zone: str | None = None,
    timestamp_format: str | None = None,
    timestamp_ntz_format: str | None = None,
    date_format: str | None = None,
    csv_options: str | Mapping[str, Any] | None = None,
    key_format: Literal[
        "avro",
        "confluent-avro",
        "confluent-json",
        "confluent-protobuf",
        "csv",
        "debezium-avro",
        "debezium-json",
        "glue-avro",
        "glue-json",
        "json",
        "protobuf",
        "text",
    ]
    | None = None,
    key_schema: str | StructType | None = None,
    key_avro_schema: str | None = None,
    key_avro_writer_schema: str | None = None,
    key_descriptor: str | None = None,
    key_message: str | None = None,
    key_emit_defaults: bool | None = None,
    key_enums_as_ints: bool | None = None,
    key_upcast_unsigned: bool | None = None,
    key_subject: str | None = None,
    key_subject_strategy: Literal["topic", "record", "topic-record"] | None = None,
    key_schema_version: str | int | None = None,
    key_prefix: str | None = None,
    key_mode: Literal["PERMISSIVE", "DROPMALFORMED", "FAILFAST"] | None = None,
    key_column_name_of_corrupt_record: str | None = None,
    key_rescued_data_column: str | None = None,
    key_time_zone: str | None = None,
    key_timestamp_format: str | None = None,
    key_timestamp_ntz_format: str | None = None,
    key_date_format: str | None = None,
    key_csv_options: str | Mapping[str, Any] | None = None,
    schema_registry_url: str | Sequence[str] | None = None,
    schema_registry_basic_auth_user_info: str | None = None,
    schema_registry_bearer_auth_token: str | None = None,
    schema_registry_ssl_ca_location: str | None = None,
    schema_registry_ssl_certificate_location: str | None = None,
    schema_registry_ssl_key_location: str | None = None,
    schema_registry_deadline_ms: str | int | timedelta | None = None,
    glue_registry_name: str | None = None,
    glue_region: str | None = None,
    glue_endpoint_url: str | None = None,
    glue_access_key_id: str | None = None,
    glue_secret_access_key: str | None = None,
    glue_session_token: str | None = None,
    glue_tls_ca: str | None = None,
    glue_deadline_ms: str | int | timedelta | None = None,
    bad_records_path: str | None = None,
    bad_records_storage_options: str | Mapping[str, Any] | None = None,
    fail_on_data_loss: bool | None = None,
    stop_at_record: str | Mapping[str, Any] | None = None,
    min_partitions: int | None = None,
    max_records_per_partition: int | None = None,
    parallelism: int | None = None,
    group_id_prefix: str | None = None,
    max_inflated_batch_bytes: int | None = None,
    kafka_consumer_poll_timeout_ms: str | int | timedelta | None = None,
    fetch_offset_num_retries: int | None = None,
    fetch_offset_retry_interval_ms: str | int | timedelta | None = None,
    properties: Mapping[str, str] | None = None,
    schema: str | StructType | None = None,
) -> DataFrame:
    r"""Read Kafka in a batch.

    The same as ``spark.read.format("headwater").option("source", "kafka")`` with the
    options that the arguments are named after, and ``load()``: ``hw.options_of("kafka")``.

    Args:
        spark: the session.
        servers: Brokers to begin with, as `host:port`. (``kafka.bootstrap.servers``)
        topics: Topics to read; white space around a name does not count. One of subscribe,
            subscribePattern and assign is required. (``subscribe``)
        topic_pattern: Read all topics in whose name this regular expression of Java is found, also those
            that are created later. `^orders$` is the topic `orders` alone. (``subscribePattern``)
        partitions: Read exactly these partitions: `{"topicA":[0,1],"topicB":[2]}`. (``assign``)
        starting_offsets: Where a query without a checkpoint begins: `earliest`, `latest` (streams only),
            or JSON by topic, with every partition: `{"topicA":{"0":23,"1":-2},"topicB":"earliest"}` (-2
            earliest, -1 latest), or `group:NAME`: the offsets that this consumer group has committed.
            Partitions found later begin at their earliest record. Default: `latest` in streams,
            `earliest` in batches. (``startingOffsets``)
        starting_offsets_fallback: With `group:NAME`: what to do with a partition for which the group has
            committed nothing: fail, or begin at its earliest or latest offset. Default: `error`.
            (``startingOffsetsFallback``)
        starting_timestamp: Begin at the first record at or after this time (milliseconds since 1970), in
            all partitions. Beats the next one and startingOffsets. (``startingTimestamp``)
        starting_offsets_by_timestamp: The same by partition: `{"topicA":{"0":1700000000000}}`, with every
            partition. Beats startingOffsets. (``startingOffsetsByTimestamp``)
        starting_offsets_by_timestamp_strategy: What to do with a partition that has no record at or after
            the time: fail, or begin at its latest or (here only) earliest offset. Default: `error`.
            (``startingOffsetsByTimestampStrategy``)
        ending_offsets: Where a batch read ends: `latest` or JSON, also `{"topicA":"latest"}` (-1 latest;
            earliest makes no sense). Default: `latest`. (``endingOffsets``)
        ending_timestamp: End before the first record at or after this time. Beats the next one and
            endingOffsets. (``endingTimestamp``)
        ending_offsets_by_timestamp: The same by partition. No record at or after the time means latest.
            (``endingOffsetsByTimestamp``)
        columns: Only these columns, in this order: what is not asked for is not decoded, copied or handed
            over. With `valueFormat` or `keyFormat`, `value.*` and `key.*` are all columns of the value
            and the key. Default: all.
        include_headers: Whether there is a column `headers`. Default: `false`. (``includeHeaders``)
        value_format: How values are written; without it they are bytes. See formats.md. Default: bytes.
            (``valueFormat``)
        value_schema: The fields of a value, as Spark's DDL (`id long, at timestamp`) or Spark's JSON. Of
            a change event of Debezium: those of the row. A batch of `json` from Kafka infers them without
            it. (``valueSchema``)
        value_avro_schema: The Avro schema that the columns are made of: its JSON, or the path of a file
            on the driver (or a URL of fsspec). (``valueAvroSchema``)
        value_avro_writer_schema: The Avro schema that values without a header were written with, if it is
            another. Default: `valueAvroSchema`. (``valueAvroWriterSchema``)
        value_descriptor: A file on the driver (or a URL of fsspec) that `protoc --include_imports
            --descriptor_set_out=FILE` has written. (``valueDescriptor``)
        value_message: The name of the Protobuf message. Of a schema in a registry: the first one by
            default. With `valueSubjectStrategy`: the full name of the message or record.
            (``valueMessage``)
        value_emit_defaults: Whether a field of Protobuf without presence that is not set is its default
            and not null (`emit.default.values` of Spark). Default: `false`. (``valueEmitDefaults``)
        value_enums_as_ints: Whether enums of Protobuf are their numbers (`enums.as.ints` of Spark).
            Default: `false`. (``valueEnumsAsInts``)
        value_upcast_unsigned: Whether unsigned integers of Protobuf become the next larger type
            (`upcast.unsigned.ints` of Spark). Default: `false`. (``valueUpcastUnsigned``)
        value_subject: The subject in the schema registry whose schema the columns are made of; with Glue
            the schema. Default: as `valueSubjectStrategy` says; with Glue the topic. (``valueSubject``)
        value_subject_strategy: How producers name subjects: `topic` (`orders-value`), `record`
            (`com.acme.Order`) or `topic-record` (`orders-com.acme.Order`), the record as `valueMessage`
            names it. Default: `topic`. (``valueSubjectStrategy``)
        schema_version: Which version of it: `latest`, or a number. Default: `latest`. (``schemaVersion``)
        value_prefix: What comes before the names of the columns that are `value.*`. (``valuePrefix``)
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
        csv_options: JSON: how values of the format `csv` are written, by the names of Spark's options:
            `{"sep": ";", "escape": "\""}`. See formats.md. Default: as Spark's. (``csvOptions``)
        key_format: As `valueFormat`, for keys. Default: bytes. (``keyFormat``)
        key_schema: As `valueSchema`, for keys. (``keySchema``)
        key_avro_schema: As `valueAvroSchema`, for keys. (``keyAvroSchema``)
        key_avro_writer_schema: As `valueAvroWriterSchema`, for keys. Default: `keyAvroSchema`.
            (``keyAvroWriterSchema``)
        key_descriptor: As `valueDescriptor`, for keys. (``keyDescriptor``)
        key_message: As `valueMessage`, for keys. (``keyMessage``)
        key_emit_defaults: As `valueEmitDefaults`, for keys. Default: `false`. (``keyEmitDefaults``)
        key_enums_as_ints: As `valueEnumsAsInts`, for keys. Default: `false`. (``keyEnumsAsInts``)
        key_upcast_unsigned: As `valueUpcastUnsigned`, for keys. Default: `false`. (``keyUpcastUnsigned``)
        key_subject: As `valueSubject`, for keys. Default: as `keySubjectStrategy` says; with Glue the
            topic. (``keySubject``)
        key_subject_strategy: As `valueSubjectStrategy`, for keys. Default: `topic`.
            (``keySubjectStrategy``)
        key_schema_version: As `schemaVersion`, for keys. Default: `latest`. (``keySchemaVersion``)
        key_prefix: As `valuePrefix`, for keys. (``keyPrefix``)
        key_mode: As `mode`, for keys. Default: `PERMISSIVE`. (``keyMode``)
        key_column_name_of_corrupt_record: As `columnNameOfCorruptRecord`, for keys.
            (``keyColumnNameOfCorruptRecord``)
        key_rescued_data_column: As `rescuedDataColumn`, for keys. (``keyRescuedDataColumn``)
        key_time_zone: As `timeZone`, for keys. Default: the session's. (``keyTimeZone``)
        key_timestamp_format: As `timestampFormat`, for keys. Default: ISO 8601. (``keyTimestampFormat``)
        key_timestamp_ntz_format: As `timestampNTZFormat`, for keys. Default: ISO 8601.
            (``keyTimestampNTZFormat``)
        key_date_format: As `dateFormat`, for keys. Default: ISO 8601. (``keyDateFormat``)
        key_csv_options: As `csvOptions`, for keys. Default: as Spark's. (``keyCsvOptions``)
        schema_registry_url: Where the schema registry is, which speaks Confluent's REST API; several
            addresses of one registry. Required for `confluent-avro`, `confluent-protobuf`,
            `debezium-avro`, and for `confluent-json` without a schema. (``schema.registry.url``)
        schema_registry_basic_auth_user_info: `user:password` for basic authentication. It may be
            `env:NAME`, an environment variable, or `file:PATH`, on the driver and every executor.
            (``schema.registry.basic.auth.user.info``)
        schema_registry_bearer_auth_token: A bearer token. It may be `env:NAME`, an environment variable,
            or `file:PATH`, on the driver and every executor. (``schema.registry.bearer.auth.token``)
        schema_registry_ssl_ca_location: A PEM file of the certificates to trust, there where it is used.
            Default: the system's. (``schema.registry.ssl.ca.location``)
        schema_registry_ssl_certificate_location: A PEM file of this client's certificate.
            (``schema.registry.ssl.certificate.location``)
        schema_registry_ssl_key_location: A PEM file of its key, without a password. Default: in the same
            file. (``schema.registry.ssl.key.location``)
        schema_registry_deadline_ms: For how long a registry that is away, or does not know an id yet, is
            asked again. Default: `120000`. (``schema.registry.deadlineMs``)
        glue_registry_name: The registry of AWS Glue in which the schemas for the columns are looked for.
            Default: `default-registry`. (``glue.registryName``)
        glue_region: The region of the registry, such as `eu-west-1`. Default: that of the AWS settings.
            (``glue.region``)
        glue_endpoint_url: An endpoint of one's own, such as `https://vpce-1.example`.
            (``glue.endpointUrl``)
        glue_access_key_id: The id of an access key. Default: what boto3 finds: environment, profile,
            role. (``glue.accessKeyId``)
        glue_secret_access_key: The secret of it. It may be `env:NAME`, an environment variable, or
            `file:PATH`, on the driver and every executor. (``glue.secretAccessKey``)
        glue_session_token: A session token. It may be `env:NAME`, an environment variable, or
            `file:PATH`, on the driver and every executor. (``glue.sessionToken``)
        glue_tls_ca: The certificates to trust: a PEM file on every host that connects. Default: those of
            boto3. (``glue.tlsCa``)
        glue_deadline_ms: For how long a registry that is away, or does not know a schema yet, is asked
            again. Default: `120000`. (``glue.deadlineMs``)
        bad_records_path: A folder, on any file system of fsspec, for records whose key or value cannot be
            decoded: they are not in the output, whatever `mode` says. See formats.md.
            (``badRecordsPath``)
        bad_records_storage_options: JSON: settings of the fsspec file system behind it.
            (``badRecordsStorageOptions``)
        fail_on_data_loss: Whether records that are gone before they were read fail the query; otherwise a
            warning names what is missing, and a stream counts it (`hw.LagListener`). Default: `true`.
            (``failOnDataLoss``)
        stop_at_record: A partition ends at the first record that has these values, JSON by column:
            `{"key": "end"}`, `{"headers.kind": "end"}`, with `valueFormat` `{"value.kind": "end"}`.
            Neither that record nor one behind it is read, also after a restart; when all partitions have
            ended, a batch and an AvailableNow run end. (``stopAtRecord``)
        min_partitions: Cut large partitions until a batch has about so many tasks. (``minPartitions``)
        max_records_per_partition: No task is planned for more records than this.
            (``maxRecordsPerPartition``)
        parallelism: How many tasks the cluster runs at once (executors times their cores). A batch read,
            and a micro-batch whose rows take time, has a task for each partition, but no more than this;
            one of few and cheap rows has fewer. By default what the environment variable says, which
            `hw.recommended_environment(parallelism=...)` sets; else a task for each partition. Default:
            `HEADWATER_PARALLELISM`.
        group_id_prefix: Taken for compatibility: no consumer group is joined. Default:
            `spark-kafka-source`. (``groupIdPrefix``)
        max_inflated_batch_bytes: A compressed record batch that is larger than this when it is
            decompressed is an error. Memory is taken as the records need it: a Python worker needs about
            three times as much as its largest batch. Default: `1073741824`. (``maxInflatedBatchBytes``)
        kafka_consumer_poll_timeout_ms: How long a task waits for a cluster that gives nothing before it
            fails (and Spark retries it). An answer that would mean loss is given the 3 s after which it
            is believed, whatever is set here. Default: `120000`. (``kafkaConsumer.pollTimeoutMs``)
        fetch_offset_num_retries: How often an odd answer about offsets is asked for again before it is
            believed. Default: `3`. (``fetchOffset.numRetries``)
        fetch_offset_retry_interval_ms: How long to wait in between. Default: `1000`.
            (``fetchOffset.retryIntervalMs``)
        properties: Properties of Kafka's client, without `kafka.`: `{'security.protocol': 'SASL_SSL'}`.
            (``kafka.``)
        schema: the whole frame's, where the source takes one (``.schema(...)``).

    Raises:
        OptionError: an argument is missing or unknown, or is of another type.
    """

def kinesis(
    spark: SparkSession,
    *,
    streams: str | Sequence[str],
    region: str | None = None,
    endpoint_url: str | None = None,
    access_key_id: str | None = None,
    secret_access_key: str | None = None,
    session_token: str | None = None,
    tls_ca: str | None = None,
    starting_position: str | None = None,
    fail_on_data_loss: bool | None = None,
    columns: str | Sequence[str] | None = None,
    value_format: Literal[
        "avro",
        "confluent-avro",
        "confluent-json",
        "confluent-protobuf",
        "csv",
        "debezium-avro",
        "debezium-json",
        "glue-avro",
        "glue-json",
        "json",
        "protobuf",
        "text",
    ]
    | None = None,
    value_schema: str | StructType | None = None,
    value_avro_schema: str | None = None,
    value_avro_writer_schema: str | None = None,
    value_descriptor: str | None = None,
    value_message: str | None = None,
    value_emit_defaults: bool | None = None,
    value_enums_as_ints: bool | None = None,
    value_upcast_unsigned: bool | None = None,
    value_subject: str | None = None,
    value_subject_strategy: Literal["topic", "record", "topic-record"] | None = None,
    schema_version: str | int | None = None,
    value_prefix: str | None = None,
    mode: Literal["PERMISSIVE", "DROPMALFORMED", "FAILFAST"] | None = None,
    column_name_of_corrupt_record: str | None = None,
    rescued_data_column: str | None = None,
    time_zone: str | None = None,
    timestamp_format: str | None = None,
    timestamp_ntz_format: str | None = None,
    date_format: str | None = None,
    csv_options: str | Mapping[str, Any] | None = None,
    schema_registry_url: str | Sequence[str] | None = None,
    schema_registry_basic_auth_user_info: str | None = None,
    schema_registry_bearer_auth_token: str | None = None,
    schema_registry_ssl_ca_location: str | None = None,
    schema_registry_ssl_certificate_location: str | None = None,
    schema_registry_ssl_key_location: str | None = None,
    schema_registry_deadline_ms: str | int | timedelta | None = None,
    glue_registry_name: str | None = None,
    glue_region: str | None = None,
    glue_endpoint_url: str | None = None,
    glue_access_key_id: str | None = None,
    glue_secret_access_key: str | None = None,
    glue_session_token: str | None = None,
    glue_tls_ca: str | None = None,
    glue_deadline_ms: str | int | timedelta | None = None,
    bad_records_path: str | None = None,
    bad_records_storage_options: str | Mapping[str, Any] | None = None,
    read_timeout: str | int | timedelta | None = None,
    connections: int | None = None,
    retry_deadline: str | int | timedelta | None = None,
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
    schema: str | StructType | None = None,
) -> DataFrame:
    r"""Read Amazon Kinesis in a batch.

    The same as ``spark.read.format("headwater").option("source", "kinesis")`` with the
    options that the arguments are named after, and ``load()``: ``hw.options_of("kinesis")``.

    Args:
        spark: the session.
        streams: Streams.
        region: The region, such as `eu-west-1`. Default: that of the AWS settings.
        endpoint_url: An endpoint of one's own, such as `https://vpce-1.example`. (``endpointUrl``)
        access_key_id: The id of an access key. Default: what boto3 finds: environment, profile, role.
            (``accessKeyId``)
        secret_access_key: The secret of it: `env:NAME`, `file:PATH`, or the key itself.
            (``secretAccessKey``)
        session_token: A session token, in the same way. (``sessionToken``)
        tls_ca: The certificates to trust: a PEM file on every host that connects. Default: those of
            boto3. (``tlsCa``)
        starting_position: Where a new query begins: `earliest`, `latest` (streams only), a time such as
            `2024-05-01T12:00:00Z` or ms since 1970, or JSON with a sequence number for each shard, as a
            text; with null a shard is not read, and what is not named begins with its first record.
            Default: `latest` in a stream, `earliest` in a batch. (``startingPosition``)
        fail_on_data_loss: Whether records that may have been dropped before they were read are an error;
            `false`: the metric `lostRanges` counts. Default: `true`. (``failOnDataLoss``)
        columns: With `valueFormat`: only these columns, in this order; `value.*` are all that it makes.
            Default: all.
        value_format: How `value` is written, if it is to be decoded. See formats.md. (``valueFormat``)
        value_schema: The fields of a value, as Spark's DDL (`id long, at timestamp`) or Spark's JSON. Of
            a change event of Debezium: those of the row. A batch of `json` from Kafka infers them without
            it. (``valueSchema``)
        value_avro_schema: The Avro schema that the columns are made of: its JSON, or the path of a file
            on the driver (or a URL of fsspec). (``valueAvroSchema``)
        value_avro_writer_schema: The Avro schema that values without a header were written with, if it is
            another. Default: `valueAvroSchema`. (``valueAvroWriterSchema``)
        value_descriptor: A file on the driver (or a URL of fsspec) that `protoc --include_imports
            --descriptor_set_out=FILE` has written. (``valueDescriptor``)
        value_message: The name of the Protobuf message. Of a schema in a registry: the first one by
            default. With `valueSubjectStrategy`: the full name of the message or record.
            (``valueMessage``)
        value_emit_defaults: Whether a field of Protobuf without presence that is not set is its default
            and not null (`emit.default.values` of Spark). Default: `false`. (``valueEmitDefaults``)
        value_enums_as_ints: Whether enums of Protobuf are their numbers (`enums.as.ints` of Spark).
            Default: `false`. (``valueEnumsAsInts``)
        value_upcast_unsigned: Whether unsigned integers of Protobuf become the next larger type
            (`upcast.unsigned.ints` of Spark). Default: `false`. (``valueUpcastUnsigned``)
        value_subject: The subject in the schema registry whose schema the columns are made of; with Glue
            the schema. Default: as `valueSubjectStrategy` says; with Glue the topic. (``valueSubject``)
        value_subject_strategy: How producers name subjects: `topic` (`orders-value`), `record`
            (`com.acme.Order`) or `topic-record` (`orders-com.acme.Order`), the record as `valueMessage`
            names it. Default: `topic`. (``valueSubjectStrategy``)
        schema_version: Which version of it: `latest`, or a number. Default: `latest`. (``schemaVersion``)
        value_prefix: What comes before the names of the columns that are `value.*`. (``valuePrefix``)
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
        csv_options: JSON: how values of the format `csv` are written, by the names of Spark's options:
            `{"sep": ";", "escape": "\""}`. See formats.md. Default: as Spark's. (``csvOptions``)
        schema_registry_url: Where the schema registry is, which speaks Confluent's REST API; several
            addresses of one registry. Required for `confluent-avro`, `confluent-protobuf`,
            `debezium-avro`, and for `confluent-json` without a schema. (``schema.registry.url``)
        schema_registry_basic_auth_user_info: `user:password` for basic authentication. It may be
            `env:NAME`, an environment variable, or `file:PATH`, on the driver and every executor.
            (``schema.registry.basic.auth.user.info``)
        schema_registry_bearer_auth_token: A bearer token. It may be `env:NAME`, an environment variable,
            or `file:PATH`, on the driver and every executor. (``schema.registry.bearer.auth.token``)
        schema_registry_ssl_ca_location: A PEM file of the certificates to trust, there where it is used.
            Default: the system's. (``schema.registry.ssl.ca.location``)
        schema_registry_ssl_certificate_location: A PEM file of this client's certificate.
            (``schema.registry.ssl.certificate.location``)
        schema_registry_ssl_key_location: A PEM file of its key, without a password. Default: in the same
            file. (``schema.registry.ssl.key.location``)
        schema_registry_deadline_ms: For how long a registry that is away, or does not know an id yet, is
            asked again. Default: `120000`. (``schema.registry.deadlineMs``)
        glue_registry_name: The registry of AWS Glue in which the schemas for the columns are looked for.
            Default: `default-registry`. (``glue.registryName``)
        glue_region: The region of the registry, such as `eu-west-1`. Default: that of the AWS settings.
            (``glue.region``)
        glue_endpoint_url: An endpoint of one's own, such as `https://vpce-1.example`.
            (``glue.endpointUrl``)
        glue_access_key_id: The id of an access key. Default: what boto3 finds: environment, profile,
            role. (``glue.accessKeyId``)
        glue_secret_access_key: The secret of it. It may be `env:NAME`, an environment variable, or
            `file:PATH`, on the driver and every executor. (``glue.secretAccessKey``)
        glue_session_token: A session token. It may be `env:NAME`, an environment variable, or
            `file:PATH`, on the driver and every executor. (``glue.sessionToken``)
        glue_tls_ca: The certificates to trust: a PEM file on every host that connects. Default: those of
            boto3. (``glue.tlsCa``)
        glue_deadline_ms: For how long a registry that is away, or does not know a schema yet, is asked
            again. Default: `120000`. (``glue.deadlineMs``)
        bad_records_path: With `valueFormat`: a folder, on any file system of fsspec, for rows whose
            `value` cannot be decoded: they are not in the output, whatever `mode` says. See formats.md.
            (``badRecordsPath``)
        bad_records_storage_options: JSON: settings of the fsspec file system behind it.
            (``badRecordsStorageOptions``)
        read_timeout: How long the source may take for a page before it counts as hung. Default: `5m`.
            (``readTimeout``)
        connections: How many splits a task reads at once. Default: `1`.
        retry_deadline: How long to go on asking an outside that is away or overloaded; for 8 s only, if
            nothing has ever answered at its address. Default: `2m`. (``retryDeadline``)
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
        async_timeout: From the start of a row's first attempt, over all attempts and waits; begins anew
            where a later epoch asks again. Default: `5m`. (``asyncTimeout``)
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
        schema: the whole frame's, where the source takes one (``.schema(...)``).

    Raises:
        OptionError: an argument is missing or unknown, or is of another type.
    """

def mqtt(
    spark: SparkSession,
    *,
    broker: str,
    topics: str | Sequence[str],
    mqtt_version: Literal["5", "3.1.1"] | None = None,
    sessions: int | None = None,
    message_key: str | None = None,
    username: str | None = None,
    password: str | None = None,
    tls_ca: str | None = None,
    tls_certificate: str | None = None,
    tls_key: str | None = None,
    idle_timeout: str | int | timedelta | None = None,
    retry_deadline: str | int | timedelta | None = None,
    fail_on_data_loss: bool | None = None,
    receiver_idle_timeout: str | int | timedelta | None = None,
    max_in_flight: int | None = None,
    columns: str | Sequence[str] | None = None,
    value_format: Literal[
        "avro",
        "confluent-avro",
        "confluent-json",
        "confluent-protobuf",
        "csv",
        "debezium-avro",
        "debezium-json",
        "glue-avro",
        "glue-json",
        "json",
        "protobuf",
        "text",
    ]
    | None = None,
    value_schema: str | StructType | None = None,
    value_avro_schema: str | None = None,
    value_avro_writer_schema: str | None = None,
    value_descriptor: str | None = None,
    value_message: str | None = None,
    value_emit_defaults: bool | None = None,
    value_enums_as_ints: bool | None = None,
    value_upcast_unsigned: bool | None = None,
    value_subject: str | None = None,
    value_subject_strategy: Literal["topic", "record", "topic-record"] | None = None,
    schema_version: str | int | None = None,
    value_prefix: str | None = None,
    mode: Literal["PERMISSIVE", "DROPMALFORMED", "FAILFAST"] | None = None,
    column_name_of_corrupt_record: str | None = None,
    rescued_data_column: str | None = None,
    time_zone: str | None = None,
    timestamp_format: str | None = None,
    timestamp_ntz_format: str | None = None,
    date_format: str | None = None,
    csv_options: str | Mapping[str, Any] | None = None,
    schema_registry_url: str | Sequence[str] | None = None,
    schema_registry_basic_auth_user_info: str | None = None,
    schema_registry_bearer_auth_token: str | None = None,
    schema_registry_ssl_ca_location: str | None = None,
    schema_registry_ssl_certificate_location: str | None = None,
    schema_registry_ssl_key_location: str | None = None,
    schema_registry_deadline_ms: str | int | timedelta | None = None,
    glue_registry_name: str | None = None,
    glue_region: str | None = None,
    glue_endpoint_url: str | None = None,
    glue_access_key_id: str | None = None,
    glue_secret_access_key: str | None = None,
    glue_session_token: str | None = None,
    glue_tls_ca: str | None = None,
    glue_deadline_ms: str | int | timedelta | None = None,
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
    schema: str | StructType | None = None,
) -> DataFrame:
    r"""Read MQTT in a batch.

    The same as ``spark.read.format("headwater").option("source", "mqtt")`` with the
    options that the arguments are named after, and ``load()``: ``hw.options_of("mqtt")``.

    Args:
        spark: the session.
        broker: Required: `mqtt://host:port` or `mqtts://host:port`.
        topics: Required: topic filters, `+` and `#` included. They may change.
        mqtt_version: Of the protocol: `5` or `3.1.1`. Default: `5`. (``mqttVersion``)
        sessions: So many sessions share the messages (`$share`), a task for each; nothing keeps an order
            then. May change. Default: `1`.
        message_key: What tells a second delivery from the first: `payload:<field>` of a JSON payload,
            names with dots between them, or `property:<name>`. Without it the guarantee is at least once.
            Default: at least once. (``messageKey``)
        username: For the broker. It may be `env:NAME`, an environment variable, or `file:PATH`, on the
            driver and every executor.
        password: For the broker. It may be `env:NAME`, an environment variable, or `file:PATH`, on the
            driver and every executor.
        tls_ca: The certificates to trust: a PEM file on every host that connects, PEM itself, or
            `env:NAME`. Default: the system's. (``tlsCa``)
        tls_certificate: The certificate of this client, in the same way. (``tlsCertificate``)
        tls_key: Its key, in the same way, without a password. Default: in `tlsCertificate`. (``tlsKey``)
        idle_timeout: A session that brings nothing for so long is caught up. Default: `500ms`.
            (``idleTimeout``)
        retry_deadline: For how long a broker that is away is asked again, before the query fails.
            Default: `2m`. (``retryDeadline``)
        fail_on_data_loss: Whether a query fails if the broker has forgotten a session, and the messages
            that it kept there; otherwise a warning names it, a stream counts it (`hw.LagListener`), and a
            new session begins. Default: `true`. (``failOnDataLoss``)
        receiver_idle_timeout: How long a receiver stays connected when no task asks for what it received:
            longer than the trigger's interval and than a restart of the query. Default: `10m`.
            (``receiverIdleTimeout``)
        max_in_flight: The most messages that the broker sends before the first one is acknowledged, and
            of one segment. Default: `5000`. (``maxInFlight``)
        columns: With `valueFormat`: only these columns, in this order; `payload.*` are all that it makes.
            Default: all.
        value_format: How `payload` is written, if it is to be decoded. See formats.md. (``valueFormat``)
        value_schema: The fields of a value, as Spark's DDL (`id long, at timestamp`) or Spark's JSON. Of
            a change event of Debezium: those of the row. A batch of `json` from Kafka infers them without
            it. (``valueSchema``)
        value_avro_schema: The Avro schema that the columns are made of: its JSON, or the path of a file
            on the driver (or a URL of fsspec). (``valueAvroSchema``)
        value_avro_writer_schema: The Avro schema that values without a header were written with, if it is
            another. Default: `valueAvroSchema`. (``valueAvroWriterSchema``)
        value_descriptor: A file on the driver (or a URL of fsspec) that `protoc --include_imports
            --descriptor_set_out=FILE` has written. (``valueDescriptor``)
        value_message: The name of the Protobuf message. Of a schema in a registry: the first one by
            default. With `valueSubjectStrategy`: the full name of the message or record.
            (``valueMessage``)
        value_emit_defaults: Whether a field of Protobuf without presence that is not set is its default
            and not null (`emit.default.values` of Spark). Default: `false`. (``valueEmitDefaults``)
        value_enums_as_ints: Whether enums of Protobuf are their numbers (`enums.as.ints` of Spark).
            Default: `false`. (``valueEnumsAsInts``)
        value_upcast_unsigned: Whether unsigned integers of Protobuf become the next larger type
            (`upcast.unsigned.ints` of Spark). Default: `false`. (``valueUpcastUnsigned``)
        value_subject: The subject in the schema registry whose schema the columns are made of; with Glue
            the schema. Default: as `valueSubjectStrategy` says; with Glue the topic. (``valueSubject``)
        value_subject_strategy: How producers name subjects: `topic` (`orders-value`), `record`
            (`com.acme.Order`) or `topic-record` (`orders-com.acme.Order`), the record as `valueMessage`
            names it. Default: `topic`. (``valueSubjectStrategy``)
        schema_version: Which version of it: `latest`, or a number. Default: `latest`. (``schemaVersion``)
        value_prefix: What comes before the names of the columns that are `payload.*`. (``valuePrefix``)
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
        csv_options: JSON: how values of the format `csv` are written, by the names of Spark's options:
            `{"sep": ";", "escape": "\""}`. See formats.md. Default: as Spark's. (``csvOptions``)
        schema_registry_url: Where the schema registry is, which speaks Confluent's REST API; several
            addresses of one registry. Required for `confluent-avro`, `confluent-protobuf`,
            `debezium-avro`, and for `confluent-json` without a schema. (``schema.registry.url``)
        schema_registry_basic_auth_user_info: `user:password` for basic authentication. It may be
            `env:NAME`, an environment variable, or `file:PATH`, on the driver and every executor.
            (``schema.registry.basic.auth.user.info``)
        schema_registry_bearer_auth_token: A bearer token. It may be `env:NAME`, an environment variable,
            or `file:PATH`, on the driver and every executor. (``schema.registry.bearer.auth.token``)
        schema_registry_ssl_ca_location: A PEM file of the certificates to trust, there where it is used.
            Default: the system's. (``schema.registry.ssl.ca.location``)
        schema_registry_ssl_certificate_location: A PEM file of this client's certificate.
            (``schema.registry.ssl.certificate.location``)
        schema_registry_ssl_key_location: A PEM file of its key, without a password. Default: in the same
            file. (``schema.registry.ssl.key.location``)
        schema_registry_deadline_ms: For how long a registry that is away, or does not know an id yet, is
            asked again. Default: `120000`. (``schema.registry.deadlineMs``)
        glue_registry_name: The registry of AWS Glue in which the schemas for the columns are looked for.
            Default: `default-registry`. (``glue.registryName``)
        glue_region: The region of the registry, such as `eu-west-1`. Default: that of the AWS settings.
            (``glue.region``)
        glue_endpoint_url: An endpoint of one's own, such as `https://vpce-1.example`.
            (``glue.endpointUrl``)
        glue_access_key_id: The id of an access key. Default: what boto3 finds: environment, profile,
            role. (``glue.accessKeyId``)
        glue_secret_access_key: The secret of it. It may be `env:NAME`, an environment variable, or
            `file:PATH`, on the driver and every executor. (``glue.secretAccessKey``)
        glue_session_token: A session token. It may be `env:NAME`, an environment variable, or
            `file:PATH`, on the driver and every executor. (``glue.sessionToken``)
        glue_tls_ca: The certificates to trust: a PEM file on every host that connects. Default: those of
            boto3. (``glue.tlsCa``)
        glue_deadline_ms: For how long a registry that is away, or does not know a schema yet, is asked
            again. Default: `120000`. (``glue.deadlineMs``)
        bad_records_path: With `valueFormat`: a folder, on any file system of fsspec, for rows whose
            `payload` cannot be decoded: they are not in the output, whatever `mode` says. See formats.md.
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
        async_timeout: From the start of a row's first attempt, over all attempts and waits; begins anew
            where a later epoch asks again. Default: `5m`. (``asyncTimeout``)
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
        schema: the whole frame's, where the source takes one (``.schema(...)``).

    Raises:
        OptionError: an argument is missing or unknown, or is of another type.
    """

def nats(
    spark: SparkSession,
    *,
    servers: str | Sequence[str],
    username: str | None = None,
    password: str | None = None,
    token: str | None = None,
    credentials: str | None = None,
    domain: str | None = None,
    streams: str | Sequence[str] | None = None,
    subjects: str | Sequence[str] | None = None,
    include_headers: bool | None = None,
    tls_ca: str | None = None,
    tls_certificate: str | None = None,
    tls_key: str | None = None,
    starting_position: str | datetime | None = None,
    fail_on_data_loss: bool | None = None,
    columns: str | Sequence[str] | None = None,
    value_format: Literal[
        "avro",
        "confluent-avro",
        "confluent-json",
        "confluent-protobuf",
        "csv",
        "debezium-avro",
        "debezium-json",
        "glue-avro",
        "glue-json",
        "json",
        "protobuf",
        "text",
    ]
    | None = None,
    value_schema: str | StructType | None = None,
    value_avro_schema: str | None = None,
    value_avro_writer_schema: str | None = None,
    value_descriptor: str | None = None,
    value_message: str | None = None,
    value_emit_defaults: bool | None = None,
    value_enums_as_ints: bool | None = None,
    value_upcast_unsigned: bool | None = None,
    value_subject: str | None = None,
    value_subject_strategy: Literal["topic", "record", "topic-record"] | None = None,
    schema_version: str | int | None = None,
    value_prefix: str | None = None,
    mode: Literal["PERMISSIVE", "DROPMALFORMED", "FAILFAST"] | None = None,
    column_name_of_corrupt_record: str | None = None,
    rescued_data_column: str | None = None,
    time_zone: str | None = None,
    timestamp_format: str | None = None,
    timestamp_ntz_format: str | None = None,
    date_format: str | None = None,
    csv_options: str | Mapping[str, Any] | None = None,
    schema_registry_url: str | Sequence[str] | None = None,
    schema_registry_basic_auth_user_info: str | None = None,
    schema_registry_bearer_auth_token: str | None = None,
    schema_registry_ssl_ca_location: str | None = None,
    schema_registry_ssl_certificate_location: str | None = None,
    schema_registry_ssl_key_location: str | None = None,
    schema_registry_deadline_ms: str | int | timedelta | None = None,
    glue_registry_name: str | None = None,
    glue_region: str | None = None,
    glue_endpoint_url: str | None = None,
    glue_access_key_id: str | None = None,
    glue_secret_access_key: str | None = None,
    glue_session_token: str | None = None,
    glue_tls_ca: str | None = None,
    glue_deadline_ms: str | int | timedelta | None = None,
    bad_records_path: str | None = None,
    bad_records_storage_options: str | Mapping[str, Any] | None = None,
    read_timeout: str | int | timedelta | None = None,
    retry_deadline: str | int | timedelta | None = None,
    min_partitions: int | None = None,
    max_rows_per_partition: int | None = None,
    parallelism: int | None = None,
    schema: str | StructType | None = None,
) -> DataFrame:
    r"""Read NATS JetStream in a batch.

    The same as ``spark.read.format("headwater").option("source", "nats")`` with the
    options that the arguments are named after, and ``load()``: ``hw.options_of("nats")``.

    Args:
        spark: the session.
        servers: Servers to begin with: `nats://host:4222`, or `tls://host:4222`.
        username: Whom to connect as.
        password: `env:NAME`, `file:PATH`, or the password itself.
        token: Instead of the two: a token, in the same way.
        credentials: Instead: a user's JWT and seed as in a `.creds` file, mostly `file:PATH`.
        domain: The JetStream domain, if it has one.
        streams: Streams, or patterns of their names such as `orders-*`. Without it: all that have
            `subjects`.
        subjects: Filters of subjects, such as `orders.*.eu` or `orders.>`: only these messages are read.
            Several need servers of 2.10. Default: all.
        include_headers: Whether there is a column with the headers. Default: `false`.
            (``includeHeaders``)
        tls_ca: The certificates to trust: a PEM file on every host that connects, PEM itself, or
            `env:NAME`. Default: the system's. (``tlsCa``)
        tls_certificate: The certificate of this client, in the same way. (``tlsCertificate``)
        tls_key: Its key, in the same way, without a password. Default: in `tlsCertificate`. (``tlsKey``)
        starting_position: Where a new query begins: `earliest`, `latest` (streams only), a time such as
            `2024-05-01T12:00:00Z` or ms since 1970, or positions by split as JSON; what is not named
            begins with its first record. What is found later does, too. Default: `latest` in a stream,
            `earliest` in a batch. (``startingPosition``)
        fail_on_data_loss: Whether records that were dropped before they were read are an error; `false`:
            they are counted. Default: `true`. (``failOnDataLoss``)
        columns: With `valueFormat`: only these columns, in this order; `value.*` are all that it makes.
            Default: all.
        value_format: How `value` is written, if it is to be decoded. See formats.md. (``valueFormat``)
        value_schema: The fields of a value, as Spark's DDL (`id long, at timestamp`) or Spark's JSON. Of
            a change event of Debezium: those of the row. A batch of `json` from Kafka infers them without
            it. (``valueSchema``)
        value_avro_schema: The Avro schema that the columns are made of: its JSON, or the path of a file
            on the driver (or a URL of fsspec). (``valueAvroSchema``)
        value_avro_writer_schema: The Avro schema that values without a header were written with, if it is
            another. Default: `valueAvroSchema`. (``valueAvroWriterSchema``)
        value_descriptor: A file on the driver (or a URL of fsspec) that `protoc --include_imports
            --descriptor_set_out=FILE` has written. (``valueDescriptor``)
        value_message: The name of the Protobuf message. Of a schema in a registry: the first one by
            default. With `valueSubjectStrategy`: the full name of the message or record.
            (``valueMessage``)
        value_emit_defaults: Whether a field of Protobuf without presence that is not set is its default
            and not null (`emit.default.values` of Spark). Default: `false`. (``valueEmitDefaults``)
        value_enums_as_ints: Whether enums of Protobuf are their numbers (`enums.as.ints` of Spark).
            Default: `false`. (``valueEnumsAsInts``)
        value_upcast_unsigned: Whether unsigned integers of Protobuf become the next larger type
            (`upcast.unsigned.ints` of Spark). Default: `false`. (``valueUpcastUnsigned``)
        value_subject: The subject in the schema registry whose schema the columns are made of; with Glue
            the schema. Default: as `valueSubjectStrategy` says; with Glue the topic. (``valueSubject``)
        value_subject_strategy: How producers name subjects: `topic` (`orders-value`), `record`
            (`com.acme.Order`) or `topic-record` (`orders-com.acme.Order`), the record as `valueMessage`
            names it. Default: `topic`. (``valueSubjectStrategy``)
        schema_version: Which version of it: `latest`, or a number. Default: `latest`. (``schemaVersion``)
        value_prefix: What comes before the names of the columns that are `value.*`. (``valuePrefix``)
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
        csv_options: JSON: how values of the format `csv` are written, by the names of Spark's options:
            `{"sep": ";", "escape": "\""}`. See formats.md. Default: as Spark's. (``csvOptions``)
        schema_registry_url: Where the schema registry is, which speaks Confluent's REST API; several
            addresses of one registry. Required for `confluent-avro`, `confluent-protobuf`,
            `debezium-avro`, and for `confluent-json` without a schema. (``schema.registry.url``)
        schema_registry_basic_auth_user_info: `user:password` for basic authentication. It may be
            `env:NAME`, an environment variable, or `file:PATH`, on the driver and every executor.
            (``schema.registry.basic.auth.user.info``)
        schema_registry_bearer_auth_token: A bearer token. It may be `env:NAME`, an environment variable,
            or `file:PATH`, on the driver and every executor. (``schema.registry.bearer.auth.token``)
        schema_registry_ssl_ca_location: A PEM file of the certificates to trust, there where it is used.
            Default: the system's. (``schema.registry.ssl.ca.location``)
        schema_registry_ssl_certificate_location: A PEM file of this client's certificate.
            (``schema.registry.ssl.certificate.location``)
        schema_registry_ssl_key_location: A PEM file of its key, without a password. Default: in the same
            file. (``schema.registry.ssl.key.location``)
        schema_registry_deadline_ms: For how long a registry that is away, or does not know an id yet, is
            asked again. Default: `120000`. (``schema.registry.deadlineMs``)
        glue_registry_name: The registry of AWS Glue in which the schemas for the columns are looked for.
            Default: `default-registry`. (``glue.registryName``)
        glue_region: The region of the registry, such as `eu-west-1`. Default: that of the AWS settings.
            (``glue.region``)
        glue_endpoint_url: An endpoint of one's own, such as `https://vpce-1.example`.
            (``glue.endpointUrl``)
        glue_access_key_id: The id of an access key. Default: what boto3 finds: environment, profile,
            role. (``glue.accessKeyId``)
        glue_secret_access_key: The secret of it. It may be `env:NAME`, an environment variable, or
            `file:PATH`, on the driver and every executor. (``glue.secretAccessKey``)
        glue_session_token: A session token. It may be `env:NAME`, an environment variable, or
            `file:PATH`, on the driver and every executor. (``glue.sessionToken``)
        glue_tls_ca: The certificates to trust: a PEM file on every host that connects. Default: those of
            boto3. (``glue.tlsCa``)
        glue_deadline_ms: For how long a registry that is away, or does not know a schema yet, is asked
            again. Default: `120000`. (``glue.deadlineMs``)
        bad_records_path: With `valueFormat`: a folder, on any file system of fsspec, for rows whose
            `value` cannot be decoded: they are not in the output, whatever `mode` says. See formats.md.
            (``badRecordsPath``)
        bad_records_storage_options: JSON: settings of the fsspec file system behind it.
            (``badRecordsStorageOptions``)
        read_timeout: How long the source may take for a page before it counts as hung. Default: `5m`.
            (``readTimeout``)
        retry_deadline: How long to go on asking an outside that is away or overloaded; for 8 s only, if
            nothing has ever answered at its address. Default: `2m`. (``retryDeadline``)
        min_partitions: Cut large splits until a batch has about so many tasks. (``minPartitions``)
        max_rows_per_partition: No task is planned for more rows than this. (``maxRowsPerPartition``)
        parallelism: How many tasks the cluster runs at once: a batch has no more, unless its bytes or
            `minPartitions` ask for more. Where it is not known there may be one for each split. Default:
            `HEADWATER_PARALLELISM`.
        schema: the whole frame's, where the source takes one (``.schema(...)``).

    Raises:
        OptionError: an argument is missing or unknown, or is of another type.
    """

def postgres(
    spark: SparkSession,
    *,
    url: str,
    username: str | None = None,
    password: str | None = None,
    connect_timeout: str | int | timedelta | None = None,
    read_timeout: str | int | timedelta | None = None,
    table: str | None = None,
    tables: str | Sequence[str] | None = None,
    columns: str | Sequence[str] | None = None,
    text_columns: str | Sequence[str] | None = None,
    snapshot_idle_timeout: str | int | timedelta | None = None,
    retry_deadline: str | int | timedelta | None = None,
    min_partitions: int | None = None,
    parallelism: int | None = None,
    schema: str | StructType | None = None,
) -> DataFrame:
    """Read tables of PostgreSQL in a batch.

    The same as ``spark.read.format("headwater").option("source", "postgres")`` with the
    options that the arguments are named after, and ``load()``: ``hw.options_of("postgres")``.

    Args:
        spark: the session.
        url: Of the server and the database: `postgresql://host:port/database?sslmode=verify-full`, or as
            libpq has it: `host=... dbname=...`. Without a password.
        username: The role, where the URL has none. It may be `env:NAME`, an environment variable, or
            `file:PATH`, on the driver and every executor.
        password: Of the role. It may be `env:NAME`, an environment variable, or `file:PATH`, on the
            driver and every executor.
        connect_timeout: How long one attempt to connect may take. Default: `10s`. (``connectTimeout``)
        read_timeout: How long the server may be silent while rows are read, before it counts as hung.
            Default: `5m`. (``readTimeout``)
        table: The table, as SQL has it: `orders`, `public.orders`, `"Shop"."Orders"`. Required, or
            `tables`.
        tables: Instead of `table`: several tables, named as that one: their rows at one instant, or their
            changes in the order of commits, each row of a table as JSON. In a stream `*` is all tables of
            the publication.
        columns: Only these columns, in this order: the server sends no others. Default: all.
        text_columns: These columns are strings, with the text that the server makes of a value: for
            values that have no place in the column's type, such as `infinity` of a date.
            (``textColumns``)
        snapshot_idle_timeout: How long the instant that a DataFrame shows is held when no task reads it:
            until then each action on it reads the same rows, a connection stays open, and VACUUM keeps
            what they need. Default: `2m`. (``snapshotIdleTimeout``)
        retry_deadline: How long to go on asking an outside that is away or overloaded; for 8 s only, if
            nothing has ever answered at its address. Default: `2m`. (``retryDeadline``)
        min_partitions: Cut large tables until there are about so many tasks. (``minPartitions``)
        parallelism: How many tasks the cluster runs at once: a batch has no more, unless its bytes or
            `minPartitions` ask for more. Where it is not known there may be one for each split. Default:
            `HEADWATER_PARALLELISM`.
        schema: the whole frame's, where the source takes one (``.schema(...)``).

    Raises:
        OptionError: an argument is missing or unknown, or is of another type.
    """

def rabbitmq(
    spark: SparkSession,
    *,
    servers: str | Sequence[str],
    streams: str | Sequence[str],
    username: str | None = None,
    password: str | None = None,
    virtual_host: str | None = None,
    load_balancer: bool | None = None,
    message_format: Literal["amqp", "raw"] | None = None,
    include_headers: bool | None = None,
    tls_ca: str | None = None,
    tls_certificate: str | None = None,
    tls_key: str | None = None,
    starting_position: str | datetime | None = None,
    fail_on_data_loss: bool | None = None,
    columns: str | Sequence[str] | None = None,
    value_format: Literal[
        "avro",
        "confluent-avro",
        "confluent-json",
        "confluent-protobuf",
        "csv",
        "debezium-avro",
        "debezium-json",
        "glue-avro",
        "glue-json",
        "json",
        "protobuf",
        "text",
    ]
    | None = None,
    value_schema: str | StructType | None = None,
    value_avro_schema: str | None = None,
    value_avro_writer_schema: str | None = None,
    value_descriptor: str | None = None,
    value_message: str | None = None,
    value_emit_defaults: bool | None = None,
    value_enums_as_ints: bool | None = None,
    value_upcast_unsigned: bool | None = None,
    value_subject: str | None = None,
    value_subject_strategy: Literal["topic", "record", "topic-record"] | None = None,
    schema_version: str | int | None = None,
    value_prefix: str | None = None,
    mode: Literal["PERMISSIVE", "DROPMALFORMED", "FAILFAST"] | None = None,
    column_name_of_corrupt_record: str | None = None,
    rescued_data_column: str | None = None,
    time_zone: str | None = None,
    timestamp_format: str | None = None,
    timestamp_ntz_format: str | None = None,
    date_format: str | None = None,
    csv_options: str | Mapping[str, Any] | None = None,
    schema_registry_url: str | Sequence[str] | None = None,
    schema_registry_basic_auth_user_info: str | None = None,
    schema_registry_bearer_auth_token: str | None = None,
    schema_registry_ssl_ca_location: str | None = None,
    schema_registry_ssl_certificate_location: str | None = None,
    schema_registry_ssl_key_location: str | None = None,
    schema_registry_deadline_ms: str | int | timedelta | None = None,
    glue_registry_name: str | None = None,
    glue_region: str | None = None,
    glue_endpoint_url: str | None = None,
    glue_access_key_id: str | None = None,
    glue_secret_access_key: str | None = None,
    glue_session_token: str | None = None,
    glue_tls_ca: str | None = None,
    glue_deadline_ms: str | int | timedelta | None = None,
    bad_records_path: str | None = None,
    bad_records_storage_options: str | Mapping[str, Any] | None = None,
    read_timeout: str | int | timedelta | None = None,
    retry_deadline: str | int | timedelta | None = None,
    min_partitions: int | None = None,
    max_rows_per_partition: int | None = None,
    parallelism: int | None = None,
    schema: str | StructType | None = None,
) -> DataFrame:
    r"""Read RabbitMQ streams in a batch.

    The same as ``spark.read.format("headwater").option("source", "rabbitmq")`` with the
    options that the arguments are named after, and ``load()``: ``hw.options_of("rabbitmq")``.

    Args:
        spark: the session.
        servers: Brokers to begin with: `rabbitmq-stream://host:5552`, or
            `rabbitmq-stream+tls://host:5551`.
        streams: Streams and super streams. Of a super stream all partitions are read.
        username: Whom to connect as. Default: `guest`.
        password: `env:NAME`, `file:PATH`, or the password itself. Default: `guest`.
        virtual_host: The virtual host of the streams. Default: `/`. (``virtualHost``)
        load_balancer: Whether brokers are reached through `servers` only: connections are made there
            until one is with the broker that is wanted. Else each broker is reached at the address that
            it advertises. Default: `false`. (``loadBalancer``)
        message_format: What messages are: `amqp` as most clients publish them, where `value` is the
            payload, or `raw`, where it is the whole message. Default: `amqp`. (``messageFormat``)
        include_headers: Whether there are columns with what AMQP has beside the payload: `properties`,
            `annotations`, and `headers`, which are its application properties. Default: `false`.
            (``includeHeaders``)
        tls_ca: The certificates to trust: a PEM file on every host that connects, PEM itself, or
            `env:NAME`. Default: the system's. (``tlsCa``)
        tls_certificate: The certificate of this client, in the same way. (``tlsCertificate``)
        tls_key: Its key, in the same way, without a password. Default: in `tlsCertificate`. (``tlsKey``)
        starting_position: Where a new query begins: `earliest`, `latest` (streams only), a time such as
            `2024-05-01T12:00:00Z` or ms since 1970, or positions by split as JSON; what is not named
            begins with its first record. What is found later does, too. Default: `latest` in a stream,
            `earliest` in a batch. (``startingPosition``)
        fail_on_data_loss: Whether records that were dropped before they were read are an error; `false`:
            they are counted. Default: `true`. (``failOnDataLoss``)
        columns: With `valueFormat`: only these columns, in this order; `value.*` are all that it makes.
            Default: all.
        value_format: How `value` is written, if it is to be decoded. See formats.md. (``valueFormat``)
        value_schema: The fields of a value, as Spark's DDL (`id long, at timestamp`) or Spark's JSON. Of
            a change event of Debezium: those of the row. A batch of `json` from Kafka infers them without
            it. (``valueSchema``)
        value_avro_schema: The Avro schema that the columns are made of: its JSON, or the path of a file
            on the driver (or a URL of fsspec). (``valueAvroSchema``)
        value_avro_writer_schema: The Avro schema that values without a header were written with, if it is
            another. Default: `valueAvroSchema`. (``valueAvroWriterSchema``)
        value_descriptor: A file on the driver (or a URL of fsspec) that `protoc --include_imports
            --descriptor_set_out=FILE` has written. (``valueDescriptor``)
        value_message: The name of the Protobuf message. Of a schema in a registry: the first one by
            default. With `valueSubjectStrategy`: the full name of the message or record.
            (``valueMessage``)
        value_emit_defaults: Whether a field of Protobuf without presence that is not set is its default
            and not null (`emit.default.values` of Spark). Default: `false`. (``valueEmitDefaults``)
        value_enums_as_ints: Whether enums of Protobuf are their numbers (`enums.as.ints` of Spark).
            Default: `false`. (``valueEnumsAsInts``)
        value_upcast_unsigned: Whether unsigned integers of Protobuf become the next larger type
            (`upcast.unsigned.ints` of Spark). Default: `false`. (``valueUpcastUnsigned``)
        value_subject: The subject in the schema registry whose schema the columns are made of; with Glue
            the schema. Default: as `valueSubjectStrategy` says; with Glue the topic. (``valueSubject``)
        value_subject_strategy: How producers name subjects: `topic` (`orders-value`), `record`
            (`com.acme.Order`) or `topic-record` (`orders-com.acme.Order`), the record as `valueMessage`
            names it. Default: `topic`. (``valueSubjectStrategy``)
        schema_version: Which version of it: `latest`, or a number. Default: `latest`. (``schemaVersion``)
        value_prefix: What comes before the names of the columns that are `value.*`. (``valuePrefix``)
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
        csv_options: JSON: how values of the format `csv` are written, by the names of Spark's options:
            `{"sep": ";", "escape": "\""}`. See formats.md. Default: as Spark's. (``csvOptions``)
        schema_registry_url: Where the schema registry is, which speaks Confluent's REST API; several
            addresses of one registry. Required for `confluent-avro`, `confluent-protobuf`,
            `debezium-avro`, and for `confluent-json` without a schema. (``schema.registry.url``)
        schema_registry_basic_auth_user_info: `user:password` for basic authentication. It may be
            `env:NAME`, an environment variable, or `file:PATH`, on the driver and every executor.
            (``schema.registry.basic.auth.user.info``)
        schema_registry_bearer_auth_token: A bearer token. It may be `env:NAME`, an environment variable,
            or `file:PATH`, on the driver and every executor. (``schema.registry.bearer.auth.token``)
        schema_registry_ssl_ca_location: A PEM file of the certificates to trust, there where it is used.
            Default: the system's. (``schema.registry.ssl.ca.location``)
        schema_registry_ssl_certificate_location: A PEM file of this client's certificate.
            (``schema.registry.ssl.certificate.location``)
        schema_registry_ssl_key_location: A PEM file of its key, without a password. Default: in the same
            file. (``schema.registry.ssl.key.location``)
        schema_registry_deadline_ms: For how long a registry that is away, or does not know an id yet, is
            asked again. Default: `120000`. (``schema.registry.deadlineMs``)
        glue_registry_name: The registry of AWS Glue in which the schemas for the columns are looked for.
            Default: `default-registry`. (``glue.registryName``)
        glue_region: The region of the registry, such as `eu-west-1`. Default: that of the AWS settings.
            (``glue.region``)
        glue_endpoint_url: An endpoint of one's own, such as `https://vpce-1.example`.
            (``glue.endpointUrl``)
        glue_access_key_id: The id of an access key. Default: what boto3 finds: environment, profile,
            role. (``glue.accessKeyId``)
        glue_secret_access_key: The secret of it. It may be `env:NAME`, an environment variable, or
            `file:PATH`, on the driver and every executor. (``glue.secretAccessKey``)
        glue_session_token: A session token. It may be `env:NAME`, an environment variable, or
            `file:PATH`, on the driver and every executor. (``glue.sessionToken``)
        glue_tls_ca: The certificates to trust: a PEM file on every host that connects. Default: those of
            boto3. (``glue.tlsCa``)
        glue_deadline_ms: For how long a registry that is away, or does not know a schema yet, is asked
            again. Default: `120000`. (``glue.deadlineMs``)
        bad_records_path: With `valueFormat`: a folder, on any file system of fsspec, for rows whose
            `value` cannot be decoded: they are not in the output, whatever `mode` says. See formats.md.
            (``badRecordsPath``)
        bad_records_storage_options: JSON: settings of the fsspec file system behind it.
            (``badRecordsStorageOptions``)
        read_timeout: How long the source may take for a page before it counts as hung. Default: `5m`.
            (``readTimeout``)
        retry_deadline: How long to go on asking an outside that is away or overloaded; for 8 s only, if
            nothing has ever answered at its address. Default: `2m`. (``retryDeadline``)
        min_partitions: Cut large splits until a batch has about so many tasks. (``minPartitions``)
        max_rows_per_partition: No task is planned for more rows than this. (``maxRowsPerPartition``)
        parallelism: How many tasks the cluster runs at once: a batch has no more, unless its bytes or
            `minPartitions` ask for more. Where it is not known there may be one for each split. Default:
            `HEADWATER_PARALLELISM`.
        schema: the whole frame's, where the source takes one (``.schema(...)``).

    Raises:
        OptionError: an argument is missing or unknown, or is of another type.
    """

def redis(
    spark: SparkSession,
    *,
    url: str,
    keys: str | Sequence[str],
    cluster: bool | None = None,
    username: str | None = None,
    password: str | None = None,
    tls_ca: str | None = None,
    value_field: str | None = None,
    starting_position: str | datetime | None = None,
    fail_on_data_loss: bool | None = None,
    columns: str | Sequence[str] | None = None,
    value_format: Literal[
        "avro",
        "confluent-avro",
        "confluent-json",
        "confluent-protobuf",
        "csv",
        "debezium-avro",
        "debezium-json",
        "glue-avro",
        "glue-json",
        "json",
        "protobuf",
        "text",
    ]
    | None = None,
    value_schema: str | StructType | None = None,
    value_avro_schema: str | None = None,
    value_avro_writer_schema: str | None = None,
    value_descriptor: str | None = None,
    value_message: str | None = None,
    value_emit_defaults: bool | None = None,
    value_enums_as_ints: bool | None = None,
    value_upcast_unsigned: bool | None = None,
    value_subject: str | None = None,
    value_subject_strategy: Literal["topic", "record", "topic-record"] | None = None,
    schema_version: str | int | None = None,
    value_prefix: str | None = None,
    mode: Literal["PERMISSIVE", "DROPMALFORMED", "FAILFAST"] | None = None,
    column_name_of_corrupt_record: str | None = None,
    rescued_data_column: str | None = None,
    time_zone: str | None = None,
    timestamp_format: str | None = None,
    timestamp_ntz_format: str | None = None,
    date_format: str | None = None,
    csv_options: str | Mapping[str, Any] | None = None,
    schema_registry_url: str | Sequence[str] | None = None,
    schema_registry_basic_auth_user_info: str | None = None,
    schema_registry_bearer_auth_token: str | None = None,
    schema_registry_ssl_ca_location: str | None = None,
    schema_registry_ssl_certificate_location: str | None = None,
    schema_registry_ssl_key_location: str | None = None,
    schema_registry_deadline_ms: str | int | timedelta | None = None,
    glue_registry_name: str | None = None,
    glue_region: str | None = None,
    glue_endpoint_url: str | None = None,
    glue_access_key_id: str | None = None,
    glue_secret_access_key: str | None = None,
    glue_session_token: str | None = None,
    glue_tls_ca: str | None = None,
    glue_deadline_ms: str | int | timedelta | None = None,
    bad_records_path: str | None = None,
    bad_records_storage_options: str | Mapping[str, Any] | None = None,
    read_timeout: str | int | timedelta | None = None,
    retry_deadline: str | int | timedelta | None = None,
    min_partitions: int | None = None,
    max_rows_per_partition: int | None = None,
    parallelism: int | None = None,
    schema: str | StructType | None = None,
) -> DataFrame:
    r"""Read Redis Streams in a batch.

    The same as ``spark.read.format("headwater").option("source", "redis")`` with the
    options that the arguments are named after, and ``load()``: ``hw.options_of("redis")``.

    Args:
        spark: the session.
        url: `redis://host:port/database`; encrypted: `rediss://`.
        keys: Streams, or patterns of Redis such as `orders:*`.
        cluster: Whether it is a node of a cluster: each key is read where its slot is. Default: `false`.
        username: Whom to connect as.
        password: `env:NAME`, `file:PATH`, or the password itself.
        tls_ca: The certificates to trust: a PEM file on every host that connects. Default: the system's.
            (``tlsCa``)
        value_field: The field of an entry that the column `value` shows. Default: `value`.
            (``valueField``)
        starting_position: Where a new query begins: `earliest`, `latest` (streams only), a time such as
            `2024-05-01T12:00:00Z` or ms since 1970, or positions by split as JSON; what is not named
            begins with its first record. What is found later does, too. Default: `latest` in a stream,
            `earliest` in a batch. (``startingPosition``)
        fail_on_data_loss: Whether records that were dropped before they were read are an error; `false`:
            they are counted. Default: `true`. (``failOnDataLoss``)
        columns: With `valueFormat`: only these columns, in this order; `value.*` are all that it makes.
            Default: all.
        value_format: How `value` is written, if it is to be decoded. See formats.md. (``valueFormat``)
        value_schema: The fields of a value, as Spark's DDL (`id long, at timestamp`) or Spark's JSON. Of
            a change event of Debezium: those of the row. A batch of `json` from Kafka infers them without
            it. (``valueSchema``)
        value_avro_schema: The Avro schema that the columns are made of: its JSON, or the path of a file
            on the driver (or a URL of fsspec). (``valueAvroSchema``)
        value_avro_writer_schema: The Avro schema that values without a header were written with, if it is
            another. Default: `valueAvroSchema`. (``valueAvroWriterSchema``)
        value_descriptor: A file on the driver (or a URL of fsspec) that `protoc --include_imports
            --descriptor_set_out=FILE` has written. (``valueDescriptor``)
        value_message: The name of the Protobuf message. Of a schema in a registry: the first one by
            default. With `valueSubjectStrategy`: the full name of the message or record.
            (``valueMessage``)
        value_emit_defaults: Whether a field of Protobuf without presence that is not set is its default
            and not null (`emit.default.values` of Spark). Default: `false`. (``valueEmitDefaults``)
        value_enums_as_ints: Whether enums of Protobuf are their numbers (`enums.as.ints` of Spark).
            Default: `false`. (``valueEnumsAsInts``)
        value_upcast_unsigned: Whether unsigned integers of Protobuf become the next larger type
            (`upcast.unsigned.ints` of Spark). Default: `false`. (``valueUpcastUnsigned``)
        value_subject: The subject in the schema registry whose schema the columns are made of; with Glue
            the schema. Default: as `valueSubjectStrategy` says; with Glue the topic. (``valueSubject``)
        value_subject_strategy: How producers name subjects: `topic` (`orders-value`), `record`
            (`com.acme.Order`) or `topic-record` (`orders-com.acme.Order`), the record as `valueMessage`
            names it. Default: `topic`. (``valueSubjectStrategy``)
        schema_version: Which version of it: `latest`, or a number. Default: `latest`. (``schemaVersion``)
        value_prefix: What comes before the names of the columns that are `value.*`. (``valuePrefix``)
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
        csv_options: JSON: how values of the format `csv` are written, by the names of Spark's options:
            `{"sep": ";", "escape": "\""}`. See formats.md. Default: as Spark's. (``csvOptions``)
        schema_registry_url: Where the schema registry is, which speaks Confluent's REST API; several
            addresses of one registry. Required for `confluent-avro`, `confluent-protobuf`,
            `debezium-avro`, and for `confluent-json` without a schema. (``schema.registry.url``)
        schema_registry_basic_auth_user_info: `user:password` for basic authentication. It may be
            `env:NAME`, an environment variable, or `file:PATH`, on the driver and every executor.
            (``schema.registry.basic.auth.user.info``)
        schema_registry_bearer_auth_token: A bearer token. It may be `env:NAME`, an environment variable,
            or `file:PATH`, on the driver and every executor. (``schema.registry.bearer.auth.token``)
        schema_registry_ssl_ca_location: A PEM file of the certificates to trust, there where it is used.
            Default: the system's. (``schema.registry.ssl.ca.location``)
        schema_registry_ssl_certificate_location: A PEM file of this client's certificate.
            (``schema.registry.ssl.certificate.location``)
        schema_registry_ssl_key_location: A PEM file of its key, without a password. Default: in the same
            file. (``schema.registry.ssl.key.location``)
        schema_registry_deadline_ms: For how long a registry that is away, or does not know an id yet, is
            asked again. Default: `120000`. (``schema.registry.deadlineMs``)
        glue_registry_name: The registry of AWS Glue in which the schemas for the columns are looked for.
            Default: `default-registry`. (``glue.registryName``)
        glue_region: The region of the registry, such as `eu-west-1`. Default: that of the AWS settings.
            (``glue.region``)
        glue_endpoint_url: An endpoint of one's own, such as `https://vpce-1.example`.
            (``glue.endpointUrl``)
        glue_access_key_id: The id of an access key. Default: what boto3 finds: environment, profile,
            role. (``glue.accessKeyId``)
        glue_secret_access_key: The secret of it. It may be `env:NAME`, an environment variable, or
            `file:PATH`, on the driver and every executor. (``glue.secretAccessKey``)
        glue_session_token: A session token. It may be `env:NAME`, an environment variable, or
            `file:PATH`, on the driver and every executor. (``glue.sessionToken``)
        glue_tls_ca: The certificates to trust: a PEM file on every host that connects. Default: those of
            boto3. (``glue.tlsCa``)
        glue_deadline_ms: For how long a registry that is away, or does not know a schema yet, is asked
            again. Default: `120000`. (``glue.deadlineMs``)
        bad_records_path: With `valueFormat`: a folder, on any file system of fsspec, for rows whose
            `value` cannot be decoded: they are not in the output, whatever `mode` says. See formats.md.
            (``badRecordsPath``)
        bad_records_storage_options: JSON: settings of the fsspec file system behind it.
            (``badRecordsStorageOptions``)
        read_timeout: How long the source may take for a page before it counts as hung. Default: `5m`.
            (``readTimeout``)
        retry_deadline: How long to go on asking an outside that is away or overloaded; for 8 s only, if
            nothing has ever answered at its address. Default: `2m`. (``retryDeadline``)
        min_partitions: Cut large splits until a batch has about so many tasks. (``minPartitions``)
        max_rows_per_partition: No task is planned for more rows than this. (``maxRowsPerPartition``)
        parallelism: How many tasks the cluster runs at once: a batch has no more, unless its bytes or
            `minPartitions` ask for more. Where it is not known there may be one for each split. Default:
            `HEADWATER_PARALLELISM`.
        schema: the whole frame's, where the source takes one (``.schema(...)``).

    Raises:
        OptionError: an argument is missing or unknown, or is of another type.
    """
