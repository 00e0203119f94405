"""Every row of the options' table: what it takes, what it refuses, and what it comes to.

No broker is asked.
"""

from __future__ import annotations

import logging

import pytest

from headwater.connector.sources.configured import ConfiguredPlannedSource
from headwater.connector.sources.kafka.offset_options import OffsetOptions
from headwater.connector.sources.kafka.options import KAFKA_OPTIONS
from headwater.connector.sources.kafka.source import KafkaSource
from headwater.core.errors import OptionError
from headwater.core.source import Boundedness
from headwater.core.split import SplitRange
from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST, TopicPartition
from headwater.enumerators.kafka.lookup_settings import AssignedPartitions, TopicNames, TopicPattern
from headwater.enumerators.kafka.offsets_initializer import AtTimestamp, CommittedBy, OffsetsInitializer
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from tests.connector.sources.kafka.kafka_queries import configure

BATCH, STREAM = Boundedness.BOUNDED, Boundedness.CONTINUOUS_UNBOUNDED
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
REQUIRED = {"kafka.bootstrap.servers": "nowhere:9092", "subscribe": "a"}


def offsets(**given: str) -> OffsetOptions:
    return KAFKA_OPTIONS.parse(given, None).of(OffsetOptions)


def configured(mode: Boundedness | None = STREAM, /, **given: str) -> ConfiguredPlannedSource:
    return configure(REQUIRED | {name.replace("_", "."): value for name, value in given.items()}, mode)


def source(mode: Boundedness | None = STREAM, /, **given: str) -> KafkaSource:
    made = configured(mode, **given).source
    assert isinstance(made, KafkaSource)
    return made


def refusal(mode: Boundedness | None = STREAM, /, **given: str) -> str:
    with pytest.raises(OptionError) as caught:
        configured(mode, **given)
    return str(caught.value)


class TestWhatIsRead:
    def test_names(self) -> None:
        assert offsets(subscribe=" a, b ").subscription() == TopicNames(frozenset({"a", "b"}))

    def test_a_pattern(self) -> None:
        assert offsets(subscribePattern=" a|b.*\n").subscription() == TopicPattern("a|b.*")

    def test_partitions(self) -> None:
        assert offsets(assign='{"a":[0,1],"b":[0]}').subscription() == AssignedPartitions(
            frozenset({("a", 0), ("a", 1), ("b", 0)})
        )

    @pytest.mark.parametrize("given", ["a,b", "a,,b", "a, b,", ",b,a", "a,b,a", "\ta\n,b"])
    def test_empty_and_repeated_names_do_not_count(self, given: str) -> None:
        assert offsets(subscribe=given).subscription() == TopicNames(frozenset({"a", "b"}))

    @pytest.mark.parametrize("given", ["", " ", ",", " , ,"])
    def test_no_name_at_all(self, given: str) -> None:
        assert f"option 'subscribe': must name topics, with commas between them, not {given!r}" in refusal(
            subscribe=given
        )

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ("(", "'(' in '(' is not closed: ) is missing"),
            (r"[a&&b]", "the character class at index 0 of '[a&&b]' is not supported: write characters and"),
            ("", "must not be empty"),
        ],
    )
    def test_a_pattern_that_is_none(self, given: str, message: str) -> None:
        with pytest.raises(OptionError, match="option 'subscribePattern'") as caught:
            offsets(subscribePattern=given)
        assert message in str(caught.value)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ("", "is not valid JSON"),
            ('{"a":[0}', "is not valid JSON: Expecting ',' delimiter: line 1 column 8"),
            ("[]", "must be a JSON object"),
            ("{}", 'must name at least one partition: {"topicA":[0,1]}'),
            ('{"a":[]}', "topic 'a' needs a list of partitions: {\"a\":[0,1]}"),
            ('{"a":0}', "needs a list of partitions"),
            ('{"a":["0"]}', "needs a list of partitions"),
            ('{"a":[-1]}', "needs a list of partitions"),
            ('{"a":[true]}', "needs a list of partitions"),
            ('{"a":[1.0]}', "needs a list of partitions"),
            ('{"a":[null]}', "needs a list of partitions"),
            ('{"a":[2147483648]}', "needs a list of partitions"),
            ('{"a":null}', "needs a list of partitions"),
            ('{"a":[0]} {}', "is not valid JSON: Extra data"),
            ('{"a":[0],"a":[1]}', "is not valid JSON: 'a' comes twice"),
        ],
    )
    def test_an_assignment_that_is_none(self, given: str, message: str) -> None:
        with pytest.raises(OptionError, match="option 'assign'") as caught:
            offsets(assign=given).subscription()
        assert message in str(caught.value)

    def test_exactly_one_of_them(self) -> None:
        with pytest.raises(
            OptionError,
            match="option 'subscribe': exactly one of subscribe, subscribePattern and assign must be "
            "given; none is",
        ):
            offsets().subscription()
        assert (
            "exactly one of subscribe, subscribePattern and assign must be given; subscribe and assign are"
            in refusal(assign='{"a":[0]}')
        )


