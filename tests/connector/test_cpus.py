"""The default of the option parallelism, also where the operating system tells less than Linux does."""

from __future__ import annotations

import os

import pytest

from headwater.connector.cpus import available_cpus
from headwater.connector.sources.kafka.source import configure_kafka
from headwater.core.source import Boundedness


def test_the_cpus_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 3, 5}, raising=False)
    assert available_cpus() == 3


@pytest.mark.parametrize(("cpus", "parallelism"), [(8, 8), (None, 1)])
def test_the_kafka_source_can_be_made_where_processes_have_no_affinity(
    cpus: int | None, parallelism: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cpus)
    options = {"kafka.bootstrap.servers": "nowhere:9092", "subscribe": "orders"}
    made = configure_kafka(options, Boundedness.CONTINUOUS_UNBOUNDED)
    assert made.hints.parallelism == parallelism
