"""Orders for a local broker: what the demo source makes up, written as JSON at a steady rate."""

from __future__ import annotations

import argparse
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import islice
from typing import Any

from kafka import KafkaProducer

from headwater.readers.demo.orders import Orders
from local_kafka_client import KafkaCluster

__all__ = ["OrderProducer", "per_second"]

_PAUSE_S = 0.05


def per_second(text: str) -> int:
    """Return the rate that ``1000/s`` says: for the command line.

    Raises:
        ArgumentTypeError: it says none.
    """
    found = re.fullmatch(r"\s*([1-9]\d*)\s*(/s)?\s*", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no rate such as 1000/s")
    return int(found.group(1))


class OrderProducer:
    """Writes orders to topics, in all together so many a second, until it is told to end.

    They go to the topics in turn, with the customer as the key. After an outage of the broker what is due
    comes at once.

    Args:
        kafka: where the topics are.
        topics: their names.
        rate: orders a second.
        clock_s: a clock that never goes back.
    """

    def __init__(
        self,
        kafka: KafkaCluster,
        topics: Sequence[str],
        rate: int,
        *,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kafka = kafka
        self._topics = tuple(topics)
        self._rate = rate
        self._clock_s = clock_s
        self.produced = 0

    def run(self, ended: threading.Event) -> None:
        """Write orders until ``ended`` is set, then flush. Called once, in any thread."""
        orders = self._orders()
        began_s = self._clock_s()
        with self._kafka.producer() as producer:
            while not ended.wait(_PAUSE_S):
                due = int((self._clock_s() - began_s) * self._rate)
                self._send(producer, islice(orders, due - self.produced))

    def _send(self, producer: KafkaProducer, orders: Iterator[Mapping[str, Any]]) -> None:
        for order in orders:
            producer.send(
                self._topics[self.produced % len(self._topics)],
                json.dumps(order, default=_written).encode(),
                key=order["customer"].encode(),
            )
            self.produced += 1

    def _orders(self) -> Iterator[Mapping[str, Any]]:
        """Yield orders without end, from the one of this moment on."""
        orders = Orders(seed=0, rows_per_second=self._rate, splits=1, disorder_ms=0)
        position = orders.visible_at(time.time_ns() // 1_000)
        while True:
            block = orders.block_from(position, 0)
            yield from block.to_pylist()
            position += block.num_rows


def _written(value: object) -> str | float:
    """Write what JSON has no type for: a time as ISO 8601, money as a number."""
    match value:
        case datetime():
            return value.isoformat()
        case Decimal():
            return float(value)
    raise TypeError(f"no JSON for {value!r}")