class TestWhereReadingBegins:
    def test_by_default_a_stream_at_the_latest_and_a_batch_at_the_earliest(self) -> None:
        assert offsets().starting(STREAM) == OffsetsInitializer("startingOffsets", LATEST)
        assert offsets().starting(BATCH) == OffsetsInitializer("startingOffsets", EARLIEST)

    @pytest.mark.parametrize(
        ("given", "everywhere"), [("earliest", EARLIEST), ("LATEST", LATEST), (" earliest ", EARLIEST)]
    )
    def test_words(self, given: str, everywhere: int) -> None:
        assert offsets(startingOffsets=given).starting(STREAM).everywhere == everywhere

    def test_json(self) -> None:
        found = offsets(startingOffsets='{"a":{"0":23,"1":-2},"b":{"0":-1}}').starting(STREAM)
        assert found == OffsetsInitializer("startingOffsets", None, {A0: 23, A1: EARLIEST, B0: LATEST})

    @pytest.mark.parametrize("given", [' {"a":{"0":23}}\n', '{"a":{"00":23}}', '{ "a" : { "0" : 23 } }'])
    def test_json_with_blanks_and_zeros(self, given: str) -> None:
        found = offsets(startingOffsets=given).starting(STREAM)
        assert found == OffsetsInitializer("startingOffsets", None, {A0: 23})

    def test_a_word_for_a_whole_topic_beside_partitions_of_others(self) -> None:
        given = '{"a":"Earliest","b":{"0":23},"c":"latest"}'
        assert offsets(startingOffsets=given).starting(STREAM) == OffsetsInitializer(
            "startingOffsets", None, {B0: 23}, topics={"a": EARLIEST, "c": LATEST}
        )

    @pytest.mark.parametrize("given", ["group:lag", "GROUP: lag ", "group:lag,more"])
    def test_what_a_group_has_committed(self, given: str) -> None:
        name = given[6:].strip()
        for mode in (STREAM, BATCH):
            assert offsets(startingOffsets=given).starting(mode) == OffsetsInitializer(
                "startingOffsets", CommittedBy(name)
            )
        options = offsets(startingOffsets=given, startingOffsetsFallback="Latest")
        assert options.starting(STREAM) == OffsetsInitializer(
            "startingOffsets", CommittedBy(name), no_match="latest"
        )

    def test_a_group_must_be_named_and_a_fallback_needs_one(self) -> None:
        assert refusal(startingOffsets="group: ") == (
            "option 'startingOffsets': must name a consumer group: group:NAME"
        )
        for given in ({}, {"startingOffsets": "earliest"}):
            assert refusal(startingOffsetsFallback="latest", **given) == (
                "option 'startingOffsetsFallback': requires startingOffsets=group:NAME"
            )
        assert refusal(startingOffsets="group:a", startingOffsetsFallback="now").startswith(
            "option 'startingOffsetsFallback': must be one of error, latest, earliest"
        )
        assert "topic 'a': \"group:b\" is not a valid value" in refusal(startingOffsets='{"a":"group:b"}')

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ("", "must not be empty"),
            ("soon", "must be earliest, latest or JSON by topic and partition, not 'soon'"),
            ('{"a":', "is not valid JSON: Expecting value: line 1 column 6"),
            ('{"a":[0]}', 'must name the partitions of topic \'a\': {"a":{"0":...}}'),
            ('{"a":{}}', "must name the partitions of topic 'a'"),
            ('{"a":{"0":-3}}', "topic 'a', partition '0': -3 is not a valid value"),
            ('{"a":{"0":"5"}}', "topic 'a', partition '0': \"5\" is not a valid value"),
            ('{"a":{"0":true}}', "topic 'a', partition '0': true is not a valid value"),
            ('{"a":{"0":1.5}}', "topic 'a', partition '0': 1.5 is not a valid value"),
            ('{"a":{"x":5}}', "topic 'a', partition 'x': 5 is not a valid value"),
            ('{"a":{"-1":5}}', "topic 'a', partition '-1': 5 is not a valid value"),
            ('{"a":{"0":null}}', "topic 'a', partition '0': null is not a valid value"),
            ('{"a":{"0":1e3}}', "topic 'a', partition '0': 1000.0 is not a valid value"),
            (
                '{"a":{"0":9223372036854775808}}',
                "topic 'a', partition '0': 9223372036854775808 is not a valid",
            ),
            ('{"a":{"0":"earliest"}}', "topic 'a', partition '0': \"earliest\" is not a valid value"),
            ('{"a":{"0":5}} {}', "is not valid JSON: Extra data"),
            ('{"a":{"0":5},"a":{"1":6}}', "is not valid JSON: 'a' comes twice"),
            ('{"a":{"0":5,"0":6}}', "is not valid JSON: '0' comes twice"),
            ('{"a":"earliest","a":{"0":6}}', "is not valid JSON: 'a' comes twice"),
            ('{"a":null}', "must name the partitions of topic 'a'"),
            (
                '{"a":"first"}',
                'topic \'a\': "first" is not a valid value; a whole topic is "earliest" or "latest"',
            ),
            ('{"a":" latest"}', "topic 'a': \" latest\" is not a valid value"),
            ('"earliest"', "must be earliest, latest or JSON by topic and partition"),
            ("[]", "must be earliest, latest or JSON by topic and partition"),
            ("null", "must be earliest, latest or JSON by topic and partition"),
            ("-2", "must be earliest, latest or JSON by topic and partition"),
        ],
    )
    def test_what_is_neither(self, given: str, message: str) -> None:
        assert refusal(startingOffsets=given).startswith(f"option 'startingOffsets': {message}")

    def test_a_batch_does_not_begin_at_the_latest(self) -> None:
        assert (
            refusal(BATCH, startingOffsets="latest")
            == "option 'startingOffsets': must not be latest here: the batch would be empty"
        )
        assert (
            refusal(BATCH, startingOffsets='{"a":{"0":-1}}')
            == "option 'startingOffsets': must not hold -1 (latest) here"
        )
        assert (
            refusal(BATCH, startingOffsets='{"a":"LATEST","b":{"0":3}}')
            == "option 'startingOffsets': must not hold -1 (latest) here"
        )

    def test_one_timestamp_beats_many_and_these_beat_offsets(self) -> None:
        every = {
            "startingTimestamp": "5",
            "startingOffsetsByTimestamp": '{"a":{"0":7}}',
            "startingOffsets": "soon",
        }
        assert offsets(**every).starting(STREAM) == OffsetsInitializer("startingTimestamp", AtTimestamp(5))
        del every["startingTimestamp"]
        assert offsets(**every).starting(STREAM) == OffsetsInitializer(
            "startingOffsetsByTimestamp", None, {A0: AtTimestamp(7)}
        )

    @pytest.mark.parametrize("strategy", ["error", "Latest", "earliest"])
    def test_the_strategy_where_no_record_is_that_late(self, strategy: str) -> None:
        options = offsets(startingTimestamp="5", startingOffsetsByTimestampStrategy=strategy)
        assert options.starting(STREAM).no_match == strategy.lower()

    @pytest.mark.parametrize(
        ("name", "given", "message"),
        [
            ("startingTimestamp", "-1", "must be milliseconds since 1970, such as 1714564800000, not '-1'"),
            ("startingTimestamp", "9223372036854775808", "must be a whole number of 64 bits"),
            (
                "startingTimestamp",
                "2024-01-01",
                "must be milliseconds since 1970, such as 1714564800000",
            ),
            (
                "startingOffsetsByTimestamp",
                '{"a":{"0":-1}}',
                "topic 'a', partition '0': -1 is not a valid value",
            ),
            ("startingOffsetsByTimestamp", "5", "must be a JSON object"),
            ("startingOffsetsByTimestamp", '{"a":"earliest"}', "must name the partitions of topic 'a'"),
            ("startingOffsetsByTimestamp", '{"a":7}', "must name the partitions of topic 'a'"),
            (
                "startingOffsetsByTimestampStrategy",
                "guess",
                "must be one of error, latest, earliest, not 'guess'",
            ),
        ],
    )
    def test_broken_timestamps(self, name: str, given: str, message: str) -> None:
        assert refusal(**{name: given}).startswith(f"option '{name}': {message}")


