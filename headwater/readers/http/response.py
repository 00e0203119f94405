"""What a server has answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from urllib3 import HTTPHeaderDict

_SHOWN_BYTES: Final = 4_096


@dataclass(frozen=True)
class HttpResponse:
    """An answer, read to its end.

    Attributes:
        url: which was answered, after redirects, without secrets.
        status: as a number.
        headers: of any case; several of one name are kept.
        body: decompressed.
    """

    url: str
    status: int
    headers: HTTPHeaderDict
    body: bytes

    @property
    def text(self) -> str:
        """The beginning of the body, for people."""
        return self.body[:_SHOWN_BYTES].decode(errors="replace")
