"""The source for Redis Streams passes the suites, with a real server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

import pytest

from headwater.testing import SourceTests
from local_redis import LocalRedis


class TestRedis(SourceTests):
    source = "redis"
    worlds: ClassVar[Iterator[int]] = itertools.count()

    @pytest.fixture(autouse=True)
    def server(self, redis: LocalRedis) -> None:
        self.redis = redis

    def options(self) -> Mapping[str, str]:
        world = f"world{next(self.worlds)}"
        for name in ("a", "b"):
            self.fill(f"{world}:{name}", 8)
        self.holes(f"{world}:a")
        return {"url": self.redis.url, "keys": f"{world}:*", "startingPosition": "earliest"}

    def fill(self, key: str, count: int) -> None:
        self.redis.add((key, {"value": b"value %d" % number, "n": b"%d" % number}) for number in range(count))

    def holes(self, key: str) -> None:
        """Delete an entry in the middle and the last one: the head stays behind it."""
        ids = [number for number, _ in self.redis.stored(key)]
        with self.redis.wire() as wire:
            wire.ask("XDEL", key, ids[3], ids[-1])

    def grow(self, options: Mapping[str, str]) -> None:
        world = options["keys"].removesuffix(":*")
        self.fill(f"{world}:a", 4)
        self.fill(f"{world}:new", 3)

    def forget(self, options: Mapping[str, str]) -> None:
        with self.redis.wire() as wire:
            for name in ("a", "b", "new"):
                wire.ask("XTRIM", f"{options['keys'].removesuffix('*')}{name}", "MAXLEN", "0")

    @contextmanager
    def out_of_sight(self, options: Mapping[str, str]) -> Iterator[None]:
        key = options["keys"].replace("*", "a")
        with self.redis.wire() as wire:
            wire.ask("RENAME", key, f"hidden-{key}")
            yield
            wire.ask("RENAME", f"hidden-{key}", key)

    def many_splits(self, count: int) -> Mapping[str, str]:
        world = f"world{next(self.worlds)}"
        self.redis.add((f"{world}:{number}", {"value": b"%d" % number}) for number in range(count))
        return {"url": self.redis.url, "keys": f"{world}:*", "startingPosition": "earliest"}

    @pytest.mark.long
    def test_a_thousand_splits_fit_into_offsets_and_are_read_once(self) -> None:
        """Each split is a connection of its own: half a minute."""
        super().test_a_thousand_splits_fit_into_offsets_and_are_read_once()
