"""The example's REST API on bad days: it asks to be left alone for long, and answers what is no page."""

from __future__ import annotations

import contextlib
import itertools
import threading
from datetime import datetime, timedelta
from typing import cast

from examples.http_server import Api, Handler
from tests.patience import PATIENCE_S

__all__ = ["MoodyApi"]

_BEGIN = datetime(2026, 11, 23, 10)  # noqa: DTZ001 - the zone is written behind it


class MoodyHandler(Handler):
    """Answers as the API, unless it has a mood."""

    server: MoodyApi

    def do_GET(self) -> None:  # noqa: N802 - the base class's name
        request = next(self.server.moods)
        if request == self.server.long_wait_at:
            self._send(429, b"busy", {"Retry-After": str(self.server.long_wait_s)})
        elif request == self.server.silent_at:
            # The client may have hung up by then.
            self.server.may_speak.wait(PATIENCE_S)
            with contextlib.suppress(OSError):
                super().do_GET()
        elif self.server.broken_every and request % self.server.broken_every == 0:
            self._send(200, b"<html>", {})
        else:
            super().do_GET()


class MoodyApi(Api):
    """See `Api`. Items have times, a second apart; a second list, `older_url`, has the same an hour before.

    Attributes:
        long_wait_at: the number of the request that is answered with a wait, if not 0.
        long_wait_s: for how long.
        silent_at: the number of the request that is not answered before `may_speak` is set, if not 0.
        may_speak: see there.
        broken_every: each request of such a number is answered with something that is no page, if not 0.
    """

    def __init__(self) -> None:
        super().__init__(0, items=1_000, page=20, grow_per_s=50, busy_every=50)
        self.RequestHandlerClass = MoodyHandler
        self.moods = itertools.count(1)
        self.long_wait_at = 0
        self.long_wait_s = 6
        self.silent_at = 0
        self.may_speak = threading.Event()
        self.broken_every = 0

    @property
    def older_url(self) -> str:
        """The first page of the other list."""
        return self.url.replace("/items", "/older")

    def answer(self, path: str, first: int) -> dict[str, object] | None:
        is_older = path.startswith("/older")
        page = super().answer("/items" if is_older else path, first)
        if page is None or "comments" in path:
            return page
        begin = _BEGIN - timedelta(hours=1) if is_older else _BEGIN
        items = cast("list[dict[str, object]]", page["items"])
        timed = [{**each, "at": f"{begin + timedelta(seconds=cast('int', each['id']))}Z"} for each in items]
        following = page["next"]
        if is_older and following is not None:
            following = str(following).replace("/items", "/older")
        return {"items": timed, "next": following}
