"""Files of text: pieces of lines, line ends of every kind, marks and bytes that are no text."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

__all__ = ["texts"]

_PIECES = (
    *(b"a", b"bc", b"\n", b"\r", b"\r\n", b"::", b":", b"aa", b"\0", b"\xff", b"\xef\xbb\xbf"),
    *("ü".encode(), "\u2028".encode(), "😀".encode()),
)


def texts() -> SearchStrategy[bytes]:
    """Return texts of up to 40 pieces."""
    return st.lists(st.sampled_from(_PIECES), min_size=1, max_size=40).map(b"".join)
