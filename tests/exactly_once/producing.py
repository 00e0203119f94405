"""Records with a number for a key: some at once, or more and more in the background."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from local_kafka import LocalKafka
from tests.patience import PATIENCE_S

__all__ = ["Producer", "produce"]

CHUNK = 20
PAUSE_S = 0.05


def produce(
    kafka: LocalKafka, topic: str, records: int, *, partition: int | None = None, value_bytes: int = 10
) -> list[tuple[int, int]]:
    """Append records, round robin unless a partition is given; return where they are."""
    return kafka.produce(topic, [bytes(value_bytes)] * records, partition=partition)


class Producer:
    """A thread that goes on producing while other processes are killed; the key of record n is n.

    Args:
        kafka: the broker.
        topic: must exist.
        partitions: take turns.
        value_of: makes the value of a record from its number, on the thread.

    Attributes:
        written: partition, offset and key of the records that the broker has acknowledged.
    """

    def __init__(
        self,
        kafka: LocalKafka,
        topic: str,
        partitions: int,
        value_of: Callable[[int], bytes | None] = lambda _: b"value",
    ) -> None:
        self._kafka = kafka
        self.topic = topic
        self._partitions = partitions
        self._value_of = value_of
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._produce, name="producer", daemon=True)
        self._failure: BaseException | None = None
        self.written: list[tuple[int, int, int]] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Produce until the end of the block."""
        self._thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the producer still waits for the broker"
        if self._failure is not None:
            raise self._failure

    def _produce(self) -> None:
        try:
            with self._kafka.producer() as producer:
                numbers = itertools.count()
                while not self._stopped.wait(PAUSE_S):
                    chunk = list(itertools.islice(numbers, CHUNK))
                    sent = [
                        (
                            n,
                            producer.send(
                                self.topic,
                                self._value_of(n),
                                str(n).encode(),
                                partition=n % self._partitions,
                            ),
                        )
                        for n in chunk
                    ]
                    producer.flush()
                    acknowledged = [(n, future.get(PATIENCE_S)) for n, future in sent]
                    self.written += [(done.partition, done.offset, n) for n, done in acknowledged]
        except BaseException as error:  # noqa: BLE001 - raised by `running`
            self._failure = error
