"""The driver is killed (SIGKILL) again and again while topics, or half of a cluster, are out of sight.

Records keep coming meanwhile. In the end each is written once, and none counts as lost.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from local_kafka import LocalKafka
from local_kafka_admin import until as until_of_cluster
from tests.connector.sources.kafka.permissions import PASSWORD, Ann
from tests.exactly_once.pipeline import Pipeline, logged_ids
from tests.exactly_once.processes import Program
from tests.exactly_once.producing import Producer
from tests.exactly_once.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.long, pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900)]

ROUNDS = int(os.environ.get("HEADWATER_CRASH_ROUNDS", "1"))
LIVES = 3
"""How many drivers are killed in each time out of sight."""

LIFE_S = 20
"""How long each of them lives; together they make the minute for which topics are out of sight."""

DATA_LOSS_ERROR = "DataLossError: "
"""In what a driver prints when `failOnDataLoss=true` ends it, and in no warning."""

ALL, SOME, ONE_BY_ONE = "all", "some", "one by one"
HIDDEN = {ALL: [[0, 1, 2]], SOME: [[0, 2]], ONE_BY_ONE: [[0], [1], [2]]}
"""Which of the topics go, step by step."""


class Job:
    """A pipeline, and the drivers that run it, one after the other."""

    def __init__(self, pipeline: Pipeline, conf: dict[str, Any], log: Path, rng: random.Random) -> None:
        self.pipeline = pipeline
        self._job = {**pipeline.job(conf), "master": "local[2]", "trigger": {}}
        self._log = log
        self._rng = rng

    def start(self) -> Program:
        return Program("driver.py", self._job, self._log)

    def commits(self) -> int:
        # By the last number: Spark keeps the files of the last hundred or so.
        return max(logged_ids(self.pipeline.checkpoint / "commits"), default=-1) + 1

    def run_until_it_reads(self) -> None:
        """Start a driver, and kill it after two batches more, of which the second one has new records."""
        wanted = self.commits() + 2
        with self.start() as driver:

            def reads() -> bool:
                driver.check()
                return self.commits() >= wanted

            until(reads, "two batches")

    def run_and_be_killed(self) -> str:
        """Start a driver, and kill it at some moment; return what it has printed."""
        before = self._log.stat().st_size
        life_s = LIFE_S * self._rng.uniform(0.7, 1.3)
        with self.start() as driver:
            ended = driver.ends_within(life_s)
        print(f"{'ended by itself' if ended else 'killed'} within {life_s:.0f} s", flush=True)
        with self._log.open("rb") as log:
            log.seek(before)
            return log.read().decode(errors="replace")

    def everything_once(self, producers: list[Producer]) -> None:
        """Read the rest in this process, and check that each record that was produced is in the sink once."""
        self.pipeline.drain()
        written = [place for producer in producers for place in producer.written]
        found = self.pipeline.rows("topic", "partition", "offset", "cast(cast(key as string) as int)")
        assert [row[1:] for row in found] == [
            place
            for producer in sorted(producers, key=lambda one: one.topic)
            for place in sorted(producer.written)
        ]
        assert "losses" not in self.pipeline.planned(self.pipeline.batch_ids()[-1])
        print(f"{len(written)} records, each written once, in {self.commits()} batches", flush=True)


@pytest.fixture
def job(
    spark: SparkSession, spark_conf: dict[str, Any], tmp_path: Path, rng: random.Random
) -> Callable[[str, dict[str, str]], Job]:
    """Make the job of these bootstrap servers and options."""
    return lambda servers, options: Job(
        Pipeline(spark, servers, tmp_path, options), spark_conf, tmp_path / "driver.log", rng
    )


@pytest.fixture(scope="module")
def guarded() -> Iterator[LocalKafka]:
    with LocalKafka(users={"ann": PASSWORD}, authorize=True) as running:
        yield running


@pytest.mark.parametrize("fail_on_data_loss", ["true", "false"])
@pytest.mark.parametrize("hidden", HIDDEN)
def test_topics_that_a_user_may_not_see_for_a_minute(
    guarded: LocalKafka,
    topic: str,
    job: Callable[[str, dict[str, str]], Job],
    hidden: str,
    fail_on_data_loss: str,
) -> None:
    with closing(Ann(guarded, [f"{topic}-{letter}" for letter in "abc"])) as ann, ExitStack() as stack:
        made = job(guarded.bootstrap("SASL_PLAINTEXT"), {**ann.options, "failOnDataLoss": fail_on_data_loss})
        producers = [Producer(guarded, name, 2) for name in ann.topics]
        for producer in producers:
            stack.enter_context(producer.running())
        made.run_until_it_reads()
        for _ in range(ROUNDS):
            left = list(ann.topics)
            for indexes in HIDDEN[hidden]:
                for index in indexes:
                    ann.sees_no_more(ann.topics[index])
                    left.remove(ann.topics[index])
                told = [made.run_and_be_killed() for _ in range(LIVES)]
                # If all are out of sight, nothing changes; if some are, only `false` goes on.
                fails = bool(left) and fail_on_data_loss == "true"
                assert any(DATA_LOSS_ERROR in text for text in told) == fails
            for name in ann.topics:
                ann.sees(name)
            made.run_until_it_reads()
        stack.close()
        made.everything_once(producers)


@pytest.mark.parametrize("fail_on_data_loss", ["true", "false"])
def test_half_of_a_cluster_that_is_dead_for_a_minute(
    topic: str, job: Callable[[str, dict[str, str]], Job], fail_on_data_loss: str
) -> None:
    with LocalKafka(2, heap_mb=256) as kafka:
        kafka.create_topic(topic, 4)
        options = {
            "subscribePattern": f"^{topic}$",
            "startingOffsets": "earliest",
            "failOnDataLoss": fail_on_data_loss,
        }
        made = job(kafka.bootstrap_servers, options)
        producer = Producer(kafka, topic, 4)
        with producer.running():
            made.run_until_it_reads()
            for _ in range(ROUNDS):
                kafka.brokers[2].kill()
                told = [made.run_and_be_killed() for _ in range(LIVES)]
                assert not any(DATA_LOSS_ERROR in text for text in told)
                kafka.brokers[2].restart()
                until_of_cluster(
                    lambda: min(kafka.leaders(topic).values()) > 0, "all partitions to have a leader"
                )
                made.run_until_it_reads()
        made.everything_once([producer])
