"""The base of all readers of a REST API: turns, the rate, and the treatment of answers."""

from __future__ import annotations

import math
import threading
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Generic

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecords, pause_or_resume
from headwater.core.clock import Clock
from headwater.core.errors import CorruptRecordError, DataLossError, NoConnectionError, TransientSourceError
from headwater.core.jsons import JsonValue
from headwater.core.redaction import logger_of
from headwater.core.retry import Backoff, Retry
from headwater.core.split import SplitPath, SplitRange
from headwater.enumerators.http.origins import OriginWaits, origin, without_parameters
from headwater.enumerators.http.split import HttpSplit
from headwater.readers.http.client import HttpClient, RequestRate
from headwater.readers.http.credentials import TokenLaterError
from headwater.readers.http.pages import HttpPage, PageSaysError
from headwater.readers.http.paging import NextPage, OpenT, PageLink, next_page, warn_of_absent
from headwater.readers.http.response import HttpResponse, action_of, refusal, wait_ms
from headwater.readers.http.settings import HttpSettings

log = logger_of(__name__)

MOST_LEFT_OUT: Final = 10
"""This number of pages in a row that cannot be read is the end of a list whose pages are counted."""
_IDLE_MS: Final = 100
_MOST_WAIT_MS: Final = 5_000
"""The longest pause within an epoch. After a longer one the split comes up in a later epoch."""
_SHOWN: Final = 500


