"""What is yielded is sent on, where there is a writer to be found."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from headwater.connector.async_io.worker_streams import check_reader, flush_output


class Stream:
    def __init__(self) -> None:
        self.written: list[int] = []
        self.sent: list[int] = []

    def flush(self) -> None:
        self.sent = list(self.written)


def numbers() -> Iterator[int]:
    for number in range(3):
        yield number
        flush_output()


def dump_stream(iterator: Iterator[int], stream: Stream) -> Iterator[list[int]]:
    for number in iterator:
        yield stream.sent
        stream.written.append(number)


def test_each_is_sent_before_the_next_is_made() -> None:
    stream = Stream()
    assert list(dump_stream(numbers(), stream)) == [[], [0], [0, 1]]
    assert stream.sent == [0, 1, 2]


def test_an_end_on_the_other_side_is_noticed() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, ours.makefile("wb") as stream:

        def dump_stream(stream: Any) -> None:
            check_reader()

        dump_stream(stream)
        theirs.close()
        with pytest.raises(BrokenPipeError, match="Spark has ended the task"):
            dump_stream(stream)


def test_without_a_writer_nothing_happens() -> None:
    assert list(numbers()) == [0, 1, 2]
    check_reader()
