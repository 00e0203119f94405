"""The options of the Kafka source: Spark's names, defaults and meanings, and two of our own."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any

from headwater.connector.options import (
    Option,
    OptionTable,
    boolean,
    duration_ms,
    integer,
    json_object,
    names,
    one_of,
    text,
)
from headwater.core.errors import OptionError
from headwater.core.source import Boundedness
from headwater.enumerators.kafka.client.topic_partition import EARLIEST, LATEST, TopicPartition
from headwater.enumerators.kafka.offsets_initializer import AtTimestamp, OffsetsInitializer
from headwater.enumerators.kafka.subscription import (
    AssignedPartitions,
    Subscription,
    TopicNames,
    TopicPattern,
)

__all__ = ["KAFKA_OPTIONS", "ending_offsets", "render", "starting_offsets", "subscription"]

_STREAM, _BATCH = Boundedness.CONTINUOUS_UNBOUNDED, Boundedness.BOUNDED


def _pattern(raw: str) -> str:
    try:
        re.compile(text(raw))
    except re.error as error:
        raise ValueError(f"is not a valid regular expression of Python: {error}") from None
    return raw


def _timeout_ms(raw: str) -> int:
    if not (value := duration_ms(raw)):
        raise ValueError("must be more than 0")
    return value


KAFKA_OPTIONS = OptionTable(
    [
        Option(
            "subscribe",
            names,
            None,
            "Topics to read, with commas between them. One of subscribe, subscribePattern and assign is required.",
        ),
        Option(
            "subscribePattern",
            _pattern,
            None,
            "Read all topics whose whole name matches this regular expression, also those that are created later.",
        ),
        Option(
            "assign", json_object, None, 'Read exactly these partitions: `{"topicA":[0,1],"topicB":[2]}`.'
        ),
        Option(
            "startingOffsets",
            text,
            None,
            'Where a query without a checkpoint begins: `earliest`, `latest` (streams only), or JSON `{"topicA":{"0":23,"1":-2}}` with every '
            "partition (-2 earliest, -1 latest). Partitions found later begin at their earliest record.",
            shown_default="`latest` in streams, `earliest` in batches",
        ),
        Option(
            "startingTimestamp",
            integer(),
            None,
            "Begin at the first record at or after this time (milliseconds since 1970), in all partitions. Beats the next one and startingOffsets.",
        ),
        Option(
            "startingOffsetsByTimestamp",
            json_object,
            None,
            'The same by partition: `{"topicA":{"0":1700000000000}}`, with every partition. Beats startingOffsets.',
        ),
        Option(
            "startingOffsetsByTimestampStrategy",
            one_of("error", "latest", "earliest"),
            "error",
            "What to do with a partition that has no record at or after the time: fail, or begin at its latest or (here only) earliest offset.",
        ),
        Option(
            "endingOffsets",
            text,
            None,
            "Where a batch read ends: `latest` or JSON (-1 latest; earliest makes no sense).",
            _BATCH,
            "`latest`",
        ),
        Option(
            "endingTimestamp",
            integer(),
            None,
            "End before the first record at or after this time. Beats the next one and endingOffsets.",
            _BATCH,
        ),
        Option(
            "endingOffsetsByTimestamp",
            json_object,
            None,
            "The same by partition. No record at or after the time means latest.",
            _BATCH,
        ),
        Option(
            "columns",
            names,
            None,
            "Only these columns, in this order: what is not asked for is not decoded, copied or handed over.",
            shown_default="all",
        ),
        Option("includeHeaders", boolean, False, "Whether there is a column `headers`."),
        Option(
            "failOnDataLoss",
            boolean,
            True,
            "Whether records that are gone before they were read fail the query; otherwise a warning names what is missing.",
        ),
        Option(
            "minPartitions", integer(1), None, "Cut large partitions until a batch has about so many tasks."
        ),
        Option("maxRecordsPerPartition", integer(1), None, "No task is planned for more records than this."),
        Option(
            "parallelism",
            integer(1),
            None,
            "How many tasks the cluster runs at once; a medium batch is spread over so many.",
            shown_default="CPUs of the driver",
        ),
        Option(
            "maxOffsetsPerTrigger",
            integer(1),
            None,
            "No batch is planned for more offsets than this; shared in proportion to the backlog.",
            _STREAM,
        ),
        Option(
            "maxBytesPerTrigger",
            integer(1),
            None,
            "No batch is planned for more bytes than this, by estimate: the average record of a topic is the size of its logs on disk (compressed or "
            "not) over their span of offsets, looked up once a minute; 1,000 bytes where the cluster does not tell.",
            _STREAM,
        ),
        Option(
            "minOffsetsPerTrigger",
            integer(1),
            None,
            "A batch waits until so many offsets are there (not under AvailableNow and Once) ...",
            _STREAM,
        ),
        Option(
            "maxTriggerDelay",
            duration_ms,
            900_000,
            "... or until this much time has passed since the last one.",
            _STREAM,
            "`15m`",
        ),
        Option(
            "groupIdPrefix",
            text,
            None,
            "Taken for compatibility: no consumer group is joined.",
            shown_default="`spark-kafka-source`",
        ),
        Option(
            "kafkaConsumer.pollTimeoutMs",
            _timeout_ms,
            120_000,
            "How long a task waits for a cluster that gives nothing before it fails (and Spark retries it).",
        ),
        Option(
            "fetchOffset.numRetries",
            integer(),
            3,
            "How often an odd answer about offsets is asked for again before it is believed.",
        ),
        Option("fetchOffset.retryIntervalMs", duration_ms, 1_000, "How long to wait in between."),
    ],
    prefixes=("kafka.",),
)
"""The table that parses, and that `docs/options.md` shows."""


def subscription(options: Mapping[str, Any]) -> Subscription:
    """Return what is read.

    Raises:
        OptionError: none or several of subscribe, subscribePattern and assign, or a malformed one.
    """
    given = [name for name in ("subscribe", "subscribePattern", "assign") if options[name] is not None]
    if len(given) != 1:
        found = "none is" if not given else f"{' and '.join(given)} are"
        raise OptionError(
            f"exactly one of subscribe, subscribePattern and assign must be given; {found}",
            option=given[0] if given else "subscribe",
        )
    if given == ["subscribe"]:
        return TopicNames(frozenset(options["subscribe"]))
    if given == ["subscribePattern"]:
        return TopicPattern(options["subscribePattern"])
    return AssignedPartitions(_assigned(options["assign"]))


def starting_offsets(options: Mapping[str, Any], boundedness: Boundedness) -> OffsetsInitializer:
    """Return where reading begins.

    ``startingTimestamp`` beats ``startingOffsetsByTimestamp`` beats startingOffsets.
    """
    no_match = options["startingOffsetsByTimestampStrategy"]
    if options["startingTimestamp"] is not None:
        return OffsetsInitializer(
            "startingTimestamp", AtTimestamp(options["startingTimestamp"]), no_match=no_match
        )
    if options["startingOffsetsByTimestamp"] is not None:
        return OffsetsInitializer(
            "startingOffsetsByTimestamp", None, _timestamps("startingOffsetsByTimestamp", options), no_match
        )
    raw = options["startingOffsets"] or ("latest" if boundedness is _STREAM else "earliest")
    forbidden = LATEST if boundedness is _BATCH else None
    return _offsets("startingOffsets", raw, forbidden)


def ending_offsets(options: Mapping[str, Any]) -> OffsetsInitializer:
    """Return where a batch read ends: endingTimestamp beats endingOffsetsByTimestamp beats endingOffsets."""
    if options["endingTimestamp"] is not None:
        return OffsetsInitializer(
            "endingTimestamp", AtTimestamp(options["endingTimestamp"]), no_match="latest"
        )
    if options["endingOffsetsByTimestamp"] is not None:
        return OffsetsInitializer(
            "endingOffsetsByTimestamp", None, _timestamps("endingOffsetsByTimestamp", options), "latest"
        )
    return _offsets("endingOffsets", options["endingOffsets"] or "latest", EARLIEST)


def _offsets(option: str, raw: str, forbidden: int | None) -> OffsetsInitializer:
    words = {"earliest": EARLIEST, "latest": LATEST}
    if raw.lower() in words:
        spec = words[raw.lower()]
        if spec == forbidden:
            raise OptionError(f"must not be {raw.lower()} here: the batch would be empty", option=option)
        return OffsetsInitializer(option, spec)
    if not raw.startswith("{"):
        raise OptionError(
            f"must be earliest, latest or JSON by topic and partition, not {raw!r}", option=option
        )
    try:
        parsed = json_object(raw)
    except ValueError as error:
        raise OptionError(str(error), option=option) from error
    specs = _by_partition(option, parsed, least=EARLIEST)
    if forbidden in specs.values():
        raise OptionError(
            f"must not hold {forbidden} ({'latest' if forbidden == LATEST else 'earliest'}) here",
            option=option,
        )
    return OffsetsInitializer(option, None, specs)


def _timestamps(option: str, options: Mapping[str, Any]) -> dict[TopicPartition, AtTimestamp]:
    return {tp: AtTimestamp(at_ms) for tp, at_ms in _by_partition(option, options[option], least=0).items()}


def _by_partition(option: str, parsed: Mapping[str, Any], least: int) -> dict[TopicPartition, int]:
    found = {}
    for topic, partitions in parsed.items():
        if not isinstance(partitions, dict) or not partitions:
            raise OptionError(
                f'must name the partitions of topic {topic!r}: {{"{topic}":{{"0":...}}}}', option=option
            )
        for partition, value in partitions.items():
            if (
                not partition.isdecimal()
                or isinstance(value, bool)
                or not isinstance(value, int)
                or value < least
            ):
                raise OptionError(
                    f"topic {topic!r}, partition {partition!r}: {json.dumps(value)} is not a valid value",
                    option=option,
                )
            found[TopicPartition(topic, int(partition))] = value
    return found


def _assigned(parsed: Mapping[str, Any]) -> frozenset[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for topic, partitions in parsed.items():
        if (
            not isinstance(partitions, list)
            or not partitions
            or not all(isinstance(p, int) and not isinstance(p, bool) and p >= 0 for p in partitions)
        ):
            raise OptionError(
                f'topic {topic!r} needs a list of partitions: {{"{topic}":[0,1]}}', option="assign"
            )
        found += [(topic, partition) for partition in partitions]
    if not found:
        raise OptionError('must name at least one partition: {"topicA":[0,1]}', option="assign")
    return frozenset(found)


def render() -> str:
    """Return the table as the page ``docs/options.md``."""
    return f"{_INTRODUCTION}\n{KAFKA_OPTIONS.markdown()}\n"


_INTRODUCTION = """\
# Options of the Kafka source

<!-- Written by `python -m headwater.connector.sources.kafka.options`. -->

`spark.read` and `spark.readStream` with `.format("headwater").option("source", "kafka")` take the options of
Spark's own Kafka source, with the same names and meanings. Only these are different:

- `columns`, `maxBytesPerTrigger`, `parallelism` and the strategy `earliest` are ours.
- An option that nobody knows, or one for a batch in a stream, is an error that names the nearest valid one.
  One for a stream in a batch is ignored with a warning.
- Durations may have a unit: `500ms`, `10s`, `15m`, `1h`, `1d`. A number alone is milliseconds.
- `subscribePattern` is a regular expression of Python, not of Java: `[A-Za-z]` instead of `\\p{Alpha}`.
- Topics that are named in `subscribe` or `assign` must exist when a query starts, as must the partitions in
  `assign`.

`kafka.bootstrap.servers` is required. Everything that begins with `kafka.` is described in
[kafka-properties.md](kafka-properties.md). What a changed option means for an existing checkpoint stands in
[design.md](design.md), section 3.
"""


if __name__ == "__main__":
    sys.stdout.write(render())
