"""Limits and weights of single topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from headwater.connector.planned.admission import ReadLimits
from headwater.core.errors import OptionError
from headwater.core.options import integer, json_object
from headwater.enumerators.kafka.subscription import Subscription

_one_number = integer(1)


def offsets_per_trigger(raw: str) -> int | Mapping[str, int]:
    """A whole number of at least 1 for all topics, or a JSON object with one for each of some topics."""
    if not raw.strip().startswith("{"):
        return _one_number(raw)
    found = json_object(raw)
    for topic, limit in found.items():
        if type(limit) is not int or limit < 1:
            raise ValueError(f"must be a whole number of at least 1 for topic {topic!r}, not {limit!r}")
    if not found:
        raise ValueError("must name a topic, or be a number")
    return found


def weights(raw: str) -> Mapping[str, float]:
    """A JSON object with a number above 0 for each of some topics."""
    found = json_object(raw)
    for topic, weight in found.items():
        if type(weight) not in (int, float) or not 0 < weight < float("inf"):
            raise ValueError(f"must be a number above 0 for topic {topic!r}, not {weight!r}")
    if not found:
        raise ValueError("must name a topic")
    return found


def with_weights(limits: ReadLimits, given: Mapping[str, float] | None, *, aligned: bool) -> ReadLimits:
    """Return limits that topics share by weight.

    Args:
        limits: of a batch.
        given: the weights; None for none.
        aligned: whether batches are aligned by event time.

    Raises:
        OptionError: nothing is shared, or not by weight.
    """
    if given is None:
        return limits
    if limits.max_rows is None and limits.max_bytes is None and limits.target is None:
        raise OptionError(
            "needs a limit that topics share: maxOffsetsPerTrigger as one number, maxBytesPerTrigger or "
            "targetBatchDuration",
            option="topicWeights",
        )
    if aligned:
        raise OptionError(
            "cannot be used with maxEventTimeSkew: there the time decides how much of each topic is read",
            option="topicWeights",
        )
    return replace(limits, weights=given)


def check_topics(named: Iterable[str], wanted: Subscription, option: str) -> None:
    """Check that the topics that an option names are read.

    Raises:
        OptionError: one of them is not.
    """
    for topic in named:
        topics = wanted.topics
        if not (wanted.selects(topic, 0) if topics is None else topic in topics):
            raise OptionError(f"names topic {topic!r}, which this query does not read", option=option)
