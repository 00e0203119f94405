"""The default of the option parallelism, also where the operating system tells less than Linux does."""

from __future__ import annotations

import os

import pytest

from headwater.connector.cpus import PARALLELISM_VARIABLE, available_cpus, known_parallelism
from headwater.connector.sources.kafka.configure import configure_kafka
from headwater.core.errors import OptionError
from headwater.core.source import Boundedness


def test_the_cpus_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 3, 5}, raising=False)
    assert available_cpus() == 3


@pytest.mark.parametrize(("cpus", "found"), [(8, 8), (None, 1)])
def test_they_are_counted_where_processes_have_no_affinity(
    cpus: int | None, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cpus)
    assert available_cpus() == found


def kafka_parallelism(**options: str) -> int | None:
    given = {"kafka.bootstrap.servers": "nowhere:9092", "subscribe": "orders", **options}
    return configure_kafka(given, Boundedness.CONTINUOUS_UNBOUNDED).hints.parallelism


def test_what_the_driver_is_told_is_the_default_of_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PARALLELISM_VARIABLE, raising=False)
    assert (known_parallelism(), kafka_parallelism(), kafka_parallelism(parallelism="3")) == (None, None, 3)
    monkeypatch.setenv(PARALLELISM_VARIABLE, "48")
    assert (known_parallelism(), kafka_parallelism(), kafka_parallelism(parallelism="3")) == (48, 48, 3)


@pytest.mark.parametrize("wrong", ["0", "-1", "many", "1.5"])
def test_what_is_no_number_of_tasks_is_refused(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PARALLELISM_VARIABLE, wrong)
    with pytest.raises(OptionError, match="HEADWATER_PARALLELISM must be a whole number of at least 1"):
        kafka_parallelism()
