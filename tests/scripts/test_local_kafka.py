"""The harness itself: what other tests rely on without looking."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local_kafka import LocalKafka, LocalKafkaError, unsecured_token

SCRIPT = Path(__file__).parents[2] / "scripts" / "local_kafka.py"


def test_records_are_where_produce_says(kafka: LocalKafka, topic: str) -> None:
    kafka.create_topic(topic, partitions=3)
    assert kafka.produce(topic, [b"0", b"1", b"2", b"3"]) == [(0, 0), (1, 0), (2, 0), (0, 1)]
    assert kafka.end_offsets(topic) == {0: 2, 1: 1, 2: 1}


def test_deleted_records_move_the_start(kafka: LocalKafka, topic: str) -> None:
    kafka.create_topic(topic)
    kafka.produce(topic, [b"x"] * 5)
    kafka.delete_records(topic, {0: 3})
    assert kafka.start_offsets(topic) == {0: 3}


def test_a_topic_that_is_deleted_and_created_anew_has_another_id(kafka: LocalKafka, topic: str) -> None:
    kafka.create_topic(topic)
    before = kafka.topic_id(topic)
    kafka.delete_topic(topic)
    kafka.create_topic(topic)
    assert kafka.topic_id(topic) != before


def test_added_partitions_have_leaders(kafka: LocalKafka, topic: str) -> None:
    kafka.create_topic(topic)
    kafka.add_partitions(topic, 3)
    assert kafka.leaders(topic) == {0: 1, 1: 1, 2: 1}


def test_an_open_transaction_holds_back_the_last_stable_offset(kafka: LocalKafka, topic: str) -> None:
    kafka.create_topic(topic)
    kafka.produce_transaction(topic, [b"committed"], commit=True)
    kafka.produce_transaction(topic, [b"aborted"], commit=False)
    transaction = kafka.begin(topic)
    transaction.produce([b"open"])
    assert (kafka.end_offsets(topic), kafka.end_offsets(topic, committed=True)) == ({0: 5}, {0: 4})
    transaction.commit()
    assert kafka.end_offsets(topic, committed=True) == {0: 6}


def test_the_bulk_tool_writes_as_many_records_as_asked(kafka: LocalKafka, topic: str) -> None:
    kafka.create_topic(topic, partitions=2)
    kafka.produce_bulk(topic, 1_000, 50, compression="lz4")
    assert sum(kafka.end_offsets(topic).values()) == 1_000


def test_the_broker_refuses_bytes_that_are_no_batch(kafka: LocalKafka, topic: str) -> None:
    kafka.create_topic(topic)
    with pytest.raises(LocalKafkaError, match="refused 100 bytes"):
        kafka.append(topic, 0, bytes(100))


def test_data_and_ports_survive_a_kill_and_a_stop(topic: str) -> None:
    with LocalKafka() as own:
        own.create_topic(topic)
        own.produce(topic, [b"1"])
        before = own.bootstrap_servers
        own.kill()
        own.start()
        own.produce(topic, [b"2"])
        own.stop()
        own.start()
        assert (own.end_offsets(topic), own.bootstrap_servers) == ({0: 2}, before)


def test_leaders_move_and_a_lost_broker_is_replaced(topic: str) -> None:
    with LocalKafka(brokers=2, racks=("a", "b")) as own:
        own.create_topic(topic, assignments={0: [1, 2]})
        own.move_leader(topic, 0, 2)
        own.wait_for_leaders(topic, {0: 2})
        own.brokers[2].stop()
        own.wait_for_leaders(topic, {0: 1})


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGKILL])
def test_no_broker_outlives_the_program_that_started_it(ended_by: signal.Signals, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, SCRIPT, "--port", "0", "--data", tmp_path], stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        while not (line := program.stdout.readline()).startswith("broker 1"):
            assert line, "the program ended without starting a broker"
        broker = os.pidfd_open(int(line.split()[-1]))
        program.send_signal(ended_by)
        gone, _, _ = select.select([broker], [], [], 30)
        os.close(broker)
    assert gone


def test_a_listener_that_was_not_asked_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalKafkaError, match="no listener SSL, only PLAINTEXT"):
        LocalKafka(data_dir=tmp_path).bootstrap("SSL")


def test_a_token_names_its_user() -> None:
    assert unsecured_token("ann").startswith("eyJ")
