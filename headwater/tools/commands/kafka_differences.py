"""Every difference from Spark's own Kafka source that is meant, with its reason, and whom it concerns.

The page ``docs/kafka-differences.md`` is made of it, ``headwater try`` shows the rows that concern one query,
and the parity suite shows each one with `Parity.differs`, which fails when the difference is no more. Any
other difference fails the test that meets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from headwater.connector.sources.kafka.options import KAFKA_OPTIONS
from headwater.enumerators.kafka.client.properties import PROPERTIES


class Reason(StrEnum):
    """The only reasons for which a difference may stand in the list."""

    BUG = "Spark's result is a fault of its source"
    JVM = "only code inside of the JVM has the data for it"
    VARIES = "Spark's result differs from run to run"
    REFUSED = "headwater refuses it with an error"


@dataclass(frozen=True)
class QueryFacts:
    """The facts that decide whether a difference concerns one streaming query.

    Attributes:
        options: of its source, keys in lower case.
        differing: the names of columns in which rows of the two sources differ.
    """

    options: Mapping[str, str]
    differing: frozenset[str] = frozenset()

    def gives(self, *names: str) -> bool:
        """Whether one of these options is given."""
        return any(name.lower() in self.options for name in names)


Concern: TypeAlias = Callable[[QueryFacts], bool]


def _always(_query: QueryFacts) -> bool:
    return True


def _of_batches_alone(_query: QueryFacts) -> bool:
    return False


def _given(*names: str) -> Concern:
    return lambda query: query.gives(*names)


def _an_unknown_option(query: QueryFacts) -> bool:
    known_names = {row.name.lower() for row in KAFKA_OPTIONS.rows}
    return any(not key.startswith(_KAFKA) and key not in known_names for key in query.options)


def _an_unknown_property(query: QueryFacts) -> bool:
    return any(key.startswith(_KAFKA) and key.removeprefix(_KAFKA) not in PROPERTIES for key in query.options)


def _a_topic_of_kafka_itself(query: QueryFacts) -> bool:
    return any("__" in query.options.get(name, "") for name in ("subscribe", "assign"))


def _without_failing(query: QueryFacts) -> bool:
    return query.options.get("failondataloss", "").strip().lower() == "false"


def _differing_times(query: QueryFacts) -> bool:
    return "timestamp" in query.differing


_KAFKA: Final = "kafka."


@dataclass(frozen=True)
class Difference:
    """One difference.

    Attributes:
        behaviour: in words.
        spark: the behaviour of Spark's own source then.
        headwater: the behaviour of this one.
        reason: why it may differ.
        concerns: whether it may show in one query, by its options and rows.
    """

    behaviour: str
    spark: str
    headwater: str
    reason: Reason
    concerns: Concern = _always


def concerning(query: QueryFacts) -> Iterator[Difference]:
    """Yield the differences that may show in one query."""
    return (each for each in DIFFERENCES.values() if each.concerns(query))


DIFFERENCES: Final[Mapping[str, Difference]] = {
    "unknown-option": Difference(
        "An option that does not exist, such as `startingOffset`",
        "takes it and does nothing",
        "an error that names the nearest option",
        Reason.REFUSED,
        _an_unknown_option,
    ),
    "unknown-kafka-property": Difference(
        "A `kafka.*` property that does not exist, such as `kafka.isolation.levle`",
        "takes it, and Kafka's client logs a warning",
        "an error that names the nearest property",
        Reason.REFUSED,
        _an_unknown_property,
    ),
    "ending-timestamp-of-a-stream": Difference(
        "`endingTimestamp` in a stream",
        "takes it and does nothing; its two sisters are errors",
        "an error, as for `endingOffsets` and `endingOffsetsByTimestamp`",
        Reason.REFUSED,
        _given("endingTimestamp"),
    ),
    "negative-timestamp": Difference(
        "A negative time in `startingTimestamp`",
        "asks Kafka for it, where -1 and -2 mean the latest and the earliest record",
        "an error: offsets have their own options",
        Reason.REFUSED,
        _given("startingTimestamp", "startingOffsetsByTimestamp"),
    ),
    "java-pattern": Difference(
        r"A `subscribePattern` with constructs that Java and Python may read differently, such as `\p{L}`",
        "reads the topics in whose name it is found",
        "an error that names the construct and a replacement",
        Reason.REFUSED,
        _given("subscribePattern"),
    ),
    "assigned-partition-missing": Difference(
        "`assign` names a partition that does not exist",
        "reads the others silently",
        "an error that names the partition",
        Reason.REFUSED,
        _given("assign"),
    ),
    "internal-topic": Difference(
        "A topic of Kafka itself, such as `__consumer_offsets`, is named in `subscribe` or `assign`",
        "reads nothing of it, silently",
        "reads it (a pattern selects no such topic, in both)",
        Reason.BUG,
        _a_topic_of_kafka_itself,
    ),
    "bent-json": Difference(
        "JSON of a wrong form: `null` or `1.5` as an offset, more than 64 bits, a name twice, "
        "`+0` as a partition, a topic without partitions, `assign` with nothing in it, text after the end",
        "takes it for something else: 0 for `null`, 1 for `1.5`, the lower 64 bits, one of the two, nothing",
        "an error that names the fault",
        Reason.REFUSED,
        _given("assign", "startingOffsets", "startingOffsetsByTimestamp"),
    ),
    "longer-topic-created-anew": Difference(
        "A topic was deleted and created anew under the same name, and is longer than before",
        "goes on at the old offset: the first records of the new topic are skipped silently",
        "a data loss error; with `failOnDataLoss=false` a warning, and all records of the new topic",
        Reason.BUG,
    ),
    "shorter-topic-created-anew": Difference(
        "A topic was deleted and created anew, and is shorter than before, with `failOnDataLoss=false`",
        "goes on at its end: all records that it has are skipped",
        "a warning, and all records of the new topic",
        Reason.BUG,
        _without_failing,
    ),
    "narrowed-subscription": Difference(
        "A query is started again with fewer topics in `subscribe`",
        "a data loss error: it takes the user's choice for partitions that are gone",
        "goes on with the topics that are left",
        Reason.BUG,
        _given("subscribe"),
    ),
    "aged-topic": Difference(
        "A topic that is new to a running query has lost its first records",
        "a data loss error at every start, for records of before the query knew the topic; only "
        "`failOnDataLoss=false` ends that",
        "a warning, and all records that the topic has (for an added partition of a known topic it is a data "
        "loss error, in both)",
        Reason.BUG,
        _given("subscribe", "subscribePattern"),
    ),
    "end-before-the-beginning": Difference(
        "A partition that would end before it begins (at `endingOffsets` before the first record that is "
        "left), with `minPartitions`, or a `maxRecordsPerPartition` that divides the batch",
        "reads nothing of it, silently; an error without these two",
        "an error, with and without them",
        Reason.REFUSED,
        _of_batches_alone,
    ),
    "available-now-with-a-minimum": Difference(
        "`minOffsetsPerTrigger` with `trigger(availableNow=True)`",
        "ends with fewer unread than the minimum, though more than one batch was needed",
        "reads all that was there when it started",
        Reason.BUG,
        _given("minOffsetsPerTrigger"),
    ),
    "planned-once": Difference(
        "A DataFrame that was loaded once is read again after its topics have got partitions, or with "
        "`startingTimestamp` and its sisters after records were written",
        "looks up partitions and the offsets of timestamps again",
        "keeps those of the first time, because Spark plans the read of a source in Python once for a "
        "DataFrame; ends at `earliest` and `latest` are looked up each time",
        Reason.JVM,
        _of_batches_alone,
    ),
    "timestamp-before-1582": Difference(
        "A record with a timestamp before 15 October 1582",
        "shifts it by days: it takes the old calendar's date for the new one's",
        "keeps it",
        Reason.BUG,
        _differing_times,
    ),
    "timestamp-of-local-mean-time": Difference(
        "A record with a timestamp of before time zones had whole offsets (about 1900), where the JVM's "
        "default zone is another than UTC",
        "shifts it by minutes: it takes the sun's time at the zone's place for the zone's",
        "keeps it",
        Reason.BUG,
        _differing_times,
    ),
    "most-records-of-a-batch-task": Difference(
        "`maxRecordsPerPartition` in a batch read, without `minPartitions`",
        "takes it and does nothing: a task for each partition",
        "no task is planned for more records",
        Reason.BUG,
        _of_batches_alone,
    ),
    "continuous-trigger": Difference(
        "`trigger(continuous=...)`",
        "reads continuously, at least once",
        "Spark's error that the source has no continuous processing",
        Reason.REFUSED,
    ),
    "metrics": Difference(
        "`metrics` of a source in a query's progress",
        "has minOffsetsBehindLatest, maxOffsetsBehindLatest and avgOffsetsBehindLatest",
        "is empty, because Spark asks sources in Python for none; `hw.LagListener` has the lag by partition",
        Reason.JVM,
    ),
}
