"""Which versions of items were read: it tells an item that comes again from one that changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from headwater.core.errors import CorruptRecordError, SourceError
from headwater.readers.http.incremental.values import FieldValue, IncrementalSettings
from headwater.readers.http.pages import Fields, raw_at

DIGEST_BYTES: Final = 16
_RECENT: Final = 10_000
"""How many of the last items are always kept: pages may shift while they are read."""
_MOST: Final = 1_000_000
"""About 150 MB."""
_NUMBER_STARTS: Final = b"-0123456789"
_TEXT: Final = msgspec.json.Decoder(str)

Ranked: TypeAlias = tuple[bytes, Any]
"""The digest of a version, and the rank of its value."""


@dataclass(frozen=True, slots=True)
class Version:
    """An item as it was at one time.

    Attributes:
        digest: of its key and value.
        value: of the field that tells when it changed.
    """

    digest: bytes
    value: FieldValue

    @property
    def ranked(self) -> Ranked:
        """The version of an item, as it is kept."""
        return self.digest, self.value.rank


def version_of(fields: Fields, settings: IncrementalSettings) -> Version:
    """Return the version that an item is.

    Raises:
        CorruptRecordError: it has no key, or no value that can be compared.
    """
    parts = []
    for name in settings.key_fields:
        raw = raw_at(fields, name)
        if raw is None or bytes(raw) == b"null":
            raise CorruptRecordError(f"an item has no {name!r}, which option keyField names", source="http")
        parts.append(bytes(raw))
    raw_value = raw_at(fields, settings.value_field)
    written = b"null" if raw_value is None else bytes(raw_value)
    try:
        text = written.decode() if written[0] in _NUMBER_STARTS else _TEXT.decode(written)
        value = settings.order.value(text)
    except (msgspec.MsgspecError, ValueError) as error:
        raise CorruptRecordError(
            f"{settings.value_field!r} of an item, which option incrementalField names, is "
            f"{written[:100].decode(errors='replace')}: {error}; see option incrementalType",
            source="http",
        ) from error
    whole = b"\0".join([*parts, written])
    return Version(hashlib.blake2b(whole, digest_size=DIGEST_BYTES).digest(), value)


class KnownItems:
    """The versions that were read and may come again: those in the overlap, and the last ones that were read.

    Belongs to one thread.
    """

    def __init__(self) -> None:
        self._ranks: dict[bytes, Any] = {}
        self._pruned = 0

    def __len__(self) -> int:
        return len(self._ranks)

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._ranks

    def add(self, versions: Iterable[Ranked]) -> None:
        """Note versions that are durable."""
        self._ranks.update(versions)

    def forget_before(self, bound: FieldValue | None) -> None:
        """Forget versions that no later round asks for.

        Args:
            bound: no later round begins before it; None if any may come again.

        Raises:
            SourceError: there are too many that may.
        """
        # So each version is looked at a few times at most, however often this is called.
        if len(self._ranks) < 2 * self._pruned + _RECENT:
            return
        if bound is not None:
            old = len(self._ranks) - _RECENT
            self._ranks = {
                digest: rank
                for at, (digest, rank) in enumerate(self._ranks.items())
                if at >= old or rank >= bound.rank
            }
        self._pruned = len(self._ranks)
        if len(self._ranks) > _MOST:
            raise SourceError(
                f"more than {_MOST} items changed within the overlap: make option incrementalOverlap smaller",
                source="http",
            )

    def versions(self) -> Sequence[Ranked]:
        """Return all of them, the oldest first."""
        return list(self._ranks.items())
