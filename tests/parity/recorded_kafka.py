"""A broker that writes down what a scenario does with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from local_kafka import LocalKafka
from local_kafka_client import Transaction

__all__ = ["recorded"]

_CHANGES = frozenset(
    {
        *("create_topic", "delete_topic", "add_partitions", "delete_records", "produce", "append", "begin"),
        *("produce_transaction", "commit", "abort", "allow", "disallow"),
    }
)


def recorded(kafka: Callable[[], LocalKafka], log: list[Any]) -> LocalKafka:
    """Return a broker that appends each change to a log: the method's name and arguments.

    Args:
        kafka: returns the broker; called when it is first used.
        log: the log.
    """
    return cast("LocalKafka", _Recorded(kafka, log))


class _Recorded:
    """Calls another object, and writes down what changes something outside."""

    def __init__(self, target: Callable[[], object], log: list[Any]) -> None:
        self._target = target
        self._log = log

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target(), name)
        if name not in _CHANGES:
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self._log.append((name, args, kwargs))
            result = found(*args, **kwargs)
            return _Recorded(lambda: result, self._log) if isinstance(result, Transaction) else result

        return call
