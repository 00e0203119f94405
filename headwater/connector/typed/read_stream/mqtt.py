"""``hw.read_stream.mqtt``. Written by ``python -m headwater.connector.typed.writing``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from headwater.connector.typed.loading import load_stream, typed_reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@typed_reader
def mqtt(
    spark: SparkSession,
    *,
    broker: str,
    topics: str | Sequence[str],
    client_id: str,
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
    bad_records_path: str | None = None,
    bad_records_storage_options: str | Mapping[str, Any] | None = None,
    schema_evolution: bool | None = None,
    state_location: str | None = None,
    state_storage_options: str | Mapping[str, Any] | None = None,
    state_retained_epochs: int | None = None,
    barrier_rows: int | None = None,
    barrier_bytes: int | None = None,
    barrier_interval: str | int | timedelta | None = None,
    barrier_mode: str | None = None,
    alignment_timeout: str | int | timedelta | None = None,
    checkpoint_timeout: str | int | timedelta | None = None,
    poll_interval: str | int | timedelta | None = None,
    share_scans: bool | None = None,
    max_buffered_bytes: int | None = None,
    parallelism: int | None = None,
    max_event_time_skew: str | None = None,
    event_time_column: str | None = None,
    event_time_idle_timeout: str | None = None,
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
    r"""Read MQTT as a stream.

    The same as ``spark.readStream.format("headwater").option("source", "mqtt")`` with the
    options that the arguments are named after, and ``load()``. See docs/mqtt.md.

    Args:
        spark: the session.
        broker: Required: `mqtt://host:port` or `mqtts://host:port`.
        topics: Required: topic filters with commas between them, `+` and `#` included. They may change.
        client_id: Required for a stream: names its session at the broker, for this query alone.
            (``clientId``)
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
        value_subject: The subject in the schema registry whose schema the columns are made of. Default:
            as `valueSubjectStrategy` says. (``valueSubject``)
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
        bad_records_path: With `valueFormat`: a folder, on any file system of fsspec, for rows whose
            `payload` cannot be decoded: they are not in the output, whatever `mode` says. See formats.md.
            (``badRecordsPath``)
        bad_records_storage_options: JSON: settings of the fsspec file system behind it.
            (``badRecordsStorageOptions``)
        schema_evolution: Whether a query may go on from a checkpoint in which another schema of keys or
            values is logged. Default: `false`. (``schemaEvolution``)
        state_location: Required for a stream: a folder that the driver and all executors reach, for what
            a checkpoint needs beside Spark's own: an absolute local path, or `s3://`, `gs://`, `abfs://`.
            One for any number of queries. (``stateLocation``)
        state_storage_options: JSON: settings of the fsspec file system behind `stateLocation`.
            (``stateStorageOptions``)
        state_retained_epochs: How many epochs before the last one stay in `stateLocation`. Default:
            `100`. (``stateRetainedEpochs``)
        barrier_rows: A task ends its epoch after about so many rows. (``barrierRows``)
        barrier_bytes: A task ends its epoch after about so many bytes of Arrow rows. (``barrierBytes``)
        barrier_interval: A task ends its epoch so long after its first fetch. Default: `250ms`.
            (``barrierInterval``)
        barrier_mode: What happens to rows that are fetched and not yet handed over when an epoch ends:
            `aligned` or `unaligned`. Default: `aligned`. (``barrierMode``)
        alignment_timeout: An `aligned` barrier that takes longer becomes `unaligned`.
            (``alignmentTimeout``)
        checkpoint_timeout: How long a task of a committed batch may take to publish what it read before
            it counts as not run. Default: `60s`. (``checkpointTimeout``)
        poll_interval: How long after it had nothing more a split is looked at again. Default: `1s`.
            (``pollInterval``)
        share_scans: Keep the rows of an epoch in a file on the executor's host, so that further scans of
            the epoch there (a self-join, several actions in `foreachBatch`) ask the outside for nothing.
            Costs writing every row to local disk. Default: `false`. (``shareScans``)
        max_buffered_bytes: What a task may hold between fetching and handing over. Default: `67108864`.
            (``maxBufferedBytes``)
        parallelism: The most tasks of an epoch. Default: the driver's CPUs.
        max_event_time_skew: No split's rows come that are later in event time than the split that is
            behind all others by more than this, so that no row is late because its split lags; needs
            `eventTimeColumn`, and a limit for an epoch. (``maxEventTimeSkew``)
        event_time_column: The column with the event time, a timestamp or a date, for `maxEventTimeSkew`.
            (``eventTimeColumn``)
        event_time_idle_timeout: A split of which nothing has come for this long holds nobody back.
            Without it nobody waits for a split that has nothing more, and any other one is waited for as
            long as it takes. (``eventTimeIdleTimeout``)
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
        schema: the whole frame's, where the source takes one (``.schema(...)``).

    Raises:
        OptionError: an argument is missing, is none of this function, or is of another type.
    """
    return load_stream("mqtt", locals())
