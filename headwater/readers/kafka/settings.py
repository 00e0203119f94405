"""How tasks read Kafka, as the options say it."""

from __future__ import annotations

from typing import Final

from headwater.core.end_condition import OPTION, EndCondition, end_condition
from headwater.core.options import Spec, boolean, integer, option, positive_duration_ms

_MOST_INFLATED_BYTES: Final = 2_000_000_000
"""Arrow's offsets have 31 bits, and a batch may share its chunk with smaller ones."""


def _inflated_bytes(raw: str) -> int:
    size = integer(1)(raw)
    if size > _MOST_INFLATED_BYTES:
        raise ValueError(f"must not be more than {_MOST_INFLATED_BYTES}")
    return size


class KafkaReadSettings(Spec):
    """The settings of the split reader and the emitter of a task. Picklable."""

    fail_on_data_loss: bool = option(
        "failOnDataLoss",
        "Whether records that are gone before they were read fail the query; otherwise a warning names what "
        "is missing, and a stream counts it (`hw.LagListener`).",
        default=True,
        parse=boolean,
    )
    most_inflated_bytes: int = option(
        "maxInflatedBatchBytes",
        "A compressed record batch that is larger than this when it is decompressed is an error. Memory is "
        "taken as the records need it: a Python worker needs about three times as much as its largest batch.",
        default=1 << 30,
        parse=_inflated_bytes,
        kind="whole_number",
        shown_default="`1073741824`",
        after="groupIdPrefix",
    )
    stop_at: EndCondition | None = option(
        OPTION,
        'A partition ends at the first record that has these values, JSON by column: `{"key": "end"}`, '
        '`{"headers.kind": "end"}`, with `valueFormat` `{"value.kind": "end"}`. Neither that record nor '
        "one behind it is read, also after a restart; when all partitions have ended, a batch and an "
        "AvailableNow run end.",
        default=None,
        parse=end_condition,
        kind="json",
    )
    poll_timeout_ms: int = option(
        "kafkaConsumer.pollTimeoutMs",
        "How long a task waits for a cluster that gives nothing before it fails (and Spark retries it). "
        "An answer that would mean loss is given the 3 s after which it is believed, whatever is set here.",
        default=120_000,
        parse=positive_duration_ms,
        after="commitOffsetsToGroup",
    )
