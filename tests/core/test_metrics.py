"""The table of metrics, how parts of a value are joined, and what a plugin may count."""

from __future__ import annotations

import re
import threading

import pytest

import headwater as hw
from headwater.core.errors import ContractError
from headwater.core.metrics import (
    COUNTERS,
    MOST_OWN_COUNTERS,
    SOURCE_METRICS,
    Counters,
    ReportedMetrics,
    joined,
)


def test_each_metric_has_names_a_meaning_and_is_a_counter_only_if_its_parts_are_added() -> None:
    for name, metric in SOURCE_METRICS.items():
        assert re.fullmatch("[a-z]+([A-Z][a-z]+)*", name)
        assert metric.description.endswith(".")
        assert metric.kind == "gauge" or metric.joined == "sum"
    exported = {(metric.exported, metric.unit) for metric in SOURCE_METRICS.values()}
    assert len(exported) == len(SOURCE_METRICS)


def test_counts_of_threads_are_added_up_and_taken_once() -> None:
    counters = Counters()

    def count_often() -> None:
        for _ in range(1_000):
            counters.add("seen", 2)

    threads = [threading.Thread(target=count_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (counters.take(), counters.take()) == ({"seen": 8_000}, {})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pendingRecords", "'pendingRecords' is measured by headwater"),
        ("", "is no name of a counter"),
        ("split-7", "is no name of a counter"),
        ("x" * 41, "is no name of a counter"),
        (7, "is no name of a counter"),
    ],
)
def test_a_name_that_no_counter_can_have_is_refused(name: str, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        hw.count(name)


def test_counters_with_values_in_their_names_are_refused_before_they_are_many() -> None:
    counters = Counters()
    for number in range(MOST_OWN_COUNTERS):
        counters.add(f"order{number}", 1)
    counters.add("order0", 1)
    with pytest.raises(ContractError, match="Is there a value in the name"):
        counters.add("another", 1)


def test_counters_grow_and_gauges_are_those_of_the_last_batch() -> None:
    COUNTERS.take()
    metrics = ReportedMetrics()
    metrics.begin_batch()
    metrics.add({"seen": 1, "currentEmitEventTimeLag": 70})
    metrics.add({"seen": 2, "currentEmitEventTimeLag": 50})
    assert metrics.report({}) == {"seen": 3, "currentEmitEventTimeLag": 70}
    metrics.begin_batch()
    metrics.add({"seen": 0})
    assert metrics.report({})["currentEmitEventTimeLag"] == 70, "until a task has read something"
    metrics.add({"seen": 4, "currentEmitEventTimeLag": 20})
    hw.count("seen", 10)
    assert metrics.report({"pendingRecords": 1}) == {
        "seen": 17,
        "currentEmitEventTimeLag": 20,
        "pendingRecords": 1,
    }
    assert metrics.report({})["seen"] == 17, "what the driver counts is taken once"


def test_parts_of_a_gauge_that_is_a_maximum_are_not_added() -> None:
    parts = [{"isProcessingBacklog": 1, "unassignedSplits": 2}, {"isProcessingBacklog": 1}]
    assert joined([*parts, {"unassignedSplits": 3}]) == {"isProcessingBacklog": 1, "unassignedSplits": 5}
