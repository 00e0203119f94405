"""Rows a second of the plugins in Spark, beside the best Python client that only counts, in one run.

    python -m benchmarks.plugins [--messages 500000] [--rounds 3] [--splits 10000] [--only redis]

Client and Spark have one core, the server has another one. The client of NATS is nats-py's ordered consumer
with a callback, its fastest public way. Other ways to read a stream stand beside it: its pull consumer, and
direct get, a request for each message, a thousand of them under way at once. The client of Redis is redis-py
with hiredis, and XRANGE. That of RabbitMQ is rstream's consumer with a callback, without a decoder. That of
Kinesis is boto3, GetRecords of 10,000, shard after shard; its server takes long to store and to answer, so it
has a fifth of the messages. At last each source plans a batch over so many streams, or shards; of RabbitMQ,
where each is files and processes, over a tenth of them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rstream import AMQPMessage

import headwater as hw
from headwater.core.source import Boundedness
from headwater.testing.making import configured

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
from local_kinesis import LocalKinesis
from local_nats import LocalNats
from local_rabbitmq import LocalRabbitMq
from local_redis import LocalRedis

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PAYLOAD = b"x" * 100
STREAM = "load"
GETS = 20_000
SHARDS = 10
CHOICES = ["nats", "redis", "rabbitmq", "kinesis"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--splits", type=int, default=10_000)
    parser.add_argument("--only", choices=CHOICES, help="one of them; without it all")
    given = parser.parse_args()
    chosen = [given.only] if given.only else CHOICES
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[:1])
    with (
        LocalNats() as nats,
        LocalRedis(more=("--appendonly", "no")) as redis,
        LocalRabbitMq() as rabbitmq,
        LocalKinesis() as kinesis,
        TemporaryDirectory() as state,
    ):
        os.sched_setaffinity(0, cores[-1:])
        counts = dict.fromkeys(chosen, given.messages)
        if "nats" in chosen:
            nats.create_stream(STREAM, allow_direct=True)
            nats.publish((f"{STREAM}.{number % 10}", PAYLOAD) for number in range(given.messages))
        if "redis" in chosen:
            redis.add((STREAM, {"value": PAYLOAD}) for _ in range(given.messages))
        if "rabbitmq" in chosen:
            rabbitmq.create_stream(STREAM)
            message = bytes(AMQPMessage(body=PAYLOAD))
            rabbitmq.publish((STREAM, message) for _ in range(given.messages))
        if "kinesis" in chosen:
            counts["kinesis"] //= 5
            kinesis.create_stream(STREAM, SHARDS)
            kinesis.put(STREAM, ((f"key {number}", PAYLOAD) for number in range(counts["kinesis"])))
        spark = hw.session("benchmark", master="local[1]")
        frames: dict[str, Callable[[], DataFrame]] = {
            "nats": lambda: hw.read.nats(spark, servers=nats.url, streams=STREAM),
            "redis": lambda: hw.read.redis(spark, url=redis.url, keys=STREAM),
            "rabbitmq": lambda: hw.read.rabbitmq(spark, servers=rabbitmq.url, streams=STREAM),
            "kinesis": lambda: frame_of(spark, kinesis),
        }
        clients: dict[str, dict[str, Callable[[], int]]] = {
            "nats": {
                "nats-py, ordered consumer, callback": lambda: asyncio.run(ordered(nats.url, given.messages)),
                "nats-py, pull consumer, 1,000 a fetch": lambda: asyncio.run(pulled(nats.url, GETS)),
                "nats-py, direct get, 1,000 under way": lambda: asyncio.run(got(nats.url, GETS)),
            },
            "redis": {"redis-py, XRANGE, 10,000 a page": lambda: ranged(redis.url)},
            "rabbitmq": {
                "rstream, consumer, callback": lambda: asyncio.run(consumed(rabbitmq.port, given.messages))
            },
            "kinesis": {"boto3, GetRecords of 10,000": lambda: gotten(kinesis)},
        }
        for name in chosen:
            compare(name, clients[name], frames[name], counts[name], given.rounds)
        spark.stop()
        if "nats" in chosen:
            plan_nats(nats, given.splits)
        if "redis" in chosen:
            redis.add((f"many-{number}", {"value": PAYLOAD}) for number in range(given.splits))
            plan("redis", {"url": redis.url, "keys": "many-*"})
        if "rabbitmq" in chosen:
            rabbitmq.create_super_stream("many", given.splits // 10)
            rabbitmq.publish((f"many-{number}", message) for number in range(given.splits // 10))
            plan("rabbitmq", {**rabbitmq.options, "streams": "many"})
        if "kinesis" in chosen:
            kinesis.create_stream("many", given.splits)
            plan("kinesis", {**kinesis.options, "streams": "many", "stateLocation": state})


def frame_of(spark: SparkSession, server: LocalKinesis) -> DataFrame:
    options = {"source": "kinesis", **server.options, "streams": STREAM}
    return spark.read.format("headwater").options(**options).load()


def compare(
    name: str,
    clients: Mapping[str, Callable[[], int]],
    frame: Callable[[], DataFrame],
    messages: int,
    rounds: int,
) -> None:
    """Print rates of clients that count, and of the source in Spark, which drops the rows."""

    def in_spark() -> int:
        frame().write.format("noop").mode("overwrite").save()
        return messages

    in_spark()
    rates = {way: rate(take, rounds) for way, take in {**clients, "headwater, in Spark": in_spark}.items()}
    for way, each in rates.items():
        print(f"{name:6} {way:40} {each:>9,.0f} rows/s")
    print(
        f"{name:6} ratio {rates['headwater, in Spark'] / max(map(rates.__getitem__, clients)):.2f}",
        flush=True,
    )


def rate(take: Callable[[], int], rounds: int) -> float:
    """Return the median of rows a second."""
    rates = []
    for _ in range(rounds):
        began = time.perf_counter()
        count = take()
        rates.append(count / (time.perf_counter() - began))
    return statistics.median(rates)


async def consumed(port: int, count: int) -> int:
    from rstream import Consumer, ConsumerOffsetSpecification, OffsetType

    seen = 0
    done = asyncio.Event()

    async def counted(_: object, __: object) -> None:
        nonlocal seen
        seen += 1
        if seen == count:
            done.set()

    first = ConsumerOffsetSpecification(OffsetType.FIRST)
    async with Consumer("127.0.0.1", port, username="guest", password="guest") as consumer:
        await consumer.subscribe(STREAM, counted, offset_specification=first, initial_credit=100)
        await done.wait()
    return seen


async def ordered(url: str, count: int) -> int:
    import nats

    client = await nats.connect(url)
    seen = 0
    done = asyncio.Event()

    async def counted(_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == count:
            done.set()

    await client.jetstream().subscribe(f"{STREAM}.>", stream=STREAM, ordered_consumer=True, cb=counted)
    await done.wait()
    await client.close()
    return seen


async def pulled(url: str, count: int) -> int:
    import nats
    from nats.js.api import AckPolicy, ConsumerConfig

    client = await nats.connect(url)
    config = ConsumerConfig(ack_policy=AckPolicy.NONE)
    consumer = await client.jetstream().pull_subscribe(f"{STREAM}.>", stream=STREAM, config=config)
    seen = 0
    while seen < count:
        seen += len(await consumer.fetch(1_000))
    await client.close()
    return seen


async def got(url: str, count: int) -> int:
    import nats

    client = await nats.connect(url)
    stream = client.jetstream()

    def gets(first: int) -> Iterator[Awaitable[object]]:
        return (stream.get_msg(STREAM, number, direct=True) for number in range(first, first + 1_000))

    for first in range(1, count, 1_000):
        await asyncio.gather(*gets(first))
    await client.close()
    return count


def ranged(url: str) -> int:
    import redis

    client: Any = redis.Redis.from_url(url)
    seen = 0
    last = "-"
    while entries := client.xrange(STREAM, last, "+", 10_000):
        seen += len(entries)
        last = f"({entries[-1][0].decode()}"
    return seen


def gotten(server: LocalKinesis) -> int:
    seen = 0
    for shard in server.shards(STREAM):
        where = {"StreamName": STREAM, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = server.ask("get_shard_iterator", **where)["ShardIterator"]
        count = 1
        while count:
            answer = server.ask("get_records", ShardIterator=iterator, Limit=10_000)
            count = len(answer["Records"])
            seen += count
            iterator = answer["NextShardIterator"]
    return seen


def plan_nats(server: LocalNats, splits: int) -> None:
    with server.wire() as wire:
        for number in range(splits):
            name = f"many-{number}"
            config = {"name": name, "subjects": [f"{name}.>"], "storage": "memory", "retention": "limits"}
            wire.demand(f"STREAM.CREATE.{name}", {**config, "num_replicas": 1})
    server.publish((f"many-{number}.0", PAYLOAD) for number in range(splits))
    plan("nats", {"servers": server.url, "streams": "many-*"})


def plan(source: str, options: Mapping[str, str]) -> None:
    """Plan a batch over many streams, and say how long that took."""
    whole = {**options, "startingPosition": "earliest"}
    coordinator = configured(source, whole, Boundedness.CONTINUOUS_UNBOUNDED).create_coordinator()
    began = time.perf_counter()
    start = coordinator.initial_offset()
    end: Any = coordinator.plan_next(start, limited=True)
    tasks = coordinator.tasks(start, end)
    seconds = time.perf_counter() - began
    count = len(end.get("positions") or end["starts"])
    print(
        f"{source:6} {count:,} streams planned in {seconds:.1f} s, {len(tasks)} tasks",
        flush=True,
    )
    coordinator.close()


if __name__ == "__main__":
    main()
