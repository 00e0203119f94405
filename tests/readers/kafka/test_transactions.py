"""read_committed: what aborted transactions wrote is left out, and nothing else."""

from __future__ import annotations

import random

import pytest

from headwater.core.errors import CorruptRecordError
from headwater.readers.kafka.record_set import RecordSet
from tests.readers.kafka.record_sets import TRANSACTIONAL, Record, batch, emitted, java_record_sets, marker


def written(base_offset: int, producer_id: int, *, transactional: bool = True) -> bytes:
    attributes = TRANSACTIONAL if transactional else 0
    return batch([Record(0), Record(1)], base_offset, attributes=attributes, producer_id=producer_id)


def offsets(
    data: bytes, aborted: list[tuple[int, int]], start: int = 0, *, read_committed: bool = True
) -> list[int]:
    return [row.offset for row in emitted(RecordSet(data, aborted, read_committed=read_committed), start)]


def test_an_aborted_transaction_is_left_out_and_its_producers_next_one_is_not() -> None:
    data = written(0, 7) + marker(2, 7, abort=True) + written(3, 7) + marker(5, 7, abort=False)
    assert offsets(data, [(7, 0)]) == [3, 4]


def test_uncommitted_reads_see_everything_but_markers() -> None:
    data = written(0, 7) + marker(2, 7, abort=True) + written(3, 7)
    assert offsets(data, [], read_committed=False) == [0, 1, 3, 4]


def test_other_producers_and_plain_batches_are_not_touched() -> None:
    data = (
        written(0, 7)
        + written(2, 8)
        + written(4, -1, transactional=False)
        + written(6, 7)
        + marker(8, 7, abort=True)
        + marker(9, 8, abort=False)
    )
    assert offsets(data, [(7, 0)]) == [2, 3, 4, 5]


def test_two_aborted_transactions_of_one_producer() -> None:
    data = (
        written(0, 7)
        + marker(2, 7, abort=True)
        + written(3, 7)
        + marker(5, 7, abort=True)
        + written(6, 7)
        + marker(8, 7, abort=False)
    )
    assert offsets(data, [(7, 3), (7, 0)]) == [6, 7]


def test_a_marker_before_the_wanted_offset_still_ends_its_transaction() -> None:
    data = written(0, 7) + marker(2, 7, abort=True) + written(3, 7)
    assert offsets(data, [(7, 0)], start=3) == [3, 4]


def test_a_transaction_that_began_before_the_response_is_aborted_too() -> None:
    assert offsets(written(100, 7) + marker(102, 7, abort=True) + written(103, 7), [(7, 4)]) == [103, 104]


def test_a_transaction_whose_marker_comes_in_a_later_response_is_aborted_to_the_end() -> None:
    assert offsets(written(0, 7) + written(2, 7) + written(4, 8), [(7, 0)]) == [4, 5]


def test_a_commit_marker_ends_nothing() -> None:
    assert offsets(written(0, 7) + marker(2, 7, abort=False) + written(3, 7), [(7, 0)]) == []


@pytest.mark.parametrize(("name", "left"), [("abort", [8, 9]), ("commit", [])])
def test_markers_as_kafka_writes_them(name: str, left: list[int]) -> None:
    assert offsets(written(5, 77) + java_record_sets()[name] + written(8, 77), [(77, 5)]) == left


def test_a_broken_marker_is_an_error() -> None:
    broken = bytearray(marker(2, 7, abort=True))
    broken[-1] ^= 1
    with pytest.raises(CorruptRecordError, match="offset 2 fails its checksum"):
        offsets(written(0, 7) + bytes(broken), [(7, 0)])


def test_any_interleaving_of_producers(rng: random.Random) -> None:
    for _ in range(50):
        data = b""
        aborted = []
        expected = []
        offset = 0
        open_since: dict[int, tuple[int, list[int]]] = {}
        for _ in range(40):
            producer = rng.randrange(4)
            if producer in open_since and rng.random() < 0.4:
                first, rows = open_since.pop(producer)
                abort = rng.random() < 0.5
                data += marker(offset, producer, abort=abort)
                if abort:
                    aborted.append((producer, first))
                else:
                    expected += rows
                offset += 1
            else:
                data += written(offset, producer)
                open_since.setdefault(producer, (offset, []))[1].extend([offset, offset + 1])
                offset += 2
        # The broker serves nothing after the first open transaction; here the open ones are taken as
        # committed later.
        expected += [row for _, rows in open_since.values() for row in rows]
        rng.shuffle(aborted)
        assert offsets(data, aborted) == sorted(expected)
