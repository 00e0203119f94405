"""Ranges with open ends: cut or whole, they read what is there when they are bound."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headwater.connector.sources.kafka.configure import configure_kafka
from headwater.connector.sources.kafka.source import KafkaSource
from headwater.core.source import Boundedness
from headwater.core.split import SplitRange
from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST
from headwater.enumerators.kafka.split import KafkaPartitionSplit, OpenRange

SPLIT = KafkaPartitionSplit("t", 0, "5d9d4c2e-9f5f-4a0b-8d0e-0a6c7f2f8f11")
NO_ID = KafkaPartitionSplit("t", 0)


def source(**options: str) -> KafkaSource:
    given_options = {"kafka.bootstrap.servers": "nowhere:9092", "subscribe": "t", **options}
    made = configure_kafka(given_options, Boundedness.BOUNDED).source
    assert isinstance(made, KafkaSource)
    return made


def left_open(
    made: KafkaSource, start: int, stop: int, pieces: int = 1
) -> list[SplitRange[KafkaPartitionSplit, int]]:
    whole = SplitRange(SPLIT, start, stop)
    return [made.leave_open(piece, whole) for piece in made.cut(whole, pieces)]


def test_earliest_and_latest_are_left_open_and_the_topic_may_be_another() -> None:
    assert left_open(source(), 3, 21) == [OpenRange(NO_ID, EARLIEST, LATEST, True, True)]


def test_so_are_their_numbers_in_json_partition_by_partition() -> None:
    made = source(startingoffsets='{"t":{"0":-2}}', endingoffsets='{"t":{"0":-1}}')
    assert left_open(made, 3, 21) == [OpenRange(NO_ID, EARLIEST, LATEST, True, True)]


def test_an_offset_that_the_user_gave_is_fixed_and_so_is_the_topic_that_it_belongs_to() -> None:
    assert left_open(source(startingoffsets='{"t":{"0":5}}'), 5, 21) == [
        OpenRange(SPLIT, 5, LATEST, False, True)
    ]
    assert left_open(source(endingoffsets='{"t":{"0":9}}'), 0, 9) == [
        OpenRange(NO_ID, EARLIEST, 9, True, False)
    ]


def test_both_ends_given_or_found_by_timestamps_are_an_ordinary_range() -> None:
    for options in (
        {"startingoffsets": '{"t":{"0":5}}', "endingoffsets": '{"t":{"0":9}}'},
        {"startingtimestamp": "1000", "endingtimestamp": "2000"},
    ):
        assert left_open(source(**options), 5, 9) == [SplitRange(SPLIT, 5, 9)]


def test_of_a_cut_range_the_first_and_the_last_piece_keep_the_open_ends() -> None:
    pieces = left_open(source(), 0, 9, pieces=3)
    assert [(piece.start, piece.stop) for piece in pieces] == [(EARLIEST, 3), (3, 6), (6, LATEST)]


@given(st.integers(0, 50), st.integers(1, 50), st.integers(1, 8), st.integers(0, 120), st.integers(0, 120))
def test_pieces_together_read_what_the_whole_range_would(
    start: int, rows: int, pieces: int, earliest: int, more: int
) -> None:
    latest = earliest + more
    for options, expected in (
        ({}, range(earliest, latest)),
        ({"startingoffsets": f'{{"t":{{"0":{start}}}}}'}, range(start, latest)),
        ({"endingoffsets": f'{{"t":{{"0":{start + rows}}}}}'}, range(earliest, start + rows)),
    ):
        found: list[int] = []
        for piece in left_open(source(**options), start, start + rows, pieces):
            assert isinstance(piece, OpenRange)
            found += range(*piece.bounds(earliest, latest))
        assert found == list(expected)


def test_borders_between_pieces_do_not_move_without_need() -> None:
    bounds = [
        piece.bounds(0, 30) for piece in left_open(source(), 0, 9, pieces=3) if isinstance(piece, OpenRange)
    ]
    assert bounds == [(0, 3), (3, 6), (6, 30)]
    assert all(one[1] == other[0] for one, other in pairwise(bounds))
