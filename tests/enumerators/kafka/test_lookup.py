"""Looks at the cluster: which answers are believed at once, and which only after several repetitions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from headwater.core.clock import ManualClock
from headwater.core.errors import (
    NoConnectionError,
    OptionError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST, TopicPartition
from headwater.enumerators.kafka.lookup import KafkaLookup
from headwater.enumerators.kafka.lookup_settings import (
    AssignedPartitions,
    LookupSettings,
    Subscription,
    TopicNames,
    TopicPattern,
)
from headwater.enumerators.kafka.offsets_initializer import OffsetsInitializer
from headwater.enumerators.kafka.split import ClusterView, KafkaPartitionSplit
from local_kafka import LocalKafka
from local_kafka_config import free_port
from tests.enumerators.kafka.client.listeners import Listen, client
from tests.scripted_kafka import NOT_AUTHORIZED, NOT_LEADER, ScriptedKafka

RETRIES = 3
INTERVAL_MS = 1_000
WAITED_OUT_MS = RETRIES * INTERVAL_MS


class Driver:
    """A lookup and the checkpoint that it is shown."""

    def __init__(
        self,
        bootstrap: object,
        subscription: Subscription,
        starting: int = EARLIEST,
        ending: OffsetsInitializer | None = None,
    ) -> None:
        self.clock = ManualClock()
        self.settings = LookupSettings(
            client=client(str(bootstrap)),
            subscription=subscription,
            starting=OffsetsInitializer("startingOffsets", starting),
            ending=ending,
            num_retries=RETRIES,
            retry_interval_ms=INTERVAL_MS,
        )
        self.known: dict[SplitPath, KafkaPartitionSplit] = {}
        self.positions: dict[SplitPath, int] = {}
        self.first = True
        self.lookup = KafkaLookup(self.settings, self.clock)

    def look(self) -> ClusterView:
        return self.lookup.look(self.known, self.positions, first=self.first)

    def log(self, view: ClusterView) -> None:
        """Let the checkpoint hold what a look found, read to its end."""
        self.first = False
        self.known = dict(view.splits)
        self.positions = dict(view.heads)

    def restart(self, **changes: Any) -> None:
        self.lookup.close()
        self.settings = replace(self.settings, **changes)
        self.lookup = KafkaLookup(self.settings, self.clock)


@pytest.fixture
def scripted(listen: Listen) -> ScriptedKafka:
    return ScriptedKafka(listen)


@pytest.fixture
def driver() -> Iterator[Callable[..., Driver]]:
    made: list[Driver] = []

    def make(*args: Any, **kwargs: Any) -> Driver:
        made.append(Driver(*args, **kwargs))
        return made[-1]

    yield make
    for each in made:
        each.lookup.close()


def orders(*more: str) -> TopicNames:
    return TopicNames(frozenset({"orders", *more}))


class TestAFirstLook:
    def test_partitions_starts_and_ends(self, scripted: ScriptedKafka, driver: Callable[..., Driver]) -> None:
        topic = scripted.topic("orders", 2, [3])
        topic.logs[1].start = 2
        view = driver(scripted.bootstrap, orders()).look()
        assert view.splits == {
            ("orders", str(p)): KafkaPartitionSplit("orders", p, str(topic.topic_id)) for p in (0, 1)
        }
        assert view.starts == {("orders", "0"): 0, ("orders", "1"): 2}
        assert view.heads == {("orders", "0"): 3, ("orders", "1"): 3}
        assert view.short == {}

    def test_latest_is_never_past_the_end_however_busy_the_topic(
        self, scripted: ScriptedKafka, driver: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log = scripted.topic("orders", 1, [3]).logs[0]
        original = scripted._list_offsets

        def busy(request: Any) -> Any:
            log.append(b"x")
            return original(request)

        monkeypatch.setattr(scripted, "_list_offsets", busy)
        view = driver(scripted.bootstrap, orders(), LATEST).look()
        assert (view.starts, view.heads) == ({("orders", "0"): 4}, {("orders", "0"): 5})

    def test_where_reading_begins_is_resolved_once_even_if_the_plan_is_never_logged(
        self, scripted: ScriptedKafka, driver: Callable[..., Driver]
    ) -> None:
        log = scripted.topic("orders", 1, [3]).logs[0]
        looking = driver(scripted.bootstrap, orders(), LATEST)
        looking.look()
        log.append(b"x")
        assert looking.look().starts == {("orders", "0"): 3}

    @pytest.mark.parametrize(
        ("subscription", "message"),
        [
            (
                orders("typo"),
                (
                    r"topic 'typo' does not exist in the Kafka cluster, or this user may not see it: "
                    r"create it, or mend subscribe"
                ),
            ),
            (
                AssignedPartitions(frozenset({("orders", 0), ("orders", 5)})),
                "partition 5 of topic 'orders' does not exist",
            ),
            (AssignedPartitions(frozenset({("typo", 5)})), "topic 'typo' does not exist"),
        ],
    )
    def test_what_the_user_names_must_exist_once_that_has_been_asked_several_times(
        self, scripted: ScriptedKafka, driver: Callable[..., Driver], subscription: Subscription, message: str
    ) -> None:
        scripted.topic("orders", 1, [3])
        looking = driver(scripted.bootstrap, subscription)
        with pytest.raises(UnknownSplitError, match=message):
            looking.look()
        assert looking.clock.monotonic_ms() == WAITED_OUT_MS

    def test_a_topic_that_appears_meanwhile_is_taken(
        self, scripted: ScriptedKafka, driver: Callable[..., Driver]
    ) -> None:
        looking = driver(scripted.bootstrap, orders())
        looking.clock.wait = lambda *_: bool(scripted.topic("orders", 1, [3]))  # type: ignore[method-assign]
        assert looking.look().heads == {("orders", "0"): 3}

    def test_a_pattern_that_matches_nothing_is_no_error_but_a_warning_once_a_minute(
        self, scripted: ScriptedKafka, driver: Callable[..., Driver], caplog: pytest.LogCaptureFixture
    ) -> None:
        scripted.topic("orders", 1, [3])
        looking = driver(scripted.bootstrap, TopicPattern("^order$"))

        def warnings_after(ms: int) -> int:
            caplog.clear()
            looking.clock.advance(ms)
            assert not looking.look().splits
            return caplog.text.count("subscribePattern '^order$' is found in the name of no topic")

        assert [warnings_after(ms) for ms in (0, 1_000, 58_000, 1_000, 59_000, 1_000)] == [1, 0, 0, 1, 0, 1]
        scripted.topic("order", 1, [3])
        looking.clock.advance(1_000)
        looking.log(looking.look())
        del scripted.topics["order"]
        assert warnings_after(1_000) == 1

    @pytest.mark.parametrize("pattern", ["ord.*", ".*"])
    def test_a_pattern_warns_when_all_topics_are_hidden(
        self,
        scripted: ScriptedKafka,
        driver: Callable[..., Driver],
        caplog: pytest.LogCaptureFixture,
        pattern: str,
    ) -> None:
        assert not driver(scripted.bootstrap, TopicPattern(pattern)).look().splits
        assert f"subscribePattern '{pattern}' is found in the name of no topic" in caplog.text

    def test_a_start_beyond_the_end_is_noticed(
        self, scripted: ScriptedKafka, driver: Callable[..., Driver]
    ) -> None:
        scripted.topic("orders", 1, [3])
        looking = driver(scripted.bootstrap, orders())
        looking.restart(
            starting=OffsetsInitializer("startingOffsets", None, {TopicPartition("orders", 0): 9})
        )
        view = looking.look()
        assert (view.starts, view.short) == ({("orders", "0"): 9}, {("orders", "0"): 3})

    def test_a_cluster_that_never_answers_is_a_wrong_address_after_a_while(
        self, driver: Callable[..., Driver]
    ) -> None:
        looking = driver(f"127.0.0.1:{free_port()}", orders())
        with pytest.raises(NoConnectionError, match="nothing listens there"):
            looking.look()
        looking.clock.advance(60_000)
        with pytest.raises(
            SourceError,
            match=r"has not answered since the query started: .* nothing listens there; see kafka.bootstrap",
        ) as caught:
            looking.look()
        assert not isinstance(caught.value, TransientSourceError)


class TestLaterLooks:
    @pytest.fixture
    def looking(self, scripted: ScriptedKafka, driver: Callable[..., Driver]) -> Driver:
        scripted.topic("orders", 2, [3])
        looking = driver(scripted.bootstrap, orders(), LATEST)
        looking.log(looking.look())
        return looking

    def test_only_the_ends_are_asked_for(self, scripted: ScriptedKafka, looking: Driver) -> None:
        scripted.topics["orders"].logs[0].append(b"x", b"y")
        looking.look()
        asked = scripted.metadata_asked
        view = looking.look()
        assert (view.starts, view.heads, view.short) == ({}, {("orders", "0"): 5, ("orders", "1"): 3}, {})
        assert scripted.metadata_asked == asked

    def test_new_partitions_are_looked_for_once_a_second_and_begin_at_their_earliest_record(
        self, scripted: ScriptedKafka, looking: Driver
    ) -> None:
        added = scripted.topic("other", 1, [4]).logs[0]
        scripted.topics["orders"].logs[2] = added
        added.start = 1
        assert looking.look().starts == {}
        looking.clock.advance(1_000)
        view = looking.look()
        assert (view.starts, view.heads["orders", "2"]) == ({("orders", "2"): 1}, 4)

    def test_a_topic_created_anew_begins_at_its_earliest_record(
        self, scripted: ScriptedKafka, looking: Driver
    ) -> None:
        scripted.topic("orders", 1, [2])
        looking.clock.advance(1_000)
        view = looking.look()
        assert (set(view.splits), view.starts) == ({("orders", "0")}, {("orders", "0"): 0})

    def test_brokers_without_topic_ids_begin_again_with_every_incarnation(
        self, scripted: ScriptedKafka, looking: Driver
    ) -> None:
        looking.lookup._known_starts = {KafkaPartitionSplit("orders", 5): 1_000}
        scripted.topics["orders"].logs[5] = scripted.topic("other", 1, [4]).logs[0]
        looking.clock.advance(1_000)
        assert looking.look().starts == {("orders", "5"): 0}

    def test_a_partition_that_is_gone_is_believed_after_several_answers(
        self, scripted: ScriptedKafka, looking: Driver
    ) -> None:
        del scripted.topics["orders"]
        looking.clock.advance(1_000)
        before = looking.clock.monotonic_ms()
        assert looking.look().splits == {}
        assert looking.clock.monotonic_ms() - before == WAITED_OUT_MS

    def test_with_nothing_left_to_read_the_cluster_is_still_asked_once_a_second_only(
        self, scripted: ScriptedKafka, looking: Driver
    ) -> None:
        del scripted.topics["orders"]
        looking.clock.advance(1_000)
        looking.log(looking.look())
        asked = scripted.metadata_asked
        for _ in range(10):
            looking.look()
        assert scripted.metadata_asked == asked
        scripted.topic("orders", 1, [2])
        looking.clock.advance(1_000)
        assert looking.look().starts == {("orders", "0"): 0}

    def test_the_same_after_a_restart_which_is_no_typing_error(
        self, scripted: ScriptedKafka, looking: Driver
    ) -> None:
        del scripted.topics["orders"]
        looking.restart()
        assert looking.look().splits == {}

    def test_but_a_new_name_that_does_not_exist_is_one(self, looking: Driver) -> None:
        looking.restart(subscription=orders("typo"))
        with pytest.raises(UnknownSplitError, match="topic 'typo' does not exist"):
            looking.look()

    def test_what_is_no_longer_subscribed_is_not_waited_for(
        self, scripted: ScriptedKafka, looking: Driver
    ) -> None:
        scripted.topic("other", 1, [4])
        looking.restart(subscription=TopicNames(frozenset({"other"})))
        assert set(looking.look().splits) == {("other", "0")}
        assert looking.clock.monotonic_ms() == 0

    def test_a_cluster_that_shows_no_topic_at_all_shows_nothing_of_what_is_read(
        self, scripted: ScriptedKafka, looking: Driver, caplog: pytest.LogCaptureFixture
    ) -> None:
        looking.restart(subscription=TopicPattern("ord.*"))
        looking.log(looking.look())
        hidden = scripted.topics
        scripted.topics = {}
        for _ in range(90):
            looking.clock.advance(1_000)
            assert looking.look() == ClusterView({}, {}, {}, cluster_id="scripted")
        assert caplog.text.count("none of the 2 partitions that this query reads is in sight") == 2
        scripted.topics = hidden
        looking.clock.advance(1_000)
        assert looking.look().heads == {("orders", "0"): 3, ("orders", "1"): 3}

    def test_what_is_believed_to_be_out_of_sight_is_not_waited_for_again(
        self, scripted: ScriptedKafka, looking: Driver
    ) -> None:
        del scripted.topics["orders"].logs[1]
        looking.clock.advance(1_000)
        assert set(looking.look().splits) == {("orders", "0")}
        before = looking.clock.monotonic_ms()
        looking.clock.advance(1_000)
        asked = scripted.metadata_asked
        looking.look()
        assert (looking.clock.monotonic_ms() - before, scripted.metadata_asked - asked) == (1_000, 1)

    def test_where_the_log_begins_is_asked_of_partitions_with_records_to_read(
        self, scripted: ScriptedKafka, looking: Driver
    ) -> None:
        log = scripted.topics["orders"].logs[0]
        log.append(*[b"x"] * 5)
        log.start = 6
        assert looking.look().earliest == {("orders", "0"): 6}

    def test_offsets_of_a_topic_that_has_just_been_created_anew_are_not_taken_for_the_old_ones(
        self, scripted: ScriptedKafka, looking: Driver
    ) -> None:
        for log in scripted.topic("orders", 2, [9]).logs.values():
            log.start = 5
        with pytest.raises(
            TransientSourceError, match="topic 'orders' has just been deleted or created anew"
        ):
            looking.look()
        assert looking.look().starts == {("orders", "0"): 5, ("orders", "1"): 5}

    def test_a_permission_that_goes_hides_what_a_pattern_selects(
        self, scripted: ScriptedKafka, looking: Driver
    ) -> None:
        looking.restart(subscription=TopicPattern("ord.*"))
        looking.log(looking.look())
        scripted.topics["orders"].logs[0].append(b"x")
        scripted.offset_errors[0] = [NOT_AUTHORIZED]
        with pytest.raises(TransientSourceError, match="a permission has just gone"):
            looking.look()
        hidden = scripted.topics
        scripted.topics = {}
        assert looking.look().splits == {}
        scripted.topics = hidden
        scripted.offset_errors[0] = [NOT_AUTHORIZED, NOT_AUTHORIZED]
        looking.clock.advance(1_000)
        with pytest.raises(TransientSourceError):
            looking.look()
        with pytest.raises(SourceError, match="lacks the permission Describe on topic 'orders'"):
            looking.look()

    def test_a_log_that_is_shorter_than_what_was_read_is_believed_after_several_answers(
        self, scripted: ScriptedKafka, looking: Driver
    ) -> None:
        scripted.topics["orders"].logs[1].end = 1
        assert looking.look().short == {("orders", "1"): 1}
        assert looking.clock.monotonic_ms() == WAITED_OUT_MS

    def test_one_stale_answer_is_not_and_costs_no_time(
        self, scripted: ScriptedKafka, looking: Driver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        original = scripted._list_offsets
        answers = iter([2])

        def stale_once(request: Any) -> Any:
            scripted.topics["orders"].logs[1].end = next(answers, 3)
            return original(request)

        monkeypatch.setattr(scripted, "_list_offsets", stale_once)
        assert looking.look().short == {}
        assert looking.clock.monotonic_ms() == 0

    def test_a_partition_that_vanishes_between_two_questions_is_looked_up_again(
        self, scripted: ScriptedKafka, looking: Driver
    ) -> None:
        del scripted.topics["orders"].logs[1]
        scripted.offset_errors[1] = [3, 3]
        with pytest.raises(TransientSourceError, match="has just gone"):
            looking.look()
        assert set(looking.look().splits) == {("orders", "0")}

    def test_an_election_is_asked_about_again(self, scripted: ScriptedKafka, looking: Driver) -> None:
        scripted.offset_errors[1] = [NOT_LEADER, NOT_LEADER]
        with pytest.raises(TransientSourceError):
            looking.look()
        assert looking.look().heads["orders", "1"] == 3

    def test_a_missing_permission_is_final(self, scripted: ScriptedKafka, looking: Driver) -> None:
        scripted.offset_errors[0] = [NOT_AUTHORIZED]
        with pytest.raises(SourceError, match="lacks the permission Describe on topic 'orders'"):
            looking.look()


class TestAMirroredCluster:
    @pytest.fixture
    def looking(self, scripted: ScriptedKafka, driver: Callable[..., Driver]) -> Driver:
        scripted.topic("orders", 2, [3])
        looking = driver(scripted.bootstrap, orders(), LATEST)
        looking.log(looking.look())
        scripted.topic("orders", 2, [3, 4])
        looking.restart(accept_new_topic_ids=True)
        return looking

    def test_other_ids_are_accepted_and_the_log_is_measured(self, looking: Driver) -> None:
        paths = {("orders", "0"), ("orders", "1")}
        for _ in range(2):  # a plan that was not logged asks again
            view = looking.look()
            assert (view.accepted, view.starts, view.short) == (paths, {}, {})
            assert view.earliest == dict.fromkeys(paths, 0)
            looking.clock.advance(1_000)
        looking.known = dict(view.splits)
        assert looking.look().accepted == set()

    def test_a_topic_created_anew_later_in_the_run_is_not(
        self, scripted: ScriptedKafka, looking: Driver
    ) -> None:
        looking.known = dict(looking.look().splits)
        scripted.topic("orders", 2, [3])
        looking.clock.advance(1_000)
        view = looking.look()
        assert (view.accepted, set(view.starts)) == (set(), {("orders", "0"), ("orders", "1")})

    def test_without_the_option_they_are_other_topics(self, looking: Driver) -> None:
        looking.restart(accept_new_topic_ids=False)
        assert looking.look().accepted == set()

    def test_the_option_without_a_need_warns_once(
        self, looking: Driver, caplog: pytest.LogCaptureFixture
    ) -> None:
        looking.known = dict(looking.look().splits)
        assert "nothing had to be accepted" not in caplog.text
        looking.restart()
        looking.look()
        looking.look()
        assert caplog.text.count("nothing had to be accepted. The option is for one start") == 1


class TestABatch:
    @pytest.mark.parametrize(
        ("start", "end", "message"),
        [(2, 1, "begins at offset 2, but endingOffsets ends it at 1"), (9, LATEST, "ends it at 3")],
    )
    def test_it_must_not_end_before_it_begins(
        self, scripted: ScriptedKafka, driver: Callable[..., Driver], start: int, end: int, message: str
    ) -> None:
        scripted.topic("orders", 1, [3])
        looking = driver(
            scripted.bootstrap,
            orders(),
            ending=OffsetsInitializer("endingOffsets", None, {TopicPartition("orders", 0): end}),
        )
        looking.restart(
            starting=OffsetsInitializer("startingOffsets", None, {TopicPartition("orders", 0): start})
        )
        with pytest.raises(
            OptionError, match=f"option 'startingOffsets': topic 'orders', partition 0 .*{message}"
        ):
            looking.look()

    def test_its_end_may_lie_beyond_the_log_which_the_reader_finds_out(
        self, scripted: ScriptedKafka, driver: Callable[..., Driver]
    ) -> None:
        scripted.topic("orders", 1, [3])
        looking = driver(
            scripted.bootstrap,
            orders(),
            ending=OffsetsInitializer("endingOffsets", None, {TopicPartition("orders", 0): 9}),
        )
        assert looking.look().heads == {("orders", "0"): 9}


class TestSizes:
    def test_the_average_record_of_each_topic_is_measured_once_a_minute(
        self, kafka: LocalKafka, topic: str, driver: Callable[..., Driver]
    ) -> None:
        kafka.create_topic(topic, 2)
        kafka.produce(topic, [b"x" * 1_000] * 100)
        looking = driver(kafka.bootstrap_servers, TopicNames(frozenset({topic})))
        measured = looking.look().row_bytes[topic]
        assert 1_000 < measured < 1_100
        kafka.produce(topic, [b"x"] * 1_000)
        assert looking.look().row_bytes == {topic: measured}
        looking.clock.advance(60_000)
        assert looking.look().row_bytes[topic] < 200

    def test_brokers_that_do_not_tell_are_done_without(
        self, scripted: ScriptedKafka, driver: Callable[..., Driver], caplog: pytest.LogCaptureFixture
    ) -> None:
        scripted.topic("orders", 1, [3])
        with caplog.at_level(logging.INFO):
            assert driver(scripted.bootstrap, orders()).look().row_bytes == {}
        assert "taken to be 1,000 bytes" in caplog.text
