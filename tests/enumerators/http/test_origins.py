"""Servers that ask to be left alone, as events between readers and the enumerator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from headwater.core.clock import ManualClock
from headwater.core.enumerator import BarrierSplitEnumeratorContext, Checkpoint
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitPath
from headwater.enumerators.http.enumerator import HttpSplitEnumerator
from headwater.enumerators.http.origins import OriginWaits, origin
from headwater.enumerators.http.split import HttpSplit

HERE = HttpSplit("https://api.example/items")
ALSO_HERE = HttpSplit("https://api.example:443/orders")
ELSEWHERE = HttpSplit("https://other.example/items")


class Context(BarrierSplitEnumeratorContext[HttpSplit, JsonValue]):
    """Notes what is sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[SplitPath, JsonValue]] = []

    def assign_splits(self, starts: Mapping[SplitPath, tuple[HttpSplit, JsonValue]]) -> None:
        pass

    def retire_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        pass

    def call_async(self, call: Any, handler: Any, *, what: str) -> None:
        raise NotImplementedError

    def send_event_to_source_reader(self, path: SplitPath, event: JsonValue) -> None:
        self.sent.append((path, event))


def test_the_readers_of_other_lists_of_a_server_are_told_for_how_long_still() -> None:
    clock = ManualClock()
    context = Context()
    splits = (HERE, ALSO_HERE, ELSEWHERE)
    enumerator = HttpSplitEnumerator(context, [split.url for split in splits], left_out=0, clock=clock)
    positions: dict[SplitPath, JsonValue] = {split.path: None for split in splits}
    checkpoint = Checkpoint({split.path: split for split in splits}, positions, None)
    enumerator.handle_source_event(OriginWaits.event(origin(HERE.url), 60_000))
    clock.advance(20_000)
    enumerator.refresh(checkpoint)
    event = OriginWaits.event(origin(HERE.url), 40_000)
    assert context.sent == [(HERE.path, event), (ALSO_HERE.path, event)]
    clock.advance(40_000)
    enumerator.refresh(checkpoint)
    assert len(context.sent) == 2
    assert enumerator.snapshot_state() is None


def test_the_later_end_of_two_waits_counts() -> None:
    waits = OriginWaits(ManualClock())
    waits.take(OriginWaits.event("https://a:443", 500))
    waits.take(OriginWaits.event("https://a:443", 200))
    assert (waits.left_ms("https://a:443"), waits.left_ms("https://b:443")) == (500, 0)


def test_a_server_that_asks_to_be_left_alone_is_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = ManualClock()
    enumerator = HttpSplitEnumerator(Context(), [HERE.url], left_out=0, clock=clock)
    for _ in range(121):
        enumerator.handle_source_event(OriginWaits.event(origin(HERE.url), 1_000))
        clock.advance(1_000)
    assert caplog.text.count("asks to be left alone for 1000 ms; its lists wait") == 3


def test_what_readers_left_out_is_logged_with_its_url_and_counted_on_after_a_restart(
    caplog: pytest.LogCaptureFixture,
) -> None:
    enumerator = HttpSplitEnumerator(Context(), [HERE.url], left_out=0)
    enumerator.handle_source_event("http://x/a: HTTP 404: gone")
    again = HttpSplitEnumerator(Context(), [HERE.url], left_out=cast("int", enumerator.snapshot_state()))
    again.handle_source_event("http://x/b: HTTP 404: gone")
    assert "1 pages or lists were left out so far, now http://x/a: HTTP 404" in caplog.text
    assert "2 pages or lists were left out so far, now http://x/b: HTTP 404" in caplog.text


@pytest.mark.parametrize("event", ["a page was left out", {"other": 1}, None])
def test_other_events_are_none_of_these(event: JsonValue) -> None:
    assert not OriginWaits.is_event(event)
