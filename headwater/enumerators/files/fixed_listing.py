"""The first complete listing, where a query reads its files and none that comes later."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from headwater.core.errors import DataLossError, OffsetError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.enumerators.files.names import path_hash, version_hash
from headwater.enumerators.files.split import FileStatus

_DIGESTS = 1 << 64


@dataclass(frozen=True, slots=True)
class FixedListing:
    """Which files are still to be read, small however many they are.

    Their number and the sum of their hashes say whether a later listing has the same files; their newest
    time says which of its files came later. Immutable.

    Attributes:
        newest_us: the newest modification time of the first listing.
        files: how many of its files are not read yet.
        digest: the sum of their hashes.
        told_us: files that came later were reported up to this modification time.
    """

    newest_us: int
    files: int
    digest: int
    told_us: int

    @classmethod
    def of(cls, files: Sequence[FileStatus]) -> FixedListing:
        """Return the first complete listing."""
        newest_us = max((file.modified_us for file in files), default=0)
        return cls(newest_us, len(files), _digest(files), newest_us)

    def without(self, files: Sequence[FileStatus]) -> FixedListing:
        """Return the listing that is left when these files are read."""
        digest = (self.digest - _digest(files)) % _DIGESTS
        return replace(self, files=self.files - len(files), digest=digest)

    def with_back(self, files: Sequence[FileStatus]) -> FixedListing:
        """Return the listing that is left when these files are not read after all."""
        return replace(self, files=self.files + len(files), digest=(self.digest + _digest(files)) % _DIGESTS)

    def came_later(self, file: FileStatus) -> bool:
        """Whether a file is newer than all of the first listing."""
        return file.modified_us > self.newest_us

    def told(self, later: Iterable[FileStatus]) -> FixedListing:
        """Return the same when these files are reported."""
        return replace(self, told_us=max([self.told_us, *(file.modified_us for file in later)]))

    def check(self, files: Sequence[FileStatus]) -> None:
        """Prove that a later listing has the files that are left.

        Raises:
            DataLossError: it has not.
        """
        if (len(files), _digest(files)) != (self.files, self.digest):
            raise DataLossError(
                f"the files that the query began with are not there as they were: {self.files:,} of them are "
                f"unread, and {len(files):,} such files are found now. One was deleted, rewritten, or put in "
                "with a modification time before that of the newest. Restore the folder, or begin anew with "
                "another checkpointLocation",
                source="files",
            )

    def to_json(self) -> JsonObject:
        return {
            "newest_us": self.newest_us,
            "files": self.files,
            "digest": f"{self.digest:016x}",
            "told_us": self.told_us,
        }

    @classmethod
    def from_json(cls, raw: JsonValue) -> FixedListing:
        """Return the inverse of `to_json`.

        Raises:
            OffsetError: this is not a fixed listing.
        """
        try:
            fields = cast("dict[str, Any]", raw)
            numbers = [int(fields[name]) for name in ("newest_us", "files", "told_us")]
            return cls(numbers[0], numbers[1], int(fields["digest"], 16), numbers[2])
        except (KeyError, TypeError, ValueError) as error:
            raise OffsetError(f"the checkpoint's state is not one of the files source: {error!r}") from error


def _digest(files: Iterable[FileStatus]) -> int:
    return sum(path_hash(file) * (2 * version_hash(file) + 1) for file in files) % _DIGESTS
