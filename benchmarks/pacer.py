"""A producer that keeps to a pace."""

from __future__ import annotations

import threading
import time
from typing import Self

from kafka import KafkaProducer

from benchmarks.bench import BenchmarkError

__all__ = ["Pacer"]

_TICK_S = 0.005


class Pacer:
    """Sends records of 100 bytes at a steady rate, for as long as its context lasts.

    They go to each partition in turn, with acks=1, from a thread of its own. The timestamp of a record is the
    moment of its ``send``, in whole milliseconds.

    Args:
        bootstrap: ``bootstrap.servers``.
        topic: exists.
        partitions: of the topic.
        rate: records a second.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int, rate: int) -> None:
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap, acks=1, enable_idempotence=False, linger_ms=0
        )
        self._topic = topic
        self._partitions = partitions
        self._rate = rate
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="pacer", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._ended.set()
        self._thread.join()
        self._producer.close()
        if self._failure is not None:
            raise BenchmarkError("the producer failed") from self._failure

    def _run(self) -> None:
        began = time.monotonic()
        sent = 0
        value = bytes(100)
        try:
            while not self._ended.wait(_TICK_S):
                due = int((time.monotonic() - began) * self._rate)
                for i in range(sent, due):
                    self._producer.send(
                        self._topic,
                        value,
                        partition=i % self._partitions,
                        timestamp_ms=time.time_ns() // 1_000_000,
                    )
                sent = due
        except BaseException as error:  # noqa: BLE001 - raised where the context ends
            self._failure = error
