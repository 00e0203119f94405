"""How far a query of a plugin is behind, as `hw.LagListener` and the board show it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest
from rstream import AMQPMessage

from headwater.connector.spark.lag_listener import LagListener
from headwater.core.source import Boundedness
from headwater.testing.making import configured
from headwater.tools.monitoring.board_view import ViewRequest, board_view
from local_nats import LocalNats
from local_rabbitmq import LocalRabbitMq
from local_redis import LocalRedis
from tests.tools.monitoring.progress_reports import START_MS, reported, watched

ROWS = (10, 4)
World: TypeAlias = Callable[[str], Any]
"""Returns a server by its name."""


def in_nats(world: World, streams: Mapping[str, int]) -> Mapping[str, str]:
    nats: LocalNats = world("nats")
    for name, rows in streams.items():
        nats.create_stream(name)
        nats.publish((f"{name}.x", b"value") for _ in range(rows))
    return {"source": "nats", "servers": nats.url, "streams": ",".join(streams)}


def in_redis(world: World, streams: Mapping[str, int]) -> Mapping[str, str]:
    redis: LocalRedis = world("redis")
    redis.add((name, {"value": b"value"}) for name, rows in streams.items() for _ in range(rows))
    return {"source": "redis", "url": redis.url, "keys": ",".join(streams)}


def in_rabbitmq(world: World, streams: Mapping[str, int]) -> Mapping[str, str]:
    rabbitmq: LocalRabbitMq = world("rabbitmq")
    for name in streams:
        rabbitmq.create_stream(name)
    rabbitmq.publish(
        (name, bytes(AMQPMessage(body=b"value"))) for name, rows in streams.items() for _ in range(rows)
    )
    return {"source": "rabbitmq", **rabbitmq.options, "streams": ",".join(streams)}


@pytest.mark.parametrize("fill", [in_nats, in_redis, in_rabbitmq])
def test_the_lag_of_each_stream_is_what_a_limited_batch_has_left(
    fill: Callable[[World, Mapping[str, int]], Mapping[str, str]],
    request: pytest.FixtureRequest,
    topic: str,
) -> None:
    streams = {f"{topic}-{number}": rows for number, rows in enumerate(ROWS)}
    options = dict(fill(request.getfixturevalue, streams))
    name = options.pop("source")
    column = "key" if name == "redis" else "stream"
    whole = {**options, "startingPosition": "earliest", "maxRowsPerTrigger": "6"}
    listener = LagListener()
    histories, watcher = watched()
    left = Counter(streams)
    made: Any = configured(name, whole, Boundedness.CONTINUOUS_UNBOUNDED)
    with closing(made.create_coordinator()) as coordinator:
        start = coordinator.initial_offset()
        for batch in range(4):
            end = coordinator.plan_next(start, limited=True)
            for task in coordinator.tasks(start, end):
                for rows in made.read_task(task):
                    left.subtract(rows.column(column).to_pylist())
            report = report_of(name, batch, start, end, coordinator.latest())
            listener.onQueryProgress(report)
            watcher.onQueryProgress(report)
            (lag,) = listener.as_dict().values()
            assert (lag["splits"], lag["lag"]) == (left, left.total())
            view: Any = board_view(histories, ViewRequest(), {}, START_MS)
            (shown,) = view["queries"]
            assert (shown["lag"], shown["splits"]) == (left.total(), len(streams))
            assert batch or left.total() >= sum(ROWS) - 6
            start = end
    assert left.total() == 0


def report_of(name: str, batch: int, start: Any, end: Any, latest: Any) -> Any:
    """Return what Spark reports of a batch."""
    source = SimpleNamespace(
        description=f"headwater {name}",
        startOffset=json.dumps(start),
        endOffset=json.dumps(end),
        latestOffset=json.dumps(latest),
    )
    return reported(batchId=batch, sources=[source], numInputRows=6)
