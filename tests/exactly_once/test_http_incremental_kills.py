"""A stream of a list that changes is killed (SIGKILL) while it does, and each version is written once."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.exactly_once.barrier_job import BarrierJob
from tests.exactly_once.waiting import repeating
from tests.readers.http.changing_list import ChangingList
from tests.readers.http.scripted import scripted_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = int(os.environ.get("HEADWATER_CRASH_ROUNDS", "6"))
"""Rounds of the long test."""
ITEMS = 300
_PAUSE_S = 0.02


def change(made: ChangingList, rng: random.Random) -> None:
    """Change an item, or add one."""
    number = rng.randrange(len(made.items) + 5)
    made.now = max(made.now, datetime.now(UTC))
    made.put(min(number, len(made.items)), after_s=0)


@dataclass(frozen=True)
class Query:
    """A query over a list that changes, from a server of its own.

    Attributes:
        spark: finishes the query, and reads what was written.
        conf: of its drivers.
        folder: of everything.
        made: the list.
        url: of the list.
    """

    spark: SparkSession
    conf: dict[str, Any]
    folder: Path
    made: ChangingList
    url: str

    def kill(self, rounds: int, rng: random.Random, **settings: Any) -> Counter[str]:
        """Kill it in rounds while the list changes, finish it, and look at what was written.

        Returns:
            What was killed.
        """
        options = {
            "source": "http",
            "url": self.url,
            "incrementalField": "changed",
            "incrementalParam": "since",
            "incrementalOverlap": "2s",
            "barrierRows": "120",
            "pollInterval": "100ms",
        }
        job = BarrierJob(self.spark, self.conf, self.folder, options, ["item"], **settings)
        for number in range(ITEMS):
            self.made.put(number, after_s=0.001)
        with repeating(lambda: change(self.made, rng), _PAUSE_S):
            killed = job.kill_rounds(rounds, rng)
        # A round that is under way ends; what changed behind its back comes in the next one.
        job.finish()
        job.finish()
        items = [json.loads(row[0]) for row in job.rows("item")]
        seen = Counter((item["id"], item["version"]) for item in items)
        assert [version for version, times in seen.items() if times > 1] == []
        assert set(self.made.latest) <= set(seen) <= set(self.made.history)
        return killed


@pytest.fixture
def query(spark: SparkSession, spark_conf: dict[str, Any], tmp_path: Path) -> Iterator[Query]:
    made = ChangingList(page=40, now=datetime.now(UTC))
    with scripted_server() as server:
        server.answer = made.answer
        yield Query(spark, spark_conf, tmp_path, made, f"{server.origin}/a")


@pytest.mark.crash
@pytest.mark.slow
def test_each_version_is_written_once_though_a_driver_is_killed(query: Query, rng: random.Random) -> None:
    query.made.sort = "id"
    assert query.kill(1, rng) == {"Python worker": 1, "driver": 1}


@pytest.mark.crash
@pytest.mark.long
@pytest.mark.timeout(600 + 90 * ROUNDS)
@pytest.mark.parametrize("sort", ["changed", "newest"])
def test_each_version_is_written_once_over_many_kills(sort: str, query: Query, rng: random.Random) -> None:
    query.made.sort = sort
    killed = query.kill(ROUNDS, rng, master="local-cluster[1,2,512]")
    assert killed == {"Python worker": ROUNDS, "executor": ROUNDS, "driver": ROUNDS}
