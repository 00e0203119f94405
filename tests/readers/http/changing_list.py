"""A list whose items are added and changed while it is read, and the queries that follow it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from headwater.connector.sources.http.options import configure_http
from headwater.connector.sources.http.source import IncrementalHttpSource
from headwater.core.epoch import Barrier, EpochState
from headwater.core.source import Boundedness
from headwater.core.split import SplitRange
from headwater.core.state_store import MemoryStateStore, StateStore
from headwater.enumerators.http.split import HttpSplit, LogPosition
from tests.readers.http.scripted import Answer, Scripted, run

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Written:
    """How an API writes the time of a change.

    Attributes:
        kind: the option incrementalType.
        write: makes what stands in an item.
        read: reads what it is asked with.
    """

    kind: str
    write: Callable[[datetime], Any]
    read: Callable[[str], Any]


def _plain(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat()


def _seconds(moment: datetime) -> int:
    return int((moment - NOON).total_seconds())


WRITTEN = {
    "utc": Written("time", lambda at: at.isoformat().replace("+00:00", "Z"), datetime.fromisoformat),
    "zone": Written(
        "time",
        lambda at: at.astimezone(timezone(timedelta(hours=-5))).isoformat(" ", "milliseconds"),
        datetime.fromisoformat,
    ),
    "plain": Written("time", _plain, lambda raw: datetime.fromisoformat(raw).replace(tzinfo=UTC)),
    "number": Written("number", _seconds, lambda raw: NOON + timedelta(seconds=int(raw))),
    "text": Written("text", _plain, lambda raw: datetime.fromisoformat(raw).replace(tzinfo=UTC)),
}


@dataclass
class ChangingList:
    """An API over items with an id, a version and the time of their last change. Any thread.

    Attributes:
        page: so many items are on a page.
        sort: ``changed`` (the oldest change first, behind cursors), ``newest`` or ``id`` (behind numbers).
        filters: whether it heeds ``since``.
        written: how a time is written.
        before_page: called before each page is made.
        now: its clock.
        items: as they are now.
        history: each version that there ever was.
        asked: the values of ``since``.
    """

    page: int = 3
    sort: str = "changed"
    filters: bool = True
    written: Written = WRITTEN["utc"]
    before_page: Callable[[], None] = lambda: None
    now: datetime = NOON
    items: dict[int, dict[str, Any]] = field(default_factory=dict)
    history: list[tuple[int, int]] = field(default_factory=list)
    asked: list[str | None] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def latest(self) -> list[tuple[int, int]]:
        """The version of each item that is there now."""
        return sorted((number, item["version"]) for number, item in self.items.items())

    def put(self, number: int, *, after_s: float = 1, late_s: float = 0) -> None:
        """Add or change an item.

        Args:
            number: its id.
            after_s: how long after the change before.
            late_s: how long after its time the change can be seen.
        """
        with self.lock:
            self.now += timedelta(seconds=after_s)
            changed = self.now - timedelta(seconds=late_s)
            before = self.items.get(number)
            version = 1
            if before is not None:
                version = before["version"] + 1
                changed = max(changed, before["changed"] + timedelta(seconds=1))
            self.now = max(self.now, changed)
            self.items[number] = {"id": number, "version": version, "changed": changed}
            self.history.append((number, version))

    def answer(self, path: str) -> Answer:
        """Answer a request."""
        self.before_page()
        asked = dict(parse_qsl(urlsplit(path).query))
        with self.lock:
            since = asked.get("since")
            self.asked.append(since)
            found = list(self.items.values())
            if since is not None and self.filters:
                bound = self.written.read(since)
                found = [item for item in found if item["changed"] >= bound]
            shown, more = getattr(self, f"_page_by_{self.sort}")(found, asked)
            items = [{**item, "changed": self.written.write(item["changed"])} for item in shown]
            following = f"?{urlencode({**asked, **more})}" if more else None
            return 200, [], json.dumps({"items": items, "next": following}).encode()

    def _page_by_changed(self, found: list[Any], asked: dict[str, str]) -> tuple[list[Any], dict[str, str]]:
        def key(item: dict[str, Any]) -> str:
            return f"{item['changed'].isoformat()} {item['id']:9}"

        rest = sorted((item for item in found if key(item) > asked.get("after", "")), key=key)
        shown = rest[: self.page]
        return shown, {"after": key(shown[-1])} if len(rest) > self.page else {}

    def _page_by_newest(self, found: list[Any], asked: dict[str, str]) -> tuple[list[Any], dict[str, str]]:
        return self._numbered(
            sorted(found, key=lambda item: (item["changed"], item["id"]), reverse=True), asked
        )

    def _page_by_id(self, found: list[Any], asked: dict[str, str]) -> tuple[list[Any], dict[str, str]]:
        return self._numbered(sorted(found, key=lambda item: item["id"]), asked)

    def _numbered(self, found: list[Any], asked: dict[str, str]) -> tuple[list[Any], dict[str, str]]:
        first = int(asked.get("at", "0")) * self.page
        more = {"at": str(first // self.page + 1)} if first + self.page < len(found) else {}
        return found[first : first + self.page], more


@dataclass
class Follower:
    """A query over a list, epoch by epoch, whose process may die in each."""

    source: IncrementalHttpSource
    store: StateStore
    position: Any = None

    def __post_init__(self) -> None:
        self.position = self.position or LogPosition().to_json()

    def range(self) -> SplitRange[HttpSplit, Any]:
        return SplitRange(HttpSplit(self.source.urls[0]), self.position, None)

    def die(self, barrier: Barrier) -> None:
        """Read an epoch, and die before anyone knows how far."""
        run(self.source, barrier, self.range())

    def epoch(self, barrier: Barrier | None = None, **context: Any) -> list[tuple[int, int]]:
        """Read an epoch and read it again, which must bring the same; return the versions."""
        begin = self.range()
        rows, state = run(self.source, barrier or Barrier(), begin, **context)
        assert self.again(begin, state) == rows
        self.position = state.progress[0].position
        return versions(rows)

    def again(self, begin: SplitRange[HttpSplit, Any], state: EpochState) -> list[Any]:
        return run(self.source, Barrier(), begin, stop_at=state)[0]


def versions(rows: list[Any]) -> list[tuple[int, int]]:
    """Return the versions in rows."""
    found = [json.loads(row[3]) for row in rows]
    return [(item["id"], item["version"]) for item in found]


def follower(
    server: Scripted, made: ChangingList, store: StateStore | None = None, **options: str
) -> Follower:
    """Return a query over a list."""
    server.answer = made.answer

    def now() -> float:
        return made.now.timestamp()

    server.now = now
    store = store or MemoryStateStore()
    source = incremental_source(
        f"{server.origin}/a", incrementalType=made.written.kind, stateLocation="/state", **options
    )
    return Follower(replace(source, store=store, folder="query"), store)


def incremental_source(url: str, **options: str) -> IncrementalHttpSource:
    """Return a source of changes; of a batch, if there is no stateLocation."""
    given = {"url": url, "incrementalField": "changed", "incrementalParam": "since", **options}
    mode = Boundedness.CONTINUOUS_UNBOUNDED if "stateLocation" in given else Boundedness.BOUNDED
    source = configure_http(given, mode).source
    assert isinstance(source, IncrementalHttpSource)
    return source
