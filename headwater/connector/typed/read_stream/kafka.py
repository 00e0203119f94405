"""``hw.read_stream.kafka``. Written by ``python -m headwater.connector.typed.writing``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from headwater.connector.typed.loading import load_stream, typed_reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@typed_reader
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
    bad_records_path: str | None = None,
    bad_records_storage_options: str | Mapping[str, Any] | None = None,
    schema_evolution: bool | None = None,
    fail_on_data_loss: bool | None = None,
    accept_new_topic_ids: bool | None = None,
    min_partitions: int | None = None,
    max_records_per_partition: int | None = None,
    parallelism: int | None = None,
    max_offsets_per_trigger: int | str | Mapping[str, int] | None = None,
    topic_weights: str | Mapping[str, Any] | None = None,
    max_bytes_per_trigger: int | None = None,
    target_batch_duration: str | int | timedelta | None = None,
    checkpoint_location: str | None = None,
    trigger_interval: str | int | timedelta | None = None,
    min_offsets_per_trigger: int | None = None,
    max_trigger_delay: str | int | timedelta | None = None,
    max_event_time_skew: str | int | timedelta | None = None,
    event_time_delay: str | int | timedelta | None = None,
    on_late_split: Literal["read", "fail"] | None = None,
    event_time_column: str | None = None,
    event_time_idle_timeout: str | int | timedelta | None = None,
    group_id_prefix: str | None = None,
    max_inflated_batch_bytes: int | None = None,
    commit_offsets_to_group: str | None = None,
    kafka_consumer_poll_timeout_ms: str | int | timedelta | None = None,
    fetch_offset_num_retries: int | None = None,
    fetch_offset_retry_interval_ms: str | int | timedelta | None = None,
    properties: Mapping[str, str] | None = None,
    schema: str | StructType | None = None,
) -> DataFrame:
    r"""Read Kafka as a stream.

    The same as ``spark.readStream.format("headwater").option("source", "kafka")`` with the
    options that the arguments are named after, and ``load()``. See docs/options.md.

    Args:
        spark: the session.
        servers: Brokers to begin with, as `host:port`. (``kafka.bootstrap.servers``)
        topics: Topics to read, with commas between them. One of subscribe, subscribePattern and assign is
            required. (``subscribe``)
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
        value_subject: The subject in the schema registry whose schema the columns are made of. Default:
            as `valueSubjectStrategy` says. (``valueSubject``)
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
        key_subject: As `valueSubject`, for keys. Default: as `keySubjectStrategy` says. (``keySubject``)
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
            addresses of one registry with commas between them. Required for `confluent-avro`,
            `confluent-protobuf`, `debezium-avro`, and for `confluent-json` without a schema.
            (``schema.registry.url``)
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
        bad_records_path: A folder, on any file system of fsspec, for records whose key or value cannot be
            decoded: they are not in the output, whatever `mode` says. See formats.md.
            (``badRecordsPath``)
        bad_records_storage_options: JSON: settings of the fsspec file system behind it.
            (``badRecordsStorageOptions``)
        schema_evolution: Whether a query may go on from a checkpoint in which another schema of keys or
            values is logged. Default: `false`. (``schemaEvolution``)
        fail_on_data_loss: Whether records that are gone before they were read fail the query; otherwise a
            warning names what is missing, and a stream counts it (`hw.LagListener`). Default: `true`.
            (``failOnDataLoss``)
        accept_new_topic_ids: For one start, after a move to a mirrored cluster that keeps the offsets of
            records: a topic that has another id than in the checkpoint is the same one, and goes on at
            its positions. Default: `false`. (``acceptNewTopicIds``)
        min_partitions: Cut large partitions until a batch has about so many tasks. (``minPartitions``)
        max_records_per_partition: No task is planned for more records than this.
            (``maxRecordsPerPartition``)
        parallelism: How many tasks the cluster runs at once (executors times their cores). A batch read,
            and a micro-batch whose rows take time, has a task for each partition, but no more than this;
            one of few and cheap rows has fewer. By default what the environment variable says, which
            `hw.recommended_environment(parallelism=...)` sets; else a task for each partition. Default:
            `HEADWATER_PARALLELISM`.
        max_offsets_per_trigger: No batch is planned for more offsets than this; shared in proportion to
            the backlog. Or JSON with a limit for each of some topics: `{"orders": 100000}`.
            (``maxOffsetsPerTrigger``)
        topic_weights: JSON with weights by which topics share the limits of a batch, 1 for those that are
            not named, so that a flood in one does not starve the others: `{"orders": 5, "clicks": 1}`.
            (``topicWeights``)
        max_bytes_per_trigger: No batch is planned for more bytes than this, by estimate: the average
            record of a topic is the size of its logs on disk (compressed or not) over their span of
            offsets, looked up once a minute; 1,000 bytes where the cluster does not tell.
            (``maxBytesPerTrigger``)
        target_batch_duration: How long a batch should take: batches become as large as the query manages
            in this time, within the other limits; needs one of the next two: see batch-duration.md.
            (``targetBatchDuration``)
        checkpoint_location: The same as that of the query: Spark's log there shows how long a batch took,
            without the wait for a trigger. (``checkpointLocation``)
        trigger_interval: Instead of that: the interval of the query's trigger, `0s` if it has none.
            (``triggerInterval``)
        min_offsets_per_trigger: A batch waits until so many offsets are there (not under AvailableNow and
            Once) ... (``minOffsetsPerTrigger``)
        max_trigger_delay: ... or until this much time has passed since the last one. Default: `15m`.
            (``maxTriggerDelay``)
        max_event_time_skew: Where a batch cannot take all there is, let it end at the same event time in
            all splits, give or take this much, so that no split's rows are late because it lags; needs a
            limit of rows or bytes: see event-time.md. (``maxEventTimeSkew``)
        event_time_delay: The delay of the query's watermark: rows of a split that is found late, or is
            back, count as late if they are older than what was read by more than this. Default:
            `maxEventTimeSkew`. (``eventTimeDelay``)
        on_late_split: What to do about such rows: `read` them, with a warning and a count, or `fail`.
            Default: `read`. (``onLateSplit``)
        event_time_column: The column that the query's watermark is on, if it is not the time of the
            record. Batches are aligned by the times of records all the same; rows that are late by this
            column are counted, with a warning. (``eventTimeColumn``)
        event_time_idle_timeout: Let a split that is read to its end hold back the others, until nothing
            has come there for this long. Without it nobody waits for such a split.
            (``eventTimeIdleTimeout``)
        group_id_prefix: Taken for compatibility: no consumer group is joined. Default:
            `spark-kafka-source`. (``groupIdPrefix``)
        max_inflated_batch_bytes: A compressed record batch that is larger than this when it is
            decompressed is an error. Memory is taken as the records need it: a Python worker needs about
            three times as much as its largest batch. Default: `1073741824`. (``maxInflatedBatchBytes``)
        commit_offsets_to_group: Commit the positions of committed batches to this consumer group, for
            tools that show lag: see consumer-groups.md. The group must have no members.
            (``commitOffsetsToGroup``)
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
        OptionError: an argument is missing, is none of this function, or is of another type.
    """
    return load_stream("kafka", locals())