class TestWhereABatchEnds:
    def test_by_default_at_the_latest(self) -> None:
        assert offsets().ending() == OffsetsInitializer("endingOffsets", LATEST)

    def test_json(self) -> None:
        assert offsets(endingOffsets='{"a":{"0":23,"1":-1}}').ending() == OffsetsInitializer(
            "endingOffsets", None, {A0: 23, A1: LATEST}
        )

    def test_a_word_for_a_whole_topic(self) -> None:
        assert offsets(endingOffsets='{"a":"latest","b":{"0":5}}').ending() == OffsetsInitializer(
            "endingOffsets", None, {B0: 5}, topics={"a": LATEST}
        )

    def test_never_at_the_earliest(self) -> None:
        assert (
            refusal(BATCH, endingOffsets="earliest")
            == "option 'endingOffsets': must not be earliest here: the batch would be empty"
        )
        assert (
            refusal(BATCH, endingOffsets='{"a":{"0":-2}}')
            == "option 'endingOffsets': must not hold -2 (earliest) here"
        )
        assert (
            refusal(BATCH, endingOffsets='{"a":"earliest"}')
            == "option 'endingOffsets': must not hold -2 (earliest) here"
        )

    def test_never_at_what_a_group_has_committed(self) -> None:
        assert refusal(BATCH, endingOffsets="group:a") == (
            "option 'endingOffsets': must be latest or JSON by topic and partition, not 'group:a': "
            "only startingOffsets takes group:NAME"
        )

    def test_timestamps_beat_offsets_and_mean_the_latest_where_no_record_is_that_late(self) -> None:
        every = {"endingTimestamp": "5", "endingOffsetsByTimestamp": '{"a":{"0":7}}', "endingOffsets": "soon"}
        assert offsets(**every).ending() == OffsetsInitializer(
            "endingTimestamp", AtTimestamp(5), no_match="latest"
        )
        del every["endingTimestamp"]
        assert offsets(**every).ending() == OffsetsInitializer(
            "endingOffsetsByTimestamp", None, {A0: AtTimestamp(7)}, "latest"
        )

    @pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"])
    def test_a_stream_has_no_end(self, name: str) -> None:
        assert (
            refusal(**{name: "5"})
            == f"option '{name}': is only for a batch read (spark.read); a stream has no end: remove it"
        )
        assert name in KAFKA_OPTIONS.parse({}, None).by_name()


