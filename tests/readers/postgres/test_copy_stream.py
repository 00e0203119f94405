"""The answer to a COPY, cut into rows: what is none is broken, and nothing beyond its end is read."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import psycopg
import pytest

from headwater.core.errors import TransientSourceError
from headwater.readers.kernels.arrays import address
from headwater.readers.postgres import copy_stream
from headwater.readers.postgres import layout as L
from headwater.readers.postgres.copy_stream import KERNEL, CopyStream


def head(extension: int) -> bytes:
    return b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, extension)


def message(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack(">i", len(content) + 4) + content


ROW = struct.pack(">hi", 1, 3) + b"abc"


@pytest.mark.parametrize(
    ("data", "rows", "reason"),
    [
        (message(b"d", head(0) + ROW), 1, L.MORE),
        (message(b"d", head(2) + b"??" + ROW), 1, L.MORE),
        (message(b"d", head(-19) + ROW), 0, L.BROKEN),
        (message(b"d", head(-(1 << 31)) + ROW), 0, L.BROKEN),
        (message(b"d", head((1 << 31) - 1) + ROW), 0, L.BROKEN),
        (message(b"d", head(0) + ROW[:-1]), 0, L.BROKEN),
        (message(b"N", b"by the way"), 0, L.OTHER),
        (b"N" + struct.pack(">i", 0), 0, L.BROKEN),
        (b"N" + struct.pack(">i", -(1 << 31)), 0, L.BROKEN),
    ],
)
def test_a_length_that_cannot_be_is_broken(data: bytes, rows: int, reason: int) -> None:
    buffer = np.frombuffer(bytes(64) + data + bytes(64), np.uint8)
    starts = np.zeros(8, np.int64)
    lengths = np.zeros(8, np.int32)
    state = np.zeros(L.STATE, np.int64)
    places = (address(starts), address(lengths), address(state))
    assert KERNEL(address(buffer), 64, 64 + len(data), 1, 8, *places) == rows
    assert state[L.REASON] == reason


@pytest.mark.parametrize("lost_at", ["send_query", "get_copy_data"])
def test_a_connection_over_tls_that_is_lost_is_an_error_that_passes(lost_at: str) -> None:
    def lose(*_: object) -> Any:
        raise psycopg.OperationalError("SSL connection has been closed unexpectedly")

    begun = SimpleNamespace(error_message=b"")
    calls = {"send_query": lambda _: None, "get_copy_data": lambda _: (0, b""), lost_at: lose}
    pgconn = SimpleNamespace(ssl_in_use=True, is_busy=lambda: False, get_result=lambda: begun, **calls)
    connection: Any = SimpleNamespace(pgconn=pgconn)
    with pytest.raises(TransientSourceError, match="closed unexpectedly"):
        CopyStream(connection, "COPY", 1, split="public.orders", timeout_ms=10).rows()


def test_a_length_that_lies_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def empty(size: Any, kind: Any) -> Any:
        made.append(np.zeros(size, kind).nbytes)
        return np.zeros(size, kind)

    lying = b"d" + struct.pack(">i", (1 << 31) - 1)
    pieces = [lying, b""]
    source = SimpleNamespace(read_into=lambda room: _put(room, pieces.pop(0)))
    monkeypatch.setattr(copy_stream, "_Socket", lambda *_: source)
    monkeypatch.setattr(copy_stream, "np", SimpleNamespace(**vars(np) | {"empty": empty}))
    connection: Any = SimpleNamespace(pgconn=SimpleNamespace(ssl_in_use=False, used_gssapi=False))
    stream = CopyStream(connection, "COPY", 1, split="public.orders", timeout_ms=10)
    with pytest.raises(TransientSourceError, match="closed the connection"):
        stream.rows()
    assert sum(made) < 1 << 23


def _put(room: memoryview, piece: bytes) -> int:
    room[: len(piece)] = piece
    return len(piece)
