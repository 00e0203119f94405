"""Exactly-once over Spark Connect: stream, stop, restart, and batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local_kafka import LocalKafka
from tests.exactly_once.pipeline import Pipeline
from tests.exactly_once.processes import Program
from tests.exactly_once.producing import produce

SLIPS = Path(__file__).parents[1] / "connector" / "slips"


@pytest.mark.slow
@pytest.mark.usefixtures("spark_connect_port")
def test_over_spark_connect_streams_bring_each_record_once_and_a_program_with_listeners_ends(
    pipeline: Callable[..., Pipeline],
    kafka: LocalKafka,
    topic: str,
    spark_conf: dict[str, Any],
    tmp_path: Path,
) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline(maxOffsetsPerTrigger=8).job(spark_conf)
    with Program("connect_client.py", job, tmp_path / "client.log", asked=True) as client:
        produced = produce(kafka, topic, 20)
        assert client.ask("stream") == places(produced)
        produced += produce(kafka, topic, 10)
        assert client.ask("stream") == places(produced)
        assert client.ask("batch") == places(produced)
        produce(kafka, topic, 10)
        reported = client.ask("lag")
        assert client.ask("slips") == (SLIPS / "connect_answers.txt").read_text()
        assert "'carry_over': needs a classic session" in client.ask("carry")
        assert client.ask("board") == 200
        # With a listener and a board that nobody has taken out of the session.
        client.finish(120)
    assert reported["lag"] == 0
    assert reported["splits"] == {f"{topic}-0": 0, f"{topic}-1": 0}


def places(produced: list[tuple[int, int]]) -> list[list[int]]:
    return [list(place) for place in sorted(produced)]
