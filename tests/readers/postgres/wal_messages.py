"""Messages of pgoutput, as a server sends them."""

from __future__ import annotations

import struct
from types import EllipsisType

__all__ = ["COMMIT", "TABLE", "begin", "change", "relation", "row_of", "sent"]

TABLE = 4_000_000_000


def sent(payload: bytes) -> bytes:
    """Return a message in XLogData."""
    return b"w" + bytes(24) + payload


def begin(lsn: int, xid: int = 7) -> bytes:
    """Return the begin of a transaction."""
    return sent(b"B" + struct.pack(">QqI", lsn, 0, xid))


COMMIT = sent(b"C" + bytes(25))


def relation(*names: str, identity: str = "d", keys: tuple[str, ...] = ("id",), table: int = TABLE) -> bytes:
    """Return the form of a table whose columns are texts."""
    columns = b"".join(
        bytes([name in keys]) + name.encode() + b"\0" + struct.pack(">Ii", 25, -1) for name in names
    )
    head = struct.pack(">I", table) + b"public\0t\0" + identity.encode() + struct.pack(">H", len(names))
    return sent(b"R" + head + columns)


def row_of(*values: str | EllipsisType | None) -> bytes:
    """Return the values of a row; Ellipsis for one that was not changed."""
    parts = [struct.pack(">H", len(values))]
    for value in values:
        if value is None:
            parts.append(b"n")
        elif isinstance(value, str):
            parts.append(b"t" + struct.pack(">I", len(value)) + value.encode())
        else:
            parts.append(b"u")
    return b"".join(parts)


def change(kind: bytes, *tuples: tuple[bytes, bytes], table: int = TABLE) -> bytes:
    """Return an insert, update or delete: rows, each behind its mark."""
    return sent(kind + struct.pack(">I", table) + b"".join(mark + values for mark, values in tuples))
