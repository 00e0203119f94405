"""From the user's options, which are those of Spark's own Kafka source, to the Kafka source."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.connector.formats.options import BAD_RECORDS_PATH, SCHEMA_EVOLUTION
from headwater.connector.formats.settings import PartSettings, bad_records_location, part_settings
from headwater.connector.options import ParsedOptions
from headwater.connector.planned.event_time_options import alignment_settings, watched_column
from headwater.connector.planned.options import planning_hints, read_limits
from headwater.connector.sources.configured import ConfiguredPlannedSource
from headwater.connector.sources.kafka.offset_options import OffsetOptions
from headwater.connector.sources.kafka.options import (
    KAFKA_OPTIONS,
    KAFKA_TYPE,
    KafkaLimitOptions,
    KafkaPlanningHints,
    check_topics,
    chosen_columns,
    row_type,
    with_weights,
)
from headwater.connector.sources.kafka.schema_sample import SchemaSample
from headwater.connector.sources.kafka.source import KafkaSource
from headwater.core.end_condition import OPTION
from headwater.core.errors import OptionError
from headwater.core.imports import require
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.lookup_settings import LookupSettings
from headwater.enumerators.kafka.offsets_initializer import check_timestamps
from headwater.readers.formats.bad_records import BadRecordsLocation
from headwater.readers.kafka.settings import KafkaReadSettings


def _bad_records(options: ParsedOptions, parts: Mapping[str, PartSettings]) -> BadRecordsLocation | None:
    """Return where records go that cannot be decoded.

    Raises:
        OptionError: nothing is decoded, or the path is relative.
    """
    location = bad_records_location(options)
    if location is not None and not parts:
        raise OptionError(
            "requires option 'valueFormat' or 'keyFormat': bytes are never bad",
            option=BAD_RECORDS_PATH.name,
        )
    return location


def _check_end(source: KafkaSource) -> None:
    """Check that records can have the values of ``stopAtRecord``, and that nothing contradicts it.

    Raises:
        OptionError: they cannot, or something does.
    """
    condition = source.reading.stop_at
    if condition is None:
        return
    if source.alignment is not None:
        raise OptionError(
            "cannot be used with maxEventTimeSkew: the others would wait for the time of a partition that "
            "has ended",
            option=OPTION,
        )
    from headwater.readers.kafka.columns import row_schema
    from headwater.readers.kafka.ending_emitter import parts_to_look_at

    if unknown := [name for name in condition.columns if name not in KAFKA_TYPE.names]:
        raise OptionError(
            f"{unknown[0]!r} is not a column of the kafka source; there are {', '.join(KAFKA_TYPE.names)}",
            option=OPTION,
        )
    condition.check(row_schema(*parts_to_look_at(condition, source.parts)))


def configure_kafka(options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredPlannedSource:
    """Make the Kafka source from the user's options.

    Opens nothing, except where a schema lies in a file or in a schema registry, or is to be inferred.

    Args:
        options: as Spark delivers them, keys lower-cased.
        boundedness: a batch or a stream; None if only the schema will be asked for.

    Raises:
        OptionError: an option is unknown, malformed, missing or of the other mode.
        SourceError: the schema registry does not have a schema, or does not answer.
        MissingDependencyError: kafka-python is not installed.
    """
    require("kafka", needed_for="the kafka source", extra="kafka")
    parsed = KAFKA_OPTIONS.parse(options, boundedness)
    offsets = parsed.of(OffsetOptions)
    topics = offsets.subscription()
    # Only where the schema is asked for: readers get the inferred one.
    sample = SchemaSample(options, _configure_batch)
    parts = part_settings(parsed, topics.topics, infer=None if boundedness else sample.fields)
    columns = chosen_columns(parsed, parts)
    spark_schema = row_type(columns, parts)
    client = ClientConfig.from_options(options)
    # Before the mode is known, options that only a batch refuses are let through.
    starting = offsets.starting(boundedness or Boundedness.CONTINUOUS_UNBOUNDED)
    ending = None if boundedness is Boundedness.CONTINUOUS_UNBOUNDED else offsets.ending()
    if ending is not None:
        check_timestamps(starting, ending)
    limits = read_limits(parsed, KafkaLimitOptions)
    alignment = alignment_settings(parsed, limits)
    check_topics(limits.max_rows_of, topics, "max_rows")
    limits = with_weights(limits, parsed.of(KafkaLimitOptions), aligned=alignment is not None)
    check_topics(limits.weights, topics, "weights")
    lookup = parsed.of(LookupSettings, client=client, subscription=topics, starting=starting, ending=ending)
    source = KafkaSource(
        lookup=lookup,
        columns=columns,
        # The schema is asked for before the mode is known. It takes no Arrow then.
        parts={name: part.decoded_part() for name, part in parts.items()} if boundedness else {},
        fields={name: part.logged() for name, part in parts.items()} or None,
        bad_records=_bad_records(parsed, parts),
        schema_evolution=parsed[SCHEMA_EVOLUTION],
        reading=parsed.of(KafkaReadSettings),
        alignment=alignment,
        mode=boundedness or Boundedness.BOUNDED,
    )
    if boundedness is not None:
        # Before the mode is known, nothing is decoded: columns have no fields yet.
        _check_end(source)
    return ConfiguredPlannedSource(
        source=source,
        limits=limits,
        hints=planning_hints(parsed, KafkaPlanningHints, may_end=source.end_condition is not None),
        watched=watched_column(parsed),
        # The driver goes on asking for as long as the retries that the user allows may take.
        backoff=Backoff(
            deadline_ms=(1 + lookup.num_retries) * (client.default_api_timeout_ms + lookup.retry_interval_ms),
            most_ms=max(50, lookup.retry_interval_ms),
        ),
        spark_schema=spark_schema,
        inferred=sample.inferred,
    )


def _configure_batch(options: Mapping[str, str]) -> ConfiguredPlannedSource:
    return configure_kafka(options, Boundedness.BOUNDED)
