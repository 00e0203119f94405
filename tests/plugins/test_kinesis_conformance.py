"""The source for Kinesis passes the suites, with a server of its protocol."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import ClassVar

import pytest

from headwater.testing import SourceTests
from local_kinesis import LocalKinesis


class TestKinesis(SourceTests):
    source = "kinesis"
    worlds: ClassVar[Iterator[int]] = itertools.count()

    @pytest.fixture(autouse=True)
    def server(self, kinesis: LocalKinesis) -> None:
        self.kinesis = kinesis

    def options(self) -> Mapping[str, str]:
        """Make a stream whose first shard has been split, and one with two shards."""
        world = f"world{next(self.worlds)}"
        for stream, shards in ((f"{world}-a", 1), (f"{world}-b", 2)):
            self.kinesis.create_stream(stream, shards)
            self.fill(stream, 8)
        self.kinesis.split(f"{world}-a", self.kinesis.open_shards(f"{world}-a")[0])
        self.fill(f"{world}-a", 4)
        return {
            **self.kinesis.options,
            "streams": f"{world}-a,{world}-b",
            "startingPosition": "earliest",
        }

    def fill(self, stream: str, count: int) -> None:
        self.kinesis.put(stream, ((f"key {number}", b"%d" % number) for number in range(count)))

    def grow(self, options: Mapping[str, str]) -> None:
        """Put records before and after two shards of the first stream are merged."""
        stream, _ = options["streams"].split(",")
        self.fill(stream, 4)
        lower, upper, *_ = self.kinesis.open_shards(stream)
        self.kinesis.merge(stream, lower, upper)
        self.fill(stream, 3)
        self.kinesis.split(stream, self.kinesis.open_shards(stream)[0])
        self.fill(stream, 3)

    def many_splits(self, count: int) -> Mapping[str, str]:
        stream = f"world{next(self.worlds)}"
        self.kinesis.create_stream(stream, count)
        self.fill(stream, count)
        return {**self.kinesis.options, "streams": stream, "startingPosition": "earliest"}

    @pytest.mark.long
    def test_a_thousand_splits_fit_into_offsets_and_are_read_once(self) -> None:
        """Each shard is some requests, one after the other: two minutes."""
        super().test_a_thousand_splits_fit_into_offsets_and_are_read_once()
