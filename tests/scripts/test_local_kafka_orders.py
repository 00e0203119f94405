"""``local_kafka.py --produce``: orders as JSON, as many as are due."""

from __future__ import annotations

import argparse
import json
import threading
from datetime import datetime

import pytest
from kafka import KafkaConsumer

from local_kafka import LocalKafka
from local_kafka_orders import OrderProducer, per_second
from tests.patience import PATIENCE_S


@pytest.mark.parametrize(("text", "rate"), [("1000/s", 1000), ("5", 5), (" 20 /s ", 20)])
def test_a_rate_is_a_number_a_second(text: str, rate: int) -> None:
    assert per_second(text) == rate


@pytest.mark.parametrize("text", ["", "0/s", "-1/s", "fast", "10/m", "1.5/s"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is no rate such as 1000/s"):
        per_second(text)


def test_orders_go_to_the_topics_in_turn_as_many_as_are_due(kafka: LocalKafka, topic: str) -> None:
    topics = [f"{topic}-{name}" for name in "ab"]
    for each in topics:
        kafka.create_topic(each)
    ended = threading.Event()
    # Two seconds at 50/s, told by a clock that is read once at the beginning and then stands still.
    times_s = iter([0.0])
    producer = OrderProducer(kafka, topics, 50, clock_s=lambda: next(times_s, 2.0))
    thread = threading.Thread(target=producer.run, args=(ended,), daemon=True)
    thread.start()
    consumer = KafkaConsumer(*topics, bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest")
    with consumer:
        records = [next(consumer) for _ in range(100)]
    ended.set()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert producer.produced == 100
    assert sorted(kafka.end_offsets(each)[0] for each in topics) == [50, 50]
    orders = [json.loads(record.value) for record in records]
    numbers = sorted(order["order_id"] for order in orders)
    assert numbers == [*range(numbers[0], numbers[0] + 100)]
    assert all(
        record.key.decode() == order["customer"] for record, order in zip(records, orders, strict=True)
    )
    assert datetime.fromisoformat(orders[0]["ordered_at"]).tzinfo is not None
    assert isinstance(orders[0]["amount"], float)
