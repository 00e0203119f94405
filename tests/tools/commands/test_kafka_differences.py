"""Which documented differences concern a query: by its options, and by what its rows showed."""

from __future__ import annotations

import pytest

from headwater.tools.commands.kafka_differences import DIFFERENCES, QueryFacts

ALWAYS = {"longer-topic-created-anew", "continuous-trigger", "metrics"}


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({}, set()),
        ({"subscribe": "a"}, {"narrowed-subscription", "aged-topic"}),
        ({"subscribe": "__consumer_offsets"}, {"narrowed-subscription", "aged-topic", "internal-topic"}),
        ({"subscribepattern": "a"}, {"java-pattern", "aged-topic"}),
        ({"assign": '{"a":[0]}'}, {"assigned-partition-missing", "bent-json"}),
        ({"failondataloss": "False"}, {"shorter-topic-created-anew"}),
        ({"startingoffsets": "earliest"}, {"bent-json"}),
        ({"minoffsetspertrigger": "1"}, {"available-now-with-a-minimum"}),
        ({"startingtimestamp": "1"}, {"negative-timestamp"}),
        ({"endingtimestamp": "1"}, {"ending-timestamp-of-a-stream"}),
        ({"startingoffset": "1"}, {"unknown-option"}),
        ({"kafka.isolation.levle": "1"}, {"unknown-kafka-property"}),
    ],
)
def test_options_decide_which_differences_concern_a_query(options: dict[str, str], more: set[str]) -> None:
    query = QueryFacts(options)
    assert {name for name, each in DIFFERENCES.items() if each.concerns(query)} == ALWAYS | more


def test_times_that_differ_are_explained() -> None:
    query = QueryFacts({}, frozenset({"timestamp"}))
    found = {name for name, each in DIFFERENCES.items() if each.concerns(query)}
    assert found - ALWAYS == {"timestamp-before-1582", "timestamp-of-local-mean-time"}
