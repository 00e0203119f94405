"""``hw.read_stream.files``. Written by ``python -m headwater.connector.typed.writing``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from headwater.connector.typed.loading import load_stream, typed_reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@typed_reader
def files(
    spark: SparkSession,
    *,
    format: str,
    path: str | Sequence[str],
    base_path: str | None = None,
    path_glob_filter: str | None = None,
    recursive_file_lookup: bool | None = None,
    min_file_age: str | int | timedelta | None = None,
    max_files_per_trigger: int | None = None,
    max_bytes_per_trigger: int | None = None,
    target_batch_duration: str | int | timedelta | None = None,
    checkpoint_location: str | None = None,
    trigger_interval: str | int | timedelta | None = None,
    latest_first: bool | None = None,
    max_file_age: str | int | timedelta | None = None,
    on_late_file: Literal["warn", "fail"] | None = None,
    on_change: Literal["error", "ignore", "read"] | None = None,
    clean_source: Literal["off", "archive", "delete"] | None = None,
    source_archive_dir: str | None = None,
    state_location: str | None = None,
    notifications: str | None = None,
    notifications_options: str | Mapping[str, Any] | None = None,
    listing_interval: str | int | timedelta | None = None,
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
    parallelism: int | None = None,
    min_partitions: int | None = None,
    storage_options: str | Mapping[str, Any] | None = None,
    schema: str | StructType | None = None,
) -> DataFrame:
    r"""Read files as a stream.

    The same as ``spark.readStream.format("headwater").option("source", "files")`` with the
    options that the arguments are named after, and ``load()``. See docs/files.md.

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
        min_file_age: Only files that have not been changed for so long: for writers that do not move
            whole files into place. By the driver's clock. Default: `0`. (``minFileAge``)
        max_files_per_trigger: No batch has more files than this. Not together with the next one.
            (``maxFilesPerTrigger``)
        max_bytes_per_trigger: No batch has more bytes of files than this, but always one file.
            (``maxBytesPerTrigger``)
        target_batch_duration: How long a batch should take: batches become as large as the query manages
            in this time, within the other limits; needs one of the next two: see batch-duration.md.
            (``targetBatchDuration``)
        checkpoint_location: The same as that of the query: Spark's log there shows how long a batch took,
            without the wait for a trigger. (``checkpointLocation``)
        trigger_interval: Instead of that: the interval of the query's trigger, `0s` if it has none.
            (``triggerInterval``)
        latest_first: Newest files first. Refused if more files wait than can be remembered by name.
            Default: `false`. (``latestFirst``)
        max_file_age: So long files are remembered by name: one that arrives with a modification time so
            much older than the newest one came too late and is not read. Does not count for files that
            are there when a query begins. Default: `7d`. (``maxFileAge``)
        on_late_file: What to do with files that came too late: count them, name the last 100 in the
            query's progress, and go on; or fail. Default: `warn`. (``onLateFile``)
        on_change: What to do with a file that was read and has another content now: fail, go on without
            the new content, or read the whole file again. A file that is older than what is remembered
            counts as new. Default: `error`. (``onChange``)
        clean_source: What becomes of a file whose batch is committed. Default: `off`. (``cleanSource``)
        source_archive_dir: Where `cleanSource=archive` moves files, keeping their whole path below it.
            Nothing there is overwritten: another content of a path gets a number into its name
            (`daily.9f86d081.csv`). (``sourceArchiveDir``)
        state_location: A folder that all drivers of this query reach, for names of read files that do not
            fit into the offset. Needed if more than 2,000 files come within `maxFileAge`: the query then
            stops and says so. And for the schema, with `schemaName`. (``stateLocation``)
        notifications: A queue of Amazon SQS with S3's events about the objects that are read:
            `sqs://NAME`, or its URL with `sqs://` for `https://`. New files are then found by events, and
            everything is listed at the beginning and once in `listingInterval`. See Notifications.
        notifications_options: Settings of botocore's client for that queue:
            `{"region_name":"eu-west-1"}`. Default: keys and region of `storageOptions`.
            (``notificationsOptions``)
        listing_interval: With `notifications`: how much time passes between the beginnings of two
            listings, which find what events did not tell. Default: `1h`. (``listingInterval``)
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
            and block of the file, as Spark's own. Default: `false`. (``includeMetadata``)
        merge_schema: Parquet, ORC, Avro, Arrow: whether the inferred schema has the columns of all files,
            and not of one. Default: `false`. (``mergeSchema``)
        avro_schema: Avro: a schema in JSON to read files with, by Avro's rules of resolution: fields that
            they lack get its defaults. Default: each file's own. (``avroSchema``)
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
        parallelism: How many tasks the cluster runs at once: a batch has no more, unless its bytes or
            `minPartitions` ask for more. Default: `HEADWATER_PARALLELISM`, else CPUs of the driver.
        min_partitions: Cut large files until a batch has about so many tasks. (``minPartitions``)
        storage_options: Settings of the fsspec file system: `{"anon":true}`. Default: none.
            (``storageOptions``)
        schema: the whole frame's, where the source takes one (``.schema(...)``).

    Raises:
        OptionError: an argument is missing, is none of this function, or is of another type.
    """
    return load_stream("files", locals())