class PagedSplitReader(BarrierSplitReader[HttpSplit, JsonValue], Generic[OpenT]):
    """Each fetch handles one page of one split.

    That is one request, mostly. It is more where a page brings nothing by itself, but only leads to another
    one: an epoch may end after a fetch, and the next one would begin where this one did, again and again.

    It never asks faster than the rate. A list whose server fails, or asks to be left alone, is paused for
    that time. A wake-up ends every wait.

    Args:
        settings: the user's settings.
        clock: time.
        rate: of the task.
    """

    def __init__(self, settings: HttpSettings, clock: Clock, rate: RequestRate) -> None:
        self._settings = settings
        self._open: dict[SplitPath, OpenT] = {}
        self._paused: dict[SplitPath, OpenT] = {}
        self._clock = clock
        self._client = HttpClient(settings)
        self._waits = OriginWaits(clock)
        self._limited: set[str] = set()
        self._failing: dict[SplitPath, Retry] = {}
        self._has_answer = False
        self._woken = threading.Event()
        self._rate = rate
        self._turn_ms: float | None = None

    @abstractmethod
    def _opened(self, split_range: SplitRange[HttpSplit, JsonValue]) -> OpenT:
        """Begin with a split. Opens nothing outside."""

    @abstractmethod
    def _without_request(self, current: OpenT) -> EpochRecords | None:
        """Return the next records where no page is asked for; None if one is to be."""

    @abstractmethod
    def _read(self, current: OpenT, answer: HttpResponse) -> EpochRecords:
        """Return the records of the page that was asked for.

        Raises:
            CorruptRecordError: it cannot be read.
            DataLossError: it has lost items.
        """

    @abstractmethod
    def _leave_out(self, current: OpenT, reason: str) -> EpochRecords:
        """Go on behind a page that cannot be read."""

    @abstractmethod
    def _end(self, current: OpenT) -> EpochRecords:
        """End where no page says so, because a status does."""

    def handle_splits_changes(self, added: Sequence[SplitRange[HttpSplit, JsonValue]]) -> None:
        self._open.update((split_range.split.path, self._opened(split_range)) for split_range in added)

    def handle_splits_removal(self, removed: Sequence[SplitPath]) -> None:
        for path in removed:
            self._open.pop(path, None)
            self._paused.pop(path, None)

    def pause_or_resume_splits(self, paused: Sequence[SplitPath], resumed: Sequence[SplitPath]) -> None:
        pause_or_resume(self._open, self._paused, paused, resumed)

    def handle_source_event(self, event: JsonValue) -> None:
        """Another task was asked to leave a server alone: so is this one."""
        if OriginWaits.is_event(event):
            self._waits.take(event)

    def fetch(self) -> EpochRecords:
        try:
            return self._fetch()
        finally:
            # A wake-up is for the fetch that it finds: the next one is a turn of its own.
            self._woken.clear()

    def wake_up(self) -> None:
        # In this order: the fetch whose request is broken off sees why.
        self._woken.set()
        self._client.interrupt()

    def close(self) -> None:
        self._client.close()

    def _fetch(self) -> EpochRecords:
        if not self._open:
            self._clock.wait(self._woken, _IDLE_MS)
            return EpochRecords()
        # The one that waited longest.
        current = next(iter(self._open.values()))
        records = EpochRecords()
        while records == EpochRecords():
            without_request = self._without_request(current)
            if without_request is None and self._wait_for_turn():
                break
            records = self._ask_once(current) if without_request is None else without_request
        path = current.split.path
        if path in self._open:
            # What goes on stands behind the others.
            self._open[path] = self._open.pop(path)
        return records

    def _ask_once(self, current: OpenT) -> EpochRecords:
        self._turn_ms = None
        try:
            return self._ask(current)
        except TransientSourceError as error:
            # After a wake-up the failure is our own: it has broken off the request.
            if self._woken.is_set():
                return EpochRecords()
            path = current.split.path
            if isinstance(error, NoConnectionError):
                error.is_first = current.is_new and not self._has_answer
            retry = self._retry_of(current, error)
            return EpochRecords(failed={path: error}, paused={path: retry.failed(error)})

    def _wait_for_turn(self) -> bool:
        """Wait until a request may be made; return whether a wake-up came first."""
        now_ms = self._clock.monotonic_ms()
        # After a wake-up the turn is still this reader's.
        self._turn_ms = self._rate.take(now_ms) if self._turn_ms is None else self._turn_ms
        left_ms = math.ceil(self._turn_ms - now_ms)
        return self._clock.wait(self._woken, left_ms) if left_ms > 0 else self._woken.is_set()

    def _retry_of(self, current: OpenT, error: TransientSourceError) -> Retry:
        backoff = Backoff(deadline_ms=self._settings.deadline_ms)
        is_new = current.is_new and not self._has_answer
        retry = Retry(backoff, self._clock, "reading source http", is_new=is_new)
        return self._failing.setdefault(current.split.path, retry)

    def _ask(self, current: OpenT) -> EpochRecords:
        """Ask for a page, unless its server wants to be left alone.

        Raises:
            TransientSourceError: it is to be asked again.
        """
        link = current.asked
        servers = [] if current.is_second_reading else self._client.servers(link.url)
        left_ms = max(map(self._waits.left_ms, servers), default=0)
        if left_ms > 0:
            return self._leave_alone(current, left_ms)
        try:
            answer = self._client.ask(link.url, link.cursor)
        except TokenLaterError as error:
            return self._ask_for_token_later(current, error)
        except CorruptRecordError as error:
            return self._bad_page(current, error, link.url)
        if not self._has_answer:
            self._has_answer = True
            self._failing.clear()
        return self._take(current, answer)

    def _take(self, current: OpenT, answer: HttpResponse) -> EpochRecords:
        """Treat an answer by its status.

        Raises:
            TransientSourceError: it is to be asked again.
        """
        action = action_of(answer, self._settings)
        if action == "retry":
            return self._ask_later(current, answer)
        self._failing.pop(current.split.path, None)
        if action == "fail":
            raise refusal(answer, self._client.hidden)
        if action == "read":
            try:
                return self._read(current, answer)
            except (CorruptRecordError, DataLossError) as error:
                return self._not_read(current, error, answer)
        reason = f"HTTP {answer.status}"
        if action == "finish":
            self._check_first_reading(current, reason, answer.url)
            return self._end(current)
        return self._left_out(current, reason, answer.url, answer.text)

    def _ask_later(self, current: OpenT, answer: HttpResponse) -> EpochRecords:
        """Leave a server alone for as long as it says.

        Raises:
            TransientSourceError: it does not say.
        """
        pause_ms = wait_ms(answer)
        # A server that may be asked again at once says nothing of when it will answer.
        if not pause_ms:
            message = refusal(answer, self._client.hidden).message
            raise TransientSourceError(message, source="http", split=answer.url)
        return self._obey(current, origin(current.asked.url), pause_ms)

    def _ask_for_token_later(self, current: OpenT, error: TokenLaterError) -> EpochRecords:
        """The same for a server of tokens. The task's other lists need the same token."""
        pause_ms = wait_ms(error.answer)
        if not pause_ms:
            raise error
        server = origin(error.answer.url)
        self._waits.take(OriginWaits.event(server, pause_ms))
        return self._obey(current, server, pause_ms)

    def _obey(self, current: OpenT, server: str, pause_ms: int) -> EpochRecords:
        event = OriginWaits.event(server, pause_ms)
        if server not in self._limited:
            self._limited.add(server)
            log.warning("%s", OriginWaits.text(event))
        return self._leave_alone(current, pause_ms, () if current.is_second_reading else (event,))

    def _not_read(
        self, current: OpenT, error: CorruptRecordError | DataLossError, answer: HttpResponse
    ) -> EpochRecords:
        if isinstance(error, PageSaysError) and wait_ms(answer):
            return self._ask_later(current, answer)
        if isinstance(error, DataLossError) and current.is_second_reading:
            # It must bring the same rows: no option lets it go on without them.
            raise error
        return self._bad_page(current, error, answer.url, answer.text)

    def _bad_page(
        self, current: OpenT, error: CorruptRecordError | DataLossError, url: str, text: str = ""
    ) -> EpochRecords:
        """Treat a page that cannot be read by the option badPages.

        Raises:
            CorruptRecordError: that is to fail.
            DataLossError: the same, for a page that has lost items.
        """
        reason = self._client.hidden(error.message)
        if self._settings.bad_pages == "fail":
            raise type(error)(
                f"{reason}; option badPages=skip or column lets a query go on", source="http", split=url
            )
        return self._left_out(current, reason, url, text)

    def _left_out(self, current: OpenT, reason: str, url: str, text: str) -> EpochRecords:
        self._check_first_reading(current, reason, url)
        whole = f"{url}: {reason}: {self._client.hidden(text)[:_SHOWN]}"
        log.warning("left out a page: %s", whole)
        return self._leave_out(current, whole)

    def _check_first_reading(self, current: OpenT, reason: str, url: str) -> None:
        """Return if this is the first reading of the epoch: a second one has the page.

        Raises:
            TransientSourceError: it is not.
        """
        if current.is_second_reading:
            raise TransientSourceError(
                f"the page was read when the epoch was read first, and now cannot: {reason}",
                source="http",
                split=url,
            )

    def _leave_alone(self, current: OpenT, pause_ms: int, events: tuple[JsonValue, ...] = ()) -> EpochRecords:
        """Obey a server that asks to be left alone for a time. The driver and other tasks hear of it."""
        if pause_ms > _MOST_WAIT_MS and self._settings.follows_growth and not current.is_second_reading:
            del self._open[current.split.path]
            return EpochRecords(caught_up={current.split.path: pause_ms}, events=events)
        return EpochRecords(paused={current.split.path: pause_ms}, events=events)

    def _following(self, current: OpenT, page: HttpPage, answer: HttpResponse) -> NextPage:
        """Return the page after a page; none, if it is empty and names itself: then there is no more.

        Raises:
            CorruptRecordError: the link leads nowhere, or in a circle.
        """
        paging = self._settings.paging
        first = PageLink(current.split.url)
        if current.split.is_root and current.asked == first:
            warn_of_absent(first, page, paging)
        following = next_page(current.asked, page, answer, paging)
        if following.link is None:
            return following
        link = PageLink(self._without_secrets(following.link.url), following.link.cursor)
        if link == current.asked:
            if not page.items:
                return NextPage(None)
            raise CorruptRecordError(
                "the page names itself as the next one: say with hasMoreField where the end is told",
                source="http",
                split=current.asked.url,
            )
        if paging.kind == "link" and not current.guard.passes(link):
            raise CorruptRecordError("the pages lead in a circle", source="http", split=current.asked.url)
        return replace(following, link=link)

    def _without_secrets(self, url: str) -> str:
        """Return a link as it may be kept: many APIs repeat the request's parameters in it."""
        if origin(url) not in self._settings.origins:
            return url
        return without_parameters(url, self._settings.credentials.parameters)
