"""Errors for damaged bytes, and for records that Spark cannot hold."""

from __future__ import annotations

from headwater.core.errors import CorruptRecordError, SourceError
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.kafka import layout

_FAULTS = {
    layout.FAULT_BATCH_TOO_SHORT: "is shorter than its own header",
    layout.FAULT_MAGIC: "has a format that does not exist (magic byte)",
    layout.FAULT_OFFSET: "has an offset outside of its batch",
    layout.FAULT_COUNT: "claims more records than its bytes can hold",
    layout.FAULT_RECORD_LENGTH: "has a record that reaches beyond the end of the batch",
    layout.FAULT_FIELD: "has a key or value that reaches beyond the end of its record",
    layout.FAULT_HEADER: "has a record with broken headers",
    layout.FAULT_CHECKSUM: "fails its checksum",
    layout.FAULT_BYTES_LEFT: "has bytes left after its last record",
}


def corrupt(reason: str, split_id: str, offset: int) -> CorruptRecordError:
    """Return the error for a record batch.

    Args:
        reason: goes on after "the record batch at offset 7".
        split_id: topic and partition.
        offset: the batch's first offset, as its header says. A broken header may say anything.
    """
    return CorruptRecordError(
        f"the record batch at offset {offset} {reason}; "
        "kafka-dump-log.sh --deep-iteration on the broker shows whether its log is damaged",
        source="kafka",
        split=split_id,
        position=offset,
    )


def fault(code: int, split_id: str, offset: int) -> CorruptRecordError:
    """Return the error for one of the kernel's fault codes."""
    return corrupt(_FAULTS[code], split_id, offset)


def beyond_spark(split: KafkaPartitionSplit, offset: int, timestamp_ms: int) -> SourceError:
    """Return the error for a record whose timestamp is no timestamp of Spark's; its bytes are as written."""
    return SourceError(
        f"the record at offset {offset} of topic {split.topic!r}, partition {split.partition}, has the "
        f"timestamp {timestamp_ms}, in milliseconds more than 292,000 years from 1970: Spark has no such "
        "timestamps. Was it written in another unit? To read on, leave the timestamp out with the option "
        "'columns'",
        source="kafka",
        split=split.split_id,
        position=offset,
    )


def too_large(codec: str, size: int, most_bytes: int, split_id: str, offset: int) -> SourceError:
    """Return the error for a record batch that may be right, and is larger than the user allows.

    Args:
        codec: its compression.
        size: how many bytes it has compressed.
        most_bytes: the most that it may have uncompressed.
        split_id: topic and partition.
        offset: the batch's first offset.
    """
    return SourceError(
        f"the record batch at offset {offset} has {size} bytes of {codec}, which are more than {most_bytes} "
        "bytes when they are decompressed. Whole batches are held in memory, so option "
        "'maxInflatedBatchBytes' bounds them: raise it, up to 2000000000, if there is memory for three times "
        "as much in each Python worker",
        source="kafka",
        split=split_id,
        position=offset,
    )