class TestColumns:
    def test_by_default_all_of_sparks(self) -> None:
        assert source().columns == (
            "key",
            "value",
            "topic",
            "partition",
            "offset",
            "timestamp",
            "timestampType",
        )

    def test_headers_come_last_and_when_asked_for(self) -> None:
        assert source(includeHeaders="TRUE").columns[-1] == "headers"
        assert source(columns="headers,value").columns == ("headers", "value")

    def test_some_in_the_order_that_was_asked_for_whatever_their_case(self) -> None:
        assert source(columns="Offset, VALUE,timestamptype").schema().names == [
            "offset",
            "value",
            "timestampType",
        ]

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (
                "value,payload",
                (
                    "'payload' is not a column of the kafka source; there are key, value, topic, partition, "
                    "offset, timestamp"
                ),
            ),
            ("value,value", "must be a comma-separated list of distinct names, not 'value,value'"),
            ("", "must be a comma-separated list of distinct names"),
            ("value,VALUE", "'value' comes twice"),
        ],
    )
    def test_unknown_and_repeated_ones(self, given: str, message: str) -> None:
        assert refusal(columns=given).startswith(f"option 'columns': {message}")


class TestTheRest:
    def test_defaults(self) -> None:
        made = configured()
        assert (made.hints.parallelism, made.hints.min_tasks, made.hints.max_rows_per_task) == (
            None,
            1,
            None,
        )
        assert (
            made.limits.max_rows,
            made.limits.max_bytes,
            made.limits.min_rows,
            made.limits.max_delay_ms,
        ) == (None, None, None, 900_000)
        assert (source().reading.fail_on_data_loss, source().reading.poll_timeout_ms) == (True, 120_000)
        assert (source().lookup.num_retries, source().lookup.retry_interval_ms) == (3, 1_000)
        assert source().lookup.commit_to_group is None

    def test_each_goes_where_it_belongs(self) -> None:
        made = configured(
            minPartitions="4",
            maxRecordsPerPartition="500",
            parallelism="9",
            maxOffsetsPerTrigger="70",
            maxBytesPerTrigger="80",
            minOffsetsPerTrigger="60",
            maxTriggerDelay="2m",
        )
        assert (made.hints.parallelism, made.hints.min_tasks, made.hints.max_rows_per_task) == (9, 4, 500)
        assert (
            made.limits.max_rows,
            made.limits.max_bytes,
            made.limits.min_rows,
            made.limits.max_delay_ms,
        ) == (70, 80, 60, 120_000)
        read = source(
            failOnDataLoss="False",
            kafkaConsumer_pollTimeoutMs="5s",
            fetchOffset_numRetries="0",
            fetchOffset_retryIntervalMs="20",
            groupIdPrefix="x",
            commitOffsetsToGroup=" lag ",
        )
        assert read.lookup.commit_to_group == "lag"
        assert (read.reading.fail_on_data_loss, read.reading.poll_timeout_ms) == (False, 5_000)
        assert (read.lookup.num_retries, read.lookup.retry_interval_ms) == (0, 20)

    def test_the_driver_asks_for_as_long_as_its_retries_may_take(self) -> None:
        made = configured(
            fetchOffset_numRetries="9", fetchOffset_retryIntervalMs="1m", kafka_default_api_timeout_ms="5000"
        )
        assert made.backoff.deadline_ms == 10 * (60_000 + 5_000)

    @pytest.mark.parametrize(
        ("name", "given", "message"),
        [
            ("minPartitions", "0", "must be a whole number of at least 1, not '0'"),
            ("maxRecordsPerPartition", "0", "must be a whole number of at least 1"),
            ("parallelism", "many", "must be a whole number of at least 1, not 'many'"),
            ("maxOffsetsPerTrigger", "1.5", "must be a whole number of at least 1"),
            ("maxBytesPerTrigger", "10MB", "must be a whole number of at least 1, not '10MB'"),
            ("minOffsetsPerTrigger", "", "must be a whole number of at least 1"),
            ("maxTriggerDelay", "soon", "must be a duration such as 500ms, 10s, 15m or 1h, not 'soon'"),
            ("failOnDataLoss", "maybe", "must be true or false, not 'maybe'"),
            ("includeHeaders", "1", "must be true or false, not '1'"),
            ("kafkaConsumer.pollTimeoutMs", "0", "must be more than 0"),
            ("kafkaConsumer.pollTimeoutMs", "-5", "must be a duration"),
            ("fetchOffset.numRetries", "-1", "must be a whole number of at least 0"),
            ("fetchOffset.retryIntervalMs", "x", "must be a duration"),
            ("commitOffsetsToGroup", " ", "must not be empty"),
        ],
    )
    def test_values_that_make_no_sense(self, name: str, given: str, message: str) -> None:
        assert refusal(**{name: given}).startswith(f"option '{name}': {message}")

    def test_a_minimum_above_the_maximum(self) -> None:
        assert refusal(minOffsetsPerTrigger="6", maxOffsetsPerTrigger="5") == (
            "option 'minOffsetsPerTrigger': must not be larger than maxOffsetsPerTrigger"
        )

    @pytest.mark.parametrize(
        ("given", "nearest"),
        [
            ("startingOffset", "startingOffsets"),
            ("maxoffsetspertriger", "maxOffsetsPerTrigger"),
            ("column", "columns"),
        ],
    )
    def test_an_unknown_option_names_the_nearest(self, given: str, nearest: str) -> None:
        assert (
            refusal(**{given: "x"})
            == f"option {given.lower()!r}: is not an option of this source; did you mean {nearest!r}?"
        )

    @pytest.mark.parametrize(
        "name",
        [
            "maxOffsetsPerTrigger",
            "maxBytesPerTrigger",
            "minOffsetsPerTrigger",
            "maxTriggerDelay",
            "commitOffsetsToGroup",
        ],
    )
    def test_a_streams_option_in_a_batch_is_ignored_with_a_warning(
        self, name: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING):
            configured(BATCH, **{name: "5"})
        assert [record.getMessage() for record in caplog.records] == [
            f"option {name!r} counts only in a stream (spark.readStream); ignored in this batch read"
        ]


