"""``hw.Board``: the queries of a session on a page in the browser."""

from __future__ import annotations

import html
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from headwater.connector.program_arguments import checked_mapping, checked_session
from headwater.connector.readable import readable
from headwater.core.clock import wall_ms
from headwater.core.jsons import JsonObject
from headwater.tools.monitoring.board_server import BoardServer
from headwater.tools.monitoring.board_view import ViewRequest, board_view
from headwater.tools.monitoring.query_history import QueryHistories
from headwater.tools.monitoring.query_watcher import QueryWatcher

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from pyspark.sql import SparkSession

    from headwater.connector.async_io.metrics import AsyncMetrics

DEFAULT_PORT: Final = 4140
_RUNNING: Final[dict[tuple[str, int], tuple[SparkSession, Board]]] = {}
"""The boards of this process with their sessions, by host and port."""


class Board:
    """A page that shows the streaming queries of a session while they run. It changes nothing.

    ::

        board = hw.Board(spark)
        print(board.url)    # http://127.0.0.1:4140/

    Queries with their rate and lag, each split of headwater's sources, event time, how long each step of a
    batch takes, checkpoints, losses and failures. It begins with the events after it was made. It lives in
    the driver's process, on threads of its own, and ends with `stop` or with the process. Made again for the
    same session, host and port, as by a cell of a notebook that is run again, it is the board that is there.

    Only this host can open it, unless ``host`` says otherwise; then its address has a token. There is no
    encryption: for a board that others see put a proxy with TLS before it.

    Args:
        spark: a session, classic or of Spark Connect.
        port: 0 for any that is free.
        host: the address to listen at; ``0.0.0.0`` for all of this machine.
        token: a secret of your own; None for a new one where one is needed.
        calls: the metrics of asynchronous I/O to show, by a name for each operator.

    Attributes:
        url: where a browser finds it.

    Raises:
        MissingDependencyError: the extra ``board`` is not installed.
        OptionError: the port is taken, or an argument is of another type.
    """

    def __new__(
        cls, spark: SparkSession, port: int = DEFAULT_PORT, *, host: str = "127.0.0.1", **_: Any
    ) -> Self:
        """Return the session's board if there is one at this place; else a new one."""
        if isinstance(host, str) and isinstance(port, int) and (host, port) in _RUNNING:
            session, board = _RUNNING[host, port]
            if session is spark and isinstance(board, cls):
                return board
            if _has_ended(session):
                board.stop()
        return super().__new__(cls)

    @readable
    def __init__(
        self,
        spark: SparkSession,
        port: int = DEFAULT_PORT,
        *,
        host: str = "127.0.0.1",
        token: str | None = None,
        calls: Mapping[str, AsyncMetrics] | None = None,
    ) -> None:
        self._calls = dict(checked_mapping(calls or {}, "calls"))
        if self._is_running(host, port):
            return
        self._histories = QueryHistories(wall_ms)
        self._streams = checked_session(spark).streams
        self._server = BoardServer(self._view, host=host, port=port, token=token)
        self.url = self._server.url
        self._watcher = QueryWatcher(self._histories)
        # Last: it is told of each query that starts from here on.
        self._streams.addListener(self._watcher)
        self._place = (host, port)
        # Port 0 asks for another one each time.
        if port:
            _RUNNING[self._place] = (spark, self)

    def stop(self) -> None:
        """Close the page, and watch no more. Idempotent."""
        if self._is_running(*self._place):
            del _RUNNING[self._place]
        with suppress(Exception):  # the session may have ended before, each kind of it in another way
            self._streams.removeListener(self._watcher)
        self._server.close()

    def __enter__(self) -> Self:
        """Return itself; leaving the block stops it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Board at {self.url}"

    def _repr_html_(self) -> str:
        """Return a link and the queries as a notebook shows them."""
        link = f'<a href="{html.escape(self.url)}" target="_blank">{html.escape(self.url)}</a>'
        return f"<p>headwater's board: {link}</p>{queries_table(self._view(ViewRequest()))}"

    def _is_running(self, host: str, port: int) -> bool:
        return (host, port) in _RUNNING and _RUNNING[host, port][1] is self

    def _view(self, request: ViewRequest) -> JsonObject:
        calls = {name: metrics.as_dict() for name, metrics in self._calls.items()}
        return board_view(self._histories, request, calls, wall_ms())


def _has_ended(session: SparkSession) -> bool:
    try:
        return session.streams.active is None
    except Exception:  # noqa: BLE001 - each kind of session ends in another way
        return True


def queries_table(view: Mapping[str, Any]) -> str:
    """Return the queries of a view as a table of HTML."""
    head = "".join(f"<th>{name}</th>" for name in ("query", "state", "batch", "rows/s", "lag", "splits"))
    lines = "".join(_query_row(query) for query in view["queries"])
    return f"<table><tr>{head}</tr>{lines}</table>"


def _query_row(query: Mapping[str, Any]) -> str:
    number = partial(_number, query)
    cells = (html.escape(query["name"]), query["state"], number("batch_id"), number("rate"), number("lag"))
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in (*cells, number('splits')))}</tr>"


def _number(query: Mapping[str, Any], name: str) -> str:
    return "" if query[name] is None else f"{query[name]:,.0f}"
