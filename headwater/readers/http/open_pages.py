"""What a split is to `PagedSplitReader` while a task reads it."""

from __future__ import annotations

from typing import Protocol, TypeVar

from headwater.enumerators.http.split import HttpSplit
from headwater.readers.http.paging import CircleGuard, PageLink


class OpenPages(Protocol):
    """A split while a task reads it."""

    @property
    def split(self) -> HttpSplit:
        """Which."""

    @property
    def asked(self) -> PageLink:
        """The page to ask for."""

    @property
    def guard(self) -> CircleGuard:
        """Notices pages that lead in a circle."""

    @property
    def is_second_reading(self) -> bool:
        """Whether pages were asked for before, in this epoch: they must be there, and bring the same."""


OpenT = TypeVar("OpenT", bound=OpenPages)