class TestKafkasOwn:
    def test_the_address_is_required(self) -> None:
        with pytest.raises(OptionError, match=r"option 'kafka\.bootstrap\.servers': is required"):
            configure({"subscribe": "a"}, None)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("kafka.auto.offset.reset", "use startingOffsets"),
            ("kafka.key.deserializer", "keys arrive as binary"),
            ("kafka.value.deserializer", "values arrive as binary"),
            ("kafka.enable.auto.commit", "Spark's checkpoint holds the positions"),
            ("kafka.interceptor.classes", "transform the DataFrame instead"),
            ("kafka.ssl.truststore.password", "leave it out"),
        ],
    )
    def test_what_spark_forbids_is_refused_with_the_way_out(self, name: str, message: str) -> None:
        assert refusal(**{name: "x"}).startswith(f"option '{name}': is refused: ")
        assert message in refusal(**{name: "x"})

    def test_an_unknown_property_names_the_nearest(self) -> None:
        assert "did you mean kafka.isolation.level?" in refusal(kafka_isolation_levle="read_committed")

    def test_a_group_is_not_joined_and_that_is_said_once(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("headwater.enumerators.kafka.client.client_config._logged", set())
        with caplog.at_level(logging.WARNING):
            configured(kafka_group_id="mine")
            configured(kafka_group_id="mine")
        assert [record.getMessage() for record in caplog.records] == [
            (
                "option kafka.group.id has no effect: no consumer group is joined: Spark's checkpoint holds "
                "the positions; commitOffsetsToGroup shows them to tools"
            )
        ]


class TestFormats:
    """Which options about keys and values go together, and which columns they make."""

    @staticmethod
    def columns(**given: str) -> str:
        schema = configured(None, **given).spark_schema
        assert schema is not None
        return schema.simpleString()

    def test_the_schema_is_known_before_the_mode_and_the_same_in_it(self) -> None:
        given = {"valueFormat": "text", "keyFormat": "text", "columns": "value.*,key,offset"}
        assert self.columns(**given) == "struct<value:string,key:string,offset:bigint>"
        assert source(BATCH, **given).schema().names == ["value", "key", "offset"]

    def test_without_columns_it_is_that_of_kafka_with_decoded_parts(self) -> None:
        assert self.columns(valueFormat="text").startswith("struct<key:binary,value:string,topic:string,")

    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            ({"valueFormat": "jsonn"}, "'valueFormat': must be one of "),
            ({"valueSchema": "id long"}, "'valueSchema': requires option 'valueFormat'"),
            ({"keyPrefix": "k_"}, "'keyPrefix': requires option 'keyFormat'"),
            ({"mode": "FAILFAST"}, "'mode': requires option 'valueFormat'"),
            ({"keyMode": "FAILFAST"}, "'keyMode': requires option 'keyFormat'"),
            ({"valueFormat": "text", "keyTimeZone": "UTC"}, "'keyTimeZone': requires option 'keyFormat'"),
            ({"valueFormat": "text", "mode": "DROPMALFORMED"}, "no meaning for the format 'text'"),
            (
                {"valueFormat": "text", "valueSchema": "id long"},
                "'valueSchema': has no meaning for the",
            ),
            ({"valueFormat": "text", "mode": "STRICT"}, "must be one of PERMISSIVE, DROPMALFORMED, FAILFAST"),
            ({"valueFormat": "text", "valueSchema": "id lon"}, "'valueSchema': has 'lon' where a type"),
            ({"columns": "value.*"}, "'value.*' is not a column of the kafka source without option 'valueF"),
            ({"valueFormat": "text", "columns": "key.*"}, "without option 'keyFormat'"),
            ({"badRecordsPath": "/bad"}, "'badRecordsPath': requires option 'valueFormat'"),
            ({"valueFormat": "text", "badRecordsPath": "bad"}, "must be an absolute path"),
            (
                {"valueFormat": "text", "valuePrefix": "v_"},
                "'valuePrefix': requires 'value.*' in option 'columns'",
            ),
            ({"badRecordsStorageOptions": "{}"}, "requires option 'badRecordsPath'"),
            ({"valueFromat": "text"}, "did you mean 'valueFormat'?"),
        ],
    )
    def test_what_counts_for_nothing_is_refused_by_name(self, given: dict[str, str], reason: str) -> None:
        assert reason in refusal(**given)

    def test_columns_of_one_name_are_refused_and_prefixes_tell_them_apart(self) -> None:
        given = {"valueFormat": "text", "keyFormat": "text", "columns": "key.*,value.*"}
        assert "'valuePrefix': two columns are called 'value', one of 'key' and one of 'value'" in refusal(
            **given
        )
        assert self.columns(**given, keyPrefix="k_") == "struct<k_value:string,value:string>"

    def test_fields_that_differ_in_case_alone_are_columns_as_in_from_json(self) -> None:
        given = {"valueFormat": "json", "valueSchema": "id int, ID int, a struct<k int, K int>"}
        assert self.columns(**given, columns="value").startswith("struct<value:struct<id:int,ID:int,")
        assert self.columns(**given, columns="value.*").startswith("struct<id:int,ID:int,")
        given["valueSchema"] = "id int, TOPIC string"
        assert "two columns are called" in refusal(**given, columns="topic,value.*")

    def test_tasks_are_cut_between_blocks_where_there_are_files_of_bad_records(self) -> None:
        whole = SplitRange(KafkaPartitionSplit("a", 0), 1_500, 7_200)
        plain = source(BATCH, valueFormat="text").cut(whole, 3)
        assert [piece.start for piece in plain] == [1_500, 3_400, 5_300]
        into_files = source(BATCH, valueFormat="text", badRecordsPath="/bad")
        for pieces in range(1, 20):
            cut = into_files.cut(whole, pieces)
            assert [piece.stop for piece in cut] == [*(piece.start for piece in cut[1:]), 7_200]
            assert cut[0].start == 1_500
            assert all(piece.start % 1_000 == 0 for piece in cut[1:])
