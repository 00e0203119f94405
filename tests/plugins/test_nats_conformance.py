"""The source for NATS JetStream passes the suites, with a real server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import ClassVar

import pytest

from headwater.testing import SourceTests
from local_nats import LocalNats


@pytest.fixture(autouse=True, scope="module")
def few_streams(nats: LocalNats) -> Iterator[None]:
    """Delete what the test of many splits has made: other tests list all streams."""
    yield
    with nats.wire() as wire:
        while names := wire.demand("STREAM.NAMES", {})["streams"]:
            for name in names:
                wire.demand(f"STREAM.DELETE.{name}")


class TestNats(SourceTests):
    source = "nats"
    worlds: ClassVar[Iterator[int]] = itertools.count()

    @pytest.fixture(autouse=True)
    def server(self, nats: LocalNats) -> None:
        self.nats = nats

    def options(self) -> Mapping[str, str]:
        world = f"world{next(self.worlds)}"
        for name in ("a", "b"):
            self.nats.create_stream(f"{world}-{name}")
            self.fill(f"{world}-{name}", 6)
        self.holes(f"{world}-a")
        return {"servers": self.nats.url, "streams": f"{world}-*", "startingPosition": "earliest"}

    def fill(self, stream: str, count: int) -> None:
        self.nats.publish((f"{stream}.{number % 3}", b"value %d" % number) for number in range(count))

    def holes(self, stream: str) -> None:
        """Delete a message in the middle and the last one: the head stays behind it."""
        with self.nats.wire() as wire:
            for number in (3, 6):
                wire.demand(f"STREAM.MSG.DELETE.{stream}", {"seq": number})

    def grow(self, options: Mapping[str, str]) -> None:
        world = options["streams"].removesuffix("-*")
        self.fill(f"{world}-a", 4)
        self.nats.create_stream(f"{world}-new")
        self.fill(f"{world}-new", 3)

    def forget(self, options: Mapping[str, str]) -> None:
        with self.nats.wire() as wire:
            for each in ("a", "b", "new"):
                wire.demand(f"STREAM.PURGE.{options['streams'].removesuffix('*')}{each}")

    def many_splits(self, count: int) -> Mapping[str, str]:
        world = f"world{next(self.worlds)}"
        with self.nats.wire() as wire:
            for number in range(count):
                name = f"{world}-{number}"
                config = {"name": name, "subjects": [f"{name}.>"], "storage": "memory", "num_replicas": 1}
                wire.demand(f"STREAM.CREATE.{name}", {**config, "retention": "limits"})
        self.nats.publish((f"{world}-{number}.0", b"%d" % number) for number in range(count))
        return {"servers": self.nats.url, "streams": f"{world}-*", "startingPosition": "earliest"}

    @pytest.mark.long
    def test_a_thousand_splits_fit_into_offsets_and_are_read_once(self) -> None:
        """Each split is a connection of its own: half a minute."""
        super().test_a_thousand_splits_fit_into_offsets_and_are_read_once()
